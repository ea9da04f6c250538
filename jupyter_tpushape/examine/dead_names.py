"""Whether the result of a statement is ever read, by the text around it, and layers whose results nothing uses, by the trace and the text. Nothing runs here.

Either alone is not enough for a layer. A result may be computed for a reader that this program does not have, and the text of a model says
nothing about which layers are trained.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ..flow import Location, Who
from ..flow.syntax import Function, loaded, makes_object
from ..trace.locations import location
from ..trace.recorder import line_of
from .evidence import Evidence
from .given_names import Texts

# Of a tensor, these are read without its values.
_STATIC = frozenset({"shape", "dtype", "ndim", "name"})
_MOST = 40


@dataclass(frozen=True)
class Unread:
    """A result that nothing reads: of the statement itself, or of the last one that computes something of it.

    Attributes:
        statement: the one whose result is read by nothing at all. name: what holds that; ``""`` where no name does.
        how: ``dropped`` where no name holds it, ``overwritten`` at line ``by``, ``repeated`` where each iteration of a loop overwrites that of
            the one before, ``unread`` where the function ends without a reader.
    """

    statement: ast.stmt
    name: str
    how: Literal["dropped", "overwritten", "repeated", "unread"]
    by: int = 0


def unread(tree: ast.Module, line: int) -> Unread | None:
    """What becomes of the result of the statement on a line."""
    text = _Text(tree)
    statement = text.at(line)
    return text.unread(statement, 0) if statement is not None else None


class _Text:
    def __init__(self, tree: ast.Module) -> None:
        # Of each statement: what it stands in, and the list there.
        self.places: dict[ast.stmt, tuple[ast.AST, list[ast.stmt]]] = {}
        for owner in ast.walk(tree):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(owner, name, None)
                if isinstance(block, list):
                    self.places.update((item, (owner, block)) for item in block if isinstance(item, ast.stmt))

    def at(self, line: int) -> ast.stmt | None:
        """The simple statement that runs on a line, where that is one."""
        found = [
            item for item in self.places if isinstance(item, (ast.Assign, ast.AnnAssign, ast.Expr)) and item.lineno <= line <= (item.end_lineno or item.lineno)
        ]
        return found[0] if len(found) == 1 else None

    def unread(self, statement: ast.stmt, depth: int) -> Unread | None:
        if isinstance(statement, ast.Expr):
            return Unread(statement, "", "dropped") if isinstance(statement.value, ast.Call) and not depth else None
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        name = targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""
        if not name or name.startswith("_") or depth > _MOST or self._shared(statement, name):
            return None
        passed: Unread | None = None
        for after, again in self._after(statement):
            if after is None:
                return passed or Unread(statement, name, "unread")
            if _reads(after, name):
                # What is computed of it may be read by nothing either.
                further = after is not statement and isinstance(after, ast.Assign) and not _keeps(after, name)
                passed = self.unread(after, depth + 1) if further else None
                if passed is None:
                    return None
            if isinstance(after, ast.Assign) and [ast.unparse(one) for one in after.targets] == [name]:
                return passed or Unread(statement, name, "repeated" if again else "overwritten", after.lineno)
            if after is again:
                return passed or Unread(statement, name, "repeated", after.lineno)
            if any(isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store) for one in ast.walk(after)):
                return None  # given another value on some ways through it
        return None

    def _after(self, statement: ast.stmt) -> Iterator[tuple[ast.stmt | None, ast.stmt | None]]:
        """What may run after a statement, in order, to where its function ends (``None``), or its loop gets to it again.

        The second is the statement to which an iteration gets in the end, for those that run in the next one.
        """
        while True:
            owner, block = self.places[statement]
            yield from ((item, None) for item in block[block.index(statement) + 1 :])
            if isinstance(owner, ast.For) and block is owner.body:
                yield from ((item, statement) for item in block[: block.index(statement) + 1])
                return
            if isinstance(owner, Function):
                yield None, None
                return
            if not isinstance(owner, (ast.If, ast.With)):
                return
            statement = owner

    def _shared(self, statement: ast.stmt, name: str) -> bool:
        """Whether others than the lines around a statement may read a name: it is the file's, or a function inside reads it."""
        owner: ast.AST = statement
        while isinstance(owner, ast.stmt) and owner in self.places:
            owner = self.places[owner][0]
            if isinstance(owner, Function):
                break
        for item in ast.walk(owner):
            if isinstance(item, (ast.Global, ast.Nonlocal)) and name in item.names:
                return True
            if isinstance(item, Function) and item is not owner and any(_reads(one, name) for one in ast.walk(item)):
                return True
        return False


