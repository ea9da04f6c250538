"""Candidates for numbers that functions for tensors compute, where a function needs them before there are any values."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding, syntax
from ...flow.syntax import called
from ...rules.facts.mesh import ValueAsked
from ..edits import Edit
from ..edits.expression import MODULE
from ..text.source import nodes, words_of
from .edits import Made, of
from .line import Line, lines_of

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
        pending: list[ast.expr] = words_of(line.node) if isinstance(line.node, ast.Call) else []
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
            edits: list[Edit] = [
                line.edit(node, text.replace("math.", f"{MODULE}."), "math" * ("math." in text)) for node, text in found.items()
            ]
            yield (
                f"Compute the sizes in Python: {', '.join(found.values())}",
                edits,
                "A shape is known when the program is compiled, but the values of a tensor are not.",
            )


def _a_number(line: Line, node: ast.expr) -> bool:
    """Whether no tensor with axes stands in an expression, but for its sizes."""
    if (isinstance(node, ast.Call) and called(node) == "shape") or (isinstance(node, ast.Attribute) and node.attr == "shape"):
        return True
    spec = line.specs.get(ast.unparse(node))
    if spec is not None:
        return spec.shape == ()
    return all(_a_number(line, child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))


def _given(line: Line, node: ast.expr) -> list[ast.expr]:
    """What a name was given last above the line, or an attribute in the class around it."""
    name = ast.unparse(node)
    scope = line.scope if isinstance(node, ast.Name) else line.owner()
    pairs = [pair for item in nodes(scope, ast.Assign) for pair in _assigned(item)]
    found = [value for target, value in pairs if target == name and (scope is not line.scope or value.lineno < line.raised.line)]
    return found[-1:] if isinstance(node, ast.Name) else found


def _assigned(statement: ast.Assign) -> list[tuple[str, ast.expr]]:
    """What a statement assigns to what, one by one where it assigns several values to several names."""
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return [(ast.unparse(one), other) for one, other in zip(target.elts, value.elts, strict=True)]
    return [(ast.unparse(target), value)] if len(statement.targets) == 1 else []


def _python(node: ast.expr) -> str | None:
    """An expression with Python in the places of functions for tensors; ``None`` where there is none of them."""
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
    """A form with these expressions for its letters."""
    known = dict(zip("ab", given, strict=False))

    class Put(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.AST:
            return known.get(name.id, name)

    made = Put().visit(syntax.parse(form, mode="eval"))
    assert isinstance(made, ast.Expression)
    return made.body
