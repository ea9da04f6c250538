"""Edits of source text with libcst: formatting and comments stay, only what must change changes."""

from __future__ import annotations

import re
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider

from ..flow import Edit
from . import transforms

_FIRST = {
    "Reshape": "target_shape", "Dense": "units", "RepeatVector": "n", "Permute": "dims", "LSTM": "units", "GRU": "units", "SimpleRNN": "units",
    "Conv1D": "filters", "Conv2D": "filters", "Conv3D": "filters", "Embedding": "input_dim", "MaxPooling1D": "pool_size", "MaxPooling2D": "pool_size",
    "MaxPooling3D": "pool_size", "AveragePooling2D": "pool_size", "UpSampling2D": "size", "ZeroPadding2D": "padding", "Cropping2D": "cropping",
}  # fmt: skip
_POSITIONS = {
    "Conv1D": ["filters", "kernel_size", "strides", "padding"],
    "Conv2D": ["filters", "kernel_size", "strides", "padding"],
    "Conv3D": ["filters", "kernel_size", "strides", "padding"],
}


class NoPlace(Exception):
    """The source does not show where the edit belongs."""


def change(source: str, edit: Edit, line: int, places: Any) -> str:
    """The source with one edit made at ``line`` (0: wherever it fits once).

    Raises:
        NoPlace: where the source does not show one place for it.
    """
    if edit.kind == "replace-op":
        return _literal_in(source, edit, line)
    if edit.kind == "loss":
        return _loss(source, edit)
    if edit.kind in ("data-transform", "label-transform", "batching"):
        return _data(source, edit, line)
    wrapper = MetadataWrapper(cst.parse_module(source))
    positions, parents = wrapper.resolve(PositionProvider), wrapper.resolve(ParentNodeProvider)
    name = places.name(edit)
    cls = places.classes[name]
    call = _call_at(wrapper.module, positions, line, "Input" if cls == "InputLayer" else cls, places.ordinals[name])
    if edit.kind == "input-shape":
        new: Any = _with_shape(call, edit.detail["shape"])
        return _swap(wrapper.module, call, new).code
    if edit.kind == "layer-config":
        return _swap(wrapper.module, call, _configured(call, edit.detail["config"])).code
    if edit.kind == "replace-layer":
        return _swap(wrapper.module, call, _replaced(call, edit.detail)).code
    return _inserted(wrapper.module, call, parents, edit)


def _swap(module: cst.Module, old: Any, new: Any) -> cst.Module:
    """The module with one node exchanged."""
    changed: Any = module.deep_replace(old, new)
    return changed  # type: ignore[no-any-return]


# -- finding ---------------------------------------------------------------------------------------


def name_of(call: cst.Call) -> str:
    func = call.func
    return func.attr.value if isinstance(func, cst.Attribute) else func.value if isinstance(func, cst.Name) else ""


def _call_at(module: cst.Module, positions: Any, line: int, cls: str, ordinal: tuple[int, int]) -> cst.Call:
    """The constructor call of a class on a line: the n-th of as many as were seen being made there."""
    found: list[cst.Call] = []

    class Finder(cst.CSTVisitor):
        def visit_Call(self, node: cst.Call) -> None:
            where = positions[node]
            if where.start.line <= line <= where.end.line and _is(name_of(node), cls):
                found.append(node)

    module.visit(Finder())
    exact = [call for call in found if positions[call].start.line == line] or found
    index, count = ordinal
    if len(exact) != count:
        raise NoPlace
    return sorted(exact, key=lambda call: (positions[call].start.line, positions[call].start.column))[index]


_ALIASES = {
    "MaxPool1D": "MaxPooling1D",
    "MaxPool2D": "MaxPooling2D",
    "MaxPool3D": "MaxPooling3D",
    "AvgPool2D": "AveragePooling2D",
    "Convolution2D": "Conv2D",
    "Convolution1D": "Conv1D",
    "InputLayer": "Input",
}


def _is(written: str, cls: str) -> bool:
    return _ALIASES.get(written, written) == _ALIASES.get(cls, cls)


# -- expressions -----------------------------------------------------------------------------------


