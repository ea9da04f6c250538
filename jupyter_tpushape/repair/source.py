"""Changing code inside a layer's own ``call``."""

from __future__ import annotations

import inspect
import sys
import textwrap
from typing import Any

import libcst as cst

from ..flow import Edit
from .codemods import Filled, Resized, Rows, Transposed


class Literal(cst.CSTTransformer):
    """Replaces an integer literal that stands first in a tuple, a list or an argument list."""

    def __init__(self, find: int, replace: int) -> None:
        self.find, self.replace, self.count = str(find), replace, 0

    def _new(self) -> cst.BaseExpression:
        self.count += 1
        number = cst.Integer(str(abs(self.replace)))
        return cst.UnaryOperation(cst.Minus(), number) if self.replace < 0 else number

    def leave_Tuple(self, original_node: cst.Tuple, updated_node: cst.Tuple) -> Any:
        return self._first(updated_node)

    def leave_List(self, original_node: cst.List, updated_node: cst.List) -> Any:
        return self._first(updated_node)

    def _first(self, node: Any) -> Any:
        elements = list(node.elements)
        if elements and isinstance(elements[0].value, cst.Integer) and elements[0].value.value == self.find:
            elements[0] = elements[0].with_changes(value=self._new())
            return node.with_changes(elements=elements)
        return node


class StaticMask(cst.CSTTransformer):
    """``tf.boolean_mask(x, mask)`` becomes a product: the rows stay, those outside the mask are zero."""

    def __init__(self, axes: int) -> None:
        self.axes, self.count = axes, 0

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> Any:
        name, arguments = updated_node.func, updated_node.args
        if not (isinstance(name, cst.Attribute) and name.attr.value == "boolean_mask") or len(arguments) != 2:
            return updated_node
        self.count += 1
        text = cst.Module([]).code_for_node
        value, mask, module = text(arguments[0].value), text(arguments[1].value), text(name.value)
        inside = f"({mask})[{', '.join(['...'] + [f'{module}.newaxis'] * self.axes)}]" if self.axes else mask
        return cst.parse_expression(f"{module}.where({inside}, {value}, {module}.zeros_like({value}))")


class Axis(cst.CSTTransformer):
    """Another number for ``axis=``."""

    def __init__(self, find: int, replace: int) -> None:
        self.find, self.replace, self.count = find, replace, 0

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> Any:
        if updated_node.keyword is None or updated_node.keyword.value != "axis" or not isinstance(updated_node.value, cst.Integer):
            return updated_node
        if int(updated_node.value.value) != self.find:
            return updated_node
        self.count += 1
        return updated_node.with_changes(value=cst.parse_expression(str(self.replace)))


class Number(cst.CSTTransformer):
    """A number that occurs once."""

    def __init__(self, find: int, replace: int) -> None:
        self.find, self.replace, self.count = find, replace, 0

    def leave_Integer(self, original_node: cst.Integer, updated_node: cst.Integer) -> Any:
        if updated_node.value != str(self.find):
            return updated_node
        self.count += 1
        return cst.Integer(str(self.replace))


class Renamed(cst.CSTTransformer):
    """A name such as a dtype's, as an attribute or in quotes."""

    def __init__(self, find: str, replace: str) -> None:
        self.find, self.replace, self.count = find, replace, 0

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> Any:
        if updated_node.value != self.find:
            return updated_node
        self.count += 1
        return updated_node.with_changes(value=self.replace)

    def leave_SimpleString(self, original_node: cst.SimpleString, updated_node: cst.SimpleString) -> Any:
        if updated_node.evaluated_value != self.find:
            return updated_node
        self.count += 1
        return updated_node.with_changes(value=f"{updated_node.quote}{self.replace}{updated_node.quote}")


def transformer_of(edit: Edit) -> Any:
    """What changes the code that an edit is about; its ``count`` says how often it did."""
    if edit.detail.get("op") == "number":
        return Number(int(edit.detail["find"]), int(edit.detail["replace"]))
    if edit.detail.get("op") == "name":
        return Renamed(str(edit.detail["find"]), str(edit.detail["replace"]))
    if edit.detail.get("op") == "axis":
        return Axis(int(edit.detail["find"]), int(edit.detail["replace"]))
    if edit.detail.get("op") == "static-mask":
        return StaticMask(int(edit.detail["axes"]))
    if edit.detail.get("op") == "rows":
        return Rows(int(edit.detail["find"]))
    if edit.detail.get("op") == "transpose":
        return Transposed(edit.detail["order"])
    return Literal(edit.detail["find"], edit.detail["replace"])


def replace_operation(adapter: Any, model: Any, edit: Edit) -> bool:
    """Changes the code of the layer named by the edit; ``False`` where there is none, or its source is not known."""
    layer = _find(adapter, model, edit.target)
    return layer is not None and change_call(layer, edit)


def change_call(layer: Any, edit: Edit) -> bool:
    """Gives this layer a ``call``, or a Lambda its function, with an edit made; ``False`` where the source is not known."""
    anonymous = type(layer).__name__ == "Lambda" and inspect.isfunction(getattr(layer, "function", None))
    function = inspect.unwrap(layer.function if anonymous else type(layer).call)
    literal = transformer_of(edit)
    changed = _changed(function, literal)
    if changed is None:
        return False
    scope = dict(vars(sys.modules.get(function.__module__)) if function.__module__ in sys.modules else function.__globals__)
    scope.update(function.__globals__)
    scope.update(zip(function.__code__.co_freevars, (cell.cell_contents for cell in function.__closure__ or ()), strict=False))
    scope["__class__"] = type(layer)
    made: dict[str, Any] = {}
    exec(compile(changed, "<tpushape edit>", "exec"), scope, made)
    if anonymous:
        layer.function = made[function.__name__ if function.__name__ in made else _LAMBDA]
        return True
    layer.__class__ = type(type(layer).__name__, (type(layer),), {"call": made[function.__name__], "__module__": type(layer).__module__})
    return True


