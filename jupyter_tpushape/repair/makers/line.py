"""The user's line that raised: its expression, the operands of it, and what is known of them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Any

from ...examine.evidence import Evidence
from ...examine.heard import HeardOperation, hear
from ...flow import Location, Node, Shape, Spec
from ...flow.syntax import Function, assigned, called, computed
from ...trace.locations import file_of
from ...trace.raised import Raised
from ..edits import Edit, Removed, Statement
from ..edits.expression import IT, MODULE, Expression
from ..text.arguments import argument, defaults_of
from ..text.names import positions_of
from ..text.source import N, NoPlace, Source, at_line, class_of, given_before, given_to, method_of, nodes, parents, words_of

_SHORT = 32
_OPERATORS: dict[type[ast.operator], tuple[str, ...]] = {
    ast.Add: ("AddV2", "add"),
    ast.Sub: ("Sub", "sub"),
    ast.Mult: ("Mul", "mul"),
    ast.Div: ("RealDiv", "div"),
    ast.MatMult: ("MatMul", "BatchMatMulV2", "dot_general"),
}
_MODULES = frozenset({"tf", "keras", "ops", "jnp", "np", "jax", "lax", "K", "tensorflow", "numpy"})


class Line:
    """The expression that raised, with what is known of its operands."""

    def __init__(self, evidence: Evidence, raised: Raised, source: Source, node: ast.AST | None) -> None:
        self.evidence, self.raised, self.source, self.node = evidence, raised, source, node
        self.specs = dict(raised.tensors)
        self.numbers = dict(raised.numbers)
        self.scope: ast.AST = max(self.around(Function), key=lambda node: node.lineno, default=self.source.tree)

    def around(self, kind: type[N] | tuple[type[N], ...], scope: ast.AST | None = None) -> list[Any]:
        """What stands on the line, or around it, outer ones first; of the whole source, or of a part of it."""
        return list(at_line(scope or self.source.tree, kind, self.raised.line))

    def owner(self) -> ast.AST:
        """The class around the line, else its function."""
        return max(self.around(ast.ClassDef), key=lambda item: item.lineno, default=self.scope)

    def operands(self) -> list[ast.expr]:
        """What the expression works on."""
        node = self.node
        if isinstance(node, ast.BinOp):
            return [node.left, node.right]
        if isinstance(node, ast.AugAssign):
            return [node.target, node.value]
        if isinstance(node, ast.UnaryOp):
            return [node.operand]
        found: list[ast.expr] = []
        if isinstance(node, ast.Call):
            for item in words_of(node):
                # [a] + others is one list, of which others is no tensor.
                sides = [item.left, item.right] if isinstance(item, ast.BinOp) and isinstance(item.op, ast.Add) else []
                parts = [one for side in sides for one in listed(side)]
                found += parts or (item.elts if isinstance(item, (ast.List, ast.Tuple)) else [item])
        # A number with a minus is no tensor either.
        return [item for item in found if not (isinstance(item, ast.UnaryOp) and isinstance(item.operand, ast.Constant))]

    def keyword(self, name: str) -> ast.expr | None:
        """The argument that is given under a name."""
        return argument(self.node, name, []) if isinstance(self.node, ast.Call) else None

    def call(self, *names: str) -> ast.Call | None:
        """The expression, where it calls something of these names; of any where none is said."""
        return self.node if isinstance(self.node, ast.Call) and (not names or called(self.node) in names) else None

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

    def shape(self, node: ast.expr) -> Shape | None:
        spec = self.spec(node)
        return spec.shape if spec is not None else None

    def shape_of_names(self) -> dict[str, tuple[int | None, ...]]:
        """The shapes of the tensors that the function's names hold."""
        return {name: spec.shape for name, spec in self.specs.items() if spec.shape is not None}

    def shaped(self) -> list[tuple[ast.expr, tuple[int | None, ...]]]:
        """The operands with axes, and their shapes."""
        return [(node, shape) for node in self.operands() if (shape := self.shape(node))]

    # -- edits -----------------------------------------------------------------------------------------

    def number(self, node: ast.expr) -> int | None:
        """The whole number that is written there, or that a name or attribute of the function holds; a constant of the module, and what is computed of them."""
        return computed(node, self._held)

    def _held(self, node: ast.expr) -> int | None:
        name = ast.unparse(node)
        if name in self.numbers:
            return self.numbers[name]
        known = dict(constants(self.source.tree))
        body = [item for item in self.source.tree.body if isinstance(item, ast.Assign)]
        held = [made for item in body for target, made in assigned(item) if ast.unparse(target) == name]
        if held and isinstance(held[-1], ast.BinOp):
            return self.number(held[-1])
        return size_of(known.get(ast.unparse(held[-1]) if held and isinstance(held[-1], ast.Name) else name))

    def edit(self, node: ast.expr | ast.stmt | ast.arg, new: str, module: str = "", choice: str = "") -> Expression:
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

    def apply(self, node: ast.expr, function: str, *more: object, module: str = "", choice: str = "") -> Expression:
        """``function(node, ...)`` in place of a node, from the module of tensor functions."""
        return self.edit(node, f"{MODULE}.{function}({', '.join(map(str, (IT, *more)))})", module or self.module(), choice)

    def cast(self, node: ast.expr, dtype: str, module: str = "") -> Expression:
        return self.apply(node, "cast", f'"{dtype}"', module=module)

    def without(self, node: ast.expr, inner: ast.expr) -> Edit:
        """What an expression works on in place of it; a statement that would give a name to itself goes."""
        holder = parents(self.source.tree).get(node)
        if isinstance(holder, ast.Assign) and [ast.unparse(target) for target in holder.targets] == [ast.unparse(inner)]:
            return self.removed(holder)
        return self.edit(node, self.source.of(inner))

    def before(self, node: ast.AST, text: str, module: str = "") -> Statement:
        """A statement in front of the one that is given."""
        return Statement("model", self.raised.file, span_of(node), text, module)

    def removed(self, statement: ast.AST) -> Removed:
        """Without a statement."""
        return Removed("model", self.raised.file, span_of(statement), self.source.of(statement))

    def swap(self, one: ast.expr, other: ast.expr) -> list[Expression]:
        """Two expressions in each other's place."""
        return [self.edit(one, ast.unparse(other)), self.edit(other, ast.unparse(one))]

    def more(self, call: ast.Call, argument: str) -> Expression:
        """One more argument at the end of a call."""
        # As it is written, unless a comment would swallow what follows.
        written = self.source.of(call)
        text = (ast.unparse(call) if "#" in written else written)[:-1].rstrip().rstrip(",")
        comma = ", " if call.args or call.keywords else ""
        return self.edit(call, f"{text}{comma}{argument})")

    def module(self) -> str:
        """Where the tensor functions of the code come from: what is called there already, else what fits the framework."""
        if self.evidence.where == "data" and "tensorflow" in sys.modules:
            return "tensorflow"  # a pipeline is TensorFlow's on every backend
        roots = {ast.unparse(call.func).split(".")[0] for call in nodes(self.scope, ast.Call) if isinstance(call.func, ast.Attribute)}
        if self.evidence.framework != "keras" or (self.evidence.backend == "tensorflow" and "tf" in roots):
            return "tensorflow"
        return "keras.ops"

    @property
    def at(self) -> str:
        return f"line {self.raised.line}"


