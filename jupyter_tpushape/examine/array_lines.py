"""What arrays hold on the line of NumPy code that raised."""

from __future__ import annotations

import ast
from typing import Any

import msgspec
import numpy as np

from ..trace.raised import innermost, innermost_function, scope_of, values_of
from .heard import hear
from .heard_lines import HeardBeyond, HeardRagged

_MOST = 10_000_000


class Classes(msgspec.Struct, frozen=True):
    """Class indices ``labels``, from ``lowest`` to ``highest``, that a line makes one-hot vectors of ``count`` values of."""

    labels: str
    count: int
    lowest: int
    highest: int


def classes_beyond(error: BaseException) -> Classes | None:
    """The class indices that a call of ``to_categorical`` or a row of ``eye`` has no place for."""
    beyond, found = hear(error, HeardBeyond), innermost_function(error)
    if beyond is None or found is None:
        return None
    frame, place, _, scope = found
    for node in ast.walk(scope):
        labels = labels_of(node) if getattr(node, "lineno", 0) <= place[1] <= getattr(node, "end_lineno", 0) else None
        value = values_of(frame).of(labels) if labels is not None else None
        if labels is None or not isinstance(value, (np.ndarray, list)):
            continue
        array = np.asarray(value)
        if array.dtype.kind in "iu" and 0 < array.size <= _MOST and array.max() >= beyond.size:
            return Classes(ast.unparse(labels), beyond.size, int(array.min()), int(array.max()))
    return None


class Lists(msgspec.Struct, frozen=True):
    """Lists of integers ``name`` of ``shortest`` to ``longest`` entries, of which a line makes one array."""

    name: str
    shortest: int
    longest: int


def lists_apart(error: BaseException) -> Lists | None:
    """The lists of ids of several lengths that a call of ``np.array`` refuses to make one array of."""
    found = innermost(error)
    scope = scope_of(found[1]) if found is not None and hear(error, HeardRagged) is not None else None
    if found is None or scope is None:
        return None
    frame, place, _ = found
    for node in ast.walk(scope):
        value = values_of(frame).of(node.args[0]) if isinstance(node, ast.Call) and node.args and node.lineno == place[1] else None
        if not isinstance(value, (list, tuple)) or not value or len(value) > _MOST or not isinstance(node, ast.Call):
            continue
        rows = [row for row in value if isinstance(row, (list, tuple, np.ndarray))]
        lengths = {len(row) for row in rows}
        if len(rows) == len(value) and len(lengths) > 1 and all(_is_ids(row) for row in rows):
            return Lists(ast.unparse(node.args[0]), min(lengths), max(lengths))
    return None


def _is_ids(row: Any) -> bool:
    return row.dtype.kind in "iu" and row.ndim == 1 if isinstance(row, np.ndarray) else all(isinstance(one, (int, np.integer)) for one in row)


def labels_of(node: ast.AST) -> ast.expr | None:
    """What an expression makes one-hot vectors of: ``to_categorical(labels, 3)``, ``np.eye(3)[labels]``."""
    made = node.value if isinstance(node, ast.Subscript) else node
    name = made.func.attr if isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) else getattr(getattr(made, "func", None), "id", "")
    if isinstance(node, ast.Subscript):
        return node.slice if name in ("eye", "identity") else None
    return made.args[0] if isinstance(made, ast.Call) and name == "to_categorical" and made.args else None
