"""Orders drawn at random or sorted by: which arrays of the data are put in one, and which are not. Nothing runs here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..flow.paths import flatten
from ..flow.syntax import called, loaded
from .given_names import At, Texts, own_statements
from .program import Examined
from .row_steps import Array, Step, arrays_of

_DRAWS = frozenset({"permutation", "shuffle", "argsort"})


@dataclass(frozen=True)
class Draw:
    """An order that the rows of an array are put in: by a statement in place, by a function's result, or by an index.

    ``order``: the name of the index, where it has one; two draws with the same name are the same order.
    """

    at: At
    node: ast.expr | ast.stmt
    call: ast.Call | None = None
    step: Step | None = None
    order: str = ""

    @property
    def text(self) -> str:
        """As written."""
        return ast.unparse(self.node)

    def known_to(self, one: Array, other: Array) -> bool:
        """Whether another array is computed from the order, or from ``one`` after it was put in it."""
        in_place = self.call.args[0] if self.step is None and self.call is not None else None
        late = one.names[: one.names.index(ast.unparse(in_place)) + 1] if in_place is not None else {*one.names} - loaded(self.node)
        return bool({*late, self.order} & other.mentions - {""})

    def among(self, others: list[Draw]) -> bool:
        """Whether it is one of these orders."""
        return any(self.node is other.node or bool(self.order and self.order == other.order) for other in others)


@dataclass(frozen=True)
class Orders:
    """Two arrays with as many rows: ``one`` is put in an order that ``other`` is not put in; ``theirs``: the order that ``other`` gets instead."""

    one: Array
    other: Array
    draw: Draw
    theirs: Draw | None = None

    @property
    def alone(self) -> bool:
        return self.theirs is None


def orders_apart(seen: Examined) -> Orders | None:
    """The first array that is put in an order without another one that is handed over with it."""
    arrays = arrays_of(seen, only="|".join((*_DRAWS, "repeat")))
    texts = [Texts.of(one.at.file) for one in arrays[:1]]
    drawn = [(one, list(_draws(texts[0], one))) for one in arrays]
    for one, draws in drawn:
        beside = [others for other, others in drawn if other.path[0] == one.path[0]]
        for other, others in drawn:
            odd = [draw for draw in draws if not draw.among(others) and not draw.known_to(one, other)]
            if one.path[0] != other.path[0] and one.rows == other.rows and (repeated := _repeated(one, other)) is not None:
                return Orders(one, other, repeated)
            # One of several inputs is paired with other samples on purpose.
            if not odd or one.path[0] == other.path[0] or one.rows != other.rows or not all(odd[0].among(given) for given in beside):
                continue
            theirs = next((draw for draw in others if not draw.among(draws)), None)
            if not _constant(seen, other) and not (theirs is not None and _seeded(texts[0])):
                return Orders(one, other, odd[0], theirs)
    return None


def _repeated(one: Array, other: Array) -> Draw | None:
    """The step that repeats each row as often as the other array repeats as a whole, or has parts."""
    joins = [step for array in (one, other) for step in array.steps if step.kind == "joined"]
    calls = [step.node for step in joins if isinstance(step.node, ast.Call)]
    said = [ast.unparse(word) for call in calls for word in call.keywords]
    if len(calls) != 2 or joins[0] not in one.steps or joins[1] not in other.steps or {*said} - {"axis=0"} or called(calls[0]) != "repeat":
        return None
    times, parts = (ast.unparse(call.args[-1]).strip("()").split(",")[0] for call in calls)
    many = parts if called(calls[1]) == "tile" else str(len(getattr(calls[1].args[0], "elts", ())))
    return Draw(joins[0].at, calls[0], calls[0], joins[0]) if times == many and len(calls[0].args) == 2 else None


def _constant(seen: Examined, array: Array) -> bool:
    index = ("x", "y", "weight").index(str(array.path[0]))
    batches = (dict(flatten(batch[index], array.path[0])).get(array.path) for batch in getattr(seen.sample, "sampled", None) or ())
    found = [values for values in batches if values is not None and len(values)]
    return bool(found) and all(np.array_equal(values, np.broadcast_to(values[:1], values.shape)) for values in found)


def _draws(texts: Texts, array: Array) -> Iterator[Draw]:
    for step in array.steps:
        if step.kind == "shuffled" and isinstance(step.node, ast.Call):
            yield Draw(step.at, step.node, step.node, step)
        index = step.index_node
        if isinstance(index, ast.Call) and called(index) in _DRAWS:
            yield Draw(step.at, step.node, index, step)
        elif isinstance(index, ast.Name) and _is_drawn(texts, step.at, index.id):
            yield Draw(step.at, step.node, None, step, index.id)
    for at in dict.fromkeys(at for at, _ in array.places):
        for item in own_statements(at.scope, ast.Assign):  # x[:] = x[order]
            target, value = item.targets[0], item.value
            index = value.slice if isinstance(target, ast.Subscript) and isinstance(value, ast.Subscript) else None
            here = At(at.file, at.scope, item.lineno)
            if isinstance(index, ast.Name) and ast.unparse(getattr(target, "value", item)) in array.names and _is_drawn(texts, here, index.id):
                yield Draw(here, item, None, None, index.id)
        for statement, call in _shuffles(at.scope):
            if ast.unparse(call.args[0]) in array.names:
                yield Draw(At(at.file, at.scope, statement.lineno), statement, call)


def _shuffles(scope: ast.AST) -> Iterator[tuple[ast.Expr, ast.Call]]:
    for statement in own_statements(scope, ast.Expr):
        call = statement.value
        if isinstance(call, ast.Call) and called(call) == "shuffle" and len(call.args) == 1 and not call.keywords:
            yield statement, call


def _is_drawn(texts: Texts, at: At, name: str) -> bool:
    """Whether a name holds an order: the result of a permutation, or numbers that a statement shuffles."""
    given = texts.given(name, at)
    value = given[2] if given is not None else None
    if isinstance(value, ast.Subscript):
        value = value.value  # a part of an order
    if isinstance(value, ast.Name) and value.id != name and given is not None:
        return _is_drawn(texts, given[0], value.id)
    if isinstance(value, ast.Call) and called(value) in _DRAWS:
        return True
    return given is not None and any(ast.unparse(call.args[0]) == name for _, call in _shuffles(given[0].scope))


def _seeded(texts: Texts) -> bool:
    calls = [item for tree in texts.loaded() for item in ast.walk(tree) if isinstance(item, ast.Call)]
    makers = [call for call in calls if called(call) in ("default_rng", "RandomState", "Random")]
    seeds = [call for call in calls if called(call) in ("seed", "set_state") or any(word.arg == "random_state" for word in call.keywords)]
    return len(makers) > 1 or bool(seeds)
