"""Candidates that put a name that nothing reads in place of one that is read where it does not fit."""

from __future__ import annotations

import ast
import difflib
import itertools

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import Function
from ...rules.facts.lines import KeyMissing
from ...rules.facts.scores import NoWeights
from ..text.source import nodes
from .edits import Made, of
from .line import Line, assigned_to, lines_at, lines_of, running

_DEPTH = 2  # statements back from the line that raised
_MOST = 3  # candidates: others come after them


def name_unread(evidence: Evidence, finding: Finding) -> Made:
    """A tensor that nothing reads, in place of one of its rank and kind at the line that raised, or where its operands were made."""
    yield from itertools.islice(_unread(evidence), _MOST)


@of(KeyMissing)
def key_like_it(evidence: Evidence, finding: Finding, fact: KeyMissing) -> Made:
    """The one key of the data that is spelled much like the one that it lacks."""
    alike = difflib.get_close_matches(fact.key, fact.keys, n=2, cutoff=0.7)
    for line in lines_of(evidence)[:1] if len(alike) == 1 else ():
        for item in line.around(ast.Subscript):
            if ast.unparse(item.value) == fact.name and isinstance(item.slice, ast.Constant) and item.slice.value == fact.key:
                yield (
                    f"Use the key {alike[0]!r} of {fact.name} at {line.at}",
                    [line.edit(item.slice, f'"{alike[0]}"')],
                    f"The data has no key {fact.key!r}.",
                )
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
                    yield (
                        f"Use {name} instead of {place.id} at line {place.lineno}",
                        [line.edit(place, name)],
                        f"{name} is never used.",
                    )


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
    """The names that the expression reads, then those that its operands were made of."""
    found: dict[ast.Name, None] = {}
    given: list[ast.expr] = line.operands()
    for _ in range(_DEPTH + 1):
        names = [item for one in given for item in nodes(one, ast.Name)]
        found.update(dict.fromkeys(names))
        given = [made for item in names if (made := assigned_to(line, item)) is not item]
    return [*found]
