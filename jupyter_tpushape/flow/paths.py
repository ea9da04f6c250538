"""Key paths: where a leaf stands in a nest of dicts, lists and tuples.

A path is a plain tuple: the role of the nest (``"x"``, ``"y"``, ``"weight"``, ``"output"``), then the keys
and indices that lead to the leaf. ``("x", "image", 0)`` is ``x["image"][0]``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

KeyPath = tuple[Any, ...]

# What a user calls a role.
_SHOWN = {"weight": "sample_weight"}


def is_nested(tree: Any) -> bool:
    """Whether it is a container and no leaf."""
    return isinstance(tree, (list, tuple, Mapping))


def keys(tree: Mapping[Any, Any]) -> list[Any]:
    """A dict's keys in the order in which both Kerases flatten it: sorted, or as given where they do not compare."""
    try:
        return sorted(tree)
    except TypeError:
        return list(tree)


def children(tree: Any) -> Iterator[tuple[Any, Any]]:
    """``(key or index, value)`` one level down."""
    if isinstance(tree, Mapping):
        yield from ((key, tree[key]) for key in keys(tree))
    else:
        yield from enumerate(tree)


def flatten(tree: Any, *root: Any) -> Iterator[tuple[KeyPath, Any]]:
    """``(path, leaf)`` of every leaf that is not ``None``, each path under ``root``."""
    if is_nested(tree):
        for key, value in children(tree):
            yield from flatten(value, *root, key)
    elif tree is not None:
        yield root, tree


def map_leaves(change: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """The same nest with ``change(leaf, *leaves of the others)`` in each leaf's place; ``None`` stays."""
    if tree is None:
        return None
    if not is_nested(tree):
        return change(tree, *others)
    return like(tree, {key: map_leaves(change, value, *(other[key] for other in others)) for key, value in children(tree)})


def tupled(tree: Any) -> Any:
    """The same nest with a tuple in each list's place."""
    if not is_nested(tree):
        return tree
    made = like(tree, {key: tupled(value) for key, value in children(tree)})
    return tuple(made) if type(made) is list else made


def map_paths(change: Callable[[KeyPath, Any], Any], tree: Any, *root: Any) -> Any:
    """The same nest with ``change(path, leaf)`` in each leaf's place; ``None`` stays."""
    if tree is None:
        return None
    if not is_nested(tree):
        return change(root, tree)
    return like(tree, {key: map_paths(change, value, *root, key) for key, value in children(tree)})


def get(tree: Any, keys: KeyPath) -> Any:
    """What stands at the end of these keys; a full path is given without its role.

    Raises:
        LookupError: where there is no such place.
    """
    for key in keys:
        if not is_nested(tree):
            raise LookupError(key)
        tree = tree[key]
    return tree


def replace(tree: Any, keys: KeyPath, value: Any) -> Any:
    """A copy of the nest with another value at the end of these keys.

    Raises:
        LookupError: where there is no such place.
    """
    if not keys:
        return value
    if not is_nested(tree):
        raise LookupError(keys[0])
    first, *rest = keys
    held = dict(children(tree))
    if first not in held:
        raise LookupError(first)
    return like(tree, {**held, first: replace(held[first], tuple(rest), value)})


def like(tree: Any, held: dict[Any, Any]) -> Any:
    """A container of the same kind with other values; the keys of a dict keep their order."""
    if isinstance(tree, Mapping):
        ordered = {key: held[key] for key in tree}
        return OrderedDict(ordered) if isinstance(tree, OrderedDict) else ordered
    items = list(held.values())
    if hasattr(tree, "_fields"):
        return type(tree)(*items)
    return tuple(items) if isinstance(tree, tuple) else items


def show(path: KeyPath) -> str:
    """The path as a user would write it: ``x["image"][0]``."""
    if not path:
        return ""
    role, *rest = path
    return f"{_SHOWN.get(role, role)}{subscript(tuple(rest))}"


def subscript(keys: KeyPath) -> str:
    """The keys as subscripts: ``["image"][0]``."""
    return "".join(f"[{_quoted(key)}]" for key in keys)


def _quoted(key: Any) -> str:
    if not isinstance(key, str):
        return repr(key)
    # A user writes double quotes; repr takes single ones unless the text holds some.
    text = repr(key)
    return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text


def to_wire(path: KeyPath) -> tuple[str | int, ...]:
    """The path in JSON's types: a key that is neither text nor a whole number is given as its ``repr``."""
    return tuple(key if type(key) in (str, int) else repr(key) for key in path)
