"""Changes of code that more than one literal makes: rows counted, axes exchanged, windows that fill."""

from __future__ import annotations

from typing import Any

import libcst as cst

_MAKERS = frozenset({"zeros", "ones", "fill", "normal", "uniform", "truncated_normal", "broadcast_to", "eye", "full"})


def _last_name(node: cst.BaseExpression) -> str:
    return node.attr.value if isinstance(node, cst.Attribute) else node.value if isinstance(node, cst.Name) else ""


class Rows(cst.CSTTransformer):
    """The rows of the call's own input, in place of a number, where a new tensor is made with so many rows."""

    def __init__(self, find: int) -> None:
        self.find, self.count = str(find), 0
        self._first: list[str] = []

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        names = [param.name.value for param in node.params.params if param.name.value not in ("self", "cls")]
        self._first.append(names[0] if names else "")

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        self._first.pop()
        return updated_node

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        name = next((item for item in reversed(self._first) if item), "")
        if not name or _last_name(updated_node.func) not in _MAKERS:
            return updated_node
        arguments = list(updated_node.args)
        for i, argument in enumerate(arguments):
            shape = argument.value
            if not isinstance(shape, (cst.Tuple, cst.List)) or not shape.elements:
                continue
            first = shape.elements[0]
            if isinstance(first.value, cst.Integer) and first.value.value == self.find:
                self.count += 1
                rows = cst.parse_expression(f"tf.shape({name})[0]")
                elements = [first.with_changes(value=rows), *shape.elements[1:]]
                arguments[i] = argument.with_changes(value=shape.with_changes(elements=elements))
        return updated_node.with_changes(args=arguments)


class Transposed(cst.CSTTransformer):
    """``reshape(x, shape)`` becomes ``transpose(x, order)`` at one call: axes are exchanged and not only renamed."""

    def __init__(self, order: list[int]) -> None:
        self.order, self.count = order, 0

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        if _last_name(updated_node.func) != "reshape" or not isinstance(updated_node.func, cst.Attribute) or len(updated_node.args) != 2:
            return updated_node
        self.count += 1
        order = cst.parse_expression(f"({', '.join(map(str, self.order))})")
        first = updated_node.args[0]
        return updated_node.with_changes(
            func=updated_node.func.with_changes(attr=cst.Name("transpose")),
            args=[first, updated_node.args[1].with_changes(keyword=None, value=order, equal=cst.MaybeSentinel.DEFAULT)],
        )


class Filled(cst.CSTTransformer):
    """Rows that fill no whole window are left out in front of ``x.reshape(-1, window, ...)``."""

    def __init__(self, shape: list[int]) -> None:
        self.shape, self.count = [str(n) for n in shape], 0

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> Any:
        func = updated_node.func
        if not isinstance(func, cst.Attribute) or func.attr.value != "reshape" or not isinstance(func.value, (cst.Name, cst.Attribute)):
            return updated_node
        values = [argument.value for argument in updated_node.args]
        if len(values) == 1 and isinstance(values[0], (cst.Tuple, cst.List)):
            values = [element.value for element in values[0].elements]
        text = cst.Module([]).code_for_node
        if [text(value) for value in values] != ["-1", *self.shape]:
            return updated_node
        self.count += 1
        name = text(func.value)
        whole = cst.parse_expression(f"{name}[: len({name}) // {self.shape[0]} * {self.shape[0]}]")
        return updated_node.with_changes(func=func.with_changes(value=whole))


class Resized(cst.CSTTransformer):
    """Another last number in reshapes to one shape, whose first axis may be an expression."""

    def __init__(self, shape: list[int], size: int) -> None:
        self.inner, self.size, self.count = [str(n) for n in shape[1:]], size, 0

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> Any:
        if _last_name(updated_node.func) != "reshape":
            return updated_node
        arguments = list(updated_node.args)
        text = cst.Module([]).code_for_node
        new = cst.Integer(str(self.size))
        inner = arguments[-1].value if arguments else None
        if isinstance(inner, (cst.Tuple, cst.List)):
            if [text(element.value) for element in inner.elements[1:]] == self.inner:
                self.count += 1
                elements = [*inner.elements[:-1], inner.elements[-1].with_changes(value=new)]
                arguments[-1] = arguments[-1].with_changes(value=inner.with_changes(elements=elements))
        elif [text(argument.value) for argument in arguments[-len(self.inner) :]] == self.inner and len(arguments) > len(self.inner):
            self.count += 1
            arguments[-1] = arguments[-1].with_changes(value=new)
        return updated_node.with_changes(args=arguments)
