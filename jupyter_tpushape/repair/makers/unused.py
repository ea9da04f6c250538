"""Candidates that use a result which nothing reads: the call that passes it by gets it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.dead_names import unread
from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import makes_object
from ...rules.facts.training import ResultUnused
from ..edits import Edit
from ..edits.expression import IT
from ..text.source import nodes, parents
from .edits import Made, of
from .line import Line, lines_at

_MOST = 4


@of(ResultUnused)
def use_result(evidence: Evidence, finding: Finding, fact: ResultUnused) -> Made:
    """The result instead of what its layer was given, in the one statement that takes that next."""
    for line in lines_at(evidence, fact.place)[:1]:
        lost = unread(line.source.tree, fact.place.line)
        value = getattr(lost.statement, "value", None) if lost is not None else None
        if lost is None or not isinstance(value, ast.Call):
            continue
        names = _given(line, value, fact.name)
        if fact.how == "dropped" and names:
            yield from _kept(evidence, line, value, names[0])
        elif fact.how == "repeated" and names:
            yield from _chained(line, lost.statement, fact.name, names[0])
        elif fact.how in ("overwritten", "unread"):
            found = [(name, taken) for name in names if (taken := _taken(line, lost.statement, name, fact.by))]
            for name, taken in found if len(found) == 1 else ():
                yield (
                    f"Use {fact.name} instead of {name} at line {taken[0].lineno}",
                    [line.edit(one, fact.name) for one in taken],
                    f"{fact.name} is computed from {name}, and nothing reads it.",
                )


def _kept(evidence: Evidence, line: Line, call: ast.Call, name: str) -> Made:
    """A name for the result, and for those that are dropped beside it: one alone would leave the others."""
    yield f"Keep the result as {name} at {line.at}", [line.edit(call, f"{name} = {IT}")], f"The lines below read {name} as it was before."
    edits: list[Edit] = []
    for one in evidence.facts.get("unused", ()):
        for other in lines_at(evidence, one.place)[:1] if one.how == "dropped" else ():
            lost = unread(other.source.tree, one.place.line)
            value = getattr(lost.statement, "value", None) if lost is not None else None
            names = _given(other, value, "") if isinstance(value, ast.Call) else []
            edits += [other.edit(value, f"{names[0]} = {IT}")] if names and isinstance(value, ast.Call) else []
    if 1 < len(edits) <= _MOST:
        yield f"Keep the results of {len(edits)} calls that are dropped", edits, "The lines below read the names as they were before."


def _given(line: Line, call: ast.Call, name: str) -> list[str]:
    """The names of what a call is given, followed back to others than ``name`` itself."""
    for _ in range(20):
        names = [one.id for given in call.args for one in _operands(given)]
        if name not in names:
            return list(dict.fromkeys(names))
        before = [
            item
            for item in nodes(line.scope, ast.Assign)
            if item.lineno < call.lineno and [ast.unparse(one) for one in item.targets] == [name]
        ]
        if not before or not isinstance(before[-1].value, ast.Call):
            return []
        call = before[-1].value
    return []


def _operands(node: ast.expr) -> Iterator[ast.Name]:
    """The names in an argument that are given to a layer: by themselves, in a list, or through another call."""
    if isinstance(node, ast.Name):
        yield node
    for one in node.elts if isinstance(node, (ast.List, ast.Tuple)) else node.args if isinstance(node, ast.Call) else ():
        yield from _operands(one)


def _passed(call: ast.Call, name: str) -> list[ast.Name]:
    """The arguments of a call that are this name, or items of a list that are."""
    given = [*call.args, *(word.value for word in call.keywords)]
    given += [item for one in given if isinstance(one, (ast.List, ast.Tuple)) for item in one.elts]
    return [one for one in given if isinstance(one, ast.Name) and one.id == name]


def _taken(line: Line, statement: ast.stmt, name: str, by: int) -> list[ast.Name]:
    """Where the one statement below takes a name: as arguments of a call, or as what it returns; as long as the name stays what it is."""
    last = statement.end_lineno or statement.lineno
    loads = [one for one in nodes(line.scope, ast.Name) if one.id == name and isinstance(one.ctx, ast.Load) and one.lineno > last]
    stores = [one.lineno for one in nodes(line.scope, ast.Name) if one.id == name and isinstance(one.ctx, ast.Store) and one.lineno > last]
    end = min([*stores, *([by] if by else [])], default=None)
    loads = [one for one in loads if end is None or one.lineno <= end]
    held = parents(line.source.tree)
    places = {_statement(held, one) for one in loads}
    if len(places) != 1:
        return []
    (place,) = places
    if isinstance(place, ast.Return) and place.value in loads:
        return [place.value]  # type: ignore[list-item]
    calls = [call for call in nodes(place, ast.Call) if _passed(call, name) and not makes_object(call)] if place is not None else []
    return _passed(calls[0], name) if len(calls) == 1 else []


def _statement(held: dict[ast.AST, ast.AST], node: ast.AST) -> ast.AST | None:
    found: ast.AST | None = node
    while found is not None and not isinstance(found, ast.stmt):
        found = held.get(found)
    return found


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
    first = line.before(loop, f"{name} = {given}")
    for call in calls if len(calls) == 1 else ():
        yield (
            f"Pass {name} instead of {given} in each iteration of the loop at line {loop.lineno}",
            [first, *(line.edit(one, name) for one in _passed(call, given))],
            "Each layer then gets the result of the one before.",
        )


__all__ = ["use_result"]
