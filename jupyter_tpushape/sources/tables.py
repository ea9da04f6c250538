"""Pandas tables as arrays: the dtype of their first rows, and the columns that no tensor holds."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from .kinds import floatx, is_pandas

# Rows that tell what a column holds.
_ROWS = 64


def head(value: Any, framework: str) -> np.ndarray[Any, Any] | None:
    """The first rows of a pandas object as the array that ``fit`` makes of them."""
    return rows_of(value, 0, _ROWS, framework) if is_pandas(value) else None


def rows_of(value: Any, start: int, stop: int, framework: str) -> np.ndarray[Any, Any]:
    """Rows of a pandas object as the array that ``fit`` makes of them.

    Keras 3 casts a whole table to the default float if one column is a float of another width, also its columns of bools.
    Source: ``keras/src/trainers/data_adapters/array_slicing.py``, "Normalize floats to floatx".
    """
    rows = value.iloc[start:stop]
    if framework == "keras" and is_pandas(value) == "DataFrame" and _cast(value):
        with suppress(TypeError, ValueError):
            return np.asarray(rows.astype(floatx(framework)))
    return np.asarray(rows)


def _cast(table: Any) -> bool:
    """Whether Keras 3 finds a float of another width before a dtype that it does not know."""
    for dtype in table.dtypes:
        if not isinstance(dtype, np.dtype) or dtype.kind not in "fiub":
            return False
        if dtype.kind == "f" and dtype.name != floatx("keras"):
            return True
    return False


def mixed(value: Any, framework: str) -> bool:
    """Whether the first rows make an array of dates, or of objects that are not all text."""
    rows = head(value, framework)
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


def own_dtype(value: Any) -> str:
    """A dtype of pandas alone, such as ``Int64``, at which Keras 3 stops although the columns hold numbers."""
    if not is_pandas(value) or (is_pandas(value) == "DataFrame" and _cast(value)):
        return ""
    dtypes = value.dtypes if is_pandas(value) == "DataFrame" else (value.dtype,)
    return next((str(dtype) for dtype in dtypes if not isinstance(dtype, np.dtype) and getattr(dtype, "_is_numeric", False)), "")


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
