"""How a custom step scales its gradients over the replicas, read off the traced graph; nothing is computed.

A gradient that each replica takes of the mean over its own rows, and that is then summed over N replicas, is N times the gradient
of the mean over the whole batch. The walk goes back from what the step differentiates to the sum or mean over the rows, and collects the
factors on the way. What it cannot follow it leaves unsaid.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

from ..flow import Location

_THROUGH = frozenset({"Identity", "Cast", "EnsureShape", "Squeeze", "ExpandDims", "Reshape", "CheckNumerics", "Snapshot", "PreventGradient"})
_PRODUCTS = frozenset({"Mul", "MulNoNan"})
_QUOTIENTS = frozenset({"RealDiv", "Div", "DivNoNan"})
_SUMS = frozenset({"AddV2", "Add", "AddN", "Sub"})


@dataclass(frozen=True)
class Scale:
    """One thing that does not fit the number of replicas.

    Attributes:
        what: ``"gradient"``, ``"weights"`` (a loss of the weights alone), ``"reported"`` (only a number that is shown).
        times: by how much it is too large (8.0) or too small (0.125).
        detail: of a reported loss the reduction; of a gradient ``"mask"`` where only some rows are counted, ``"clip"`` where it is clipped.
    """

    what: str
    times: float
    location: Location | None = None
    detail: str = ""


@dataclass(frozen=True)
class Term:
    """One summand of a loss. ``rows``: whether it sums over the batch; ``sizes``: other axes that it reduces; ``factors``: one by one.
    ``masked``: whether what it is divided by counts only some of the rows."""

    factor: float
    rows: bool
    sizes: tuple[int, ...] = ()
    operation: Any = None
    factors: tuple[float, ...] = ()
    masked: bool = False


def value_of(tensor: Any, depth: int = 0) -> float | list[float] | None:
    """The number, or the row of numbers, that follows from constants and static shapes alone."""
    import tensorflow as tf

    known = tf.get_static_value(tensor)
    if known is not None:
        return [float(n) for n in known.reshape(-1)] if getattr(known, "ndim", 0) else float(known)
    operation = tensor.op
    if depth > 12:
        return None
    inputs = [value_of(one, depth + 1) for one in operation.inputs[:4]] if operation.type in _FOLDED else []
    if not inputs or any(one is None for one in inputs):
        return None
    folded: float | list[float] | None = _FOLDED[operation.type](*inputs)
    return folded


def _prod(values: Any, _: Any = None) -> float:
    return math.prod(values) if isinstance(values, list) else values


def _pick(values: Any, begin: Any, end: Any, _: Any) -> Any:
    first, last = (int(one[0]) if isinstance(one, list) else int(one) for one in (begin, end))
    return values[first] if isinstance(values, list) and (last == first + 1 or (first == -1 and last == 0)) and -len(values) <= first < len(values) else None


def _two(apply: Any) -> Any:
    return lambda a, b: None if isinstance(a, list) or isinstance(b, list) else apply(a, b)


_FOLDED: dict[str, Any] = {
    "Mul": _two(lambda a, b: a * b), "RealDiv": _two(lambda a, b: a / b if b else None), "Div": _two(lambda a, b: a / b if b else None),
    "DivNoNan": _two(lambda a, b: a / b if b else None), "FloorDiv": _two(lambda a, b: a // b if b else None), "AddV2": _two(lambda a, b: a + b),
    "Maximum": _two(max), "Cast": lambda a: a, "Identity": lambda a: a, "Prod": _prod, "StridedSlice": _pick, "Squeeze": lambda a: a, "Reshape": lambda a, _: a,
}  # fmt: skip


def terms(tensor: Any, batch: int, whole: dict[int, int] | None = None) -> list[Term] | None:
    """The summands of a scalar loss, or ``None`` where one of them cannot be followed.

    Args:
        batch: rows of this replica: an axis 0 of that size is the batch.
        whole: sums over all replicas, by id, with the number of replicas.
    """
    found: list[Term] = []
    masked = False
    pending: list[tuple[Any, tuple[float, ...], tuple[int, ...]]] = [(tensor, (), ())]
    for _ in range(400):
        if not pending:
            return [replace(term, masked=masked or term.masked) for term in found]
        current, factors, sizes = pending.pop()
        operation = current.op
        kind = operation.type
        if kind in _THROUGH:
            pending.append((operation.inputs[0], factors, sizes))
        elif kind == "Neg":
            pending.append((operation.inputs[0], (*factors, -1.0), sizes))
        elif kind in _SUMS and current.shape.rank == 0:
            signs = (1.0, -1.0) if kind == "Sub" else itertools.repeat(1.0)
            pending.extend((one, (*factors, sign), sizes) for one, sign in zip(operation.inputs, signs, strict=False))
        elif kind in _PRODUCTS:
            values = [value_of(one) for one in operation.inputs]
            number = next((i for i, one in enumerate(values) if isinstance(one, float)), None)
            if number is None:
                return _weights_alone(found, current, factors, pending)
            pending.append((operation.inputs[1 - number], (*factors, float(values[number])), sizes))  # type: ignore[arg-type]
        elif kind in _QUOTIENTS:
            divisor = value_of(operation.inputs[1])
            if divisor is None:
                # The mean over those rows that a mask leaves, of this replica or of all.
                divisor, masked = float(batch * counted(operation.inputs[1], batch, whole or {})), True
            if not isinstance(divisor, float) or not divisor:
                return None
            pending.append((operation.inputs[0], (*factors, 1.0 / divisor), sizes))
        elif kind in ("Mean", "Sum"):
            step = _reduction(operation, factors, sizes, batch)
            if step is None:
                return None
            if isinstance(step, Term):
                found.append(step)
            else:
                pending.append(step)
        elif value_of(current) is not None:
            continue
        elif not _reads_data(current):
            found.append(Term(math.prod(factors), False, operation=operation, factors=factors))
        else:
            return None
    return None


def counted(tensor: Any, batch: int, whole: dict[int, int]) -> int:
    """Of how many replicas a divisor adds up something of the rows."""
    replicas = 1
    for _ in range(20):
        operation = tensor.op
        replicas = whole.get(id(tensor), replicas)
        if operation.type in _THROUGH:
            tensor = operation.inputs[0]
        elif operation.type in ("Maximum", "AddV2", "Add"):
            rest = [one for one in operation.inputs if value_of(one) is None]
            if len(rest) != 1:
                return 0
            tensor = rest[0]
        elif operation.type == "Sum":
            given, axes = operation.inputs[0], value_of(operation.inputs[1])
            rows = bool(given.shape.rank) and given.shape[0] in (batch, None)
            over = axes is not None and 0 in (axes if isinstance(axes, list) else [axes])
            return replicas if rows and over and _reads_data(given) else 0
        else:
            return 0
    return 0


def _weights_alone(found: list[Term], tensor: Any, factors: tuple[float, ...], pending: list[Any]) -> list[Term] | None:
    if _reads_data(tensor):
        return None
    found.append(Term(math.prod(factors), False, operation=tensor.op, factors=factors))
    return found if not pending else None


def _reduction(operation: Any, factors: tuple[float, ...], sizes: tuple[int, ...], batch: int) -> Term | tuple[Any, tuple[float, ...], tuple[int, ...]] | None:
    given = operation.inputs[0]
    if not _reads_data(given):
        return Term(math.prod(factors), False, operation=operation, factors=factors)
    axes = value_of(operation.inputs[1])
    if given.shape.rank is None or axes is None:
        return None
    shape = given.shape.as_list()
    chosen = bool(shape) and shape[0] is None and None not in shape[1:] and _chosen(given)
    if chosen:
        shape = [batch, *shape[1:]]  # the rows of this replica that a mask has chosen
    if None in shape:
        return None
    reduced = {int(axis) % max(1, len(shape)) for axis in (axes if isinstance(axes, list) else [axes])} if shape else set()
    if operation.type == "Mean":
        factors = (*factors, 1.0 / math.prod(shape[axis] for axis in reduced))
    others = sizes + tuple(shape[axis] for axis in reduced if not (axis == 0 and shape[0] == batch))
    if 0 in reduced and shape[0] == batch:
        # What was reduced before this one (a mean over the steps of each row) only adds to the divisors that may be meant.
        return Term(math.prod(factors), True, others + _before(given), operation, factors, chosen)
    return given, factors, others


def _chosen(tensor: Any) -> bool:
    """Whether a tensor's rows were chosen by ``tf.boolean_mask`` or ``tf.gather`` of ``tf.where``."""
    pending: list[Any] = [tensor.op]
    seen: set[int] = set()
    while pending:
        operation = pending.pop()
        if id(operation) in seen or len(seen) > 200:
            continue
        seen.add(id(operation))
        if operation.type == "Where":
            return True
        pending.extend(one.op for one in operation.inputs)
    return False


