"""What the rules know of a custom training step: plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..flow import Location
from ..trace.applied import Misapplied


@dataclass(frozen=True)
class StepState:
    """Facts about one traced step.

    Attributes:
        where: the line that defines it.
        strategy: class of the ``tf.distribute`` strategy that the step itself uses, ``""`` without one.
        runs: calls of ``strategy.run``. ``eager_inside``: whether what it ran was a plain function.
        trains: whether it takes gradients.
        graph_function: whether the step is a ``tf.function``. ``lambda_name``: whether it was made from a lambda.
        outside: paths of variables made outside the strategy's scope, of ``variables`` in all.
        optimizers_outside: classes of optimizers made outside. ``bare_outside``: names of ``tf.Variable`` objects made outside.
        nested: line that calls ``strategy.run`` inside ``strategy.run``.
        static_only: line that calls it with ``experimental_enable_dynamic_batch_size=False``. ``buckets``: whether it pads to powers of two.
        variables_made: lines that make a new variable in every call. ``refused``: what the step raised.
        scales: what does not fit the number of replicas (:class:`jupyter_tpushape.scaling.Scale`).
        without_result: whether a metric that ``fit`` reads after the step was never updated.
        misapplied: an update that the optimizer refuses.
    """

    name: str
    where: Location | None = None
    strategy: str = ""
    runs: int = 0
    trains: bool = False
    graph_function: bool = False
    eager_inside: bool = False
    lambda_name: bool = False
    next_inside: Location | None = None
    variable_argument: Location | None = None
    nested: Location | None = None
    static_only: Location | None = None
    buckets: bool = False
    variables_made: tuple[Location, ...] = ()
    outside: tuple[str, ...] = ()
    variables: int = 0
    optimizers_outside: tuple[str, ...] = ()
    bare_outside: tuple[str, ...] = ()
    refused: str = ""
    scales: tuple[Any, ...] = ()
    without_result: bool = False
    misapplied: Misapplied | None = None
