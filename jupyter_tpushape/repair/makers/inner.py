"""Candidates for a model that another one, or a training step, calls on what it does not declare."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding, Node, Shape, show_shape
from ...flow.syntax import called
from ...rules.facts.contracts import Disconnected, InnerDoor
from ...rules.facts.layers import WrongWidth
from ..edits.expression import IT, MODULE
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Made, configure, insert, of
from .line import Line, assigned_to, lines_at, lines_of

_DECLARES = "It then declares what it receives."


@of(WrongWidth)
def declare_first(evidence: Evidence, finding: Finding, fact: WrongWidth) -> Made:
    """The declared input of the model whose first layer is given another width."""
    node, size = evidence.failed, (fact.shape or (None,))[-1]
    if node is None or not fact.within or not size:
        return
    for line in lines_at(evidence, node.location)[:1]:
        yield from _declared(line, fact.within, -1, fact.wanted, size)


@of(InnerDoor)
def declare_inner(evidence: Evidence, finding: Finding, fact: InnerDoor) -> Made:
    """The declared input of the model as what it is given, or what it is given as declared."""
    if len(fact.wanted) != len(fact.shape):
        flat = len(fact.wanted) == 2
        if fact.reshaped:
            layer = insert(fact.layer.name, "Flatten") if flat else insert(fact.layer.name, "Reshape", target_shape=list(fact.wanted[1:]))
            title = f"Flatten the input of {fact.layer.name}" if flat else f"Reshape the input of {fact.layer.name} to {show_shape(fact.wanted[1:])}"
            yield title, [layer], f"{fact.layer.name} declares this shape."
        node = _model(evidence, fact)
        for line in lines_at(evidence, node.location)[:1] if node is not None and None not in fact.shape[1:] else ():
            shapes = [one for one in _declarations(line)[0] if tuple(_number(line, size) for size in one.elts) == fact.wanted[1:]]
            if len(shapes) == 1:
                whole = line.edit(shapes[0], str(tuple(fact.shape[1:])))
                yield f"Declare the input of {fact.layer.name} as {show_shape(fact.shape[1:])} at line {shapes[0].lineno}", [whole], _DECLARES
        return
    apart = [axis for axis, (a, b) in enumerate(zip(fact.wanted, fact.shape, strict=True)) if axis and a != b]
    if fact.built:
        yield from _opened(evidence, fact, apart)
        return
    if fact.source is not None and fact.source[1] != "target_shape":
        who, key, _, _, new = fact.source
        yield (f"Set {key}={new} on {who}, as {fact.layer.name} declares", [configure(who, **{key: new})], "The value is changed where it is set.")
    yield from _input_shape(evidence, fact, apart)
    sides: Shape = fact.wanted[1:3] if len(fact.wanted) == 4 and apart and set(apart) <= {1, 2} else ()
    if sides and None not in sides:
        yield from _enlarged_once_less(evidence, sides)
    node, axis = _model(evidence, fact), apart[0] if len(apart) == 1 else 0
    old, size = fact.wanted[axis], fact.shape[axis]
    for line in lines_at(evidence, node.location)[:1] if node is not None else ():
        if axis and old is not None and size is not None:
            yield from _declared(line, fact.layer.name, axis - len(fact.wanted), old, size)
        elif len(apart) > 1:
            yield from _declared_axes(line, fact, apart)
    if sides and None not in sides:
        yield (
            f"Resize to {sides[0]} × {sides[1]} before {fact.layer.name}",
            [insert(fact.layer.name, "Resizing", height=sides[0], width=sides[1])],
            f"{fact.layer.name} declares images of this size.",
        )


def _model(evidence: Evidence, fact: InnerDoor) -> Node | None:
    """The node of the model: the one that failed, or the one around it that let in what it was given."""
    failed = evidence.failed
    if failed is None or failed.name == fact.layer.name:
        return failed
    return next((one for one in evidence.flow.nodes if one.name == fact.layer.name and one.op == fact.layer.op), failed)


@of(WrongWidth)
def enlarged_once_less(evidence: Evidence, finding: Finding, fact: WrongWidth) -> Made:
    """The size for which the model around the layer was built."""
    inside = [one for one in evidence.flow.nodes if evidence.failed is not None and evidence.failed.parent and one.parent == evidence.failed.parent]
    for one in [one for one in evidence.flow.nodes if inside and one.name == inside[0].name and one.id != inside[0].id][:1]:
        for edge in evidence.flow.into(one.id):
            yield from _enlarged_once_less(evidence, (edge.spec.shape or ())[1:3])


def _enlarged_once_less(evidence: Evidence, sides: Shape) -> Made:
    """A generator that enlarges once too often has the size before its last layer."""
    for one in reversed(evidence.flow.nodes):
        if "Transpose" in one.op and any((edge.spec.shape or ())[1:3] == sides for edge in evidence.flow.into(one.id)):
            yield f"Keep the size in {one.name}: strides=1", [configure(one.name, strides=1)], "Its input has the size that is wanted."
            return


def _opened(evidence: Evidence, fact: InnerDoor, apart: list[int]) -> Made:
    node = _model(evidence, fact)
    shape = ", ".join("None" if axis in apart else str(size) for axis, size in enumerate(fact.wanted) if axis)
    for line in lines_at(evidence, node.location)[:1] if node is not None else ():
        for call in line.around(ast.Call):
            layers = argument(call, "layers", ["layers"]) if called(call) == "Sequential" else None
            if isinstance(layers, ast.List) and layers.elts:
                yield (
                    f"Start {fact.layer.name} with an Input of shape ({shape}{',' if len(fact.wanted) == 2 else ''})",
                    [line.edit(layers.elts[0], f"{MODULE}.Input(({shape}{',' if len(fact.wanted) == 2 else ''})), {IT}", evidence.framework)],
                    "It then accepts every size that it is called on.",
                )


def _input_shape(evidence: Evidence, fact: InnerDoor, apart: list[int]) -> Made:
    """Other sizes where the function that makes the model is given its ``input_shape``, as those of a library are."""
    node = _model(evidence, fact)
    for line in lines_at(evidence, node.location)[:1] if node is not None else ():
        inner = [assigned_to(line, item) for call in line.around(ast.Call) for item in call.args if isinstance(item, ast.Name)]
        given = line.keyword("input_shape") or next(
            (found for call in inner if isinstance(call, ast.Call) and (found := argument(call, "input_shape", [])) is not None), None
        )
        sizes = given.elts if isinstance(given, (ast.Tuple, ast.List)) and len(given.elts) == len(fact.wanted) - 1 else []
        old = [sizes[axis - 1] for axis in apart if sizes]
        if old and all(_number(line, item) == fact.wanted[axis] and fact.shape[axis] for item, axis in zip(old, apart, strict=True)):
            yield (
                f"Create {fact.layer.name} for {show_shape((None, *fact.shape[1:]))} at line {old[0].lineno}",
                [line.edit(item, str(fact.shape[axis])) for item, axis in zip(old, apart, strict=True)],
                "It then accepts what it receives.",
            )


def _declared(line: Line, model: str, axis: int, old: int, size: int) -> Made:
    """Another size in the one declaration, of those where the line makes its model, that has the old one on that axis."""
    shapes, calls = _declarations(line)
    sizes = [shape.elts[axis] for shape in shapes if len(shape.elts) >= -axis]
    sizes += [word.value for call in calls for word in call.keywords if word.arg == "input_dim" and axis == -1 and called(call) != "Embedding"]
    fit = [one for one in sizes if _number(line, one) == old]
    if len(fit) == 1:
        new = _changed(line, fit[0], size - old)
        yield (f"Declare the input of {model} with {size} values at line {fit[0].lineno}", [line.edit(fit[0], new)], f"It receives {size} values, not {old}.")


def _declared_axes(line: Line, fact: InnerDoor, apart: list[int]) -> Made:
    """Other sizes on several axes of the one declaration that has the old ones there."""
    old, new = ({axis - len(fact.wanted): shape[axis] for axis in apart} for shape in (fact.wanted, fact.shape))
    shapes = [shape for shape in _declarations(line)[0] if len(shape.elts) >= len(fact.wanted) - 1]
    fit = [shape for shape in shapes if all(_number(line, shape.elts[axis]) == size for axis, size in old.items())]
    if len(fit) == 1 and None not in new.values():
        yield (
            f"Declare the input of {fact.layer.name} as {show_shape(fact.shape[1:])} at line {fit[0].lineno}",
            [line.edit(fit[0].elts[axis], str(size)) for axis, size in new.items()],
            _DECLARES,
        )


def _declarations(line: Line) -> tuple[list[ast.Tuple | ast.List], list[ast.Call]]:
    """The shapes that are declared where the line makes its model, and the calls there."""
    made = [call for call in line.around(ast.Call) if called(call) in ("Sequential", "Model", "Functional")]
    door = argument(made[-1], "inputs", ["inputs"]) if made and called(made[-1]) != "Sequential" else None
    scope: ast.AST = assigned_to(line, door) if door is not None else made[-1] if made else line.scope
    calls = [*nodes(scope, ast.Call), *(_added(line, made[-1]) if made and called(made[-1]) == "Sequential" else ())]
    inputs = [call for call in calls if called(call) in ("Input", "InputLayer")]
    given = [argument(call, "shape", ["shape"]) for call in inputs]
    given += [word.value for call in calls for word in call.keywords if word.arg in ("input_shape", "batch_input_shape")]
    return [shape for shape in given if isinstance(shape, (ast.Tuple, ast.List))], calls


def _added(line: Line, model: ast.Call) -> list[ast.Call]:
    held = [item for item in nodes(line.scope, ast.Assign) if item.value is model]
    names = {ast.unparse(target) for item in held for target in item.targets}
    adds = [call for call in nodes(line.scope, ast.Call) if called(call) == "add" and isinstance(call.func, ast.Attribute)]
    return [one for call in adds if ast.unparse(call.func.value) in names for one in call.args if isinstance(one, ast.Call)]


def _changed(line: Line, node: ast.expr, more: int) -> str:
    if isinstance(node, ast.Constant):
        return str((line.number(node) or 0) + more)
    written, size = line.source.of(node), (line.number(node) or 0) + more
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            times = line.number(other)
            if isinstance(one, ast.Constant) and times and size % times == 0:
                parts = [str(size // times) if part is one else line.source.of(part) for part in (node.left, node.right)]
                return " * ".join(parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)) and isinstance(node.right, ast.Constant):
        number = line.number(node.right) or 0
        written, more = line.source.of(node.left), more + (number if isinstance(node.op, ast.Add) else -number)
    return written + (f" {'+' if more > 0 else '-'} {abs(more)}" if more else "")


def _number(line: Line, node: ast.expr) -> int | None:
    known = line.number(node)
    made = assigned_to(line, node)
    return known if known is not None else line.number(made) if made is not node else None


@of(Disconnected)
def through_base(evidence: Evidence, finding: Finding, fact: Disconnected) -> Made:
    """A model on the tensors of another one's own graph."""
    for line in lines_of(evidence)[:1]:
        call = line.node
        if not isinstance(call, ast.Call):
            continue
        inside = [one.value for one in nodes(call, ast.Attribute) if one.attr == "output"]
        held = {part.id for one in inside for part in nodes(one, ast.Name)}
        for base in nodes(line.scope, ast.Call):
            name = base.func.id if isinstance(base.func, ast.Name) else ""
            given = base.args[0] if name in held and not base.keywords and len(base.args) == 1 else None
            if not isinstance(given, ast.Name):
                continue
            # Besides, the Input is only what a model begins with: this one, or the one that this one is made of.
            reads = [one for one in nodes(line.scope, ast.Name) if one.id == given.id and isinstance(one.ctx, ast.Load)]
            doors = [_door(one) for one in nodes(line.scope, ast.Call) if called(one) in ("Model", "Functional")]
            begins = [one for one in reads if any(one is door for door in doors)]
            if len(begins) == 1 and len(reads) == 2:
                yield (
                    f"Build on the graph of {name}: use {name}.output and {name}.input instead of calling it on {given.id}",
                    [line.edit(base, f"{name}.output"), line.edit(begins[0], f"{name}.input")],
                    f"A tensor from inside {name} depends on the Input of {name} alone.",
                )


def _door(model: ast.Call) -> ast.expr | None:
    given = argument(model, "inputs", ["inputs"])
    alone = given.elts if isinstance(given, ast.List) else []
    return alone[0] if len(alone) == 1 else given
