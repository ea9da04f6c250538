"""A program's data: what is a function that makes it, what is sampled of it, and a sample made of what the model declares, where no data was given."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..flow import Shape
from ..flow.paths import map_leaves
from ..sources.kinds import has
from ..trace.doors import Door
from ..trace.framework import Framework
from ..trace.patience import ADVICE, TimeUp, patience
from ..trace.ran import leaves
from ..trace.reach import is_step, reach
from ..trace.restore import left_as_found, uncollected
from .program import BadProgram, Examined, shape_of


def is_builder(data: Any) -> bool:
    """A zero-argument callable that gives data, and not data that happens to be callable."""
    return callable(data) and not any(has(data, name) for name in ("element_spec", "__getitem__", "__next__"))


def runs_own_step(seen: Examined) -> bool:
    """Whether a batch goes to a step of the user's own, as it is."""
    adapter, model = seen.adapter, seen.model
    if is_step(seen.program.model):
        return True
    if adapter is None or seen.error is not None or not seen.program.training or seen.program.loss is not None:
        return False
    return bool(adapter.is_model(model) and adapter.overrides(model, "train_step") and adapter.compiled(model))


def take_sample(seen: Examined, framework: str) -> None:
    """Samples the data and plans its split over the replicas."""
    from .. import replicas, sources

    program, evidence = seen.program, seen.evidence
    if seen.data is None:
        return
    sample = program.sample
    if sample is None:
        try:
            sample = sources.sample(
                seen.data, framework=framework, batch_size=program.batch_size, batches=program.batches, first_seconds=patience(), progress=program.progress
            )
        except sources.NeverCame as late:
            raise sources.DataRaises(TimeUp(f"{late} {ADVICE}")) from None
    seen.sample = evidence.sample = sample.whole() if runs_own_step(seen) else sample
    if program.target is not None:
        on_mesh = not seen.adapter.backend.replicated if seen.adapter is not None else replicas.is_distribution(program.strategy)
        if not on_mesh:
            evidence.split = replicas.plan(seen.sample, program.target, strategy=program.strategy, dataset=seen.data)
        else:
            evidence.split = replicas.plan_mesh(seen.sample, program.target, program.strategy)
    for role in ("x", "y", "weight"):
        _, found = leaves(getattr(seen.sample, role), shape_of(seen), role)
        setattr(evidence, role, [(leaf.path, leaf.spec) for leaf in found])


def stage_error(seen: Examined) -> BaseException | None:
    """What a function of the pipeline raises once its sizes are known."""
    from ..sources.retraced import of_a_kernel, raised_by_stage

    error = getattr(seen.sample, "error", None)
    if error is None or not of_a_kernel(error) or not has(seen.data, "element_spec"):
        return None
    adapters = [seen.adapter] if seen.adapter is not None else []

    @contextlib.contextmanager
    def kept(function: Any) -> Iterator[None]:
        reached = reach(function)
        with left_as_found(adapters, reached.keras), uncollected():
            try:
                yield
            finally:
                reached.restore()

    return raised_by_stage(seen.data, kept)


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
