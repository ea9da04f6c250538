"""Candidates for random numbers that every step of a compiled program draws alike."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.calls import Constant, HostDrawn
from ..edits import Removed, Seeded
from ..edits.expression import MODULE
from ..text.source import nodes, parents, statement_of
from .edits import Made
from .jax_arrays import branches
from .line import Line, called, lines_at, span_of
from .steps import groups

_SEED, _RANDOM = "{seed}", "{random}"
_KEYS = frozenset({"PRNGKey", "key"})
# What a function of Python or NumPy draws, and its arguments as keras.random names them.
_DRAWS: dict[str, tuple[str, tuple[str, ...]]] = {
    "normal": ("normal", ("mean", "stddev", "shape")),
    "gauss": ("normal", ("mean", "stddev")),
    "standard_normal": ("normal", ("shape",)),
    "randn": ("normal", ()),
    "uniform": ("uniform", ("minval", "maxval", "shape")),
    "random": ("uniform", ("shape",)),
    "random_sample": ("uniform", ("shape",)),
    "rand": ("uniform", ()),
}
_WORDS = {"loc": "mean", "scale": "stddev", "mu": "mean", "sigma": "stddev", "low": "minval", "high": "maxval", "size": "shape"}


def seeded_anew(evidence: Evidence, finding: Finding) -> Made:
    """A seed that the layer or model keeps, in place of a number or a key that is made of one."""
    for line in lines_at(evidence, finding.location) if isinstance(finding.fact, Constant) else []:
        call = line.node
        if isinstance(call, ast.Call) and isinstance(line.keyword("seed"), ast.Constant) and "jax." not in ast.unparse(call.func):
            old = [word.value for word in call.keywords if word.arg == "seed"]
            yield from _kept(line, call, line.source.of(call).replace(f"seed={line.source.of(old[0])}", f"seed={_SEED}"))
            return
        for key in nodes(call, ast.Call) if call is not None else ():
            if called(key) in _KEYS and key.args and isinstance(key.args[0], ast.Constant):
                yield from _kept(line, key, f"{_SEED}.next()")
                return


def on_device(evidence: Evidence, finding: Finding) -> Made:
    """``keras.random`` with a seed that is kept, for what the host draws; and a choice by ``where`` for a branch on it."""
    for line in lines_at(evidence, finding.location) if isinstance(finding.fact, HostDrawn) else []:
        new = _in_keras(line.node)
        if isinstance(line.node, ast.Call) and new:
            yield from _kept(line, line.node, new)


def _in_keras(call: ast.AST | None) -> str:
    """A call of Python's or NumPy's generators as one of ``keras.random``; ``""`` where it is none."""
    name, order = _DRAWS.get(called(call), ("", ())) if isinstance(call, ast.Call) else ("", ())
    if not isinstance(call, ast.Call) or not name or {"keras", "jax", "tf"} & set(ast.unparse(call.func).split(".")):
        return ""
    given = {key: ast.unparse(value) for key, value in zip(order, call.args, strict=False)}
    given |= {_WORDS.get(word.arg or "", word.arg or ""): ast.unparse(word.value) for word in call.keywords}
    if not order:
        given["shape"] = f"({''.join(f'{ast.unparse(one)}, ' for one in call.args).strip()})"
    shape = given.pop("shape", "()")
    shape = f"({shape},)" if shape.isdigit() else shape
    words = "".join(f"{key}={value}, " for key, value in given.items())
    return f"{_RANDOM}.{name}({shape}, {words}seed={_SEED})"


def _kept(line: Line, call: ast.Call, new: str) -> Made:
    """The call as ``new``, where the program's step sees the state of the seed."""
    source, what = line.source, ast.unparse(call.func)
    title = f"Store a seed generator: self.seed_generator, for {what} at line {call.lineno}"
    why = "Its state is a variable, so every step draws new values."
    step = line.scope if isinstance(line.scope, ast.FunctionDef) else None
    state = groups(step) if step is not None and len(step.args.args) == 3 else []
    above = parents(source.tree)
    statement = statement_of(above, call)

    def edit(node: ast.expr | ast.stmt, text: str, module: str = "keras.ops") -> Seeded:
        return Seeded(line.raised.function, line.raised.file, span_of(node), text, isinstance(node, ast.stmt), module)

    if state and isinstance(statement, ast.Assign):
        pad = f"\n{source.indent(statement)}"
        inner = source.of(statement).replace(source.of(call), new).replace("\n", "\n    ")
        every = "self.non_trainable_variables"
        text = f"with {MODULE}.StatelessScope(list(zip({every}, {state[1]}))) as scope:{pad}    {inner}"
        text += f"{pad}{state[1]} = [scope.get_current_value(one) for one in {every}]"
        yield title, [edit(statement, text, "keras").value], why
    elif isinstance(statement, ast.If) and any(one is call for one in ast.walk(statement.test)):
        for text, rest in _chosen(statement, above, call, new, source.indent(statement)):
            gone = [Removed(line.raised.function, line.raised.file, span_of(one), source.of(one)).value for one in rest]
            yield title, [edit(statement, text).value, *gone], f"{why} Both values are computed, and a random number chooses."
    else:
        branch = next((one for one in nodes(statement, ast.IfExp) if any(item is call for item in ast.walk(one.test))), None)
        if branch is None:
            yield title, [edit(call, new).value], why
        else:
            test, values = ast.unparse(branch.test).replace(ast.unparse(call), new), (ast.unparse(branch.body), ast.unparse(branch.orelse))
            yield title, [edit(branch, f"{MODULE}.where({test}, {', '.join(values)})").value], why


def _chosen(branch: ast.If, above: dict[ast.AST, ast.AST], call: ast.Call, new: str, pad: str) -> Iterator[tuple[str, list[ast.stmt]]]:
    """A branch on a random number as a choice, and the statements that it makes needless."""
    test, plain = branch.test, ""
    if isinstance(test, ast.BoolOp):
        if not isinstance(test.op, ast.And) or branch.orelse or not any(one is call for one in ast.walk(test.values[-1])):
            return
        plain, test = " and ".join(map(ast.unparse, test.values[:-1])), test.values[-1]
    block = next((body for body in (getattr(above[branch], name, []) for name in ("body", "orelse")) if branch in body), [])
    after = block[block.index(branch) + 1 :]
    ends: list[ast.stmt] = (
        [one for one in after if isinstance(one, ast.Return)] if len(after) == 1 and isinstance(branch.body[-1], ast.Return) else []
    )
    whole = ast.If(branch.test, branch.body, branch.orelse or [*ends])
    text = branches(whole, ast.unparse(test).replace(ast.unparse(call), new))
    if text is not None:
        yield (f"if {plain}:\n{pad}    {text}", []) if plain else (text, ends if not branch.orelse else [])