def literal(value: Any) -> str:
    """A value as one would write it."""
    if isinstance(value, (list, tuple)):
        inner = ", ".join(literal(item) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def constructor(prefix: str, name: str, config: dict[str, Any]) -> str:
    """A layer's constructor call as one would write it."""
    if name == "TimeDistributed":
        return f"{prefix}TimeDistributed({prefix}{config['layer']}())"
    first = _FIRST.get(name)
    parts = [literal(config[first])] if first in config else []
    parts += [f"{key}={literal(value)}" for key, value in config.items() if key != first]
    return f"{prefix}{name}({', '.join(parts)})"


def _prefix(call: cst.Call) -> str:
    func = call.func
    return cst.Module([]).code_for_node(func.value) + "." if isinstance(func, cst.Attribute) else ""


def loss_code(prefix: str, detail: dict[str, Any]) -> str:
    """A loss as one would write it: its name, or an object where it has options."""
    options = {key: value for key, value in (detail.get("options") or {}).items() if value not in (None, False)}
    if not options:
        return f'"{detail["loss"]}"'
    cls = "".join(part.capitalize() for part in detail["loss"].split("_"))
    return f"{prefix}losses.{cls}({', '.join(f'{key}={literal(value)}' for key, value in options.items())})"


def _configured(call: cst.Call, config: dict[str, Any]) -> cst.Call:
    for key, value in config.items():
        call = _with_argument(call, key, cst.parse_expression(literal(value)))
    return call


def _with_argument(call: cst.Call, key: str, value: cst.BaseExpression) -> cst.Call:
    arguments = list(call.args)
    for i, argument in enumerate(arguments):
        if argument.keyword is not None and argument.keyword.value == key:
            arguments[i] = argument.with_changes(value=value)
            return call.with_changes(args=arguments)
    order = _POSITIONS.get(_ALIASES.get(name_of(call), name_of(call)), [_FIRST.get(_ALIASES.get(name_of(call), name_of(call)), "")])
    positional = [i for i, argument in enumerate(arguments) if argument.keyword is None]
    if key in order and order.index(key) < len(positional):
        arguments[order.index(key)] = arguments[order.index(key)].with_changes(value=value)
        return call.with_changes(args=arguments)
    if arguments:
        arguments[-1] = arguments[-1].with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
    arguments.append(cst.Arg(value, keyword=cst.Name(key), equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))))
    return call.with_changes(args=arguments)


def _replaced(call: cst.Call, detail: dict[str, Any]) -> cst.Call:
    func = call.func
    new = func.with_changes(attr=cst.Name(detail["layer"])) if isinstance(func, cst.Attribute) else cst.Name(detail["layer"])
    if not detail.get("keep"):
        made = cst.parse_expression(constructor("", detail["layer"], detail.get("config", {})))
        assert isinstance(made, cst.Call)
        return call.with_changes(func=new, args=made.args)
    # A single size stands for every axis, so numbers stay as they are written.
    return call.with_changes(func=new)


def _with_shape(call: cst.Call, shape: list[Any]) -> cst.Call:
    value = cst.parse_expression(literal(tuple(shape)))
    for key in ("shape", "input_shape"):
        if any(argument.keyword is not None and argument.keyword.value == key for argument in call.args):
            return _with_argument(call, key, value)
    arguments = list(call.args)
    for i, argument in enumerate(arguments):
        if argument.keyword is not None and argument.keyword.value == "input_dim":
            arguments[i] = argument.with_changes(keyword=cst.Name("input_shape"), value=value)
            return call.with_changes(args=arguments)
    if arguments and arguments[0].keyword is None and _is(name_of(call), "Input"):
        arguments[0] = arguments[0].with_changes(value=value)
        return call.with_changes(args=arguments)
    raise NoPlace


# -- inserting a layer -----------------------------------------------------------------------------


