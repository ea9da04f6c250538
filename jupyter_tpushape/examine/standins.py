"""A sample made of what the model declares, where no data was given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..flow import Shape
from ..flow.paths import map_leaves
from ..trace.doors import Door
from ..trace.framework import Framework
from .program import BadProgram


@dataclass
class _DeclaredSample:
    """Stands in for data where none was given: what the model itself declares."""

    x: Any
    y: Any = None
    weight: Any = None
    stages: tuple[Any, ...] = ()
    batch: int | None = None
    problems: tuple[Any, ...] = ()
    notes: tuple[Any, ...] = ()

    def handed(self, x: Any, y: Any = None, weight: Any = None) -> Any:
        """A batch as a training step would get it: inputs alone."""
        return x


@dataclass
class _DeclaredLeaf:
    shape: Shape
    dtype: str
    kind: str = "dense"
    concrete: Any = None


def from_declared(adapter: Framework, model: Any, doors: list[Door] | None, batch: int | None) -> Any:
    """One batch of what the model declares, nested as its inputs are.

    Raises:
        BadProgram: where it declares none.
    """
    if not doors:
        raise BadProgram(
            "This model does not declare its inputs, so tracing needs data or specs: pass (x, y), or tf.TensorSpec((32, 10)). In a terminal, use --data or --input-spec."
        )
    rows = batch or 32
    by_tensor = {id(door.tensor): door.spec for door in doors}
    tensors = [door.tensor for door in doors]
    alone = len(doors) == 1 and len(doors[0].path) == 1
    structure = tensors[0] if alone else adapter.input_structure(adapter.graph_network(model), tensors)

    def leaf(tensor: Any) -> _DeclaredLeaf:
        spec = by_tensor[id(tensor)]
        shape = spec.shape or ()
        return _DeclaredLeaf((rows if shape[:1] == (None,) else (shape or (rows,))[0], *shape[1:]), spec.dtype, spec.kind)

    return _DeclaredSample(map_leaves(leaf, structure))