def _before(tensor: Any) -> tuple[int, ...]:
    return tuple(n for n in tensor.shape.as_list()[1:] if n)


def _reads_data(tensor: Any) -> bool:
    pending, seen = [tensor.op], set()
    while pending:
        operation = pending.pop()
        if id(operation) in seen:
            continue
        seen.add(id(operation))
        if operation.type == "Placeholder" and operation.outputs[0].dtype.name != "resource":
            return True
        if "Random" in operation.type:  # noise that a generator turns into rows
            return True
        pending.extend(one.op for one in operation.inputs if operation.type not in ("Shape", "ShapeN", "Size", "Rank"))
    return False


def _divisors(sizes: tuple[int, ...]) -> set[int]:
    found = {1}
    for size in sizes[:6]:
        found |= {size * one for one in found}
    return found


def _times(term: Term, batch: int, replicas: int) -> float | None:
    """How many times the gradient of the mean over the whole batch the sum over replicas is."""
    factor = abs(term.factor)
    if not term.rows:
        # Its own coefficient is anybody's guess: what counts is whether the number of replicas is among the factors.
        divided = any(math.isclose(one * replicas, 1.0, rel_tol=1e-4) for one in term.factors)
        return 1.0 if divided else float(replicas)
    found = set()
    for divisor in _divisors(term.sizes):
        for times in (1.0, float(replicas), 1.0 / replicas):
            if math.isclose(factor * batch * replicas * divisor, times, rel_tol=1e-4):
                found.add(times)
    return found.pop() if len(found) == 1 else None