def _inserted(module: cst.Module, call: cst.Call, parents: Any, edit: Edit) -> str:
    prefix = _prefix(call)
    code = constructor(prefix, edit.detail["layer"], edit.detail.get("config", {}))
    new = cst.parse_expression(code)
    parent, position = parents[call], edit.detail.get("position", "before")
    if edit.detail.get("input") is not None:
        changed = _into_list_argument(module, call, parents, new, edit.detail["input"])
    elif isinstance(parent, cst.Element) and isinstance(parents[parent], (cst.List, cst.Tuple)):
        changed = _into_list(module, parent, parents[parent], new, position)
    elif isinstance(parent, cst.Call) and parent.func is call:
        changed = _around_call(module, parent, new, position)
    elif isinstance(parent, cst.Arg) and isinstance(parents[parent], cst.Call) and name_of(parents[parent]) == "add":
        changed = _beside_add(module, parents[parent], parents, new, position)
    elif isinstance(parent, cst.Assign) and isinstance(parent.targets[0].target, cst.Attribute):
        changed = _attribute(module, parent, new, position)
    elif isinstance(parent, cst.Assign) and isinstance(parent.targets[0].target, cst.Name):
        changed = _variable(module, parent.targets[0].target.value, new, position)
    else:
        raise NoPlace
    result = changed.code
    return result if prefix else _imported(result, call, edit.detail["layer"], edit.detail.get("config", {}))


def _into_list(module: cst.Module, element: cst.Element, owner: Any, new: cst.BaseExpression, position: str) -> cst.Module:
    elements = list(owner.elements)
    at = elements.index(element)
    plain = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    style = elements[at - 1].comma if at > 0 and isinstance(elements[at - 1].comma, cst.Comma) else elements[at].comma
    comma = _bare(style) if isinstance(style, cst.Comma) else plain
    if position == "after":
        broken = isinstance(element.comma, cst.Comma) and isinstance(element.comma.whitespace_after, cst.ParenthesizedWhitespace)
        elements[at] = element if broken else element.with_changes(comma=comma)
        elements.insert(at + 1, cst.Element(new, comma=_bare(element.comma) if broken else element.comma))
    else:
        elements.insert(at, cst.Element(new, comma=comma))
    return _swap(module, owner, owner.with_changes(elements=elements))


def _bare(comma: Any) -> Any:
    """A comma with the line break behind it, and without the remark that stands there."""
    space = comma.whitespace_after
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return comma
    first = space.first_line.with_changes(whitespace=cst.SimpleWhitespace(""), comment=None)
    return comma.with_changes(whitespace_after=space.with_changes(first_line=first, empty_lines=[]))


def _around_call(module: cst.Module, outer: cst.Call, new: cst.BaseExpression, position: str) -> cst.Module:
    if not outer.args:
        raise NoPlace
    if position == "after":
        return _swap(module, outer, cst.Call(new, [cst.Arg(outer)]))
    first = outer.args[0]
    wrapped = first.with_changes(value=cst.Call(new, [cst.Arg(first.value)]))
    return _swap(module, outer, outer.with_changes(args=[wrapped, *outer.args[1:]]))


def _into_list_argument(module: cst.Module, call: cst.Call, parents: Any, new: cst.BaseExpression, index: int) -> cst.Module:
    outer = parents[call]
    if not (isinstance(outer, cst.Call) and outer.func is call and outer.args and isinstance(outer.args[0].value, (cst.List, cst.Tuple))):
        raise NoPlace
    owner = outer.args[0].value
    elements = list(owner.elements)
    elements[index] = elements[index].with_changes(value=cst.Call(new, [cst.Arg(elements[index].value)]))
    return _swap(module, owner, owner.with_changes(elements=elements))


def _beside_add(module: cst.Module, add: cst.Call, parents: Any, new: cst.BaseExpression, position: str) -> cst.Module:
    statement = parents[parents[add]]
    if not isinstance(statement, cst.SimpleStatementLine):
        raise NoPlace
    body = list(statement.body)
    at = body.index(parents[add])
    behind = position == "after"
    extra = cst.Expr(add.with_changes(args=[add.args[0].with_changes(value=new)]))
    if len(body) == 1:
        owner = parents[statement]
        lines = list(owner.body)
        lines.insert(lines.index(statement) + behind, cst.SimpleStatementLine([extra]))
        return _swap(module, owner, owner.with_changes(body=lines)) if owner is not module else module.with_changes(body=lines)
    if behind:
        raise NoPlace
    body.insert(at, extra.with_changes(semicolon=cst.Semicolon(whitespace_after=cst.SimpleWhitespace(" "))))
    return _swap(module, statement, statement.with_changes(body=body))


