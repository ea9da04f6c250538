"""Pandas tables as arrays: the dtype of their first rows, and the columns that no tensor holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from .kinds import is_pandas

# Rows that tell what a column holds.
_ROWS = 64


def head(value: Any) -> np.ndarray[Any, Any] | None:
    """The first rows of a pandas object as the array that ``fit`` makes of them."""
    return np.asarray(value.iloc[:_ROWS]) if is_pandas(value) else None


def mixed(value: Any) -> bool:
    """Whether the first rows make an array of dates, or of objects that are not all text."""
    rows = head(value)
    if rows is None or rows.dtype.kind not in "OmM":
        return False
    return rows.dtype.kind != "O" or not rows.size or any(not isinstance(item, str) for item in rows.reshape(-1))


def odd_columns(value: Any, name: str) -> str:
    """What the columns of a table hold that no tensor does, and what to do about it."""
    several = is_pandas(value) == "DataFrame"
    found: dict[str, list[str]] = {}
    for number in range(value.shape[1] if several else 1):
        column = value.iloc[:, number] if several else value
        held = _held(np.asarray(column.iloc[:_ROWS]))
        if held:
            found.setdefault(held, []).append(str(value.columns[number]) if several else "")
    if not found:
        return f"`{name}` has columns without a common dtype of NumPy, which tensors do not support: use {name}.astype('float32')"
    held = next(iter(found))
    where = f" in column{'s' * (len(found[held]) > 1)} {', '.join(found[held][:8])}" if several else ""
    return f"`{name}` has {held}{where}, which tensors do not support: {_TODO[held].format(name=name)}"


def sparse_columns(value: Any) -> bool:
    """Whether pandas stores a column without its zeros."""
    dtypes = getattr(value, "dtypes", ())
    return bool(is_pandas(value)) and any(str(dtype).startswith("Sparse[") for dtype in (dtypes if np.ndim(dtypes) else (dtypes,)))


_TODO = {
    "dates": "convert them to numbers, such as with .astype('int64')",
    "text": "convert it to numbers, such as with .astype('category').cat.codes",
    "missing values": "fill them, such as with {name}.fillna(0).astype('float32')",
    "objects": "convert them to numbers of one dtype",
}


def _held(column: np.ndarray[Any, Any]) -> str:
    if column.dtype.kind in "mM":
        return "dates"
    if column.dtype.kind != "O":
        return ""
    items = list(column.reshape(-1))
    if any(isinstance(item, str) for item in items):
        return "text"
    if any(item is None or type(item).__name__ in ("NAType", "NaTType") for item in items):
        return "missing values"
    return "objects" if any(not isinstance(item, (bool, int, float, np.number, np.bool_)) for item in items) else ""