def constants(module: ast.Module) -> Iterator[tuple[str, ast.Constant]]:
    """The whole numbers that the module gives to names, one by one or several at once."""
    for item in module.body:
        for name, made in assigned(item) if isinstance(item, ast.Assign) else ():
            if isinstance(made, ast.Constant) and type(made.value) is int:
                yield ast.unparse(name), made


def lines_of(evidence: Evidence, raised: Raised | None = None) -> list[Line]:
    """The line that raised, at the expression that did; at each that can have."""
    raised = raised or evidence.raised
    if raised is None:
        return []
    try:
        source = Source.read(raised.file)
        tree = source.tree
    except NoPlace:
        return []
    if raised.span is None:
        found = list(at_line(tree, (ast.Call, ast.BinOp, ast.AugAssign), raised.line))
        # What is inside runs first; an operator is the operation that raised, if one of its kind did.
        op = evidence.failed.op if evidence.failed is not None else ""
        found.reverse()
        found.sort(key=lambda node: not (isinstance(node, ast.BinOp) and op in _OPERATORS.get(type(node.op), ())))
        return [Line(evidence, raised, source, node) for node in found] or [Line(evidence, raised, source, None)]
    exact = [node for node in nodes(tree, (ast.expr, ast.AugAssign), raised.span[:2]) if tuple(raised.span) in _spans(node)]
    return [Line(evidence, raised, source, exact[0] if exact else None)]


def running(evidence: Evidence) -> Iterator[Line]:
    """The line that raised, then those that were calling it, each at its expression."""
    raised = evidence.raised
    for one in (raised, *raised.callers) if raised is not None else ():
        yield from lines_of(evidence, one)[:1]


def _spans(node: ast.expr | ast.AugAssign) -> Iterator[tuple[int | None, ...]]:
    """Where the interpreter says that an expression stands: of a method's call over several lines, from the method's name on."""
    yield node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
    method = node.func if isinstance(node, ast.Call) else None
    if isinstance(method, ast.Attribute) and method.end_col_offset is not None:
        yield method.end_lineno, node.end_lineno, method.end_col_offset - len(method.attr.encode()), node.end_col_offset


def lines_at(evidence: Evidence, where: Location | None) -> list[Line]:
    """The expressions on a line that ran, where nothing raised."""
    file = file_of(where) if where is not None else ""
    file = evidence.facts.get("aliases", {}).get(file, file)
    return lines_of(evidence, Raised(file, where.line, None, "")) if where is not None and file else []


def calls_of(evidence: Evidence, *names: str) -> Iterator[tuple[Line, ast.Call]]:
    """The line that raised, where it calls something of these names."""
    yield from ((line, call) for line in lines_of(evidence) if (call := line.call(*names)) is not None)