def _attribute(module: cst.Module, assign: cst.Assign, new: cst.BaseExpression, position: str) -> cst.Module:
    """``self.head = Dense(10)``: the new layer wraps what the attribute is called with."""
    target = assign.targets[0].target
    assert isinstance(target, cst.Attribute)
    text = module.code_for_node(target)
    wrap = _Wrap(lambda node: module.code_for_node(node.func) == text, new, position)
    changed = module.visit(wrap)
    if wrap.count != 1:
        raise NoPlace
    return changed


def _variable(module: cst.Module, name: str, new: cst.BaseExpression, position: str) -> cst.Module:
    """``head = Dense(10)`` called later as ``head(x)``."""
    wrap = _Wrap(lambda node: isinstance(node.func, cst.Name) and node.func.value == name, new, position)
    changed = module.visit(wrap)
    if wrap.count != 1:
        raise NoPlace
    return changed


class _Wrap(cst.CSTTransformer):
    def __init__(self, wanted: Any, new: cst.BaseExpression, position: str) -> None:
        self.wanted, self.new, self.position, self.count = wanted, new, position, 0

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        if not self.wanted(original_node) or not updated_node.args:
            return updated_node
        self.count += 1
        if self.position == "after":
            return cst.Call(self.new, [cst.Arg(updated_node)])
        first = updated_node.args[0]
        return updated_node.with_changes(
            args=[first.with_changes(value=cst.Call(self.new, [cst.Arg(first.value)])), *updated_node.args[1:]]
        )


class _Import(cst.CSTTransformer):
    """Adds names to the import that brings another layer."""

    def __init__(self, beside: str, names: list[str]) -> None:
        self.beside, self.names, self.count = beside, names, 0

    def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> cst.ImportFrom:
        if isinstance(updated_node.names, cst.ImportStar):
            self.count += 1
            return updated_node
        known = [alias.evaluated_name for alias in updated_node.names]
        if self.beside not in known:
            return updated_node
        self.count += 1
        aliases = list(updated_node.names)
        for name in self.names:
            if name not in known:
                aliases[-1] = aliases[-1].with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
                aliases.append(cst.ImportAlias(cst.Name(name)))
        return updated_node.with_changes(names=aliases)


def _imported(source: str, call: cst.Call, name: str, config: dict[str, Any]) -> str:
    names = [name, *([config["layer"]] if name == "TimeDistributed" else [])]
    adder = _Import(name_of(call), names)
    changed = cst.parse_module(source).visit(adder)
    if not adder.count:
        raise NoPlace
    return changed.code


# -- loss, code inside call, data ------------------------------------------------------------------


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
            made = _with_argument(made, key, cst.parse_expression(literal(value)))
        return made


def _loss(source: str, edit: Edit) -> str:
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
    return _swap(wrapper.module, found[0], changed).code


def _literal_in(source: str, edit: Edit, line: int) -> str:
    from .source import Literal

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


def _data(source: str, edit: Edit, line: int) -> str:
    from .source import Reshape

    if edit.detail.get("op") == "host-layer":
        raise NoPlace
    module = cst.parse_module(source)
    change: Any = Reshape(edit.detail["shape"]) if edit.detail.get("op") == "source" else _Return(edit, module)
    result = _in_definition(source, line, change)
    if not change.count:
        raise NoPlace
    return _with_import(_with_import(result, "np", "numpy"), "tf", "tensorflow")


def _with_import(source: str, name: str, module: str) -> str:
    """Adds ``import module as name`` at the top where the name is used and not bound."""
    if f"{name}." not in source or re.search(rf"^(import {module}( as {name})?|from \S+ import .*\b{name}\b)", source, re.MULTILINE):
        return source
    tree = cst.parse_module(source)
    body = list(tree.body)
    at = 0
    while at < len(body) and isinstance(body[at], cst.SimpleStatementLine) and _is_head(body[at]):
        at += 1
    body.insert(at, cst.parse_statement(f"import {module} as {name}"))
    return tree.with_changes(body=body).code


def _is_head(statement: Any) -> bool:
    first = statement.body[0] if statement.body else None
    docstring = isinstance(first, cst.Expr) and isinstance(first.value, (cst.SimpleString, cst.ConcatenatedString))
    return docstring or (isinstance(first, cst.ImportFrom) and isinstance(first.module, cst.Name) and first.module.value == "__future__")
