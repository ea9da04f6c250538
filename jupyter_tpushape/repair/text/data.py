"""The loss, the code inside a call and the data in source text."""

from __future__ import annotations

from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from ...flow import Edit
from .. import transforms
from .words import (
    NoPlace,
    literal,
    loss_code,
    name_of,
    swap,
    with_argument,
    with_import,
)


class _Loss(cst.CSTTransformer):
    """Exchanges the loss: in ``compile``, or where its name stands as a string or a class."""

    def __init__(self, old: tuple[str, ...], detail: dict[str, Any]) -> None:
        self.old, self.detail, self.count = old, detail, 0

    def _new(self, prefix: str = "keras.") -> cst.BaseExpression:
        self.count += 1
        return cst.parse_expression(loss_code(prefix, self.detail))

    def leave_SimpleString(self, original_node: cst.SimpleString, updated_node: cst.SimpleString) -> cst.BaseExpression:
        value = updated_node.evaluated_value
        if value not in self.old:
            return updated_node
        made = self._new()
        if isinstance(made, cst.SimpleString):
            return cst.SimpleString(updated_node.quote + self.detail["loss"] + updated_node.quote)
        return made

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        if name_of(updated_node) not in self.old:
            return updated_node
        self.count += 1
        cls = "".join(part.capitalize() for part in self.detail["loss"].split("_"))
        func = updated_node.func
        new = func.with_changes(attr=cst.Name(cls)) if isinstance(func, cst.Attribute) else cst.Name(cls)
        made: cst.Call = updated_node.with_changes(func=new)
        for key, value in (self.detail.get("options") or {}).items():
            made = with_argument(made, key, cst.parse_expression(literal(value)))
        return made


def exchange_loss(source: str, edit: Edit) -> str:
    new = edit.detail["loss"]
    olds = {"sparse_categorical_crossentropy": "categorical_crossentropy", "categorical_crossentropy": "sparse_categorical_crossentropy"}
    old = olds.get(new, new) if (edit.detail.get("options") or {}).get("from_logits") is not False else new
    cls = "".join(part.capitalize() for part in old.split("_"))
    change = _Loss((old, cls), edit.detail)
    changed = cst.parse_module(source).visit(change)
    if change.count != 1:
        raise NoPlace
    return changed.code


def _in_definition(source: str, line: int, transformer: cst.CSTTransformer) -> str:
    """Applies a transformer to the function or class method that starts at ``line``."""
    wrapper = MetadataWrapper(cst.parse_module(source))
    positions = wrapper.resolve(PositionProvider)
    found: list[cst.FunctionDef] = []

    class Finder(cst.CSTVisitor):
        def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
            if positions[node].start.line == line or any(positions[item].start.line == line for item in node.decorators):
                found.append(node)

    wrapper.module.visit(Finder())
    if len(found) != 1:
        raise NoPlace
    changed = found[0].visit(transformer)
    return swap(wrapper.module, found[0], changed).code


def literal_in(source: str, edit: Edit, line: int) -> str:
    from ..source import Literal

    change = Literal(edit.detail["find"], edit.detail["replace"])
    result = _in_definition(source, line, change)
    if not change.count:
        raise NoPlace
    return result


