"""A program's data: what is a function that makes it, and what is sampled of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..sources.kinds import has
from ..trace.patience import ADVICE, TimeUp, patience
from ..trace.ran import leaves
from ..trace.reach import is_step, reach
from ..trace.restore import left_as_found, uncollected
from .program import Examined, shape_of


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
