"""Candidates where a training step takes apart, or gives back, the parts of its state in another order than they have."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...examine.taken_apart import function_of
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.stateless import ResultsExchanged, StatefulPair, StateMisplaced
from ...rules.facts.transforms import GROUPS, AxisUnbound, BatchUnpacked
from ..edits.expression import IT, MODULE
from ..text.source import nodes
from .edits import Made, of
from .line import Line, lines_at, lines_of, short


@of(StatefulPair)
def unpacked_state(evidence: Evidence, finding: Finding, fact: StatefulPair) -> Made:
    """The predictions and the state that ``stateless_call`` returns, each under its name."""
    for line in lines_at(evidence, finding.location)[:1]:
        for item in nodes(line.scope, ast.Assign):
            call, target = item.value, item.targets[0]
            if not isinstance(call, ast.Call) or called(call) != "stateless_call":
                continue
            if isinstance(target, ast.Name) and len(call.args) > 1 and isinstance(call.args[1], ast.Name):
                names = f"{target.id}, {call.args[1].id}"
                yield f"Unpack {names} at line {item.lineno}", [line.edit(target, names)], "stateless_call returns both."


@of(ResultsExchanged)
def results_in_order(evidence: Evidence, finding: Finding, fact: ResultsExchanged) -> Made:
    """The names of a function's two results, in the order of the results."""
    for line in lines_at(evidence, finding.location)[:1]:
        for item in nodes(line.scope, ast.Assign):
            yield from _swapped(line, item, fact.function)


def _swapped(line: Line, item: ast.Assign, function: str = "") -> Made:
    target, made = item.targets[0], function_of(item.value)
    given = [one.value for one in nodes(line.scope, ast.Assign) if ast.unparse(one.targets[0]) == made]
    if isinstance(target, ast.Tuple) and len(target.elts) > 1 and function in (made, *map(function_of, given)):
        one, other, *_ = target.elts
        yield (
            f"Swap {short(one)} and {short(other)} at line {item.lineno}",
            line.swap(one, other),
            f"This is the order in which {function} returns them.",
        )


@of(StateMisplaced)
def state_in_order(evidence: Evidence, finding: Finding, fact: StateMisplaced) -> Made:
    """The groups of a step's state in the order in which they were taken apart."""
    for line in lines_at(evidence, finding.location)[:1]:
        scope = next((item for item in nodes(line.source.tree, ast.FunctionDef) if item.lineno == line.raised.line), line.scope)
        taken: list[list[str]] = [
            [ast.unparse(item) for item in target.elts]
            for statement in nodes(scope, ast.Assign)
            for target in statement.targets
            if isinstance(target, ast.Tuple) and len(target.elts) == 4
        ]
        for held in nodes(scope, ast.Tuple):
            names = [ast.unparse(item) for item in held.elts]
            if isinstance(held.ctx, ast.Load) and taken and names != taken[0] and sorted(names) == sorted(taken[0]):
                yield (
                    f"Return the state in the order in which it is unpacked, at line {held.lineno}",
                    [line.edit(held, f"({', '.join(taken[0])})")],
                    "fit expects the same order.",
                )


@of(StateMisplaced)
def names_in_order(evidence: Evidence, finding: Finding, fact: StateMisplaced) -> Made:
    """Two names in each other's place where the values of a group were taken apart."""
    for line in lines_at(evidence, finding.location)[:1]:
        scope = next((item for item in nodes(line.source.tree, ast.FunctionDef) if item.lineno == line.raised.line), line.scope)
        states = [held.elts for held in nodes(scope, ast.Tuple) if isinstance(held.ctx, ast.Load) and len(held.elts) == 4]
        names = {ast.unparse(state[GROUPS.index(fact.group)]) for state in states if fact.group in GROUPS}
        for held in nodes(scope, ast.Tuple):
            written = [ast.unparse(item) for item in held.elts]
            if isinstance(held.ctx, ast.Store) and len(written) == 2 and names & set(written):
                yield (
                    f"Swap {short(held.elts[0])} and {short(held.elts[1])} at line {held.lineno}",
                    line.swap(*held.elts),
                    f"{' or '.join(sorted(names))} then holds the {fact.group} variables.",
                )


@of(BatchUnpacked)
def unstacked(evidence: Evidence, finding: Finding, fact: BatchUnpacked) -> Made:
    """The parts of each sample, which are on the axis behind the batch."""
    for line in lines_at(evidence, finding.location)[:1]:
        for item in nodes(line.source.tree, ast.Assign):
            if item.lineno == line.raised.line and ast.unparse(item.value) == fact.name:
                yield (
                    f"Unpack {fact.name} along axis 1 at line {item.lineno}",
                    [line.edit(item.value, f"{MODULE}.unstack({IT}, axis=1)", "keras.ops")],
                    f"Each sample has {fact.wanted} parts.",
                )


@of(AxisUnbound)
def without_collective(evidence: Evidence, finding: Finding, fact: AxisUnbound) -> Made:
    """What a function across devices was given, where one program computes with the whole batch."""
    for line in lines_of(evidence)[:1]:
        for call in line.around(ast.Call):
            if called(call) in _ACROSS and call.args:
                yield (
                    f"Remove {called(call)} at line {call.lineno}",
                    [line.edit(call, ast.unparse(call.args[0]))],
                    "The program computes with the whole batch already.",
                )


_ACROSS = ("pmean", "psum", "pmax", "pmin")