def _keeps(statement: ast.stmt, name: str) -> bool:
    return any(makes_object(call) and name in loaded(call) - loaded(call.func) for call in ast.walk(statement) if isinstance(call, ast.Call))


def _reads(node: ast.AST, name: str) -> bool:
    static = {id(one.value) for one in ast.walk(node) if isinstance(one, ast.Attribute) and one.attr in _STATIC}
    return any(isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load) and id(one) not in static for one in ast.walk(node)) or any(
        isinstance(one, ast.AugAssign) and ast.unparse(one.target) == name for one in ast.walk(node)
    )


@dataclass(frozen=True)
class UnusedResult:
    """A result that is lost at ``place``, and the layers that only it was computed with; ``nodes``: those that are shown.

    ``trained``: they train weights. Without that, a result is lost by mistake only if no name holds it.
    """

    layers: tuple[Who, ...]
    nodes: tuple[str, ...]
    trained: bool
    name: str
    how: str
    by: int
    place: Location


@dataclass(frozen=True)
class _Candidate:
    layer: Who
    node: str
    place: tuple[str, int]
    trained: bool


def unused_results(seen: Any) -> list[UnusedResult]:
    """The lost results of a traced program, in the order of their layers."""
    found: dict[tuple[str, int], tuple[Unread, list[_Candidate]]] = {}
    texts: dict[str, Texts] = {}
    for one in _candidates(seen):
        file, line = one.place
        tree = texts.setdefault(file, Texts.of(file)).tree(file)
        lost = unread(tree, line) if tree is not None else None
        if lost is not None and (one.trained or lost.how == "dropped"):
            found.setdefault((file, lost.statement.lineno), (lost, []))[1].append(one)
    return [
        UnusedResult(
            tuple(one.layer for one in lost_by), tuple(one.node for one in lost_by if one.node), any(one.trained for one in lost_by),
            lost.name, lost.how, lost.by, where,
        )
        for at, (lost, lost_by) in found.items()
        if (where := location(at)) is not None
    ]  # fmt: skip


def _candidates(seen: Any) -> Iterator[_Candidate]:
    """Layers without an effect, each with its node, if it has one, and the line that called it."""
    evidence: Evidence = seen.evidence
    for call, trained in seen.run.unused:
        node = seen.call_ids.get(id(call), "")
        if node and call.called is not None:
            yield _Candidate(Who.of(evidence.flow.node(node)), node, call.called, trained)
    adapter = seen.adapter
    network = adapter.graph_network(seen.model) if adapter.is_model(seen.model) else None
    for layer in adapter.beside(network) if network is not None else ():
        place = _called(seen, layer) if adapter.is_layer(layer) else None
        if place is not None:
            trained = bool(getattr(layer, "trainable", False)) and any(weight.trainable for weight in adapter.weights(layer))
            yield _Candidate(Who(str(layer.name), type(layer).__name__, "layer", location(place)), "", place, trained)


def _called(seen: Any, layer: Any) -> tuple[str, int] | None:
    """The line that called a layer on a symbolic tensor: the last one that the builder ran, or the one that made it, if that calls it at once."""
    places = seen.recorder.call_places.get(id(layer))
    if places:
        return tuple(places[-1])
    made = line_of(layer)
    tree = Texts.of(made[0]).tree(made[0]) if made is not None else None
    if made is None or tree is None:
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Call)]
    return made if any(node.lineno <= made[1] <= (node.end_lineno or 0) for node in calls) else None
