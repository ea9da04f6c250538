"""Candidates for numbers that are needed while a program is built: static sizes that are None, and functions for tensors that compute numbers."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding, elements, syntax
from ...flow.syntax import assigned, called, shape_read
from ...rules.facts.mesh import ValueAsked
from ...rules.facts.own_code import FloatArgument, FloatAsSize, NoneAsSize
from ...trace.raised import Raised
from ..edits import Edit
from ..edits.expression import IT, MODULE
from ..text.source import given_before, nodes, words_of
from .edits import Made, of
from .line import Line, lines_at, lines_of, makers_of, reshaped, short
from .numbers import where_of
from .read_sizes import index_of


@of(NoneAsSize)
def measured(evidence: Evidence, finding: Finding, fact: NoneAsSize) -> Made:
    """The size as it is when the model runs, for the static one that is None."""
    raised = evidence.raised
    edits = list(_as_they_run(evidence, raised, {fact.axis} if fact.axis is not None else set())) if raised is not None else []
    if edits:
        shape = f"shape({fact.tensor})" if fact.axis is None else f"shape({fact.tensor})[{fact.axis}]"
        yield (
            f"Compute {shape} at run time",
            edits,
            "It is the size of the batch that arrives, also of a smaller last one." if fact.axis == 0 else "It is known when the model runs.",
        )
    if fact.axis == 0:
        yield from _counted(evidence, fact)


@of(FloatAsSize)
def whole(evidence: Evidence, finding: Finding, fact: FloatAsSize) -> Made:
    """``//`` for ``/`` where the line's numbers come from."""
    edits: list[Edit] = []
    for one in evidence.raised.quotients if evidence.raised is not None else ():
        lines = lines_of(evidence, Raised(one.file, one.line, one.span, one.function))[:1]
        edits += [_in_integers(line, line.node) for line in lines if isinstance(line.node, ast.BinOp)]
    if edits:
        yield f"Use integer division: {fact.text.replace(' / ', ' // ')}", edits, "The result is the same number as an integer."


@of(FloatArgument)
def whole_argument(evidence: Evidence, finding: Finding, fact: FloatArgument) -> Made:
    """The same in the call that created a layer."""
    made = next((node for node in evidence.flow.nodes if node.name == fact.layer.name), None)
    if made is None:
        return
    edits: dict[ast.BinOp, Edit] = {}
    for line in lines_at(evidence, made.location):
        given = [word for call in makers_of(line, made) for word in words_of(call)]
        edits |= {node: _in_integers(line, node) for word in given for node in nodes(word, ast.BinOp) if isinstance(node.op, ast.Div)}
    if edits:
        yield (f"Use integer division for {fact.argument} of {fact.layer.name}", list(edits.values()), "The result is the same number as an integer.")


def _in_integers(line: Line, node: ast.BinOp) -> Edit:
    return line.edit(node, ast.unparse(ast.BinOp(node.left, ast.FloorDiv(), node.right)))


def rows_as_it_runs(evidence: Evidence, finding: Finding) -> Made:
    """Sizes as the program runs, in place of those that are ``None`` while it is traced."""
    opened = evidence.facts.get("opened")
    line = next(iter(lines_of(evidence, opened.raised)), None) if opened is not None and opened.raised is not None else None
    if opened is None or line is None:
        return
    axes = {0, *(i for _, shape, _ in opened.axes for i, size in enumerate(shape) if size is None)}
    edits = list(_as_they_run(evidence, line.raised, axes))
    if edits:
        what = "the size" if opened.axes else "the number of rows"
        yield (
            f"Compute {what} at run time in {where_of(evidence, line)}",
            edits,
            "Works for every batch size and any number of replicas." if not opened.axes else "Works for every size of the data.",
        )


def _as_they_run(evidence: Evidence, raised: Raised, axes: set[int]) -> Iterator[Edit]:
    unknown = {(one.file, one.function): one for one in raised.unknown}
    for line in [] if unknown else lines_of(evidence, raised)[:1]:
        yield from _in_function(line, axes)
    for one in unknown.values():
        for line in lines_of(evidence, Raised(one.file, one.line, one.span, one.function))[:1]:
            yield from _in_function(line, axes)
            # Neither a subscript of a shape nor unpacked: the whole shape, a length, or a size that an attribute keeps.
            other = [node for node in nodes(line.scope, (ast.Attribute, ast.Call)) if not one.name and ast.unparse(node) == one.text]
            axis = "" if one.axis is None else f"[{one.axis}]"
            yield from (line.edit(node, f"{MODULE}.shape({one.tensor}){axis}", line.module()) for node in other)


def _in_function(line: Line, axes: set[int]) -> Iterator[Edit]:
    compared = {id(inner) for item in nodes(line.scope, ast.Compare) for inner in ast.walk(item)}
    for node in nodes(line.scope, ast.Subscript):
        owner = _owner(line, node.value) if id(node) not in compared else None
        if owner is not None and (i := index_of(node)) in axes:
            yield line.edit(node, f"{MODULE}.shape({ast.unparse(owner)})[{i}]", line.module())
    for taken in nodes(line.scope, ast.Assign):
        owner, target = _owner(line, taken.value), taken.targets[0]
        if owner is None or not axes or not isinstance(target, (ast.Tuple, ast.List)):
            continue
        # A tensor of sizes cannot be unpacked while a program is built.
        sizes = [f"{MODULE}.shape({ast.unparse(owner)})[{i}]" if i in axes else f"{IT}[{i}]" for i in range(len(target.elts))]
        if not any(isinstance(item, ast.Starred) for item in target.elts):
            yield line.edit(taken.value, ", ".join(sizes), line.module())


