"""Checks a configuration before any loader sees it: it may name only Keras objects, and its graph must not have cycles."""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import Any

from . import allowed

_VALUES = frozenset({"__tensor__", "__numpy__", "__bytes__", "__ellipsis__", "__slice__", "__tuple__", "__keras_tensor__"})
# Whole numbers that no axis, filter or class count has.
MOST_NUMBER = 2**53


class Refused(Exception):
    """The file names something that tpushape does not run; the message is its description."""


class Impossible(Refused):
    """The configuration holds what no model has; the message is its description."""


def check(package: str, config: Any) -> None:
    """Walks a configuration, or what a model was compiled with.

    Raises:
        Refused: at the first thing in it that would run or import code, or open another file.
    """
    for value in _within(config):
        if not isinstance(value, dict):
            continue
        if value.get("custom_objects"):
            raise Refused("custom objects")
        if isinstance(value.get("vocabulary"), str):
            raise Refused(f"a vocabulary from the file {value['vocabulary'][:80]}")
        if "class_name" in value:
            _one(package, value)
        if isinstance(value.get("layers"), list):
            _ends(value["layers"])


def _within(config: Any) -> Iterator[Any]:
    pending = [config]
    while pending:
        value = pending.pop()
        yield value
        if isinstance(value, dict):
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
        elif isinstance(value, int) and abs(value) > MOST_NUMBER:
            raise Impossible(f"a number of {len(str(value))} digits")


def _one(package: str, value: dict[str, Any]) -> None:
    name, module, registered = value["class_name"], value.get("module"), value.get("registered_name")
    if not isinstance(name, str):
        raise Impossible(f"a class whose name is {type(name).__name__}")
    if name in _VALUES and not module:
        return
    if name in allowed.RUNS:
        raise Refused(allowed.RUNS[name])
    if name == "__lambda__":
        raise Refused("a marshalled function")
    function = name == "function"
    if function:
        name = value.get("config")
        if not isinstance(name, str):
            raise Impossible("a function without a name")
    if module is not None and not isinstance(module, str):
        raise Impossible(f"a module that is {type(module).__name__}")
    place = f"{module}.{name}" if module and module != "builtins" else name
    # A class of Keras' own may be registered under a package's name, as "Custom>Adam" is.
    found = allowed.registered(package, name) if not module and ">" in name else allowed.named(package, module, name)
    # A module of Keras holds dicts and lists too, which have no hash.
    known = isinstance(found, (type, FunctionType)) and found in (allowed.functions(package) if function else allowed.classes(package))
    if not known:
        raise Refused(f"{'the function' if function else 'the class'} {place[:120]}")
    if registered not in (None, name) and (not isinstance(registered, str) or allowed.registered(package, registered) is not found):
        raise Refused(f"the class {str(registered)[:120]}")
    inner, name = value.get("config"), found.__name__
    if name in ("TFOpLambda", "SlicingOpLambda") and not allowed.computes(inner.get("function") if isinstance(inner, dict) else None):
        raise Refused(f"the function {str(inner.get('function') if isinstance(inner, dict) else inner)[:80]}")
    if name == "InstanceProperty" and not _plain_attribute(inner):
        raise Refused("a tensor attribute accessed by name")


def _plain_attribute(inner: Any) -> bool:
    name = inner.get("attr_name") if isinstance(inner, dict) else None
    return isinstance(name, str) and name.isidentifier() and not name.startswith("_")


def _ends(layers: list[Any]) -> None:
    """A functional model's calls lead to its inputs: one that waits for itself, or for what is not there, is waited for without end."""
    needs: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for layer in layers:
        if not isinstance(layer, dict) or not isinstance(layer.get("inbound_nodes"), list):
            continue
        inner = layer.get("config")
        name = layer.get("name") or (inner.get("name") if isinstance(inner, dict) else None)
        for number, call in enumerate(layer["inbound_nodes"]):
            needs[str(name), number] = list(_givers(call))
    if not needs:
        return
    # A layer that an input of a nested model is has no call of its own.
    entries = {name for name, _ in needs} | {str(layer.get("name")) for layer in layers if isinstance(layer, dict)}
    for call, givers in needs.items():
        for giver in givers:
            if giver[0] not in entries:
                raise Impossible(f"a call of {call[0][:60]} on {giver[0][:60]}, which does not exist")
    waiting = {call: {giver for giver in givers if giver in needs} for call, givers in needs.items()}
    takers: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for call, of in waiting.items():
        for giver in of:
            takers.setdefault(giver, []).append(call)
    ready = [call for call, of in waiting.items() if not of]
    while ready:
        done = ready.pop()
        del waiting[done]
        for call in takers.pop(done, ()):
            waiting[call].discard(done)
            if not waiting[call]:
                ready.append(call)
    if waiting:
        raise Impossible(f"a cycle of calls at {next(iter(waiting))[0][:60]}")


def _givers(call: Any) -> Iterator[tuple[str, int]]:
    """The calls whose tensors a call takes: of Keras 3 by ``keras_history``, of Keras 2 as ``[name, call, tensor, ...]``."""
    for value in _within(call):
        history = value.get("keras_history") if isinstance(value, dict) else value
        if not isinstance(history, list) or len(history) < 3:
            continue
        name, number, tensor = history[:3]
        if isinstance(name, str) and isinstance(number, int) and isinstance(tensor, int) and number >= 0:
            yield name, number
