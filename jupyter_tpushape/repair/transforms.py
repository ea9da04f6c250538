"""Transforms of the data: on arrays, on specs, and as a ``map`` at the end of a ``tf.data`` pipeline."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..flow import CannotRebuild, Edit
from ..flow.paths import get, replace


def apply(data: Any, edit: Edit) -> Any:
    """``data`` with one edit applied; the original is not changed.

    Raises:
        CannotRebuild: where this kind of data cannot be transformed (a generator, a PyDataset).
    """
    if edit.kind == "batching":
        return _batched(data, edit.detail)
    role = edit.detail.get("role", "y" if edit.kind == "label-transform" else "x")
    if hasattr(data, "element_spec"):
        return _mapped(data, role, edit)
    if callable(getattr(data, "__next__", None)) or type(data).__mro__[-2].__name__ in ("PyDataset", "Sequence"):
        raise CannotRebuild("A generator's elements cannot be changed from outside: put the transform into the generator.")
    x, y, weight = _parts(data)
    if role == "x":
        x = _at(x, edit, _array_function(edit))
    elif role == "y":
        y = _at(y, edit, _array_function(edit))
    else:
        weight = _at(weight, edit, _array_function(edit))
    return (x, y) if weight is None else (x, y, weight)


def _parts(data: Any) -> tuple[Any, Any, Any]:
    if isinstance(data, tuple):
        return (*data, None, None)[:3]
    return data, None, None


def _at(value: Any, edit: Edit, change: Callable[[Any], Any]) -> Any:
    """Changes the leaf that the edit names: by key, by index, or the only one; or gives the leaves another order."""
    if edit.detail.get("op") == "exchange":
        order = edit.detail["order"]
        if isinstance(order, dict):
            return {new: value[old] for new, old in order.items()}
        return type(value)([value[i] for i in order])
    key = edit.detail.get("key")
    keys = () if key is None else tuple(key) if isinstance(key, list) else (key,)
    return replace(value, keys, change(get(value, keys)))


def _array_function(edit: Edit) -> Callable[[Any], Any]:
    def change(value: Any) -> Any:
        spec = _is_spec(value)
        array = np.broadcast_to(np.zeros((), _numpy_dtype(value)), tuple(value.shape)) if spec else np.asarray(value)
        if edit.detail["op"] not in NUMPY:
            raise CannotRebuild("This change is one of a tf.data pipeline: make a dataset of the arrays first.")
        made = NUMPY[edit.detail["op"]](array, **_arguments(edit))
        return sys.modules["tensorflow"].TensorSpec(made.shape, made.dtype) if spec else made

    return change


def _is_spec(value: Any) -> bool:
    return (
        not isinstance(value, (np.ndarray, list))
        and hasattr(value, "shape")
        and hasattr(value, "dtype")
        and not hasattr(value, "__array__")
    )


def _numpy_dtype(value: Any) -> Any:
    dtype = value.dtype
    return getattr(dtype, "as_numpy_dtype", None) or np.dtype(str(dtype))


def _arguments(edit: Edit) -> dict[str, Any]:
    return {key: value for key, value in edit.detail.items() if key not in ("op", "role", "key", "cut")}


def _mapped(dataset: Any, role: str, edit: Edit) -> Any:
    tf = sys.modules["tensorflow"]
    change = TENSOR[edit.detail["op"]]
    arguments = _arguments(edit)

    def map_element(*parts: Any) -> Any:
        items = list(parts)
        index = {"x": 0, "y": 1, "weight": 2}[role]
        items[index] = _at(items[index], edit, lambda value: change(tf, value, **arguments))
        return tuple(items) if len(items) > 1 else items[0]

    return dataset.map(map_element, num_parallel_calls=tf.data.AUTOTUNE)


def _batched(data: Any, detail: dict[str, Any]) -> Any:
    tf = sys.modules["tensorflow"]
    if detail.get("op") == "add-batch":
        return data.batch(detail["batch"], drop_remainder=bool(detail.get("drop_remainder", True)))
    if detail.get("op") == "options":
        options = tf.data.Options()
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy[detail["policy"]]
        return data.with_options(options)
    if detail.get("op") == "unbatch":
        return data.unbatch()
    if not hasattr(data, "element_spec"):
        if any(_is_spec(item) for item in _parts(data)):
            raise CannotRebuild("Specs stand for data here: put batch(N, drop_remainder=True) into the pipeline that makes the data.")
        data = tf.data.Dataset.from_tensor_slices(tuple(part for part in _parts(data) if part is not None))
        data = data.repeat(detail["repeat"]) if detail.get("repeat") else data
        return data.batch(detail["batch"], drop_remainder=bool(detail.get("drop_remainder", True)))
    if detail.get("repeat"):
        data = data.repeat(detail["repeat"])
    return data.unbatch().batch(detail["batch"], drop_remainder=bool(detail.get("drop_remainder", True)))


def hosted(data: Any, layer: Any, key: Any = None) -> Any:
    """The data with a preprocessing layer applied on the host: in ``map``, or on the array."""
    edit = Edit("data-transform", "x", {"op": "host-layer", **({} if key is None else {"key": key})})
    if hasattr(data, "element_spec"):
        tf = sys.modules["tensorflow"]

        def map_element(*parts: Any) -> Any:
            items = list(parts)
            items[0] = _at(items[0], edit, layer)
            return tuple(items) if len(items) > 1 else items[0]

        return data.map(map_element, num_parallel_calls=tf.data.AUTOTUNE)
    x, y, weight = _parts(data)
    x = _at(x, edit, lambda value: np.asarray(layer(value)))
    return (x, y) if weight is None else (x, y, weight)


def _rows(a: Any, shape: list[int]) -> Any:
    return a.reshape((a.shape[0], *shape))


def _pad(a: Any, axis: int, size: int, value: float = 0) -> Any:
    if a.shape[axis] >= size:
        return np.take(a, range(size), axis=axis)
    width = [(0, 0)] * a.ndim
    width[axis] = (0, size - a.shape[axis])
    return np.pad(a, width, constant_values=value)


def _one_hot(a: Any, depth: int) -> Any:
    flat = a.reshape(a.shape[:-1]) if a.ndim > 1 and a.shape[-1] == 1 else a
    return np.eye(depth, dtype="float32")[np.asarray(flat, "int64")]


NUMPY: dict[str, Callable[..., Any]] = {
    "expand_dims": np.expand_dims,
    "squeeze": np.squeeze,
    "transpose": lambda a, perm: a.transpose(perm),
    "reshape_rows": _rows,
    "flatten_rows": lambda a: a.reshape((a.shape[0], -1)),
    "cast": lambda a, dtype: a.astype(dtype),
    "one_hot": _one_hot,
    "argmax": lambda a: np.argmax(a, axis=-1),
    "mean_last": lambda a: a.mean(axis=-1, keepdims=True),
    "repeat_last": lambda a, times: np.repeat(a, times, axis=-1),
    "pad_axis": _pad,
    "column": lambda a: a[..., :1],
    "shift": lambda a, by: a + by,
}
TENSOR: dict[str, Callable[..., Any]] = {
    "expand_dims": lambda tf, a, axis: tf.expand_dims(a, axis),
    "squeeze": lambda tf, a, axis: tf.squeeze(a, axis),
    "transpose": lambda tf, a, perm: tf.transpose(a, perm),
    "reshape_rows": lambda tf, a, shape: tf.reshape(a, (-1 if a.shape[0] is None else a.shape[0], *shape)),
    "flatten_rows": lambda tf, a: tf.reshape(a, (-1 if a.shape[0] is None else a.shape[0], int(np.prod(a.shape[1:])))),
    "cast": lambda tf, a, dtype: tf.cast(a, dtype),
    "one_hot": lambda tf, a, depth: tf.one_hot(
        tf.cast(tf.squeeze(a, -1) if a.shape.rank and a.shape.rank > 1 and a.shape[-1] == 1 else a, tf.int32), depth
    ),
    "argmax": lambda tf, a: tf.argmax(a, axis=-1),
    "mean_last": lambda tf, a: tf.reduce_mean(a, axis=-1, keepdims=True),
    "repeat_last": lambda tf, a, times: tf.repeat(a, times, axis=-1),
    "pad_axis": lambda tf, a, axis, size, value=0, lengths=False: _tensor_pad(tf, a, axis, size, value, lengths),
    "column": lambda _, a: a[..., :1],
    "shift": lambda tf, a, by: a + tf.cast(by, a.dtype),
    "to_dense": lambda tf, a, sparse=False: tf.sparse.to_dense(a) if sparse else a.to_tensor(),
    "ensure_shape": lambda tf, a, shape: tf.ensure_shape(a, shape),
}


def _tensor_pad(tf: Any, a: Any, axis: int, size: int, value: float, lengths: bool = False) -> Any:
    if lengths:
        widths = [[0, size - tf.shape(a)[axis] if i == axis else 0] for i in range(a.shape.rank)]
        whole = [size if i == axis else n for i, n in enumerate(a.shape)]
        return tf.ensure_shape(tf.pad(a, widths, constant_values=tf.cast(value, a.dtype)), whole)
    missing = size - a.shape[axis]
    if missing <= 0:
        return tf.gather(a, list(range(size)), axis=axis)
    paddings = [[0, missing if i == axis % a.shape.rank else 0] for i in range(a.shape.rank)]
    return tf.pad(a, paddings, constant_values=tf.cast(value, a.dtype))
