"""Candidates that use what the program makes and never reads: a result, the map of another level, or a name in place of one that does not fit."""

from __future__ import annotations

import ast
import difflib
import itertools
from collections.abc import Iterator

from ...examine.dead_names import unread
from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import Function, called, makes_object
from ...rules.facts.layers import LayerRaised
from ...rules.facts.lines import KeyMissing
from ...rules.facts.loss import GridApart
from ...rules.facts.scores import NoWeights
from ...rules.facts.training import ResultUnused
from ..edits import Edit
from ..edits.expression import IT
from ..text.arguments import defaults_of
from ..text.source import nodes, parents
from .edits import Made, append, failing, of, received
from .ends import ends_of
from .line import Line, assigned_to, constants, lines_at, lines_of, listed, running, short, size_of


def other_result(evidence: Evidence, finding: Finding) -> Made:
    """The one result of a call that nothing reads, in place of the other."""
    _, predictions = ends_of(evidence, finding)
    found = [evidence.flow.node(name) for name in (*finding.nodes, *([predictions.source] if predictions is not None else []))]
    places = {where: None for node in found for where in (node.location, node.called) if where is not None}
    for line in (one for where in places for one in lines_at(evidence, where)[:1]):
        for item in nodes(line.scope, ast.Assign):
            names = [one.id for one in listed(item.targets[0]) if isinstance(one, ast.Name)]
            if not isinstance(item.value, ast.Call) or len(names) < 2:
                continue
            loads = {name: _loads(line.scope, name) for name in names}
            unread = [name for name in names if not loads[name] and not name.startswith("_")]
            read = [name for name in names if len(loads[name]) == 1]
            if len(unread) == 1 and len(read) == 1:
                place = loads[read[0]][0]
                yield (
                    f"Use {unread[0]} instead of {read[0]} at line {place.lineno}",
                    [line.edit(place, unread[0])],
                    f"Line {item.lineno} gives both, and nothing reads {unread[0]}.",
                )
                return


def _loads(scope: ast.AST, name: str) -> list[ast.Name]:
    return [item for item in nodes(scope, ast.Name) if item.id == name and isinstance(item.ctx, ast.Load)]


def other_level(evidence: Evidence, finding: Finding) -> Made:
    """A map of another level that no merge reads, where one is joined twice."""
    node, edges = evidence.failed, received(evidence)
    if node is None or len(edges) != 2 or len(edges[0].spec.shape or ()) not in (3, 4, 5):
        return
    for line in lines_at(evidence, node.called or node.location)[:1]:
        merges = [one for call in nodes(line.scope, ast.Call) for one in call.args[:1] if len(listed(one)) == 2]
        here = [one for one in merges if one.lineno <= line.raised.line <= (one.end_lineno or 0)]
        joined = [item.id for one in merges for item in listed(one) if isinstance(item, ast.Name)]
        for mine in listed(here[0]) if len(here) == 1 else ():
            if not isinstance(mine, ast.Name) or joined.count(mine.id) < 2:
                continue
            made = _maker(line, mine.id)
            for item in nodes(line.scope, ast.Assign):
                name = item.targets[0]
                alike = made and isinstance(item.value, ast.Call) and called(item.value) == made and item.lineno < line.raised.line
                if alike and isinstance(name, ast.Name) and name.id not in joined:
                    yield (
                        f"Use {name.id} instead of {mine.id} at line {mine.lineno}",
                        [line.edit(mine, name.id)],
                        f"{mine.id} is joined at another line already, and nothing joins {name.id}.",
                    )


def _maker(line: Line, name: str) -> str:
    made = [item.value for item in nodes(line.scope, ast.Assign) if [ast.unparse(one) for one in item.targets] == [name]]
    return called(made[-1]) if made and isinstance(made[-1], ast.Call) else ""


def steps_to_predict(evidence: Evidence, finding: Finding) -> Made:
    """As many first steps of the output as a name says that nothing reads."""
    fact, (_, predictions) = finding.fact, ends_of(evidence, finding)
    if not isinstance(fact, GridApart) or predictions is None or len(fact.labels) != 3 or fact.axis != 1:
        return
    wanted, have = fact.labels[1] or 0, (fact.predictions[1] if len(fact.predictions) == 3 else 0) or 0
    head = evidence.flow.node(predictions.source)
    for line in lines_at(evidence, head.location or head.called)[:1] if 0 < wanted < have else ():
        arguments = getattr(line.scope, "args", None)
        given = defaults_of(arguments) if isinstance(arguments, ast.arguments) else []
        named = [name for name, value in given if size_of(value) == wanted and not _loads(line.scope, name)]
        named += [name for name, made in constants(line.source.tree) if made.value == wanted and not _loads(line.source.tree, name)]
        if len(named) == 1:
            yield (
                f"Keep the first {wanted} of the {have} steps after {head.name}: Cropping1D((0, {have - wanted}))",
                [append(head.name, "Cropping1D", cropping=[0, have - wanted])],
                f"{named[0]} is {wanted}, like the steps of the labels, and nothing reads it.",
            )


