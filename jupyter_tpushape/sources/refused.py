"""Arrays that the data adapters of Keras 3 or tf_keras reject, and what the trace uses instead."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np

from ..flow import KeyPath
from ..flow.paths import flatten, show
from .kinds import floatx, is_number
from .tables import head, mixed, odd_columns, own_dtype, sparse_columns
from .values import Problem

# Kinds of NumPy dtype that no tensor holds.
_KINDS = {"m": "time intervals", "M": "dates", "V": "records"}


def numbers_only(tree: Any) -> bool:
    """Whether this is a list (of lists) of plain numbers or texts: one array, not many inputs."""
    if isinstance(tree, (list, tuple)):
        return bool(tree) and all(is_number(item) or numbers_only(item) for item in tree)
    return False


def _kind(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return ""
    kind = value.dtype.kind
    return kind if kind != "V" or value.dtype.name.startswith("void") else ""


def _texts(value: np.ndarray) -> bool:
    return value.size > 0 and all(isinstance(item, str) for item in value.reshape(-1))


def objects(value: Any) -> bool:
    """Whether it is an array of Python objects that are not all text."""
    return isinstance(value, np.ndarray) and value.dtype == object and not _texts(value)


def unreadable(value: Any, framework: str) -> bool:
    """Whether tensors do not support the array, although it contains numbers."""
    return _kind(value) in _KINDS or objects(value) or _long(value) or mixed(value, framework)


def _long(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.dtype.itemsize > 8


def row_shape(value: np.ndarray) -> tuple[int | None, ...]:
    """The shape of a row, were the rows padded to one length or the fields of records put side by side.

    ``None`` stands for an axis on which the rows differ.
    """
    if value.dtype.names:
        return (*value.shape[1:], len(value.dtype.names))
    rows = [_row(item).shape for item in value.flat[:32] if isinstance(item, (list, tuple, np.ndarray))] if value.ndim == 1 else []
    if not rows or len({len(row) for row in rows}) > 1:
        return tuple(value.shape[1:])
    return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*rows, strict=True))


def problems_of(data: tuple[Any, Any, Any], raw: tuple[Any, Any, Any], framework: str) -> list[Problem]:
    """What the framework's data adapter rejects, apart from row counts."""
    problems = []
    for name, tree, original in zip(("x", "y", "weight"), data, raw, strict=True):
        leaves = list(flatten(tree, name))
        plain = any(is_number(leaf) for _, leaf in flatten(original)) and not is_number(original)
        if plain and framework == "keras" and not any(objects(leaf) or _kind(leaf) in ("S", "U") for _, leaf in leaves):
            problems.append(
                Problem("plain-lists", f"`{show((name,))}` is a list of Python numbers, but Keras 3 accepts only arrays: use np.asarray({show((name,))})",
                        "arrays", "a list of numbers", path=(name,))
            )  # fmt: skip
        for path, leaf in leaves:
            problems += _leaf(path, leaf, framework)
    if framework == "tf_keras":
        kinds = [numbers_only(part) or is_number(part) for part in raw[:2] if part is not None]
        if any(kinds) and not all(kinds):
            text = "One of `x` and `y` is a list of numbers, and the other has arrays, which tf_keras does not support: convert the list with np.asarray"
            problems.append(
                Problem("plain-lists", text, "two arrays", "a list and an array", path=("xy"[kinds.index(True)],))
            )  # fmt: skip
    return problems


def _leaf(path: KeyPath, leaf: Any, framework: str) -> list[Problem]:
    problems, name = [], show(path)
    if not (getattr(leaf, "shape", ()) or ()):
        problems.append(Problem("scalar-data", f"`{name}` is a single value without a batch axis: use np.asarray([value])", "(rows, ...)", "()", path=path))
    kind = _kind(leaf)
    if mixed(leaf, framework):
        rows = np.asarray(head(leaf, framework))
        problems.append(Problem("no-tensor", odd_columns(leaf, name), "numbers", str(rows.dtype), path=path, dtype=_castable(rows)))
    elif framework == "keras" and sparse_columns(leaf):
        text = f"`{name}` has sparse columns of pandas, which Keras 3 does not accept: use {name}.sparse.to_dense()"
        problems.append(Problem("no-tensor", text, "dense columns", "sparse columns", path=path))
    elif framework == "keras" and (dtype := own_dtype(leaf)):
        text = f"`{name}` has {dtype} columns of pandas, which Keras 3 does not accept: use {name}.astype('float32')"
        problems.append(Problem("no-tensor", text, "float32", dtype, path=path, dtype="float32"))
    elif kind in _KINDS:
        text = f"`{name}` contains {_KINDS[kind]} ({leaf.dtype}), which tensors do not support: convert it to numbers, such as {name}.astype('int64')"
        if kind == "V":
            text = f"`{name}` contains records ({leaf.dtype}), which tensors do not support: build a numeric array from their fields"
        problems.append(Problem("no-tensor", text, "numbers", str(leaf.dtype), path=path))
    elif kind in ("S", "U") and framework == "keras":
        text = f"`{name}` contains NumPy strings ({leaf.dtype}), which tensors do not support: convert them to class indices or ids"
        problems.append(Problem("text", text, "numbers", str(leaf.dtype), path=path, dtype=numeric(leaf)))
    elif _long(leaf) and framework == "keras":
        text = f"`{name}` contains {leaf.dtype} values, which tensors do not support: use {name}.astype('float32')"
        problems.append(Problem("no-tensor", text, "float32", str(leaf.dtype), path=path, dtype="float32"))
    elif framework == "tf_keras" and _not_gathered(leaf):
        known = "int8" if "int" in leaf.dtype.name else "float32"
        text = f"`{name}` contains {leaf.dtype} values, of which tf_keras selects no rows: use {name}.astype('{known}')"
        problems.append(Problem("no-tensor", text, known, str(leaf.dtype), path=path, dtype=known))
    elif framework == "keras" and _only_numpy(leaf):
        text = (
            f"`{name}` is {_only_numpy(leaf)}, which JAX does not support: use {name}.{'filled(0)' if isinstance(leaf, np.ma.MaskedArray) else _swapped(leaf)}"
        )
        problems.append(Problem("no-tensor", text, "an array of JAX", str(leaf.dtype), path=path))
    elif objects(leaf):
        problems.append(
            Problem(
                "object-array",
                f"`{name}` is an array of Python objects{_objects(leaf, name)}",
                "one dtype",
                "dtype object",
                ids=_rows_of_ids(leaf),
                path=path,
                dtype=numeric(leaf),
                steps=_rows_of_steps(leaf),
                alike=alike(leaf),
                columns=tuple(_text_columns(leaf)),
            )
        )
    return problems


