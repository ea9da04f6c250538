"""Candidates that use what the program makes and never reads: another result of a call, the map of another level, the length to predict."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.layers import LayerRaised
from ...rules.facts.loss import GridApart
from ..edits.expression import IT
from ..text.arguments import defaults_of
from ..text.source import nodes
from .edits import Made, append, failing, of, received
from .ends import ends_of
from .line import Line, constants, lines_at, listed, short, size_of


def other_result(evidence: Evidence, finding: Finding) -> Made:
    """The one result of a call that nothing reads, in place of the other: pooled vectors instead of a sequence."""
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
    """A map of another level that no merge reads, where one is joined twice: a skip connection copied from the line above."""
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
    """The function whose result a name holds."""
    made = [item.value for item in nodes(line.scope, ast.Assign) if [ast.unparse(one) for one in item.targets] == [name]]
    return called(made[-1]) if made and isinstance(made[-1], ast.Call) else ""


def steps_to_predict(evidence: Evidence, finding: Finding) -> Made:
    """As many first steps of the output as a name says that nothing reads, where the labels have that many."""
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
