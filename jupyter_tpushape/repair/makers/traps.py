"""Candidates for numbers that go wrong without an error on JAX: a finite slope, a way through for the gradient, and keys of random numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called, names_in
from ...rules.facts.traps import AcrossSamples, BackwardRaises, Cancelled, KeyReused, NoiseShared, Rounded, SameInLoop, SlopeHidden, Wraps, WrapsInData
from ..edits.expression import IT, MODULE
from ..text.source import is_atom, nodes
from .edits import Made, of
from .entry import declaration
from .jax_arrays import mapped_calls
from .jax_calls import loops_of
from .line import Line, assigned_to, lines_at, short, whole_number

_STEEP = frozenset({"sqrt", "rsqrt", "log", "cbrt", "norm"})
_DRAWS = ("jax.random", "random", "jr", "jrandom")


@of(SlopeHidden)
def finite_argument(evidence: Evidence, finding: Finding, fact: SlopeHidden) -> Made:
    """A one in place of the argument where the value is hidden."""
    for line in lines_at(evidence, finding.location):
        call = line.call("where", "select")
        if call is None or len(call.args) != 3:
            continue
        condition = line.source.of(call.args[0])
        for place, branch in enumerate(call.args[1:]):
            value = assigned_to(line, branch)
            for argument in _steep(value, fact.function):
                it = line.source.of(argument)
                new = f"{line.source.of(call.func)}({condition}, {it}, 1.0)" if place == 0 else f"{line.source.of(call.func)}({condition}, 1.0, {it})"
                yield (
                    f"Replace the argument of {fact.function} by 1 where it is hidden at line {argument.lineno}",
                    [line.edit(argument, new)],
                    "The gradient is then finite everywhere, and the values stay the same.",
                )
        return


def _steep(value: ast.expr, function: str) -> Iterator[ast.expr]:
    for node in nodes(value, (ast.Call, ast.BinOp)):
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, ast.Div) and function == "div" and not isinstance(node.right, ast.Constant):
                yield node.right
        elif called(node) == function or (called(node) in _STEEP and function == "sqrt"):
            yield from node.args[:1]


@of(Cancelled)
def way_through(evidence: Evidence, finding: Finding, fact: Cancelled) -> Made:
    """The difference inside of what stops the gradient."""
    for line in lines_at(evidence, finding.location):
        node = line.node
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub) or not isinstance(node.left, ast.BinOp) or not isinstance(node.left.op, ast.Add):
            continue
        subtracted = ast.unparse(node.right)
        for own, stopped in ((node.left.left, node.left.right), (node.left.right, node.left.left)):
            if ast.unparse(own) == subtracted and isinstance(stopped, ast.Call) and called(stopped) == "stop_gradient" and len(stopped.args) == 1:
                it, q = line.source.of(own), line.source.of(stopped.args[0])
                new = f"{it} + {line.source.of(stopped.func)}({q if is_atom(stopped.args[0]) else f'({q})'} - {it})"
                yield (f"Keep the difference inside at {line.at}: {new}", [line.edit(node, new)], "The values stay the same, and the gradient passes through.")
                return


@of(BackwardRaises)
def gradient_of_each(evidence: Evidence, finding: Finding, fact: BackwardRaises) -> Made:
    """None for each argument of which the backward function returns no gradient."""
    for line in lines_at(evidence, finding.location)[:1]:
        body = max(line.around((ast.FunctionDef, ast.Lambda)), key=lambda item: (item.lineno, item.col_offset), default=None)
        given = [body.body] if isinstance(body, ast.Lambda) else [one.value for one in nodes(body, ast.Return)] if body is not None else []
        for value in given if len(given) == 1 else ():
            parts = value.elts if isinstance(value, ast.Tuple) else [value]
            missing = fact.arguments - len(parts)
            for at in range(len(parts), -1, -1) if value is not None and missing >= 0 else ():
                texts = [line.source.of(one) for one in parts if one is not None]
                new = f"({', '.join([*texts[:at], *['None'] * missing, *texts[at:]])}{',' if fact.arguments == 1 else ''})"
                yield (
                    f"Return a gradient for each argument at line {value.lineno}: {new}",
                    [line.edit(value, new)],
                    "None means that the argument has no gradient.",
                )


@of(SameInLoop)
def key_for_each_step(evidence: Evidence, finding: Finding, fact: SameInLoop) -> Made:
    """A key for each step: as what a scan goes through, or folded in with the number of the step."""
    for line in lines_at(evidence, finding.location):
        draw, body = line.node, line.scope
        if not isinstance(draw, ast.Call) or not isinstance(draw.func, ast.Attribute) or ast.unparse(draw.func.value) not in _DRAWS or not draw.args:
            continue
        key, module = draw.args[0], line.source.of(draw.func.value)
        given = [item.arg for item in body.args.args] if isinstance(body, (ast.FunctionDef, ast.Lambda)) else []
        for call in loops_of(line, body):
            if called(call) == "scan" and len(given) == 2 and isinstance(key, ast.Name):
                yield from _as_steps(line, body, call, key, module)
            if called(call) == "fori_loop" and len(given) == 2:
                yield (
                    f"Use a separate key for each step at {line.at}: fold_in({ast.unparse(key)}, {given[0]})",
                    [line.edit(key, f"{module}.fold_in({IT}, {given[0]})")],
                    "Each step then draws its own numbers.",
                )
        return


def _as_steps(line: Line, body: ast.AST, call: ast.Call, key: ast.Name, module: str) -> Made:
    assert isinstance(body, (ast.FunctionDef, ast.Lambda))
    words = {word.arg: word.value for word in call.keywords}
    steps = call.args[2] if len(call.args) > 2 else words.get("xs")
    length = call.args[3] if len(call.args) > 3 else words.get("length")
    inner = body.body if isinstance(body.body, list) else [body.body]
    unused = body.args.args[1].arg not in set().union(*(names_in(ast.unparse(one)) for one in inner))
    if not unused or not isinstance(body, ast.FunctionDef):
        return
    count = ""
    if length is not None and (steps is None or (isinstance(steps, ast.Constant) and steps.value is None)):
        count = line.source.of(length)
    elif isinstance(steps, ast.Call) and called(steps) == "arange" and len(steps.args) == 1:
        count = line.source.of(steps.args[0])
    if not count:
        return
    keys, title = (f"{module}.split({key.id}, {count})", f"Pass a key for each step to the scan at line {call.lineno}: split({key.id}, {count})")
    second, start = body.args.args[1], line.source.start(body)
    text = line.source.of(body)
    function = text[: line.source.start(second) - start] + key.id + text[line.source.end(second) - start :]
    edits = [line.edit(steps, keys)] if steps is not None else [line.more(call, f"xs={keys}")]
    yield title, [*edits, line.edit(body, function)], f"In {body.name}, {key.id} is then the key of the step."


@of(AcrossSamples)
def along_an_axis(evidence: Evidence, finding: Finding, fact: AcrossSamples) -> Made:
    """The first axis of a sample for a shift or a reversal."""
    for line in lines_at(evidence, finding.location):
        if (call := line.call(fact.function)) is not None and line.keyword("axis") is None:
            yield f"Pass axis=1 to {fact.function} at {line.at}", [line.more(call, "axis=1")], "Each sample then keeps its own values."
            return


@of(Wraps)
def as_floats(evidence: Evidence, finding: Finding, fact: Wraps) -> Made:
    """Both sides of the difference as floats."""
    for line in lines_at(evidence, finding.location):
        node = line.node
        sides = [node.left, node.right] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) else []
        if (call := line.call("subtract")) is not None and len(call.args) == 2:
            sides = call.args
        if sides:
            yield (
                f"Cast both sides of the difference to float32 at {line.at}",
                [line.edit(one, f'{MODULE}.cast({IT}, "float32")', line.module()) for one in sides],
                "Floats can be negative.",
            )
            return


@of(WrapsInData)
def array_as_floats(evidence: Evidence, finding: Finding, fact: WrapsInData) -> Made:
    """An array of the data's code as floats, before the line computes with it."""
    for line in lines_at(evidence, finding.location):
        node = line.node
        if isinstance(node, ast.BinOp) and ast.unparse(node) == fact.text:
            array = node.left if ast.unparse(node.left) == fact.array else node.right
            yield (
                f"Cast {short(array)} to float32 at {line.at}",
                [line.edit(array, f'{IT}.astype("float32")')],
                "The result can then be negative, and larger than the dtype of the array.",
            )
            return


