"""Candidates for loops: what they carry from step to step, and bodies that fill a list of the program, which JAX runs once."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import Function, called, names_in
from ...rules.facts.calls import LeakedOut
from ...rules.facts.transforms import CarryApart, StructureApart
from ..edits import Edit
from ..text.source import given_to, nodes, parents, statement_of
from .edits import Made, of
from .line import Line, calls_of, lines_at, lines_of, listed, running

_FILLED = frozenset({"zeros", "ones", "full"})


def column(evidence: Evidence, finding: Finding) -> Made:
    """A first state with an axis of size 1 behind the samples, where it has one value for each; else with an axis for the samples."""
    for line in lines_of(evidence)[:1]:
        flat = [node.id for node in line.operands() if isinstance(node, ast.Name) and len(line.shape(node) or ()) == 1]
        for name in flat:
            shape = _first(line, name)
            if shape is None or len(listed(shape)) > 1:
                continue
            size = line.source.of((listed(shape) or [shape])[0])
            read = [one for one in nodes(line.source.tree, ast.Assign) if size in map(ast.unparse, listed(one.targets[0]) or one.targets)]
            rows = "shape" in " ".join([size, *(ast.unparse(one.value) for one in read)])
            of = [arg.arg for outer in line.around(ast.FunctionDef) if outer is not line.scope for arg in outer.args.args if arg.arg != "self"]
            text = f"({size}, 1)" if rows else f"({of[0]}.shape[0], {size})" if of else size
            yield (f"Create the first state with shape {text} at line {shape.lineno}", [line.edit(shape, text)], f"{name} then has one row for each sample.")


def as_before(evidence: Evidence, finding: Finding) -> Made:
    """What a step leaves for the next one, given the axes that the same name has before the loop."""
    for line in running(evidence):
        read = {item.id for item in nodes(line.node or line.scope, ast.Name)}
        loops = line.around((ast.For, ast.While), line.scope)
        for again in (item for loop in loops for item in nodes(loop, ast.Assign)):
            name = again.targets[0]
            if not isinstance(name, ast.Name) or name.id not in read:
                continue
            for call in given_to(line.scope, name, loops[0].lineno):
                if isinstance(call, ast.Call) and call.args and _alike(call.args[0], again.value):
                    new = line.source.of(call).replace(line.source.of(call.args[0]), line.source.of(again.value), 1)
                    yield (
                        f"Give {name.id} the same axes at line {again.lineno} as at line {call.lineno}: {new}",
                        [line.edit(again.value, new)],
                        "The first step of the loop receives it with these axes.",
                    )


def appended(evidence: Evidence, finding: Finding) -> Made:
    """What a loop gives to the name of an empty list, appended to that list."""
    for line in running(evidence):
        for loop in nodes(line.scope, ast.For):
            for again in (item for item in nodes(loop, ast.Assign) if isinstance(item.targets[0], ast.Name)):
                name = ast.unparse(again.targets[0])
                before = given_to(line.scope, again.targets[0], loop.lineno)
                empty = bool(before) and isinstance(before[-1], ast.List) and not before[-1].elts
                if empty and loop.lineno < again.lineno < line.raised.line and name not in names_in(ast.unparse(again.value)):
                    new = f"{name}.append({line.source.of(again.value)})"
                    yield (
                        f"Add each result to the list {name} at line {again.lineno}: {name}.append",
                        [line.edit(again, new)],
                        f"{name} is an empty list before the loop, and each iteration overwrites it.",
                    )


def other_order(evidence: Evidence, finding: Finding) -> Made:
    """The list that what is merged is taken from, by a loop or by ``pop``, in reverse order: the skips of a U-Net."""
    node = evidence.failed
    for line in lines_at(evidence, node.called or node.location)[:1] if node is not None else ():
        for call in nodes(line.scope, ast.Call):
            if (written := ast.unparse(call)).endswith((".pop()", ".pop(0)", ".pop(-1)")):
                new = f"{line.source.of(call.func)}({'' if written.endswith('(0)') else 0})"
                yield (
                    f"Take from the other end of the list: {new} at line {call.lineno}",
                    [line.edit(call, new)],
                    "That end has the size of the other branch.",
                )
        read = {item.id for item in line.around(ast.Name)}
        for loop in line.around(ast.For, line.scope):
            lists = loop.iter.args if isinstance(loop.iter, ast.Call) and called(loop.iter) == "zip" else [loop.iter]
            names = listed(loop.target) or [loop.target]
            for name, given in zip(names, lists, strict=False):
                if isinstance(name, ast.Name) and name.id in read and isinstance(given, ast.Name):
                    yield (
                        f"Take {given.id} in reverse order at line {given.lineno}",
                        [line.edit(given, f"reversed({given.id})")],
                        "The last element has the size at which the loop starts.",
                    )


def other_index(evidence: Evidence, finding: Finding) -> Made:
    """Another element of the list that a loop takes by a number what it merges from."""
    node = evidence.failed
    for line in lines_at(evidence, node.called or node.location)[:1] if node is not None else ():
        counted = {item.id for loop in line.around(ast.For, line.scope) for item in nodes(loop.target, ast.Name)}
        for item in line.around(ast.Subscript):
            at = item.slice
            names = [one for one in nodes(at, ast.Name) if one.id in counted]
            if len(names) != 1 or not isinstance(item.value, ast.Name):
                continue
            count = names[0].id
            for new in (count, f"-1 - {count}"):
                if new != ast.unparse(at):
                    yield (
                        f"Use {item.value.id}[{new}] instead of {item.value.id}[{ast.unparse(at)}] at line {item.lineno}",
                        [line.edit(at, new)],
                        "That element has the size of the other branch.",
                    )


def _alike(one: ast.expr, other: ast.expr) -> bool:
    if not isinstance(one, ast.Subscript) or not isinstance(other, ast.Subscript) or ast.unparse(one.value) != ast.unparse(other.value):
        return False
    kinds = [[isinstance(part, ast.Slice) for part in listed(item.slice) or [item.slice]] for item in (one, other)]
    return kinds[0] == kinds[1]


def _first(line: Line, name: str) -> ast.expr | None:
    """The shape with which the part of a loop's first state is made that a name of the loop's function holds."""
    body = line.scope
    if not isinstance(body, ast.FunctionDef) or not body.args.args:
        return None
    state = body.args.args[0].arg
    parts = [target for item in nodes(body, ast.Assign) if ast.unparse(item.value) == state for target in item.targets]
    places = [i for part in parts for i, one in enumerate(listed(part)) if ast.unparse(one) == name]
    for outer in line.around(Function):
        for call in nodes(outer, ast.Call):
            if called(call) != "scan" or len(call.args) < 2 or ast.unparse(call.args[0]) != body.name:
                continue
            start = call.args[1]
            start = (given_to(outer, start, call.lineno) or [start])[-1] if isinstance(start, ast.Name) else start
            one = start if name == state else listed(start)[places[0]] if places and len(listed(start)) > places[0] else None
            made = (given_to(outer, one, call.lineno) or [one])[-1] if isinstance(one, ast.Name) else one
            if isinstance(made, ast.Call) and called(made) in _FILLED and made.args:
                return made.args[0]
    return None


# Where a loop is given its step, and where this is given its state.
_STEPS = {"scan": (0, 0), "fori_loop": (2, 1), "while_loop": (1, 0)}
_LOOPS = frozenset({"fori_loop", "scan"})


@of(StructureApart)
def in_structure(evidence: Evidence, finding: Finding, fact: StructureApart) -> Made:
    """What a step of a loop returns in the structure of what it receives."""
    for line, call in calls_of(evidence, *_STEPS):
        place, first = _STEPS[called(call)]
        step = call.args[place] if len(call.args) > place else call
        bodies = [item for item in nodes(line.scope, ast.FunctionDef) if item.name == ast.unparse(step)]
        for body in [step] if isinstance(step, ast.Lambda) else bodies:
            names = [one.arg for one in body.args.args]
            ends = [body.body] if isinstance(body, ast.Lambda) else [one.value for one in nodes(body, ast.Return)]
            state = [names[first]]
            for item in nodes(body, ast.Assign):
                state = [*map(ast.unparse, listed(item.targets[0]))] if [ast.unparse(item.value)] == state else state
            new = _structured(fact, called(call), ends[0], state, names[0], _output(line, call)) if len(ends) == 1 else ""
            if new:
                yield (
                    f"Return {new} at line {ends[0].lineno}",
                    [line.edit(ends[0], f"({new})" if isinstance(body, ast.Lambda) else new)],
                    "The next step receives what this one returns as its state.",
                )


def _structured(fact: StructureApart, loop: str, end: ast.expr, state: list[str], counter: str, output: bool) -> str:
    parts, many = [ast.unparse(one) for one in listed(end)], len(state)
    if fact.of == "pair":
        if not parts and many == 1:
            return f"{ast.unparse(end)}, {ast.unparse(end) if output else None}"
        return f"({', '.join(parts[:many])}), {parts[-1]}" if 1 < many == len(parts) - 1 else ""
    if loop == "fori_loop" and len(parts) == many + 1 and counter in names_in(parts[0]):
        return ", ".join(parts[1:])
    carry = listed(end)[0] if loop == "scan" and len(parts) == 2 else end
    # A loop whose condition reads what its body leaves as it is would never end.
    if many < 2 or loop == "while_loop" or not {ast.unparse(one) for one in listed(carry) or [carry]} <= {*state}:
        return ""
    return f"({', '.join(state)}), {parts[1]}" if loop == "scan" else ", ".join(state)


def _output(line: Line, call: ast.Call) -> bool:
    statement = statement_of(parents(line.source.tree), call)
    target = listed(statement.targets[0]) if isinstance(statement, ast.Assign) and statement.value is call else []
    read = {one.id for one in nodes(line.scope, ast.Name) if isinstance(one.ctx, ast.Load)}
    return len(target) != 2 or ast.unparse(target[1]) in read


@of(LeakedOut)
def in_python(evidence: Evidence, finding: Finding, fact: LeakedOut) -> Made:
    """A loop of Python's that calls the same body."""
    for line in lines_at(evidence, finding.location)[:1]:
        for call in (one for one in nodes(line.scope, ast.Call) if called(one) in _LOOPS and _fills(line, one)):
            made = _loop(line, call)
            if made is not None:
                yield (
                    f"Run the loop in Python at line {call.lineno}",
                    made,
                    "The list then has a tensor of each turn. With many turns, jax.lax.scan compiles faster: it stacks what each step returns.",
                )
                return


