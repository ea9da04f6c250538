"""Leaving things as they were: the model's objects, Keras' counters, every random state.

A trace calls the user's model. Layers note that they were called, unbuilt ones build themselves, loss
containers fill lazily. Each object that a call can reach keeps a shallow copy of its attributes and
containers, and gets it back afterwards; symbolic tracing writes no variable, so values need no copy.
"""

from __future__ import annotations

import contextlib
import gc
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..sources.state import kept_random_state

_WALKED = ("keras.", "tf_keras.", "tensorflow.python.trackable", "tensorflow.python.util.object_identity", "tensorflow_hub")
_LEAF_TYPES = (str, bytes, int, float, bool, complex, type(None), type, np.ndarray, np.generic)
# A node of a functional graph, and the arguments in it, stay as they were made; the layers of the graph are reached through the model.
# Initializers and input specs are never changed.
_STAYS = (
    "keras.src.ops.node",
    "keras.src.ops.symbolic_arguments",
    "keras.src.initializers",
    "keras.src.layers.input_spec",
    "keras.src.saving",
    "tf_keras.src.engine.node",
)
# Where a layer of Keras 3 keeps what belongs to it; built, it gets nothing more.
_TRACKER, _TRACKED = frozenset({"_tracker"}), frozenset({"tracker"})
_SKIPPED = frozenset({"Variable", "KerasTensor", "ResourceVariable", "AutoCastVariable", "DTypePolicy", "KerasVariable"})


class Memento:
    """What a set of objects looked like."""

    def __init__(self, roots: list[Any], unfollowed: frozenset[str] = frozenset()) -> None:
        self._unfollowed = unfollowed
        self._objects: list[tuple[Any, dict[str, Any]]] = []
        self._containers: list[tuple[Any, Any]] = []
        seen, pending = set(), list(roots)
        # A large model holds tens of thousands of plain values, so each costs one look at its type.
        while pending:
            obj = pending.pop()
            take = _TAKES.get(type(obj))
            if take is None:
                take = _TAKES[type(obj)] = _take_of(obj)
            if take is _leave or id(obj) in seen:
                continue
            if take is not _inside:
                seen.add(id(obj))
            pending.extend(take(self, obj))  # not +=: a tuple that TensorFlow wraps adds itself as what it wraps

    def exchanged(self) -> Iterator[tuple[Any, str, Any, Any]]:
        """The attributes that have another value by now: the object, the name, the value before and the one that it has."""
        for obj, saved in self._objects:
            current = vars(obj)
            if _same(current.values(), saved.values()):
                continue
            for name, before in saved.items():
                after = current.get(name, before)
                if after is not before:
                    yield obj, name, before, after

    def restore(self) -> None:
        """Puts every object back; what has not changed is not touched."""
        for obj, saved in self._objects:
            current = vars(obj)
            if current.keys() == saved.keys() and _same(current.values(), saved.values()):
                continue
            current.clear()
            current.update(saved)
        for container, saved in self._containers:
            if container or saved:  # many are empty
                try:
                    _refill(container, saved)
                except Exception:  # the next one is given back all the same
                    continue


# What leads from a layer to the model that it is part of.
_GRAPH = frozenset({"_inbound_nodes", "_outbound_nodes", "_inbound_nodes_value", "_outbound_nodes_value"})


def _same(values: Any, others: Any) -> bool:
    return len(values) == len(others) and all(map(operator.is_, values, others))


def _leave(_: Memento, __: Any) -> Any:
    return ()


def _inside(_: Memento, obj: Any) -> Any:
    return obj


def _built_in(memento: Memento, obj: Any) -> Any:
    memento._containers.append((obj, obj.copy()))
    return obj.values() if type(obj) is dict else obj


def _container(memento: Memento, obj: Any) -> Any:
    copy = dict(obj.items()) if isinstance(obj, dict) else set(obj) if isinstance(obj, set) else list(obj)
    memento._containers.append((obj, copy))
    held = copy.values() if isinstance(copy, dict) else copy
    attributes = getattr(obj, "__dict__", None)
    if not isinstance(attributes, dict) or attributes.keys() <= _TRACKED:
        return held
    memento._objects.append((obj, dict(attributes)))
    return [*held, *attributes.values()]


def _attributes(memento: Memento, obj: Any) -> Any:
    attributes = getattr(obj, "__dict__", None)
    if not isinstance(attributes, dict):
        return ()
    memento._objects.append((obj, dict(attributes)))
    unfollowed = memento._unfollowed
    if attributes.get("built") is True and type(obj).__module__.startswith("keras.src."):
        unfollowed = unfollowed | _TRACKER
    return [value for key, value in attributes.items() if key not in unfollowed] if unfollowed else attributes.values()


_TAKES: dict[type, Callable[[Memento, Any], Any]] = {list: _built_in, dict: _built_in, set: _built_in}


def _take_of(obj: Any) -> Callable[[Memento, Any], Any]:
    if isinstance(obj, _LEAF_TYPES):
        return _leave
    if isinstance(obj, (list, dict, set)):
        return _container
    if isinstance(obj, tuple):
        return _inside
    cls = type(obj)
    stays = cls.__name__ in _SKIPPED or (cls.__module__ or "").startswith(_STAYS)
    walked = not stays and any((base.__module__ or "").startswith(_WALKED) for base in cls.__mro__)
    return _attributes if walked else _leave


def _refill(container: Any, saved: Any) -> None:
    if isinstance(container, list):
        if not _same(container, saved):
            list.__setitem__(container, slice(None), saved)
    elif isinstance(container, dict):
        if container.keys() != saved.keys() or not _same(container.values(), saved.values()):
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


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """No garbage is collected inside: each collection would walk the whole live model, and a trace leaves few cycles behind."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