def scales(facts: Any, batch: int, replicas: int) -> tuple[list[Scale], list[str]]:
    """What does not fit, and sentences on what could not be followed.

    Args:
        facts: what the step did (:class:`jupyter_tpushape.trace.strategies.StepFacts`).
        batch: rows of the first replica. replicas: how many there are.
    """
    if replicas < 2:
        return [], []
    found: list[Scale] = []
    unknown = False
    whole = {id(tensor): replicas for op, tensor in facts.reduced if op == "SUM"}
    for update in facts.updates:
        gradient, factor, reduced, clipped = _source(update, facts)
        if gradient is None or gradient.target is None or batch < 2:
            unknown = True
            continue
        after = {"": 1.0, "SUM": 1.0, "MEAN": 1.0 / replicas}[reduced] * (replicas if reduced and update.summed else 1)
        if not reduced and not update.summed:
            unknown = True
            continue
        parts = terms(gradient.target, batch, whole)
        for term in parts or []:
            times = _times(Term(term.factor * factor * after, term.rows, term.sizes, None, (*term.factors, factor, after)), batch, replicas)
            if times is None:
                unknown = unknown or term.rows
            elif times != 1.0:
                how = "mask" if term.masked else "clip" if clipped else ""
                found.append(Scale("gradient" if term.rows else "weights", times, _line(term.operation) or gradient.location, how))
        unknown = unknown or parts is None
    for reduce in facts.reduces:
        if batch < 2 or not reduce.value.dtype.is_floating:
            continue
        for term in terms(reduce.value, batch, whole) or []:
            times = _times(Term(term.factor * (1.0 if reduce.op == "SUM" else 1.0 / replicas), term.rows, term.sizes), batch, replicas)
            if term.rows and times not in (None, 1.0):
                found.append(Scale("reported", times, reduce.location, reduce.op))
    said = ["the scaling of the loss over the replicas could not be traced, so the size of the gradients was not checked"]
    return list(dict.fromkeys(found)), said if unknown else []