def _fills(line: Line, call: ast.Call) -> bool:
    place = 2 if called(call) == "fori_loop" else 0
    name = ast.unparse(call.args[place]) if len(call.args) > place else ""
    bodies = [item for item in nodes(line.scope, ast.FunctionDef) if item.name == name]
    return any(called(one) == "append" for body in bodies for one in nodes(body, ast.Call))


def _loop(line: Line, call: ast.Call) -> list[Edit] | None:
    statement = statement_of(parents(line.source.tree), call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    if not isinstance(statement, (ast.Assign, ast.Expr)) or statement.value is not call or call.keywords:
        return None
    of, inside = line.source.of, "\n" + " " * (statement.col_offset + 4)
    if called(call) == "fori_loop" and len(call.args) == 4:
        first, last, body, start = map(of, call.args)
        state = of(target) if target is not None else start if start.isidentifier() else "state"
        turns = f"range({last})" if first == "0" else f"range({first}, {last})"
        text = f"for turn in {turns}:{inside}{state} = {body}(turn, {state})"
    elif called(call) == "scan" and len(call.args) == 3 and not isinstance(call.args[2], ast.Constant):
        body, start, steps = map(of, call.args)
        names = target.elts if isinstance(target, ast.Tuple) and len(target.elts) == 2 else []
        if target is not None and (len(names) != 2 or of(names[1]) != "_"):
            return None
        state = of(names[0]) if names and of(names[0]) != "_" else start if start.isidentifier() else "state"
        turn = next(name for name in ("turn", "this_turn") if name not in (body, state))
        text = f"for {turn} in {steps}:{inside}{state}, _ = {body}({state}, {turn})"
    else:
        return None
    before: list[Edit] = []
    if state != start:
        before = [line.before(statement, f"{state} = {start}")]
    return [*before, line.edit(statement, text)]


@of(CarryApart)
def state_of_step(evidence: Evidence, finding: Finding, fact: CarryApart) -> Made:
    """What a step computes of its widened state, as the state of the next step, where the step returns it only as an output."""
    for line, call in calls_of(evidence, "scan") if fact.shapes else ():
        body = call.args[0] if call.args else None
        steps = [one for one in nodes(line.scope, ast.FunctionDef) if isinstance(body, ast.Name) and one.name == body.id]
        ends = [listed(one.value) for one in nodes(steps[0], ast.Return)] if len(steps) == 1 else []
        if len(ends) != 1 or len(ends[0]) != 2 or not all(isinstance(one, ast.Name) for one in ends[0]):
            continue
        state, made = ends[0]
        given = {ast.unparse(item.targets[0]): names_in(ast.unparse(item.value)) for item in nodes(steps[0], ast.Assign)}
        own, computed = ast.unparse(state), ast.unparse(made)
        if own in given.get(own, ()) and own in given.get(computed, ()) and own != computed:
            yield (
                f"Return {computed} as the next state at line {state.lineno}, instead of {own}",
                [line.edit(state, computed)],
                f"{computed} is computed from the widened {own}, and has the shape of the first state.",
            )
