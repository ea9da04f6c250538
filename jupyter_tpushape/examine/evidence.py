"""The input of rules: the flow and the facts about it. No framework, no live objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..flow import Edge, Flow, KeyPath, Node, Shape, Spec, Target
from ..flow.paths import to_wire
from ..graph import Origins
from ..trace.raised import Raised


@dataclass(frozen=True)
class Door:
    """What a declared input is called.

    Attributes:
        name: its layer's name. place: its place among the inputs as they were made.
        word: what a user calls it: its key in a dict of inputs, else its name.
        keys: by which keys the framework looks for it in a dict of data.
    """

    name: str
    place: int
    word: str
    keys: KeyPath


@dataclass(frozen=True)
class Given:
    """A tensor that the call that broke was handed: the argument's name, its spec, and the node that gave it (``None``: a number of the program).

    ``like``: the node whose output has the shape that a tensor without a giver was created with.
    """

    label: str
    spec: Spec
    giver: Node | None
    grows: dict[int, float] = field(default_factory=dict)
    like: Node | None = None


@dataclass
class Evidence:
    """Everything that a rule may use.

    ``x``, ``y``, ``weight``, ``outputs``: ``(path, spec)`` of one replica's tensors, batch axis first.
    ``declared``: ``(path, spec)`` of the model's declared inputs, or ``None``; ``doors`` has their names.
    ``feeds``: the path of the declared input and of the data, for each input that receives a tensor; empty if not certain.
    ``paths``: the data leaf of an edge, by the edge's id.
    ``where``: the phase that raised (``data``, ``build``, ``call``, ``loss``, ``metric``), or ``""``.
    ``given``: the arguments of the failed call, in order, including those that no node created.
    ``raised``: the user's line that raised, with the values of its names.
    ``arguments``: the arguments of a node's layer that determine sizes, with defaults, as plain values by node id.
    ``backend``: the framework's backend; checks for another backend do nothing.
    ``sample``: the sampled data (see :mod:`jupyter_tpushape.sources`), or ``None``.
    """

    flow: Flow
    target: Target | None = None
    sample: Any = None
    split: Any = None
    x: list[tuple[KeyPath, Spec]] = field(default_factory=list)
    y: list[tuple[KeyPath, Spec]] = field(default_factory=list)
    weight: list[tuple[KeyPath, Spec]] = field(default_factory=list)
    outputs: list[tuple[KeyPath, Spec]] = field(default_factory=list)
    declared: list[tuple[KeyPath, Spec]] | None = None
    doors: dict[KeyPath, Door] = field(default_factory=dict)
    feeds: list[tuple[KeyPath, KeyPath]] = field(default_factory=list)
    paths: dict[str, KeyPath] = field(default_factory=dict)
    where: str = ""
    failure: Any = None
    raised: Raised | None = None
    framework: str = ""
    backend: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    given: list[Given] = field(default_factory=list)
    arguments: Callable[[str], dict[str, Any]] = field(default=lambda _: {})

    @cached_property
    def origins(self) -> Origins:
        """Where the sizes of the flow's edges come from."""
        return Origins(self.flow, self.arguments)

    @property
    def failed(self) -> Node | None:
        """The node that raised."""
        return next(iter(self.flow.failed()), None)

    def failed_inputs(self) -> list[Edge]:
        failed = self.failed
        return [] if failed is None else self.flow.into(failed.id)

    def operands(self) -> list[Edge]:
        """What the failing node got, masks left out."""
        return [edge for edge in self.failed_inputs() if edge.label != "mask"]

    def input_at(self, path: KeyPath) -> Node | None:
        """The input node for this leaf of the data."""
        return next((node for node in self.flow.nodes if node.kind == "input" and node.path == to_wire(path)), None)

    def leaf(self, path: KeyPath) -> Spec | None:
        """The spec of one leaf of the data."""
        return next((spec for found, spec in (*self.x, *self.y, *self.weight) if found == path), None)

    def carried(self, edge: Edge) -> KeyPath | None:
        """The leaf of the data that comes along this edge, as it is or changed on its way."""
        seen: set[str] = set()
        while edge.id not in self.paths:
            before = self.flow.into(edge.source)
            if len(before) != 1 or edge.id in seen:
                return None
            seen.add(edge.id)
            edge = before[0]
        return self.paths[edge.id]

    def rows(self, index: int = 0) -> Shape | None:
        """The shape of one sample of input ``index``, without the batch axis."""
        if index >= len(self.x) or self.x[index][1].shape is None:
            return None
        return self.x[index][1].shape[1:]  # type: ignore[index]

    @property
    def stages(self) -> Sequence[Any]:
        """The stages of the data's pipeline, where there is data."""
        return getattr(self.sample, "stages", ())

    @property
    def label_stats(self) -> dict[Any, Any]:
        """The statistics of the labels, where there are any."""
        return getattr(self.sample, "label_stats", None) or {}

    @property
    def trains(self) -> bool:
        """Whether gradients are computed: the data has labels, or a step computes gradients itself."""
        step = self.facts.get("step")
        return bool(step.trains) if step is not None else self.sample is not None and self.sample.y is not None

    def losses(self) -> list[Node]:
        return [node for node in self.flow.nodes if node.kind == "loss"]