_LAMBDA = "anonymous"


def _once(change: Any) -> bool:
    """Whether a change was made, and made at one place where it means one."""
    return bool(change.count) and (change.count == 1 or not isinstance(change, (Number, StaticMask, Transposed)))


class _Lambdas(cst.CSTVisitor):
    """The lambdas in a piece of source."""

    def __init__(self) -> None:
        self.found: list[cst.Lambda] = []

    def visit_Lambda(self, node: cst.Lambda) -> None:
        self.found.append(node)


def _changed(function: Any, literal: Any) -> str | None:
    """The function's source with the literal changed; a lambda becomes an assignment. ``None`` where it is not known."""
    try:
        source = textwrap.dedent(inspect.getsource(function)).strip()
    except (OSError, TypeError):
        return None
    if function.__name__ == "<lambda>":
        start = source.find("lambda")
        for end in range(len(source), start, -1):
            try:
                expression = cst.parse_expression(source[start:end])
            except cst.ParserSyntaxError:
                continue
            lambdas = _Lambdas()
            expression.visit(lambdas)
            if not lambdas.found or len(lambdas.found) > 1 or source.count("lambda") > 1:
                return None
            code = cst.Module(body=[]).code_for_node(lambdas.found[0].visit(literal))  # type: ignore[arg-type]
            return f"{_LAMBDA} = {code}" if _once(literal) else None
        return None
    changed = cst.parse_module(source).visit(literal)
    return changed.code if _once(literal) else None


class Reshape(cst.CSTTransformer):
    """Lets NumPy count the first axis in reshapes to one shape."""

    def __init__(self, shape: list[int]) -> None:
        self.shape, self.count = [str(n) for n in shape], 0

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        name = updated_node.func
        if not (isinstance(name, cst.Attribute) and name.attr.value == "reshape"):
            return updated_node
        arguments = list(updated_node.args)
        numbers = [arg.value.value for arg in arguments if isinstance(arg.value, cst.Integer)]
        if numbers == self.shape and len(arguments) == len(numbers):
            arguments[0] = arguments[0].with_changes(value=cst.UnaryOperation(cst.Minus(), cst.Integer("1")))
            self.count += 1
            return updated_node.with_changes(args=arguments)
        last = arguments[-1].value if arguments else None
        if isinstance(last, (cst.Tuple, cst.List)):
            inner = [item.value.value for item in last.elements if isinstance(item.value, cst.Integer)]
            if inner == self.shape:
                elements = list(last.elements)
                elements[0] = elements[0].with_changes(value=cst.UnaryOperation(cst.Minus(), cst.Integer("1")))
                arguments[-1] = arguments[-1].with_changes(value=last.with_changes(elements=elements))
                self.count += 1
                return updated_node.with_changes(args=arguments)
        return updated_node


class Earlier(cst.CSTTransformer):
    """One stage of a chain moved some stages towards its source."""

    def __init__(self, stage: str, steps: int) -> None:
        self.stage, self.steps, self.count = stage, steps, 0

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        if not (isinstance(updated_node.func, cst.Attribute) and updated_node.func.attr.value == self.stage):
            return updated_node
        passed: list[cst.Call] = []
        below: Any = updated_node.func.value
        while len(passed) < self.steps and isinstance(below, cst.Call) and isinstance(below.func, cst.Attribute):
            passed.append(below)
            below = below.func.value
        if len(passed) < self.steps or not (isinstance(below, (cst.Call, cst.Name))):
            return updated_node
        self.count += 1
        made = updated_node.with_changes(func=updated_node.func.with_changes(value=below))
        for call in reversed(passed):
            assert isinstance(call.func, cst.Attribute)
            made = call.with_changes(func=call.func.with_changes(value=made))
        return made


def data_transformer(edit: Edit) -> Any:
    """What changes the data function that an edit is about."""
    if edit.detail.get("move"):
        return Earlier(str(edit.detail["move"]), int(edit.detail["steps"]))
    if edit.detail.get("fill"):
        return Filled(edit.detail["shape"])
    if edit.detail.get("last"):
        return Resized(edit.detail["shape"], int(edit.detail["last"]))
    return Reshape(edit.detail["shape"])


def rewritten(function: Any, edit: Edit) -> Any:
    """The data function with an edit of its source made; ``None`` where its source is not known, or shows no place for it."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
        change = data_transformer(edit)
        changed = cst.parse_module(source).visit(change)
    except (OSError, TypeError, cst.ParserSyntaxError):
        return None
    if not change.count:
        return None
    made: dict[str, Any] = {}
    scope = dict(function.__globals__)
    scope.update(zip(function.__code__.co_freevars, (cell.cell_contents for cell in function.__closure__ or ()), strict=False))
    exec(compile(changed.code, "<tpushape edit>", "exec"), scope, made)
    return made.get(function.__name__)


def _find(adapter: Any, model: Any, name: str) -> Any:
    if name in ("", getattr(model, "name", None)):
        return model
    for layer in getattr(model, "layers", ()) or ():
        if layer.name == name:
            return layer
        found = _find(adapter, layer, name) if getattr(layer, "layers", None) else None
        if found is not None:
            return found
    return None