def _source(update: Any, facts: Any) -> tuple[Any, float, str, bool]:
    """The gradient that an update was given, by which factor it was changed on the way, how it was reduced over replicas, and whether it was clipped."""
    first = next((one for one in update.gradients if one is not None), None)
    made = {id(one): gradient for gradient in facts.gradients for one in gradient.results if one is not None}
    made.update({id(one.values): gradient for gradient in facts.gradients for one in gradient.results if hasattr(one, "values")})
    reduced = {id(tensor): op for op, tensor in facts.reduced}
    how, factor, clipped = "", 1.0, False
    for _ in range(40):
        if first is None:
            break
        if id(first) in made:
            return made[id(first)], factor, how, clipped
        first = getattr(first, "values", first)
        if id(first) in made:
            return made[id(first)], factor, how, clipped
        if id(first) in reduced and not how:
            how = reduced[id(first)]
            if how not in ("SUM", "MEAN"):
                break
        operation = first.op
        if operation.type in _THROUGH:
            first = operation.inputs[0]
        elif operation.type in _PRODUCTS | _QUOTIENTS:
            numbers = [value_of(one) for one in operation.inputs]
            at = 1 if operation.type in _QUOTIENTS else next((i for i, one in enumerate(numbers) if isinstance(one, float)), -1)
            number = numbers[at] if at >= 0 else None
            if number is None:
                (at, number), clipped = _limit(operation, made), True
            if not isinstance(number, float) or not number:
                break
            factor = factor / number if operation.type in _QUOTIENTS else factor * number
            first = operation.inputs[1 - at]
        elif operation.type in ("Minimum", "Maximum", "ClipByValue"):
            first, clipped = operation.inputs[0], True  # what a clip leaves as it is
        elif operation.type == "SelectV2":
            first = next((one for one in operation.inputs[1:] if _reads(one, made)), operation.inputs[1])
        else:
            break
    return None, 1.0, "", False


def _limit(operation: Any, made: dict[int, Any]) -> tuple[int, float | None]:
    """Which operand of a product or quotient limits a gradient to a norm, and what it is where the norm is below the limit.

    ``tf.clip_by_norm`` multiplies by the limit and divides by the larger of limit and norm; ``tf.clip_by_global_norm`` multiplies by a
    number that is 1 there.
    """
    for at, one in reversed(list(enumerate(operation.inputs))):
        if at == 0 and operation.type in _QUOTIENTS:
            break
        if one.shape.num_elements() != 1 or not _reads(one, made):
            continue
        if operation.type in _PRODUCTS:
            return at, 1.0
        held = one
        while held.op.type in _THROUGH:
            held = held.op.inputs[0]
        if held.op.type == "Maximum":
            known = [value_of(each) for each in held.op.inputs]
            return at, next((each for each in known if isinstance(each, float)), None)
    return -1, None


def _reads(tensor: Any, made: dict[int, Any]) -> bool:
    pending, seen = [tensor], set()
    while pending:
        current = pending.pop()
        if id(current) in made:
            return True
        if id(current.op) not in seen:
            seen.add(id(current.op))
            pending.extend(current.op.inputs)
    return False


def _line(operation: Any) -> Location | None:
    from .wrote import user_line

    return user_line(operation) if operation is not None else None
