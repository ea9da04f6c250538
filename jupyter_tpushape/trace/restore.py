"""Leaving things as they were: the model's objects, Keras' counters, every random state.

A trace calls the user's model. Layers note that they were called, unbuilt ones build themselves, loss
containers fill lazily. Each object that a call can reach keeps a shallow copy of its attributes and
containers, and gets it back afterwards; symbolic tracing writes no variable, so values need no copy.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..sources.state import kept_random_state

_WALKED = ("keras.", "tf_keras.", "tensorflow.python.trackable", "tensorflow.python.util.object_identity", "tensorflow_hub")
_LEAF_TYPES = (str, bytes, int, float, bool, complex, type(None), type, np.ndarray, np.generic)
_SKIPPED = frozenset({"Variable", "KerasTensor", "ResourceVariable", "AutoCastVariable", "DTypePolicy", "KerasVariable"})


class Memento:
    """What a set of objects looked like."""

    def __init__(self, roots: list[Any], unfollowed: frozenset[str] = frozenset()) -> None:
        self._unfollowed = unfollowed
        self._objects: list[tuple[Any, dict[str, Any]]] = []
        self._containers: list[tuple[Any, Any]] = []
        self._seen: set[int] = set()
        pending = list(roots)
        while pending:
            self._take(pending.pop(), pending)

    def _take(self, obj: Any, pending: list[Any]) -> None:
        if isinstance(obj, _LEAF_TYPES) or id(obj) in self._seen:
            return
        if isinstance(obj, (list, dict, set)):
            self._seen.add(id(obj))
            copy: Any = dict(obj.items()) if isinstance(obj, dict) else set(obj) if isinstance(obj, set) else list(obj)
            self._containers.append((obj, copy))
            pending.extend(copy.values() if isinstance(copy, dict) else copy)
            if isinstance(getattr(obj, "__dict__", None), dict):
                self._objects.append((obj, dict(vars(obj))))
                pending.extend(vars(obj).values())
            return
        if isinstance(obj, tuple):
            pending.extend(obj)
            return
        if not _walked(type(obj)):
            return
        attributes = getattr(obj, "__dict__", None)
        if isinstance(attributes, dict):
            self._seen.add(id(obj))
            self._objects.append((obj, dict(attributes)))
            pending.extend(value for key, value in attributes.items() if key not in self._unfollowed)

    def exchanged(self) -> Iterator[tuple[Any, str, Any, Any]]:
        """The attributes that have another value by now: the object, the name, the value before and the one that it has."""
        for obj, saved in self._objects:
            current = vars(obj)
            for name, before in saved.items():
                after = current.get(name, before)
                if after is not before:
                    yield obj, name, before, after

    def restore(self) -> None:
        """Puts every object back; what has not changed is not touched."""
        for obj, saved in self._objects:
            current = vars(obj)
            if len(current) == len(saved) and all(current.get(key, _NONE) is value for key, value in saved.items()):
                continue
            current.clear()
            current.update(saved)
        for container, saved in self._containers:
            with contextlib.suppress(Exception):
                _refill(container, saved)


# What leads from a layer to the model that it is part of.
_GRAPH = frozenset({"_inbound_nodes", "_outbound_nodes", "_inbound_nodes_value", "_outbound_nodes_value"})
_NONE = object()
_KNOWN: dict[type, bool] = {}


def _walked(cls: type) -> bool:
    if cls not in _KNOWN:
        _KNOWN[cls] = cls.__name__ not in _SKIPPED and any((base.__module__ or "").startswith(_WALKED) for base in cls.__mro__)
    return _KNOWN[cls]


def _refill(container: Any, saved: Any) -> None:
    if isinstance(container, list):
        if len(container) != len(saved) or any(a is not b for a, b in zip(container, saved, strict=True)):
            list.__setitem__(container, slice(None), saved)
    elif isinstance(container, dict):
        if len(container) != len(saved) or any(container.get(key, _NONE) is not value for key, value in saved.items()):
            dict.clear(container)
            dict.update(container, saved)
    elif len(container) != len(saved) or container != saved:
        set.clear(container)
        set.update(container, saved)


@contextlib.contextmanager
def left_as_found(adapters: list[Any], roots: list[Any], *, alone: bool = False) -> Iterator[Memento]:
    """Everything that a trace of ``roots`` can change is given back on exit, also when it raises.

    With ``alone`` layers are called by themselves, and the graph that they stand in is not looked at.
    """
    memento = Memento(roots, _GRAPH if alone else frozenset())
    saved = [(adapter, adapter.globals()) for adapter in adapters]
    with kept_random_state():
        try:
            yield memento
        finally:
            memento.restore()
            for adapter, state in saved:
                adapter.restore_globals(state)
