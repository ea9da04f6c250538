"""Candidates for loops whose body fills a list of the program: JAX runs the body once, and Python in each turn."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.calls import LeakedOut
from ..edits import Edit
from ..text.source import nodes, parents, statement_of
from .edits import Made, of
from .line import Line, lines_at

_LOOPS = frozenset({"fori_loop", "scan"})


@of(LeakedOut)
def in_python(evidence: Evidence, finding: Finding, fact: LeakedOut) -> Made:
    """A loop of Python's that calls the same body, which may then fill a list."""
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
    """Whether the body of a loop, which stands in the same function, appends to a list."""
    place = 2 if called(call) == "fori_loop" else 0
    name = ast.unparse(call.args[place]) if len(call.args) > place else ""
    bodies = [item for item in nodes(line.scope, ast.FunctionDef) if item.name == name]
    return any(called(one) == "append" for body in bodies for one in nodes(body, ast.Call))


def _loop(line: Line, call: ast.Call) -> list[Edit] | None:
    """The statement of a loop as one of Python's, and its first state in front of it; ``None`` where it is part of something else."""
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