@of(Rounded)
def whole_numbers(evidence: Evidence, finding: Finding, fact: Rounded) -> Made:
    """The input declared as whole numbers."""
    for door, spec in evidence.declared or ():
        if door in evidence.doors and spec.dtype.startswith(("float", "bfloat")) and spec.shape is not None:
            yield (
                f"Declare {evidence.doors[door].name} as int32",
                [declaration(evidence, door, spec.shape[1:], "int32")],
                "Keras casts only floats to the dtype in which a layer computes.",
            )


@of(KeyReused)
def derived(evidence: Evidence, finding: Finding, fact: KeyReused) -> Made:
    """A separate key for the second draw."""
    calls = [(line, line.node) for line in lines_at(evidence, finding.location) if isinstance(line.node, ast.Call)]
    for line, call in sorted(calls, key=lambda pair: (pair[1].lineno, pair[1].col_offset), reverse=True):
        key = line.keyword("key") or next(iter(call.args), None)
        draws = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) in ("jax.random", "random", "jr")
        if draws and isinstance(call.func, ast.Attribute) and isinstance(key, (ast.Name, ast.Attribute)):
            yield (
                f"Use a separate key at {line.at}: fold_in({ast.unparse(key)}, 1)",
                [line.edit(key, f"{ast.unparse(call.func.value)}.fold_in({IT}, 1)")],
                "Each key gives its own numbers.",
            )
            return