def calls_at(evidence: Evidence, where: Location | None, *names: str) -> Iterator[tuple[Line, ast.Call]]:
    """The calls of something of these names on a line that ran."""
    yield from ((line, call) for line in lines_at(evidence, where) if (call := line.call(*names)) is not None)


def is_own(evidence: Evidence, node: Node) -> bool:
    """Whether a layer is of a class in the file of the line that raised."""
    try:
        tree = Source.read(evidence.raised.file).tree if evidence.raised is not None else None
    except NoPlace:
        return False
    return tree is not None and class_of(tree, node.op) is not None


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
    init = method_of(line.owner(), "__init__")
    if init is None:
        return {}
    return {name: value.value for name, value in defaults_of(init.args) if isinstance(value, ast.Constant)}


def names_of(line: Line, owner: Node | None, size: int | None) -> list[str]:
    """The attributes of the class around the line that hold a size, as the arguments of the layer tell."""
    set_to = defaults(line) | (owner.config if owner is not None else {})
    stored = {ast.unparse(item) for item in nodes(line.owner(), ast.Attribute) if isinstance(item.ctx, ast.Store)}
    fixed = ((ast.unparse(item.targets[0]), size_of(item.value)) for item in nodes(line.owner(), ast.Assign))
    set_to |= {name.removeprefix("self."): value for name, value in fixed if value is not None and name.startswith("self.")}
    return [f"self.{key}" for key, value in set_to.items() if type(value) is int and value == size and f"self.{key}" in stored]


def makers_of(line: Line, node: Node) -> list[ast.Call]:
    """The calls on the line where a layer was made that can have made it."""
    made = node.location
    return [call for call in nodes(line.source.tree, ast.Call) if made is not None and call.lineno == made.line and called(call) == node.op]


def written_in(line: Line, node: Node, argument_name: str) -> list[ast.expr]:
    """What the calls that can have made a layer of the framework give it as an argument."""
    layers = getattr(sys.modules.get(line.evidence.framework), "layers", None)
    positions = positions_of(getattr(layers, node.op, None))
    found = (argument(call, argument_name, positions) for call in makers_of(line, node))
    return [one for one in found if one is not None]


def factors(size: ast.expr) -> list[ast.expr]:
    if isinstance(size, ast.BinOp) and isinstance(size.op, ast.Mult):
        return [*factors(size.left), *factors(size.right)]
    return [size]


def span_of(node: ast.AST) -> list[int]:
    """Line, end line, column and end column."""
    return [getattr(node, name) or 0 for name in ("lineno", "end_lineno", "col_offset", "end_col_offset")]


def short(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 3]}..."


def reshaped(line: Line, call: ast.AST | None = None) -> tuple[ast.expr | None, list[ast.expr]]:
    """What the expression reshapes, and the sizes that it is given, in whichever way they are written."""
    call = call or line.node
    if not isinstance(call, ast.Call) or called(call) != "reshape":
        return None, []
    root = ast.unparse(call.func).split(".")[0]
    method = isinstance(call.func, ast.Attribute) and (line.spec(call.func.value) is not None or root not in _MODULES)
    given = call.func.value if method and isinstance(call.func, ast.Attribute) else call.args[0] if call.args else None
    sizes = call.args if method else call.args[1:]
    named = [word.value for word in call.keywords if word.arg in ("shape", "newshape")]
    sizes = sizes or named
    if len(sizes) == 1 and isinstance(sizes[0], (ast.Tuple, ast.List)):
        sizes = sizes[0].elts
    return given, sizes


def assigned_to(line: Line, node: ast.expr) -> ast.expr:
    """What a name was given above the line; any other expression as it is."""
    if not isinstance(node, ast.Name):
        return node
    # A name that is only spoken of stands nowhere.
    found = given_before(line.scope, node) if hasattr(node, "lineno") else given_to(line.scope, node, line.raised.line)
    return found[-1] if found else node


def listed(node: ast.AST | None) -> list[ast.expr]:
    """What stands in a list or tuple."""
    return node.elts if isinstance(node, (ast.List, ast.Tuple)) else []


def columns_read(line: Line, node: ast.expr) -> set[int]:
    """The columns of a name that its function reads one by one, as in ``y[:."""
    found = set()
    for item in nodes(line.scope, ast.Subscript) if isinstance(node, ast.Name) else ():
        index = listed(item.slice)
        column = size_of(index[1]) if len(index) == 2 and ast.unparse(index[0]) == ":" else None
        if ast.unparse(item.value) == ast.unparse(node) and column is not None:
            found.add(column)
    return found


def whole_number(node: ast.AST | None) -> int | None:
    """The whole number that is written there, also with a minus."""
    try:
        value = ast.literal_eval(node) if isinstance(node, ast.expr) else None
    except ValueError:
        return None
    return value if type(value) is int else None


def size_of(node: ast.AST | None) -> int | None:
    """The whole number that is written there."""
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