@of(LayerRaised)
def one_of_several(evidence: Evidence, finding: Finding, fact: LayerRaised) -> Made:
    """One of several tensors that a name holds, for an inner model that takes one."""
    node, _ = failing(evidence)
    # What one call returned, and not a list that the program made.
    givers = [evidence.flow.node(edge.source) for edge in received(evidence)]
    if not 1 < len(givers) < 5 or len({giver.parent or giver.id for giver in givers}) > 1:
        return
    for line in lines_at(evidence, node.called or node.location):
        given = line.node.args[0] if isinstance(line.node, ast.Call) and len(line.node.args) == 1 else None
        if not isinstance(given, ast.Name):
            continue
        for i in range(len(givers)):
            yield (
                f"Pass {short(given)}[{i}] to {node.name} at {line.at}",
                [line.edit(given, f"{IT}[{i}]")],
                f"{short(given)} holds {len(givers)} tensors, and {node.name} takes one.",
            )


_DEPTH = 2  # statements back from the line that raised
_MOST_NAMES = 3  # candidates: others come after them


def name_unread(evidence: Evidence, finding: Finding) -> Made:
    """A tensor that nothing reads, in place of one of its rank and kind at the line that raised, or where its operands were made."""
    yield from itertools.islice(_unread(evidence), _MOST_NAMES)


@of(KeyMissing)
def key_like_it(evidence: Evidence, finding: Finding, fact: KeyMissing) -> Made:
    """The one key of the data that is spelled much like the one that it lacks."""
    alike = difflib.get_close_matches(fact.key, fact.keys, n=2, cutoff=0.7)
    for line in lines_of(evidence)[:1] if len(alike) == 1 else ():
        for item in line.around(ast.Subscript):
            if ast.unparse(item.value) == fact.name and isinstance(item.slice, ast.Constant) and item.slice.value == fact.key:
                yield (f"Use the key {alike[0]!r} of {fact.name} at {line.at}", [line.edit(item.slice, f'"{alike[0]}"')], f"The data has no key {fact.key!r}.")
                return


def _unread(evidence: Evidence) -> Made:
    # What a cell never reads, another one may.
    for line in (line for line in running(evidence) if isinstance(line.scope, Function)):
        shapes = line.shape_of_names()
        arguments = _arguments(line.scope)
        names = [item for item in nodes(line.scope, ast.Name) if isinstance(item.ctx, ast.Load)]
        read = {item.id for item in names}
        unread = [name for name in shapes if name.isidentifier() and not name.startswith("_") and name not in read]
        for place in _places(line):
            for name in unread:
                mine, its = shapes.get(place.id, ()), shapes[name]
                # Two arguments, or two that the function makes: what comes from outside is no twin of what is made here.
                alike = len(mine) == len(its) and (place.id in arguments) == (name in arguments)
                if alike and mine != its and line.specs[place.id].dtype == line.specs[name].dtype:
                    yield (f"Use {name} instead of {place.id} at line {place.lineno}", [line.edit(place, name)], f"{name} is never used.")


@of(NoWeights)
def predictions_unread(evidence: Evidence, finding: Finding, fact: NoWeights) -> Made:
    """The predictions, where a loss reads its labels twice and the predictions never."""
    lines = [line for node in evidence.flow.nodes if node.parent in finding.nodes for line in lines_at(evidence, node.called)[:1]]
    for line in lines[:1]:
        arguments = [one.arg for one in line.scope.args.args if one.arg != "self"] if isinstance(line.scope, Function) else []
        loads = [item for item in nodes(line.scope, ast.Name) if isinstance(item.ctx, ast.Load)]
        labels = [item for item in loads if arguments and item.id == arguments[0]]
        if len(arguments) > 1 and len(labels) > 1 and not any(item.id == arguments[1] for item in loads):
            for place in reversed(labels):
                yield (
                    f"Use {arguments[1]} instead of {arguments[0]} at line {place.lineno}",
                    [line.edit(place, arguments[1])],
                    f"{arguments[1]} is never used.",
                )


def _arguments(scope: ast.AST) -> set[str]:
    if not isinstance(scope, Function):
        return set()
    return {item.arg for item in (*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs)}


def _places(line: Line) -> list[ast.Name]:
    found: dict[ast.Name, None] = {}
    given = line.operands()
    for _ in range(_DEPTH + 1):
        names = [item for one in given for item in nodes(one, ast.Name)]
        found.update(dict.fromkeys(names))
        given = [made for item in names if (made := assigned_to(line, item)) is not item]
    return [*found]


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
    for _ in range(20):
        names = [one.id for given in call.args for one in _operands(given)]
        if name not in names:
            return list(dict.fromkeys(names))
        before = [item for item in nodes(line.scope, ast.Assign) if item.lineno < call.lineno and [ast.unparse(one) for one in item.targets] == [name]]
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
    given = [*call.args, *(word.value for word in call.keywords)]
    given += [item for one in given if isinstance(one, (ast.List, ast.Tuple)) for item in one.elts]
    return [one for one in given if isinstance(one, ast.Name) and one.id == name]


def _taken(line: Line, statement: ast.stmt, name: str, by: int) -> list[ast.Name]:
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