def _not_gathered(value: Any) -> bool:
    """Whether it is of a small dtype, such as int4, of which TensorFlow gathers no rows; tf_keras gathers those of each batch."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "V" and _kind(value) == "" and not _gathers(value.dtype)


@lru_cache(maxsize=64)
def _gathers(dtype: Any) -> bool:
    try:
        sys.modules["tensorflow"].gather(np.zeros(1, dtype), [0])
    except Exception:
        return False
    return True


def _only_numpy(value: Any) -> str:
    keras = sys.modules.get("keras")
    if not isinstance(value, np.ndarray) or keras is None or keras.backend.backend() != "jax":
        return ""
    if isinstance(value, np.ma.MaskedArray):
        return "a masked array"
    # Keras casts floats of another width, which puts their bytes in order.
    cast = value.dtype.kind == "f" and value.dtype.name != floatx("keras")
    return "" if value.dtype.isnative or cast or value.dtype.kind not in "iufc" else f"stored in another byte order ({value.dtype})"


def _swapped(value: np.ndarray) -> str:
    return f"astype('{value.dtype.name}')"


def _rows_of_steps(value: np.ndarray) -> bool:
    rows = [row for row in value[:64] if isinstance(row, np.ndarray) and row.ndim > 1] if value.ndim == 1 else []
    return bool(rows) and len(rows) == len(value[:64]) and len({(row.shape[1:], row.dtype.kind in "iuf") for row in rows}) == 1


def alike(value: np.ndarray) -> bool:
    """Whether all rows are arrays of numbers of one shape and dtype."""
    rows = value if value.ndim == 1 else ()
    kinds = {(row.shape, row.dtype) if isinstance(row, np.ndarray) and row.dtype.kind in "iufb" else None for row in rows}
    return len(kinds) == 1 and None not in kinds


def _row(row: Any) -> np.ndarray:
    if isinstance(row, np.ndarray) and (row.dtype != object or not row.ndim):
        return row
    try:
        return np.asarray(list(row))
    except ValueError:
        return np.empty(len(row), object)


def _rows_of_ids(value: np.ndarray) -> bool:
    rows = [_row(row) for row in list(value.reshape(-1)[:64]) if isinstance(row, (list, tuple, np.ndarray))]
    return bool(rows) and value.ndim == 1 and len(rows) == len(value[:64]) and all(row.ndim == 1 and row.dtype.kind in "iu" for row in rows)


def _objects(value: np.ndarray, name: str) -> str:
    items = list(value.reshape(-1)[:1000])
    if items and all(isinstance(item, (bool, int, float, complex, np.number, np.bool_)) for item in items):
        return f", although all of them are numbers: use {name}.astype('float32')"
    if any(isinstance(item, (list, tuple, np.ndarray)) for item in items):
        if alike(value):
            return f", each of which is an array of shape {items[0].shape}: use np.stack({name})"
        return " because its rows have different lengths: pad them to one length, or use tf.ragged.constant"
    texts = _text_columns(value)
    where = f" (text in column{'s' * (len(texts) > 1)} {', '.join(map(str, texts))})" if texts else ""
    if items and all(item is None for item in items):
        return " that are all None, which tensors do not support: give numbers"
    if numeric(value):
        said = "with numbers written as text" if any(isinstance(item, (str, bytes)) for item in items) else "that are numbers of no dtype of NumPy"
        return f" {said}{where}: use {name}.astype('float32')"
    return f" of mixed types{where}, which tensors do not support: convert text and missing values to numbers of one dtype"


def _text_columns(value: np.ndarray) -> list[int]:
    columns = range(value.shape[1]) if value.ndim == 2 else ()
    return [column for column in columns if any(isinstance(item, str) for item in value[:1000, column])][:8]


def _castable(rows: np.ndarray) -> str:
    """``"float32"`` if all of them are numbers, which a cast of the table keeps."""
    plain = rows.dtype == object and all(isinstance(item, (bool, int, float, np.number, np.bool_)) for item in rows.reshape(-1))
    return "float32" if plain else ""


def numeric(value: np.ndarray) -> str:
    """The dtype of numbers that an array of objects or texts can be read as, judged by its first values."""
    for dtype in ("int32", "float32"):
        some = value.reshape(-1)[:1000]
        with suppress(TypeError, ValueError, OverflowError), np.errstate(all="ignore"):
            if dtype == "float32" or not any(isinstance(item, (float, np.floating)) for item in some):
                some.astype(dtype)
                return dtype
    return ""
