"""From recorded calls to a flow: nodes and edges as plain values."""

from __future__ import annotations

import re
from itertools import count
from typing import Any

from ..flow import Edge, Failure, Flow, KeyPath, Node, Replica, Shape, Spec
from ..flow.paths import show, to_wire
from ..flow.text import meaning, words
from .config import silently, size_arguments
from .doors import Feeds
from .families import layer_family, op_family
from .locations import location
from .ran import Leaf, Run
from .recorder import Call, Port, Recorder, Source, line_of


class Assembler:
    """Builds one flow. ``place(shape, role)`` returns the replicas' shapes of a tensor, or ``()``."""

    def __init__(self, framework: str, place: Any = None) -> None:
        self.flow = Flow(framework=framework)
        self.ids: dict[int, str] = {}
        self._edges: set[tuple[str, str, int, str]] = set()
        self._place = place or (lambda _: ())
        self._layers_seen: dict[int, int] = {}
        self.edge_of: dict[tuple[int, int], str] = {}
        self._layers: dict[str, Any] = {}
        # The leaf of the data that an edge carries as it came.
        self.paths: dict[str, KeyPath] = {}
        # Which of several results of its source an edge is.
        self.places: dict[str, int] = {}

    # -- nodes -------------------------------------------------------------------------------------

    def node(self, key: Any, **fields: Any) -> Node:
        """Adds a node; ``key`` is the object that it represents."""
        node = Node(id=f"n{len(self.flow.nodes)}", **fields)
        self.flow.nodes.append(node)
        if key is not None:
            self.ids[id(key)] = node.id
        return node

    def edge(self, source: str, target: str, spec: Spec, *, key: int = 0, label: str = "", status: str = "ok", placed: bool = True) -> Edge | None:
        if source == target or (source, target, key, label) in self._edges:
            return None
        self._edges.add((source, target, key, label))
        replicas = tuple(Replica(*item) for item in self._place(spec.shape)) if placed else ()
        edge = Edge(f"e{len(self.flow.edges)}", source, target, spec, status, replicas, label)  # type: ignore[arg-type]
        self.flow.edges.append(edge)
        return edge

    def arguments(self, id: str) -> dict[str, Any]:
        """The arguments of a node's layer that determine sizes."""
        return size_arguments(self._layers[id]) if id in self._layers else {}

    # -- calls -------------------------------------------------------------------------------------

    def calls(self, adapter: Any, recorder: Recorder, root: Any = None, door: bool = False) -> None:
        """Every recorded call as a node, edges as the data went.

        The call of ``root`` itself, where that is a model, is the picture, not a node of it, unless it alone failed. With
        ``door`` it has inputs of its own that can be blamed: then it is never a node.
        """
        failed = recorder.failed
        with silently():
            for call in recorder.calls:
                if call.obj is root and adapter.is_model(root) and call.parent is None and (door or call.children or call is not failed):
                    continue
                self._call(adapter, recorder, call, call is failed)

    def _built_at(self, recorder: Recorder, call: Call) -> Any:
        """The line that put a layer into a functional graph, which calls it by itself from then on."""
        places = recorder.call_places.get(id(call.obj), []) if call.kind == "layer" else []
        times = self._layers_seen.get(id(call.obj), 0)
        return places[times] if times < len(places) else None

    def _call(self, adapter: Any, recorder: Recorder, call: Call, failed: bool) -> None:
        layer = call.obj if call.kind == "layer" else None
        made = recorder.made.get(id(call.obj)) if call.obj is not None else None
        parent = call.parent
        while parent is not None and id(parent) not in self.ids:
            parent = parent.parent
        fields: dict[str, Any] = {
            "name": call.name, "kind": call.kind, "op": call.op, "status": "failed" if failed else "ok",
            "parent": self.ids[id(parent)] if parent is not None else "",
            "location": location(made.where if made else line_of(call.obj) if call.obj is not None else None, text=failed),
            "called": location(call.called or self._built_at(recorder, call), text=failed or call.kind == "op"),
        }  # fmt: skip
        node = self.node(call, **fields)
        node.config = {**call.config, **call.values}
        if call.kind == "op":
            node.family = op_family(call.op)
        elif layer is not None:
            node.family = layer_family(layer)
        if layer is not None or call.kind == "metric":
            self._layers[node.id] = layer if layer is not None else call.obj
        # A model made of layers would write all of them down.
        if layer is not None and not isinstance(layer, (adapter.Functional, adapter.Sequential)):
            node.config.update(adapter.config(layer))
        if layer is not None:
            times = self._layers_seen[id(layer)] = self._layers_seen.get(id(layer), 0) + 1
            if times > 1:
                node.config["call"] = times
            elif call.opaque or not call.children:
                node.weights = adapter.weights(layer) if call.weights is None else call.weights
            else:  # what it shows inside has weights of its own
                node.weights = adapter.own_weights(layer) if call.weights is None else call.weights
            node.params = sum(_size(weight.shape) for weight in node.weights)
        if failed and call.failure is not None:
            node.failure = failure(call.failure, {"loss": "loss", "metric": "metric"}.get(call.kind, "call"), call.inner)
        if call.opaque or failed or not call.children or call.kind in ("loss", "metric"):
            self._inputs(call, node.id, "failed" if failed else "ok")

    def _inputs(self, call: Call, target: str, status: str) -> None:
        for port in call.inputs:
            source = self.source_of(port)
            if source is not None:
                edge = self.edge(source, target, port.spec, key=port.key, label=port.label, status=status)
                if edge is not None:
                    self.edge_of[id(call), port.key] = edge.id
                    given = port.producer.outputs if isinstance(port.producer, Call) else []
                    if len(given) > 1:
                        self.places[edge.id] = next((at for at, one in enumerate(given) if one.key == port.key), 0)
                    if isinstance(port.producer, Source) and port.producer.path:
                        self.paths[edge.id] = port.producer.path

    def source_of(self, port: Port) -> str | None:
        """The node that a tensor comes from."""
        producer = port.producer
        while isinstance(producer, Call) and id(producer) not in self.ids:
            producer = producer.parent
        return None if producer is None else self.ids.get(id(producer))

    # -- doors -------------------------------------------------------------------------------------

    def inputs(self, leaves: list[Leaf], feeds: Feeds | None, feeder: str | None) -> None:
        """Input nodes, named after the model's input that each one feeds, and fed from the split or the last stage."""
        fed = {id(leaf): door.name for door, leaf in feeds.pairs} if feeds is not None else {}
        shown = door_names([fed.get(id(leaf), leaf.name) for leaf in leaves])
        for leaf, name in zip(leaves, shown, strict=True):
            node = self.node(leaf.source, name=name, kind="input", op="Input", path=to_wire(leaf.path))
            if feeder is not None:
                self.edge(feeder, node.id, leaf.spec, key=id(leaf), label=leaf.name if len(leaves) > 1 else "")

    def labels(self, leaves: list[Leaf], feeder: str | None) -> None:
        """Labels and weights come straight from the split or the last stage: no node of their own."""
        for leaf in leaves:
            if feeder is not None:
                self.ids[id(leaf.source)] = feeder

    def outputs(self, run: Run, names: list[str]) -> None:
        for i, (path, port) in enumerate(run.outputs):
            name = names[i] if len(names) == len(run.outputs) else str(path[-1]) if isinstance(path[-1], str) else show(path)
            node = self.node(None, name=name, kind="output", op="Output", path=to_wire(path))
            source = self.source_of(port)
            if source is not None:
                edge = self.edge(source, node.id, port.spec, key=id(port))
                if edge is not None:
                    self.edge_of[0, id(port)] = edge.id


