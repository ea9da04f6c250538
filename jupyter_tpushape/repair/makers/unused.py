"""Candidates that use a result which nothing reads: the call that passes it by gets it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.dead_names import unread
from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.unused import ResultUnused
from ..edits import Edit, Statement
from ..edits.expression import IT
from ..text.source import nodes, parents
from .edits import Made, of
from .line import Line, lines_at, span_of


@of(ResultUnused)
def use_result(evidence: Evidence, finding: Finding, fact: ResultUnused) -> Made:
    """The result instead of what its layer was given, in the one call that takes that next."""
    for line in lines_at(evidence, fact.place)[:1]:
        lost = unread(line.source.tree, fact.place.line)
        value = getattr(lost.statement, "value", None) if lost is not None else None
        given = _given(line, value, fact.name) if isinstance(value, ast.Call) else None
        if lost is None or given is None or not isinstance(value, ast.Call):
            continue
        if fact.how == "dropped":
            yield (
                f"Keep the result as {given} at {line.at}",
                [line.edit(value, f"{given} = {IT}")],
                f"The lines below read {given} as it was before.",
            )
        elif fact.how == "repeated":
            yield from _chained(line, lost.statement, fact.name, given)
        else:
            readers = [call for call in _readers(line, lost.statement, given) if fact.how == "unread" or call.lineno <= fact.by]
            for call in readers if len(readers) == 1 else ():
                yield (
                    f"Pass {fact.name} instead of {given} to {called(call) or called(call.func)} at line {call.lineno}",
                    [line.edit(one, fact.name) for one in _passed(call, given)],
                    f"{fact.name} is computed from {given}, and nothing reads it.",
                )


def _given(line: Line, call: ast.Call, name: str) -> str | None:
    """The name of what a call is given, followed back to one that is not ``name`` itself."""
    for _ in range(20):
        first = next(iter(call.args), None)
        while isinstance(first, ast.Call) and first.args:
            first = first.args[0]
        if not isinstance(first, ast.Name):
            return None
        if first.id != name:
            return first.id
        before = [
            item
            for item in nodes(line.scope, ast.Assign)
            if item.lineno < first.lineno and [ast.unparse(one) for one in item.targets] == [name]
        ]
        if not before or not isinstance(before[-1].value, ast.Call):
            return None
        call = before[-1].value
    return None


def _passed(call: ast.Call, name: str) -> list[ast.Name]:
    """The arguments of a call that are this name, or items of a list that are."""
    given = [*call.args, *(word.value for word in call.keywords)]
    given += [item for one in given if isinstance(one, (ast.List, ast.Tuple)) for item in one.elts]
    return [one for one in given if isinstance(one, ast.Name) and one.id == name]


def _readers(line: Line, statement: ast.stmt, name: str) -> list[ast.Call]:
    """The calls below a statement that take a name, as long as the name stays what it is."""
    below = sorted(
        (call for call in nodes(line.scope, ast.Call) if call.lineno > (statement.end_lineno or statement.lineno)), key=_position
    )
    stores = [one for one in nodes(line.scope, ast.Name) if one.id == name and isinstance(one.ctx, ast.Store)]
    end = min((_position(one) for one in stores if one.lineno > statement.lineno), default=None)
    return [call for call in below if _passed(call, name) and (end is None or call.lineno <= end[0])]


def _position(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _chained(line: Line, statement: ast.stmt, name: str, given: str) -> Iterator[tuple[str, list[Edit], str]]:
    """Each layer of a loop on the result of the one before; the first one on what all of them were given."""
    held, loop = parents(line.source.tree), statement
    while not isinstance(loop, ast.For):
        if loop not in held or not isinstance(held[loop], ast.stmt):
            return
        loop = held[loop]  # type: ignore[assignment]
    if any(isinstance(one, ast.Name) and one.id in (name, given) for one in ast.walk(loop.target)):
        return
    calls = [call for one in loop.body for call in nodes(one, ast.Call) if _passed(call, given)]
    first = Statement(line.raised.function, line.raised.file, span_of(loop), f"{name} = {given}")
    for call in calls if len(calls) == 1 else ():
        yield (
            f"Pass {name} instead of {given} in each iteration of the loop at line {loop.lineno}",
            [first, *(line.edit(one, name) for one in _passed(call, given))],
            "Each layer then gets the result of the one before.",
        )


__all__ = ["use_result"]
