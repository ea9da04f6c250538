"""Data that is written as names of variables: ``ds``, ``x, y``, ``[left, right], y``, ``{"ids": ids, "mask": mask}, y``. Read, never evaluated."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from typing import Any

from ..flow import syntax


def looked_up(written: str, namespace: Mapping[str, Any]) -> Any:
    """What stands behind the names: a variable's value, or a tuple, list or dict of several; ``None`` where nothing is written.

    Raises:
        NameError: a variable is no longer there.
        ValueError: it is written otherwise than as names.
    """
    if not written.strip():
        return None
    node = _parsed(written)
    if node is None:
        raise ValueError(f"{written} is not a variable: expected names, such as model, or x, y, or [left, right], y.")
    return _value(node, namespace)


def canonical(written: str) -> str:
    """Names of data as the list of variables has them: ``(x,y)`` as ``x, y``. Text that is no names stays as it is."""
    node = _parsed(written)
    return written if node is None else shown(node)


def shown(node: ast.expr) -> str:
    """The text of names, the outermost tuple without its parentheses."""
    if isinstance(node, ast.Tuple) and len(node.elts) > 1:
        return ", ".join(ast.unparse(part) for part in node.elts)
    return ast.unparse(node)


def only_names(node: ast.AST) -> bool:
    """Whether an expression is a name, or lists, tuples and dicts with texts for keys, of names."""
    if isinstance(node, ast.Dict):
        keys = all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in node.keys)
        return keys and bool(node.values) and all(map(only_names, node.values))
    return isinstance(node, ast.Name) or (isinstance(node, (ast.List, ast.Tuple)) and bool(node.elts) and all(map(only_names, node.elts)))


def first_name(written: str) -> str:
    """The variable that stands first."""
    node = _parsed(written)
    found = next((part.id for part in ast.walk(node) if isinstance(part, ast.Name)), "") if node is not None else ""
    return found or written


@functools.lru_cache(maxsize=1024)
def _parsed(written: str) -> ast.expr | None:
    try:
        node = syntax.parse(written.strip(), "eval").body
        return node if only_names(node) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _value(node: ast.expr, namespace: Mapping[str, Any]) -> Any:
    match node:
        case ast.Name(id=name):
            if name not in namespace:
                raise NameError(f"{name} no longer exists in this kernel: refresh the list.", name=name)
            return namespace[name]
        case ast.List(elts=parts):
            return [_value(part, namespace) for part in parts]
        case ast.Tuple(elts=parts):
            return tuple(_value(part, namespace) for part in parts)
        case ast.Dict(keys=keys, values=values):
            return {ast.literal_eval(key): _value(part, namespace) for key, part in zip(keys, values, strict=True) if key is not None}
    raise AssertionError(node)