# What Keras calls an input that nobody named.
_UNNAMED = re.compile(r"(keras_tensor|input_layer|input)(_\d+)?")


def door_names(names: list[str]) -> list[str]:
    """The inputs' names as they are shown: those that a framework counted through the session become ``input``, ``input_2``, ..."""
    unnamed = [bool(_UNNAMED.fullmatch(name)) for name in names]
    given = {name for name, none in zip(names, unnamed, strict=True) if not none}
    free = (word for n in count(1) if (word := f"input_{n}" if n > 1 else "input") not in given)
    return [next(free) if none else name for name, none in zip(names, unnamed, strict=True)]


# TensorFlow's own notation of a node, shortened to its operation and the shapes it got.
_NODE = re.compile(r"for '\{\{node [^}]*\}\} = (\w+)\[?.*?' with input shapes: ((?:\[[^\]]*\](?:, )?)+)")
_BARE = re.compile(r"(\w*(?:Error|Exception|Iteration|Exit|Interrupt)):?")
_WRAPPED = re.compile(r"\{\{function_node [^}]*\}\} ?")


def failure(error: BaseException, where: str, inner: str = "") -> Failure:
    """An exception as plain values, without the text that Keras and TensorFlow add."""
    return Failure(type(error).__name__, clean_message(error), where, inner)  # type: ignore[arg-type]


def clean_message(error: BaseException) -> str:
    """The exception's message without argument dumps and traceback text."""
    text = f"it ends the program with SystemExit({error.code!r})" if isinstance(error, SystemExit) else words(error)
    for mark in ("\n\nArguments received by", "\n\nCall arguments received by", "\nArguments received by"):
        text = text.split(mark, maxsplit=1)[0]
    if "in user code:" in text:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        named = [line for line in lines if ": " in line and line.split(": ")[0].replace("_", "").isalnum() and "Error" in line.split(": ")[0]]
        text = named[-1].split(": ", 1)[1] if named else lines[-1]
    around = text.replace("\x1b[1m", "").replace("\x1b[0m", "")
    text = _unwrapped(around)
    if around and not text:
        error = error.__cause__ or error.__context__ or error
    text = _NODE.sub(r"(\1 of \2)", _WRAPPED.sub("", text))
    text = text.strip()[:2000]
    # AutoGraph gives a message that only names the exception to one that has none, and may raise it as another class.
    bare = _BARE.fullmatch(text)
    return meaning(bare[1] if bare else error) if bare or not text else text


# What Keras puts around another exception's message, and what the message follows.
_AROUND = (("Exception encountered when calling", "\n\n"), ("Could not automatically infer", "Error encountered:"))


def _unwrapped(text: str) -> str:
    """The innermost message: Keras puts its own words around it, one layer's inside of another's."""
    for start, before in _AROUND * 4:
        if text.startswith(start) and before in text:
            text = text.split(before, 1)[1].strip()
    return text


def _size(shape: Shape | None) -> int:
    total = 1
    for n in shape or ():
        total *= n or 0
    return total
