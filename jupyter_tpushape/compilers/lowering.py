"""One replica's programs, lowered by XLA from specs alone: nothing is computed, and the model stays as it was.

The train step runs the model's own ``train_step`` with an optimizer made anew from its configuration, so that the user's stays
as built or unbuilt as it is. Variables that a program reads keep their place among its parameters: that is how bytes find
back to layers.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..flow import CannotRebuild
from ..replicas.strategy import live_strategy
from ..trace.ran import Leaf, leaves
from ..trace.reach import is_step
from ..trace.restore import left_as_found, uncollected
from .programs import CannotLower, Lowered, Parameter, Plan, quiet, raw, variables


def plans(seen: Any, *, rows: int | None = None, only: str = "") -> list[Plan]:
    """The forward pass, and for a compiled model with labels the train step; ``predict`` where the class has its own.

    Args:
        rows: a batch for this replica in place of the data's. only: one program's name.

    Raises:
        CannotLower: where the model was not traced to its end, an axis is unknown, or a tensor is not dense.
    """
    adapter, model = seen.adapter, seen.model
    if model is None and is_step(seen.program.model):
        raise CannotLower("Custom steps are not compiled. Compile the model that the step trains instead.")
    if seen.error is not None or adapter is None or model is None or seen.sample is None:
        raise CannotLower("There is no program to compile, because tracing the model failed.")
    from ..examine import shape_of

    shape = _with_rows(shape_of(seen), rows) if adapter.backend.replicated else _on_the_mesh(seen, rows)
    x, doors = leaves(seen.sample.x, shape, "x")
    y, labels = leaves(seen.sample.y, shape, "y")
    weight, weights = leaves(seen.sample.weight, shape, "weight")
    trains = adapter.is_model(model) and adapter.compiled(model) and adapter.has_loss(model) and y is not None
    own = adapter.backend.replicated and adapter.is_model(model) and adapter.overrides(model, "predict_step")
    made = [Plan("forward", (x,), doors), *([Plan("predict", (x,), doors)] if own else [])]
    if trains:
        made.append(Plan("train", (x, y, weight), doors + labels + weights))
    wanted = [plan for plan in made if only in ("", plan.name)]
    for plan in wanted:
        _settled(plan.leaves)
    return wanted


def lowered(seen: Any, plan: Plan) -> Lowered:
    """Lowers one program.

    Raises:
        CannotLower: where the model lives under a strategy and cannot be made again outside it.
    """
    if live_strategy() is not None:
        # A replica's program is none of the strategy's. Its scope is this thread's alone.
        with ThreadPoolExecutor(1) as aside:
            return aside.submit(_lowered, seen, plan).result()
    return _lowered(seen, plan)


def _lowered(seen: Any, plan: Plan) -> Lowered:
    adapter, model = seen.adapter, _plain(seen.adapter, seen.model)
    with left_as_found([adapter], [model]), uncollected():
        if not adapter.backend.replicated:
            return _lower_jax(seen, adapter, model, plan.name, plan.arguments)
        from . import lowering_tf

        return lowering_tf.lower(seen, adapter, model, plan)


def lower(seen: Any, *, rows: int | None = None, only: str = "") -> list[Lowered]:
    """Lowers all of :func:`plans`, which says what the arguments are and what is raised."""
    return [lowered(seen, plan) for plan in plans(seen, rows=rows, only=only)]


def _on_the_mesh(seen: Any, rows: int | None) -> Callable[[Any], Any]:
    from ..examine import shape_of

    shape, split = shape_of(seen), seen.evidence.split

    def whole(leaf: Any) -> Any:
        found = shape(leaf)
        if not found or split is None or found[0] is None:
            return found
        if rows is not None:
            return (rows * max(1, split.parts), *found[1:])
        if not split.divides(found[0]):
            raise CannotLower(f"There is no program to compile: a batch of {found[0]} is not divisible by {split.parts} devices.")
        return found

    return whole


def _with_rows(shape: Callable[[Any], Any], rows: int | None) -> Callable[[Any], Any]:
    if rows is None:
        return shape

    def replaced(leaf: Any) -> Any:
        found = shape(leaf)
        return (rows, *found[1:]) if found else found

    return replaced


def _settled(found: list[Leaf]) -> None:
    for leaf in found:
        if leaf.spec.kind != "dense":
            raise CannotLower(f"{leaf.name} is {leaf.spec.kind}, but XLA compiles only dense tensors.")
        if leaf.spec.shape is None or any(n is None for n in leaf.spec.shape):
            raise CannotLower(f"{leaf.name} has an axis of unknown size, {leaf.spec}, but XLA must know sizes at compile time.")


def _plain(adapter: Any, model: Any) -> Any:
    """The model, or one like it outside any strategy where its variables exist once per replica."""
    if not any(hasattr(raw(variable), "_distribute_strategy") and hasattr(raw(variable), "_values") for variable in variables(model)):
        return model
    from ..repair.live import builder_of

    try:
        return builder_of(adapter, model)()
    except CannotRebuild as error:
        raise CannotLower(f"The model was created under a strategy and cannot be copied out of it: {error}") from error


def _lower_jax(seen: Any, adapter: Any, model: Any, name: str, arguments: tuple[Any, ...]) -> Lowered:
    from ..replicas.layouts import mesh_of
    from . import lowering_jax as on_jax

    made = Lowered(name, form="stablehlo", scopes=on_jax.NamedScopes(seen.evidence.flow))
    distribution = distribution_of(seen)
    try:
        with quiet():
            lowered = on_jax.lower(adapter, model, name, arguments, distribution)
        made.hlo, made.text, made.shardy = lowered.portable, lowered.text, lowered.shardy
        made.partitions = mesh_of(distribution).devices if distribution is not None else 1
        made.parameters = [Parameter(*one) for one in on_jax.parameters(seen, model, lowered.held)]
    except Exception as error:
        made.error = error
    return made


def distribution_of(seen: Any) -> Any:
    """How one program lies on the devices: as a distribution says, else by ``DataParallel`` over a planned slice."""
    from ..replicas import is_distribution
    from ..replicas.layouts import over

    strategy, target = seen.program.strategy, seen.program.target
    if is_distribution(strategy):
        return strategy
    return over(target) if target is not None and target.replicas > 1 else None
