"""Nested structures as ``fit`` takes them: lists, tuples, named tuples and dicts of leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any


def is_nested(tree: Any) -> bool:
    return isinstance(tree, (list, tuple, Mapping))


def keys(tree: Mapping[Any, Any]) -> list[Any]:
    """A dict's keys in the order in which both Kerases flatten it."""
    try:
        return sorted(tree)
    except TypeError:
        return list(tree)


def flatten(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """``(path, leaf)`` of every leaf that is not ``None``."""
    if isinstance(tree, Mapping):
        for key in keys(tree):
            yield from flatten(tree[key], f"{path}/{key}" if path else str(key))
    elif isinstance(tree, (list, tuple)):
        for index, item in enumerate(tree):
            yield from flatten(item, f"{path}/{index}" if path else str(index))
    elif tree is not None:
        yield path, tree


def map_leaves(change: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """The same structure with ``change(leaf, *leaves of the others)`` in each leaf's place."""
    if tree is None:
        return None
    if isinstance(tree, Mapping):
        return {key: map_leaves(change, tree[key], *(other[key] for other in others)) for key in tree}
    if isinstance(tree, (list, tuple)):
        items = [map_leaves(change, item, *(other[index] for other in others)) for index, item in enumerate(tree)]
        if isinstance(tree, tuple) and hasattr(tree, "_fields"):
            return type(tree)(*items)
        return tuple(items) if isinstance(tree, tuple) else items
    return change(tree, *others)


def unpack(element: Any) -> tuple[Any, Any, Any] | None:
    """One element of a dataset as ``(x, y, weight)``, or ``None`` where it has more than three parts."""
    if isinstance(element, list):
        element = tuple(element)
    if not isinstance(element, tuple) or hasattr(element, "_fields"):
        return element, None, None
    if len(element) not in (1, 2, 3):
        return None
    x, y, weight = (*element, None, None)[:3]
    return x, y, weight
