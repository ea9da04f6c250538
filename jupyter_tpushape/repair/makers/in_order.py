"""Candidates where an operation runs along the samples in place of the steps, or makes one number of all of them."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.in_order import SamplesInOrder, SharedByAll
from ...rules.facts.layers import OperationRaised
from ...rules.facts.reasons import NoAxis
from ..edits import Edit
from ..edits.expression import IT
from ..text.source import nodes
from .edits import Made, of
from .line import Line, assigned_to, lines_at, lines_of, whole_number


@of(SamplesInOrder)
def along_steps(evidence: Evidence, finding: Finding, fact: SamplesInOrder) -> Made:
    """The first axis of a sample in place of the batch, where the line says along which axis."""
    if fact.loop or len(fact.shape) < 2:
        return
    for line in lines_at(evidence, finding.location):
        call = line.call()
        axis = line.keyword("axis")
        if call is None or _plain(called(call)) != _plain(fact.operation.op):
            continue
        title, why = f"Pass axis=1 to {called(call)} at {line.at}", "It then runs along the steps of each sample."
        if axis is not None:
            yield title, [line.edit(axis, "1")], why
        else:
            at = next((one for one in call.args[1:] if whole_number(one) is not None), None)
            yield title, [line.edit(at, "1") if at is not None else line.more(call, "axis=1")], why


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


@of(SamplesInOrder)
def loop_through_steps(evidence: Evidence, finding: Finding, fact: SamplesInOrder) -> Made:
    """Steps before the batch for a loop, also in what its first state is made from, and its result as it was."""
    for line in lines_at(evidence, finding.location) if fact.loop and len(fact.shape) > 2 else ():
        call = line.call("scan")
        if call is None or not isinstance(call.func, ast.Attribute):
            continue
        given, module = line.keyword("xs") or next(iter(call.args[2:3]), None), ast.unparse(call.func.value).replace("jax.lax", "jnp")
        if isinstance(given, (ast.Name, ast.Attribute)):
            edits = [line.edit(given, f"{module}.swapaxes({IT}, 0, 1)"), *_first_state(line, call, given, module)]
            yield (
                f"Swap batch and steps around scan at line {call.lineno}",
                [*edits, *turned_back(line, call, module)],
                "scan steps through the first axis.",
            )


def _first_state(line: Line, call: ast.Call, given: ast.expr, module: str) -> list[Edit]:
    """The same tensor in what the first state is made from."""
    start = line.keyword("init") or next(iter(call.args[1:2]), None)
    made = assigned_to(line, start) if start is not None else None
    found = nodes(made, type(given)) if made is not None else []
    return [line.edit(one, f"{module}.swapaxes({IT}, 0, 1)") for one in found if ast.unparse(one) == ast.unparse(given)]


def turned_back(line: Line, call: ast.Call, module: str) -> Iterator[Edit]:
    """The results of a loop with the batch in front again, where they are given a name."""
    for body in (getattr(item, "body", []) for item in ast.walk(line.source.tree)):
        for statement, then in itertools.pairwise(body) if isinstance(body, list) else ():
            held = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is call else None
            result = held.elts[1] if isinstance(held, ast.Tuple) and len(held.elts) == 2 else None
            if isinstance(result, ast.Name) and result.id != "_":
                text = f"{result.id} = {module}.swapaxes({result.id}, 0, 1)"
                yield line.before(then, text)


@of(SharedByAll)
def share_of_a_sample(evidence: Evidence, finding: Finding, fact: SharedByAll) -> Made:
    """One number for each sample: the function along the last axis, which stays as an axis of size 1."""
    for line in lines_at(evidence, finding.location):
        call = line.call()
        name = _plain(called(call)) if call is not None else ""
        if call is None or line.keyword("axis") is not None or len(call.args) > 1:
            continue
        # A norm is a sum and more; what normalizes gives back all axes by itself.
        if name.endswith((_plain(fact.operation.op), "norm", "normalize")):
            more = f"axis={fact.axis}" if name.endswith("normalize") else f"axis={fact.axis}, keepdims=True"
            yield (
                f"Pass {more.replace(', ', ' and ')} to {called(call)} at {line.at}",
                [line.more(call, more)],
                "Each sample is then divided by its own number.",
            )


_CUMULATIVE = frozenset({"cumsum", "cumprod", "cummax", "cummin", "nancumsum"})


@of(OperationRaised)
def not_flattened(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The axis for a cumulative function, which flattens what it is given without one, where the next operation asks for that axis."""
    if not isinstance(fact.reason, NoAxis) or len(fact.reason.shape) != 1 or fact.reason.axis < 1:
        return
    axis = f"axis={fact.reason.axis}"
    for line in lines_of(evidence)[:1]:
        read = {one.id for one in nodes(line.node, ast.Name)} if line.node is not None else set()
        made = [one.value for one in nodes(line.scope, ast.Assign) if ast.unparse(one.targets[0]) in read and one.lineno < line.raised.line]
        for call in (one for part in (line.node, *made) if part is not None for one in nodes(part, ast.Call)):
            if called(call) in _CUMULATIVE and len(call.args) == 1 and not call.keywords:
                yield (
                    f"Pass {axis} to {called(call)} at line {call.lineno}",
                    [line.more(call, axis)],
                    "Without an axis, it flattens the tensor, the samples included.",
                )