class _Return(cst.CSTTransformer):
    """Changes what a data function returns: one element of its tuple, or the pipeline."""

    def __init__(self, edit: Edit, module: cst.Module) -> None:
        self.edit, self.module, self.count = edit, module, 0

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        # Functions inside the data function return things of their own.
        self.depth = getattr(self, "depth", 0) + 1
        return self.depth == 1

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        self.depth -= 1
        return updated_node

    def leave_Return(self, original_node: cst.Return, updated_node: cst.Return) -> cst.Return:
        value = updated_node.value
        if value is None:
            return updated_node
        if self.edit.kind == "batching":
            return updated_node.with_changes(value=self._batched(value))
        index = {"x": 0, "y": 1, "weight": 2}[self.edit.detail.get("role", "y" if self.edit.kind == "label-transform" else "x")]
        if isinstance(value, cst.Tuple) and index < len(value.elements):
            elements = list(value.elements)
            elements[index] = elements[index].with_changes(value=self._keyed(elements[index].value))
            return updated_node.with_changes(value=value.with_changes(elements=elements))
        mapped = transforms.map_code(self.edit) if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) else ""
        if not mapped:
            return updated_node
        self.count += 1
        return updated_node.with_changes(value=_before_prefetch(self.module, value, mapped))

    def _keyed(self, value: cst.BaseExpression) -> cst.BaseExpression:
        key = self.edit.detail.get("key")
        if key is None:
            return self._changed(value)
        if isinstance(value, (cst.List, cst.Tuple)) and isinstance(key, int) and key < len(value.elements):
            elements = list(value.elements)
            elements[key] = elements[key].with_changes(value=self._changed(elements[key].value))
            return value.with_changes(elements=elements)
        if isinstance(value, cst.Dict):
            items = [
                item.with_changes(value=self._changed(item.value))
                if isinstance(item, cst.DictElement) and isinstance(item.key, cst.SimpleString) and item.key.evaluated_value == key
                else item
                for item in value.elements
            ]
            return value.with_changes(elements=items)
        raise NoPlace

    def _changed(self, value: cst.BaseExpression) -> cst.BaseExpression:
        self.count += 1
        return cst.parse_expression(transforms.code(self.edit, self.module.code_for_node(value)))

    def _batched(self, value: cst.BaseExpression) -> cst.BaseExpression:
        detail = self.edit.detail
        self.count += 1
        code = self.module.code_for_node(value)
        if isinstance(value, cst.Tuple):
            plain = code if code.startswith("(") else f"({code})"
            return cst.parse_expression(
                f"tf.data.Dataset.from_tensor_slices({plain}).batch({detail['batch']}, drop_remainder={detail.get('drop_remainder', True)})"
            )
        drop = cst.parse_expression(f"f({detail['batch']}, drop_remainder={detail.get('drop_remainder', True)})")
        assert isinstance(drop, cst.Call)
        if not detail.get("repeat"):
            changed = _Batch(drop.args)
            made: Any = value.visit(changed)
            if changed.count == 1:
                return made  # type: ignore[no-any-return]
        middle = ".repeat()" if detail.get("repeat") else ""
        return cst.parse_expression(
            f"{code}{middle}.unbatch().batch({detail['batch']}, drop_remainder={detail.get('drop_remainder', True)})"
        )


class _Batch(cst.CSTTransformer):
    """Changes the arguments of the one ``batch`` in a chain."""

    def __init__(self, arguments: Any) -> None:
        self.arguments, self.count = arguments, 0

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        if name_of(updated_node) != "batch":
            return updated_node
        self.count += 1
        return updated_node.with_changes(args=self.arguments)


def _before_prefetch(module: cst.Module, value: Any, tail: str) -> cst.BaseExpression:
    """The pipeline with one more stage; a prefetch stays its last one."""
    if isinstance(value, cst.Call) and name_of(value) == "prefetch" and isinstance(value.func, cst.Attribute):
        inner = cst.parse_expression(f"{module.code_for_node(value.func.value)}{tail}")
        return value.with_changes(func=value.func.with_changes(value=inner))
    return cst.parse_expression(f"{module.code_for_node(value)}{tail}")


def change_data(source: str, edit: Edit, line: int) -> str:
    from ..source import Reshape

    if edit.detail.get("op") == "host-layer":
        raise NoPlace
    module = cst.parse_module(source)
    change: Any = Reshape(edit.detail["shape"]) if edit.detail.get("op") == "source" else _Return(edit, module)
    result = _in_definition(source, line, change)
    if not change.count:
        raise NoPlace
    return with_import(with_import(result, "np", "numpy"), "tf", "tensorflow")
