"""Parses Python, whatever other threads do."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, overload

from .text import MOST_SOURCE

Function = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# How often a parse is begun again.
_AGAIN = 20


@overload
def parse(text: str | bytes, mode: Literal["eval"]) -> ast.Expression: ...
@overload
def parse(text: str | bytes, mode: Literal["exec"] = "exec") -> ast.Module: ...
def parse(text: str | bytes, mode: Literal["exec", "eval"] = "exec") -> ast.AST:
    """``ast.parse``. Python 3.11 counts how deep a tree is in one place for all threads, and raises where two of them parse at once.

    Raises:
        SyntaxError, ValueError, RecursionError: where it is no Python, as ``ast.parse`` does.
    """
    for _ in range(_AGAIN):
        try:
            return ast.parse(text, mode=mode)
        except SystemError:
            continue
    return ast.parse(text, mode=mode)


@lru_cache(maxsize=32)
def parsed(text: str) -> ast.Module | None:
    """The tree of a source, kept for those who ask for it again; ``None`` where it is no Python, or too long to be searched."""
    if len(text) > MOST_SOURCE:
        return None
    try:
        return parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def called(call: ast.AST | None) -> str:
    """The last part of the name of what is called; ``""`` where nothing is."""
    func = call.func if isinstance(call, ast.Call) else None
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


# How functions and methods are named that leave something behind in a file or a folder.
_WRITING = frozenset({
    "save", "save_weights", "save_model", "save_img", "savez", "savez_compressed", "savetxt", "savefig", "export", "dump", "write", "writelines", "write_text",
    "write_bytes", "write_file", "write_graph", "tofile", "to_csv", "to_pickle", "to_parquet", "to_excel", "to_feather", "to_hdf", "plot_model", "mkdir",
    "makedirs", "unlink", "rmtree", "rename",
})  # fmt: skip


def writes(name: str) -> bool:
    """Whether a function or method of this name writes files: then a program that is only tried does not call it."""
    return name in _WRITING


def makes_object(call: ast.AST) -> bool:
    """Whether a call makes an object, by the names that classes have."""
    return called(call)[:1].isupper()


DTYPES = frozenset(["float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "string"])


def targets_of(statement: ast.AST) -> list[ast.expr]:
    """What an assignment gives a value, with or without an annotation."""
    return statement.targets if isinstance(statement, ast.Assign) else [statement.target] if isinstance(statement, ast.AnnAssign) else []


def assigned(statement: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment, each with what it is given, where several are given several as well."""
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(one, value) for one in statement.targets]


_COMPUTES: dict[type[ast.operator], Callable[[int, int], int | None]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: lambda one, other: one // other if other else None,
}


def computed(node: ast.expr, named: Callable[[ast.expr], int | None]) -> int | None:
    """The whole number that is written there, or computed there of others; ``named``: what anything else is known to hold."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.BinOp) and type(node.op) in _COMPUTES:
        left, right = computed(node.left, named), computed(node.right, named)
        return None if left is None or right is None else _COMPUTES[type(node.op)](left, right)
    return named(node)


def shape_read(node: ast.expr | None) -> ast.expr | None:
    """The tensor whose shape an expression reads."""
    if isinstance(node, ast.Call) and called(node) in ("shape", "int_shape") and len(node.args) == 1:
        return node.args[0]
    return node.value if isinstance(node, ast.Attribute) and node.attr == "shape" else None


def is_new_axis(index: ast.AST) -> bool:
    """Whether a part of an index inserts an axis of size 1: ``None``, or a library's name for it."""
    named = index.attr if isinstance(index, ast.Attribute) else getattr(index, "id", "")
    return (isinstance(index, ast.Constant) and index.value is None) or named == "newaxis"


def loaded(node: ast.AST) -> set[str]:
    """The names in a tree, without what they are attributes of."""
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}


def names_in(text: str) -> set[str]:
    """The names and attributes that an expression reads, such as ``x`` and ``self.kernel``; none where it is no Python."""
    try:
        tree = parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        return set()
    return {ast.unparse(item) for item in ast.walk(tree) if isinstance(item, (ast.Name, ast.Attribute))}


def operands(node: ast.AST) -> list[ast.expr]:
    """What an expression combines: the arguments of a call, or both sides of an operator or comparison."""
    if isinstance(node, ast.Call):
        return list(node.args)
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    return [node.left, *node.comparators] if isinstance(node, ast.Compare) else []


def samples_counted(scope: ast.AST) -> list[tuple[ast.AST, ast.Subscript]]:
    """The assignments and calls of numbers that are counted up to the first size of a tensor, and where that is read."""
    found = [(one, call) for one in ast.walk(scope) if isinstance(one, (ast.Assign, ast.Call)) for call in _counts(one)]
    reads = [(one, read) for one, call in found for read in ast.walk(call) if isinstance(read, ast.Subscript) and shape_read(read.value) is not None]
    return [(one, read) for one, read in reads if isinstance(read.slice, ast.Constant) and read.slice.value == 0]


def _counts(made: ast.Assign | ast.Call) -> list[ast.AST]:
    """The calls that count in an assignment; of a call, itself."""
    return [call for call in (ast.walk(made.value) if isinstance(made, ast.Assign) else [made]) if called(call) in ("arange", "range")]
