"""The user's line that raised: its expression, the operands of it, and what is known of them."""

from __future__ import annotations

import ast
from typing import Any

from ...examine.evidence import Evidence
from ...examine.heard import HeardOperation, hear
from ...flow import Location, Node, Spec
from ...trace.locations import file_of
from ...trace.raised import Raised
from ..edits.expression import Expression
from ..text.source import NoPlace, Source, nodes

_SHORT = 32
_MODULES = frozenset({"tf", "keras", "ops", "jnp", "np", "jax", "lax", "K", "tensorflow", "numpy"})


class Line:
    """The expression that raised, with what is known of its operands."""

    def __init__(self, evidence: Evidence, raised: Raised, source: Source, node: ast.AST | None) -> None:
        self.evidence, self.raised, self.source, self.node = evidence, raised, source, node
        self.specs = dict(raised.tensors)
        self.numbers = dict(raised.numbers)
        around = [
            node
            for node in nodes(self.source.tree, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            if node.lineno <= raised.line <= (node.end_lineno or 0)
        ]
        self.scope: ast.AST = max(around, key=lambda node: node.lineno, default=self.source.tree)

    def owner(self) -> ast.AST:
        """The class around the line, else its function."""
        around = [item for item in nodes(self.source.tree, ast.ClassDef) if item.lineno <= self.raised.line <= (item.end_lineno or 0)]
        return max(around, key=lambda item: item.lineno, default=self.scope)

    def operands(self) -> list[ast.expr]:
        """What the expression works on."""
        node = self.node
        if isinstance(node, ast.BinOp):
            return [node.left, node.right]
        if isinstance(node, ast.AugAssign):
            return [node.target, node.value]
        found: list[ast.expr] = []
        if isinstance(node, ast.Call):
            for item in (*node.args, *(word.value for word in node.keywords)):
                found += item.elts if isinstance(item, (ast.List, ast.Tuple)) else [item]
        # A number with a minus is no tensor either.
        return [item for item in found if not (isinstance(item, ast.UnaryOp) and isinstance(item.operand, ast.Constant))]

    def keyword(self, name: str) -> ast.expr | None:
        """The argument that is given under a name."""
        words = self.node.keywords if isinstance(self.node, ast.Call) else []
        return next((word.value for word in words if word.arg == name), None)

    def spec(self, node: ast.expr) -> Spec | None:
        """What an operand is: by its name, else by its place among what the operation got."""
        known = self.specs.get(ast.unparse(node))
        if known is not None:
            return known
        operands = [item for item in self.operands() if not isinstance(item, ast.Constant)]
        if node not in operands:
            return None
        index, failed = operands.index(node), self.evidence.failed
        # What comes from no other node, such as random numbers, is an operand too.
        called = failed.called if failed is not None else None
        here = failed is not None and (failed.kind == "op" or (called is not None and called.line == self.raised.line))
        given = [one for one in self.evidence.given if one.label != "mask"] if here else []
        if len(given) >= len(operands):
            return given[index].spec
        said = hear(failed.failure, HeardOperation) if failed is not None else None
        return Spec(said.shapes[index], "") if said is not None and len(said.shapes) >= len(operands) else None

    def edit(self, node: ast.expr | ast.stmt, new: str, module: str = "", choice: str = "") -> Expression:
        return Expression(
            self.raised.function,
            file=self.raised.file,
            span=span_of(node),
            find=ast.unparse(node),
            replace=new,
            module=module,
            choice=choice,
            statement=isinstance(node, ast.stmt),
        )

    def module(self) -> str:
        """Where the tensor functions of the code come from: what is called there already, else what fits the framework."""
        roots = {ast.unparse(call.func).split(".")[0] for call in nodes(self.scope, ast.Call) if isinstance(call.func, ast.Attribute)}
        if self.evidence.framework != "keras" or (self.evidence.backend == "tensorflow" and "tf" in roots):
            return "tensorflow"
        return "keras.ops"

    @property
    def at(self) -> str:
        return f"line {self.raised.line}"


def lines_of(evidence: Evidence, raised: Raised | None = None) -> list[Line]:
    """The line that raised, at the expression that did; at each that can have, where the interpreter tells the line alone."""
    raised = raised or evidence.raised
    if raised is None:
        return []
    try:
        source = Source.read(raised.file)
        tree = source.tree
    except NoPlace:
        return []
    if raised.span is None:
        found = [item for item in nodes(tree, (ast.Call, ast.BinOp, ast.AugAssign)) if item.lineno <= raised.line <= (item.end_lineno or 0)]
        # What is inside runs first.
        return [Line(evidence, raised, source, node) for node in reversed(found)] or [Line(evidence, raised, source, None)]
    exact = [
        node
        for node in nodes(tree, (ast.expr, ast.AugAssign))
        if (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == tuple(raised.span)
    ]
    return [Line(evidence, raised, source, exact[0] if exact else None)]


def lines_at(evidence: Evidence, where: Location | None) -> list[Line]:
    """The expressions on a line that ran, where nothing raised."""
    file = file_of(where) if where is not None else ""
    file = evidence.facts.get("aliases", {}).get(file, file)
    return lines_of(evidence, Raised(file, where.line, None, "")) if where is not None and file else []


def is_own(evidence: Evidence, node: Node) -> bool:
    """Whether a layer is of a class in the file of the line that raised."""
    try:
        tree = Source.read(evidence.raised.file).tree if evidence.raised is not None else None
    except NoPlace:
        return False
    return tree is not None and any(item.name == node.op for item in nodes(tree, ast.ClassDef))


def own_layer(evidence: Evidence) -> Node | None:
    """The layer whose code raised: the innermost one around the break that is of a class in the file of the line."""
    node, around = evidence.failed, []
    while node is not None:
        if node.kind == "layer":
            around.append(node)
        node = evidence.flow.node(node.parent) if node.parent else None
    return next((item for item in around if is_own(evidence, item)), around[-1] if around else None)


def defaults(line: Line) -> dict[str, Any]:
    """The constants that ``__init__`` of the class around the line takes where it is given nothing else."""
    init = next((item for item in nodes(line.owner(), ast.FunctionDef) if item.name == "__init__"), None)
    if init is None:
        return {}
    pairs = [*zip(reversed(init.args.args), reversed(init.args.defaults), strict=False)]
    pairs += [(name, value) for name, value in zip(init.args.kwonlyargs, init.args.kw_defaults, strict=True) if value is not None]
    return {name.arg: value.value for name, value in pairs if isinstance(value, ast.Constant)}


def makers_of(line: Line, node: Node) -> list[ast.Call]:
    """The calls on the line where a layer was made that can have made it."""
    made = node.location
    return [call for call in nodes(line.source.tree, ast.Call) if made is not None and call.lineno == made.line and called(call) == node.op]


def span_of(node: ast.expr | ast.stmt) -> list[int]:
    """Line, end line, column and end column."""
    return [node.lineno, node.end_lineno or node.lineno, node.col_offset, node.end_col_offset or 0]


def short(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 3]}..."


def reshaped(line: Line) -> tuple[ast.expr | None, list[ast.expr]]:
    """What the expression reshapes, and the sizes that it is given, in whichever way they are written; ``None`` where it does not."""
    call = line.node
    if not isinstance(call, ast.Call) or called(call) != "reshape":
        return None, []
    root = ast.unparse(call.func).split(".")[0]
    method = isinstance(call.func, ast.Attribute) and (line.spec(call.func.value) is not None or root not in _MODULES)
    given = call.func.value if method and isinstance(call.func, ast.Attribute) else call.args[0] if call.args else None
    sizes = call.args if method else call.args[1:]
    if len(sizes) == 1 and isinstance(sizes[0], (ast.Tuple, ast.List)):
        sizes = sizes[0].elts
    return given, sizes


def called(call: ast.Call | None) -> str:
    """The last part of the name of what is called; ``""`` where nothing is."""
    if call is None:
        return ""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def assigned_to(line: Line, node: ast.expr) -> ast.expr:
    """What a name was given above the line; any other expression as it is."""
    if not isinstance(node, ast.Name):
        return node
    found = [
        item.value
        for item in nodes(line.scope, ast.Assign)
        if item.lineno < line.raised.line and [ast.unparse(target) for target in item.targets] == [node.id]
    ]
    return found[-1] if found else node