@of(NoiseShared)
def noise_for_each(evidence: Evidence, finding: Finding, fact: NoiseShared) -> Made:
    """Noise of the shape of a tensor that the line which uses it reads, for a shape without the samples."""
    for line in lines_at(evidence, finding.location)[:1]:
        draw = next((one for one in line.around(ast.Call) if called(one) in _NORMAL), None)
        shape = _shape_of(draw) if draw is not None else None
        if draw is None or shape is None:
            continue
        used = [one for at in lines_at(evidence, fact.line)[:1] for part in at.around(ast.stmt, at.scope)[-1:] for one in nodes(part, ast.Name)]
        known = {item.arg for item in getattr(getattr(line.scope, "args", None), "args", [])}
        known |= {one.id for one in nodes(line.scope, ast.Name) if isinstance(one.ctx, ast.Store) and one.lineno < draw.lineno}
        for name in dict.fromkeys(one.id for one in used if isinstance(one.ctx, ast.Load) and one.id in known):
            yield (
                f"Create the noise with the shape of {name} at {line.at}",
                [line.edit(shape, f"{MODULE}.shape({name})", "tensorflow" if ast.unparse(draw.func).startswith("tf.") else "keras.ops")],
                "Each sample then has its own numbers.",
            )


@of(NoiseShared)
def key_for_each(evidence: Evidence, finding: Finding, fact: NoiseShared) -> Made:
    """Keys split from the one that a function under vmap takes, and mapped like the samples."""
    for line in lines_at(evidence, finding.location)[:1]:
        drawn = {one.id for call in line.around(ast.Call) for one in nodes(call, ast.Name)}
        for outer, _, axes, names in mapped_calls(line):
            parts = [*zip(axes, outer.args, names, strict=False)]
            over = [ast.unparse(given) for axis, given, _ in parts if whole_number(axis) == 0]
            for axis, key, name in parts if over else ():
                if name in drawn and ast.unparse(axis) == "None":
                    edits = [line.edit(axis, "0"), line.edit(key, f"{MODULE}.random.split({IT}, {over[0]}.shape[:1])", "jax")]
                    yield f"Split {short(key)} at line {key.lineno}, and map over the keys", edits, "Each sample then has its own numbers."


_NORMAL = frozenset({"normal", "truncated_normal"})


def _shape_of(draw: ast.Call) -> ast.expr | None:
    place = 1 if ast.unparse(draw.func).startswith(("jax.", "jr.")) else 0
    return next((word.value for word in draw.keywords if word.arg == "shape"), next(iter(draw.args[place : place + 1]), None))
