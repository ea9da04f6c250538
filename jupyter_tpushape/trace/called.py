"""Layers that are called once more, symbolically, before their declared shapes are believed.

A model that was built has shown that its layers agree about shapes. Whether a call takes this dtype, this rank
or this number of tensors is only checked by the call itself: most layers compute their output's shape by a
formula and never run while the model is built. A layer whose own input spec lets through nothing but one float32
tensor for float32 weights needs no call, unless it runs a function of the user's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..flow import Spec
from .config import config_of, silently
from .framework import Framework, GraphNode
from .locations import of_the_user
from .patience import ENDS, limited
from .recorder import Recorder, recording
from .restore import left_as_found

_MOST = 4096
# Where wrappers and recurrent layers keep what does their work.
_HELD = ("layer", "forward_layer", "backward_layer", "cell", "cells")
# Calls that went well, by class, configuration and specs. A function of the user's own is never among them.
_WENT_WELL: set[Any] = set()


@dataclass
class Check:
    """One call to try: the layer's node in the graph, what it is given and what it was declared to give."""

    node: GraphNode
    given: list[Spec]
    gives: list[Spec]
    own: bool

    def key(self, adapter: Framework, training: bool) -> Any:
        """What two calls have in common that cannot differ."""
        layer = self.node.operation
        config = {key: value for key, value in config_of(layer).items() if key != "name"}
        return adapter.name, adapter.backend.name, type(layer), repr(config), tuple(self.given), tuple(self.gives), training


def check_of(node: GraphNode, given: list[Spec], gives: list[Spec]) -> Check | None:
    """The call that must be tried."""
    layer = node.operation
    own = _runs_own(layer)
    plain = [spec.dtype for spec in given] == ["float32"] and getattr(layer, "compute_dtype", "") == "float32"
    return None if plain and not own and _vouches(layer) else Check(node, given, gives, own)


def _vouches(layer: Any) -> bool:
    """Whether a layer's input spec says all that its call needs. A rank alone, taken from what it was built for, says nothing of its weights."""
    spec = getattr(layer, "input_spec", None)
    recurs = any(getattr(layer, name, None) is not None for name in _HELD)
    return spec is not None and (recurs or bool(getattr(spec, "axes", None)) or not getattr(layer, "weights", None))


def _runs_own(layer: Any) -> bool:
    """Whether a layer, or a cell or layer that it holds, calls a function of the user's own."""
    callables = [value for value in vars(layer).values() if callable(value)]
    if any([of_the_user(value) for value in callables]):  # noqa: C419 - most values are plain, and there are many
        return True
    held = [value for name in _HELD if (value := getattr(layer, name, None)) is not None]
    return any(_runs_own(one) for value in held for one in (value if isinstance(value, (list, tuple)) else [value]) if hasattr(one, "__dict__"))


def hold(adapter: Framework, checks: Iterable[Check], training: bool) -> bool:
    """Whether every call gives what was declared. Nothing of the layers is changed."""
    fresh: list[Check] = []
    keys: list[Any] = []
    with silently():
        for check in checks:
            key = None if check.own else _key(check, adapter, training)
            if key is None or (key not in _WENT_WELL and key not in keys):
                fresh.append(check)
                keys.append(key)
    if not fresh:
        return True
    silent = Recorder()
    silent.muted = 1

    def body(graph: Any) -> None:
        silent.graph = graph
        for check in fresh:
            _call(adapter, silent, check, training)

    try:
        with left_as_found([adapter], [check.node.operation for check in fresh], alone=True), recording(silent), adapter.scope(), limited("A layer"):
            adapter.backend.trace(silent, adapter, body)
    except ENDS:
        return False
    if len(_WENT_WELL) > _MOST:
        _WENT_WELL.clear()
    _WENT_WELL.update(key for key in keys if key is not None)
    return True


def _key(check: Check, adapter: Framework, training: bool) -> Any:
    try:
        return check.key(adapter, training)
    except Exception:  # a layer of the user's own configuration, or none
        return None


class _OtherThanDeclared(Exception):
    """A call gave another spec than the declaration says."""


def _call(adapter: Framework, recorder: Recorder, check: Check, training: bool) -> None:
    made = {id(tensor): recorder.graph.placeholder(spec, "input") for tensor, spec in zip(check.node.inputs, check.given, strict=True)}
    args, kwargs = adapter.node_arguments(check.node.operation, check.node.outputs, made)
    if adapter.takes_training(check.node.operation):
        kwargs = {"training": training, **{key: value for key, value in kwargs.items() if key != "training" or value is not None}}
    outputs = adapter.flatten(check.node.operation(*args, **kwargs))
    if [adapter.spec(tensor) for tensor in outputs] != check.gives:
        raise _OtherThanDeclared
    if not training:
        return
    # A gradient that gets lost inside, as in integers, is for the whole program's graph to tell.
    frozen = adapter.variables(check.node.operation, frozen=True)
    own = len(adapter.variables(check.node.operation)) > len(frozen)
    inputs = [] if own else [one for one in made.values() if "float" in adapter.spec(one).dtype]
    recorder.weights.update(map(adapter.key, inputs))
    if (own or inputs) and all(adapter.backend.cut(recorder, one, frozen) is not None for one in outputs):
        raise _OtherThanDeclared