def _owner(line: Line, node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Name):
        made = given_before(line.scope, node)
        return _owner(line, made[-1]) if made and not isinstance(made[-1], ast.Name) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("as_list", "get_shape"):
        return _owner(line, node.func.value) if node.func.attr == "as_list" else node.func.value
    return None if isinstance(node, ast.Call) and called(node) == "shape" else shape_read(node)


def _counted(evidence: Evidence, fact: NoneAsSize) -> Made:
    for line in lines_of(evidence):
        given, sizes = reshaped(line)
        shape = line.shape(given) if given is not None else None
        free = [item for item in sizes if ast.unparse(item) == "-1"]
        known = [n for item in sizes[1:] if item not in free and (n := line.number(item))]
        count = elements(shape[1:]) if shape else None
        if len(free) != 1 or free[0] is sizes[0] or len(known) != len(sizes) - 2 or not count or count % math.prod(known):
            continue
        wanted = count // math.prod(known)
        yield (
            f"Reshape to (-1, ...) at {line.at}: -1 instead of {short(sizes[0])}, and {wanted} instead of -1",
            [line.edit(sizes[0], "-1"), line.edit(free[0], str(wanted))],
            "Layers that create weights need the size of the last axis, but not the batch size.",
        )


# The same in Python, of functions that compute with numbers.
_PLAIN = {
    "floor_divide": "a // b",
    "multiply": "a * b",
    "add": "a + b",
    "subtract": "a - b",
    "divide": "a / b",
    "true_divide": "a / b",
    "maximum": "max(a, b)",
    "minimum": "min(a, b)",
    "sqrt": "int(a**0.5)",
    "ceil": "math.ceil(a)",
    "floor": "math.floor(a)",
    "round": "round(a)",
}
# What is whole already, and needs no int around it.
_WHOLE = ("math.", "round(", "int(", "len(")
_HOST = frozenset({"np", "numpy", "math"})


@of(ValueAsked)
def python_numbers(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """Sizes and counts that functions for tensors compute, in Python."""
    for line in lines_of(evidence) if fact.asked in ("index", "argument", "size") else []:
        found: dict[ast.expr, str] = {}
        seen: set[str] = set()
        pending = words_of(line.node) if isinstance(line.node, ast.Call) else []
        while pending:
            item = pending.pop()
            if isinstance(item, (ast.Tuple, ast.List)):
                pending += item.elts
                continue
            if not _a_number(line, item):
                continue
            new = _python(item)
            if new is not None:
                found[item] = new
            for name in nodes(item, (ast.Name, ast.Attribute)):
                if _a_number(line, name) and (text := ast.unparse(name)) not in seen:
                    seen.add(text)
                    pending += _given(line, name)
        if found:
            edits = [line.edit(node, text.replace("math.", f"{MODULE}."), "math" * ("math." in text)) for node, text in found.items()]
            yield (
                f"Compute the sizes in Python: {', '.join(found.values())}",
                edits,
                "A shape is known when the program is compiled, but the values of a tensor are not.",
            )


def _a_number(line: Line, node: ast.expr) -> bool:
    if (isinstance(node, ast.Call) and called(node) == "shape") or (isinstance(node, ast.Attribute) and node.attr == "shape"):
        return True
    spec = line.specs.get(ast.unparse(node))
    if spec is not None:
        return spec.shape == ()
    return all(_a_number(line, child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))


def _given(line: Line, node: ast.expr) -> list[ast.expr]:
    name = ast.unparse(node)
    scope = line.scope if isinstance(node, ast.Name) else line.owner()
    pairs = [pair for item in nodes(scope, ast.Assign) for pair in assigned(item)]
    found = [value for target, value in pairs if ast.unparse(target) == name and (scope is not line.scope or value.lineno < line.raised.line)]
    return found[-1:] if isinstance(node, ast.Name) else found


def _python(node: ast.expr) -> str | None:
    changed = []

    class Plain(ast.NodeTransformer):
        def visit_Call(self, call: ast.Call) -> ast.AST:
            self.generic_visit(call)
            name, host = called(call), ast.unparse(call.func).split(".")[0] in _HOST or not isinstance(call.func, ast.Attribute)
            first = next(iter(call.args), None)
            if host or call.keywords or first is None:
                return call
            if name == "cast" and len(call.args) == 2:
                changed.append(call)
                text = ast.unparse(first)
                whole = text.startswith(_WHOLE) or text.isdigit() or (isinstance(first, ast.BinOp) and isinstance(first.op, ast.FloorDiv))
                return first if whole or "float" in ast.unparse(call.args[1]) else _filled("int(a)", [first])
            if name in _PLAIN and len(call.args) == (2 if "b" in _PLAIN[name] else 1):
                changed.append(call)
                return _filled(_PLAIN[name], call.args)
            return call

    new = Plain().visit(syntax.parse(ast.unparse(node), mode="eval"))
    return ast.unparse(new) if changed else None


def _filled(form: str, given: list[ast.expr]) -> ast.expr:
    known = dict(zip("ab", given, strict=False))

    class Put(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.AST:
            return known.get(name.id, name)

    made = Put().visit(syntax.parse(form, mode="eval"))
    assert isinstance(made, ast.Expression)
    return made.body
