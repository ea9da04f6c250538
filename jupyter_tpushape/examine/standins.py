"""A sample made of what the model declares, where no data was given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..flow import Shape
from .program import BadProgram, Examined


@dataclass
class Holder:
    spec: Any


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


@dataclass
class _DeclaredLeaf:
    shape: Shape
    dtype: str
    kind: str = "dense"
    concrete: Any = None


def from_declared(seen: Examined) -> Any:
    declared = seen.evidence.declared
    if not declared:
        raise BadProgram(
            "This model declares no input, so a trace needs data or specs: type trace(model, (x, y)), or trace(model, tf.TensorSpec((32, 10)))."
        )
    batch = seen.program.batch_size or 32
    found = {
        name: _DeclaredLeaf((batch if spec.shape[0] is None else spec.shape[0], *spec.shape[1:]), spec.dtype, spec.kind)
        for name, spec in declared
        if spec.shape
    }
    structure = seen.evidence.structure
    if structure is None or isinstance(structure, str):
        return _DeclaredSample(next(iter(found.values())))

    def nest(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: nest(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [nest(item) for item in value]
        return found[value]

    return _DeclaredSample(nest(structure))
