"""Candidates for a layer that has its weights already and is called on a tensor of another size: a layer of its own for that call."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding, Node
from ..edits import Statement
from ..edits.expression import Expression
from ..text.source import nodes, parents
from .edits import Fix, Made
from .line import Line, lines_at, makers_of, own_layer

_WHY = "The weights of {} were created for another size."


def another_instance(evidence: Evidence, finding: Finding) -> Made:
    """A layer of its own where one that has its weights already is called again."""
    node = own_layer(evidence) or evidence.failed
    times = node.config.get("call") if node is not None else None
    if node is None or not isinstance(times, int) or times < 2:
        return
    for line in lines_at(evidence, node.location)[:1]:
        made = makers_of(line, node)
        held = [item for item in nodes(line.scope, ast.Assign) if len(made) == 1 and item.value is made[0] and len(item.targets) == 1]
        if len(held) == 1 and isinstance(held[0].targets[0], ast.Name):
            yield from _of_name(line, node, held[0], held[0].targets[0].id, times)
        elif len(held) == 1 and isinstance(held[0].targets[0], ast.Attribute):
            yield from _of_attribute(line, node, held[0], held[0].targets[0], times)


def _of_name(line: Line, node: Node, held: ast.Assign, name: str, times: int) -> Made:
    uses = [item for item in nodes(line.scope, ast.Name) if isinstance(item.ctx, ast.Load) and item.id == name]
    uses.sort(key=lambda item: (item.lineno, item.col_offset))
    above = parents(line.source.tree)
    if len(uses) == 1 and (loop := _loop(above, uses[0], held)) is not None:
        yield _in_each_turn(line, node, held, name, uses[0], loop)
    elif times <= len(uses):
        use = uses[times - 1]
        around = above[use]
        if isinstance(around, (ast.List, ast.Tuple)) or (isinstance(around, ast.Call) and around.func is use):
            yield (
                f"Create another {node.op} at line {use.lineno} instead of using {name} again",
                [line.edit(use, line.source.of(held.value))],
                _WHY.format(name),
            )


def _loop(above: dict[ast.AST, ast.AST], use: ast.Name, held: ast.Assign) -> ast.For | None:
    """The innermost loop that calls what was created before it."""
    at: ast.AST | None = above.get(use)
    if not isinstance(at, ast.Call) or at.func is not use:
        return None
    while at is not None and not isinstance(at, ast.For):
        at = above.get(at)
    inside = {id(item) for item in ast.walk(at)} if at is not None else set()
    return at if isinstance(at, ast.For) and id(held) not in inside else None


def _in_each_turn(line: Line, node: Node, held: ast.Assign, name: str, use: ast.Name, loop: ast.For) -> Fix:
    """The layer created in each turn of the loop, with what the loop goes through where it was created with the first of it."""
    text = line.source.of(held.value)
    if isinstance(loop.target, ast.Name):
        first = f"{line.source.of(loop.iter)}[0]"
        text = text.replace(first, loop.target.id)
    return (
        f"Create a {node.op} in each turn of the loop at line {use.lineno} instead of {name} before it",
        [line.edit(use, text), line.removed(held)],
        _WHY.format(name),
    )


def _of_attribute(line: Line, node: Node, held: ast.Assign, target: ast.Attribute, times: int) -> Made:
    """A second attribute, created like the first one, for the call that does not fit."""
    name, owner = ast.unparse(target), line.owner()
    uses = [item for item in nodes(owner, ast.Call) if ast.unparse(item.func) == name]
    uses.sort(key=lambda item: (item.lineno, item.col_offset))
    # What is inside of another call runs first.
    known = {ast.unparse(item) for item in nodes(owner, ast.Attribute)}
    if not isinstance(owner, ast.ClassDef) or not 2 <= times <= len(uses) or len({one.lineno for one in uses}) < len(uses):
        return
    if any(_alike(item, held) and _reads(owner, item) == 0 for item in nodes(owner, ast.Assign)):
        return  # one that nothing calls is meant
    other = next(f"{name}_{number}" for number in range(times, 99) if f"{name}_{number}" not in known)
    edits: list[Statement | Expression] = [
        line.before(held, f"{other} = {line.source.of(held.value)}"),
        line.edit(uses[times - 1].func, other),
    ]
    yield f"Create another {node.op} for line {uses[times - 1].lineno} instead of using {name} again", list(edits), _WHY.format(name)


def _alike(item: ast.Assign, held: ast.Assign) -> bool:
    """Whether another attribute holds a layer of the same class."""
    made, own = item.value, held.value
    return item is not held and isinstance(made, ast.Call) and isinstance(own, ast.Call) and ast.unparse(made.func) == ast.unparse(own.func)


def _reads(owner: ast.ClassDef, item: ast.Assign) -> int:
    names = {ast.unparse(target) for target in item.targets}
    return sum(isinstance(node.ctx, ast.Load) and ast.unparse(node) in names for node in nodes(owner, ast.Attribute))
