"""How things are written: values, layers and arguments as source text, names as they stand in a call."""

from __future__ import annotations

import re
import symtable
from functools import lru_cache
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper


class NoPlace(Exception):
    """The source does not show where the edit belongs."""


FIRST = {
    "Reshape": "target_shape", "Dense": "units", "RepeatVector": "n", "Permute": "dims", "LSTM": "units", "GRU": "units", "SimpleRNN": "units",
    "Conv1D": "filters", "Conv2D": "filters", "Conv3D": "filters", "Embedding": "input_dim", "MaxPooling1D": "pool_size", "MaxPooling2D": "pool_size",
    "MaxPooling3D": "pool_size", "AveragePooling2D": "pool_size", "UpSampling2D": "size", "ZeroPadding2D": "padding", "Cropping2D": "cropping",
}  # fmt: skip


POSITIONS = {
    "Conv1D": ["filters", "kernel_size", "strides", "padding"],
    "Conv2D": ["filters", "kernel_size", "strides", "padding"],
    "Conv3D": ["filters", "kernel_size", "strides", "padding"],
    "batch": ["batch_size", "drop_remainder"],
    "padded_batch": ["batch_size", "padded_shapes", "padding_values", "drop_remainder"],
}


@lru_cache(maxsize=4)
def parsed(source: str) -> MetadataWrapper:
    """A module with its positions and parents; several fixes change the same source."""
    return MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)


def name_of(call: cst.Call) -> str:
    func = call.func
    return func.attr.value if isinstance(func, cst.Attribute) else func.value if isinstance(func, cst.Name) else ""


ALIASES = {
    "MaxPool1D": "MaxPooling1D",
    "MaxPool2D": "MaxPooling2D",
    "MaxPool3D": "MaxPooling3D",
    "AvgPool2D": "AveragePooling2D",
    "Convolution2D": "Conv2D",
    "Convolution1D": "Conv1D",
    "InputLayer": "Input",
}


def is_class(written: str, cls: str) -> bool:
    return ALIASES.get(written, written) == ALIASES.get(cls, cls)


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
    first = FIRST.get(name)
    parts = [literal(config[first])] if first in config else []
    parts += [f"{key}={literal(value)}" for key, value in config.items() if key != first]
    return f"{prefix}{name}({', '.join(parts)})"


def prefix_of(call: cst.Call) -> str:
    func = call.func
    return cst.Module([]).code_for_node(func.value) + "." if isinstance(func, cst.Attribute) else ""


def loss_code(prefix: str, detail: dict[str, Any]) -> str:
    """A loss as one would write it: its name, or an object where it has options."""
    options = {key: value for key, value in (detail.get("options") or {}).items() if value not in (None, False)}
    if not options:
        return f'"{detail["loss"]}"'
    cls = "".join(part.capitalize() for part in detail["loss"].split("_"))
    return f"{prefix}losses.{cls}({', '.join(f'{key}={literal(value)}' for key, value in options.items())})"


def with_argument(call: cst.Call, key: str, value: cst.BaseExpression) -> cst.Call:
    arguments = list(call.args)
    for i, argument in enumerate(arguments):
        if argument.keyword is not None and argument.keyword.value == key:
            arguments[i] = argument.with_changes(value=value)
            return call.with_changes(args=arguments)
    order = POSITIONS.get(ALIASES.get(name_of(call), name_of(call)), [FIRST.get(ALIASES.get(name_of(call), name_of(call)), "")])
    positional = [i for i, argument in enumerate(arguments) if argument.keyword is None]
    if key in order and order.index(key) < len(positional):
        arguments[order.index(key)] = arguments[order.index(key)].with_changes(value=value)
        return call.with_changes(args=arguments)
    if arguments:
        arguments[-1] = arguments[-1].with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
    arguments.append(cst.Arg(value, keyword=cst.Name(key), equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))))
    return call.with_changes(args=arguments)


def swap(module: cst.Module, old: Any, new: Any) -> cst.Module:
    """The module with one node exchanged."""
    changed: Any = module.deep_replace(old, new)
    return changed  # type: ignore[no-any-return]


def with_import(source: str, name: str, module: str, before: str = "") -> str:
    """Adds ``import module as name`` at the top where the name is used and bound nowhere that the use can see.

    A name that was used so ``before`` comes from somewhere that the source does not show.
    """
    if not unbound(source, name) or unbound(before, name) or re.search(r"^from \S+ import \*", source, re.MULTILINE):
        return source
    tree = cst.parse_module(source)
    body = list(tree.body)
    at = 0
    while at < len(body) and isinstance(body[at], cst.SimpleStatementLine) and _is_head(body[at]):
        at += 1
    body.insert(at, cst.parse_statement(f"import {module} as {name}"))
    return tree.with_changes(body=body).code


def unbound(source: str, name: str) -> bool:
    """Whether a source uses a name that it does not bind."""
    return _unbound(symtable.symtable(source, "source", "exec"), name)


def _unbound(table: symtable.SymbolTable, name: str) -> bool:
    """Whether a name is used as a global one, and the module does not bind it."""
    try:
        own = table.lookup(name)
    except KeyError:
        own = None
    if own is not None and table.get_type() == "module" and (own.is_assigned() or own.is_imported()):
        return False
    used = own is not None and own.is_referenced() and (table.get_type() == "module" or own.is_global())
    return used or any(_unbound(inner, name) for inner in table.get_children())


def _is_head(statement: Any) -> bool:
    first = statement.body[0] if statement.body else None
    docstring = isinstance(first, cst.Expr) and isinstance(first.value, (cst.SimpleString, cst.ConcatenatedString))
    return docstring or (isinstance(first, cst.ImportFrom) and isinstance(first.module, cst.Name) and first.module.value == "__future__")
