"""Statistics of sampled values: label ranges, one-hot vectors, ids."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..flow import KeyPath
from ..flow.paths import flatten
from .values import Stats

DISTINCT = 1000
LOOK_AT = 2_000_000  # elements of one leaf that are looked at, at most
UNIQUE = 100_000  # elements among which distinct values are counted
KEEP_BYTES = 2 << 20  # bytes of one leaf that a sample keeps, at most


def kept(array: Any) -> Any:
    """The array, or its first rows where it is large, so that a sample stays small."""
    if not isinstance(array, np.ndarray) or array.ndim == 0 or array.nbytes <= KEEP_BYTES:
        return array
    rows = max(1, int(KEEP_BYTES // max(1, array.nbytes // max(1, len(array)))))
    return array[:rows].copy()


def _flat(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The values in a row. Of a large array that would have to be copied for that, those of its first and last rows."""
    if array.ndim > 1 and array.size > LOOK_AT and not array.flags.c_contiguous:
        rows = max(1, LOOK_AT // 2 // (array.size // len(array)))
        array = np.concatenate([array[:rows], array[-rows:]])
    return array.reshape(-1)


def stats_of(arrays: list[np.ndarray[Any, Any]]) -> Stats | None:
    """Statistics of one leaf over several batches."""
    # As the frameworks take it: without a mask, or what else a class of arrays adds.
    parts = [np.asarray(array) for array in arrays if array.dtype.kind in "buif" and array.size]
    if not parts:
        return None
    rows = sum(len(part) if part.ndim else 1 for part in parts)
    ranks = {part.shape[1:] for part in parts}
    whole_size = sum(part.size for part in parts)
    flat = [_flat(part) for part in parts]
    values = np.concatenate(flat) if len(flat) > 1 else flat[0]
    if values.size > LOOK_AT:
        values = np.concatenate([values[: LOOK_AT // 2], values[-LOOK_AT // 2 :]])
    integer = values.dtype.kind in "bui"
    numbers = values.astype(np.int8) if values.dtype.kind == "b" else values
    good = numbers if integer else numbers[np.isfinite(numbers)]
    whole = integer or bool(good.size and np.all(good == np.rint(good)))
    binary = bool(good.size and np.all((good == 0) | (good == 1)))
    distinct = min(len(np.unique(good[:UNIQUE])), DISTINCT + 1) if whole or whole_size <= 10_000 else None
    last = parts[0].shape[-1] if parts[0].ndim > 1 else 0
    low, high = (float(good.min()), float(good.max())) if good.size else (None, None)
    shares = cut = False
    if last > 1 and len(ranks) == 1 and low is not None and low >= 0 and len(good) == len(numbers):
        first = numbers[: min(len(numbers), LOOK_AT // 2) // last * last].reshape(-1, last)
        sums = first.sum(axis=-1, dtype=np.float64)
        shares = bool(len(first)) and bool(np.allclose(sums, 1, atol=1e-3))
        cut = binary and {*np.unique(sums)} == {0.0, 1.0}
    one_hot = shares and binary
    return Stats(integer, whole, low, high, distinct, one_hot, binary, integer or len(good) == len(numbers), rows, shares, cut)


def all_stats(batches: list[tuple[Any, Any, Any]]) -> dict[KeyPath, Stats]:
    """Statistics by leaf path: of every label, and of inputs with integer ids."""
    found: dict[KeyPath, list[np.ndarray[Any, Any]]] = {}
    for batch in batches:
        for name, tree in zip(("x", "y", "weight"), batch, strict=True):
            for path, leaf in flatten(tree, name) if tree is not None else ():
                if isinstance(leaf, np.ndarray):
                    found.setdefault(path, []).append(leaf)
    out = {}
    for path, arrays in found.items():
        if path[0] == "x" and arrays[0].dtype.kind not in "bui":
            continue
        result = stats_of(arrays)
        if result is not None:
            out[path] = result
    return out
