"""What a symbolic run was given, and what it left: plain values, which those who read a trace need without running one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..flow import KeyPath, Spec
from ..flow.paths import flatten, map_paths, show
from .doors import Door, Feeds
from .framework import Framework
from .frozen import Frozen
from .recorder import Call, Port, Recorder, Source


@dataclass
class Leaf:
    """One tensor of the data at the model's door: its path in the nesting, and what one replica gets."""

    path: KeyPath
    spec: Spec
    source: Source

    @property
    def name(self) -> str:
        """The leaf as a user would write it."""
        return show(self.path)


@dataclass
class Run:
    """What a trace recorded, before it becomes a flow."""

    recorder: Recorder
    adapter: Framework
    model: Any
    x: list[Leaf] = field(default_factory=list)
    y: list[Leaf] = field(default_factory=list)
    weight: list[Leaf] = field(default_factory=list)
    outputs: list[tuple[KeyPath, Port]] = field(default_factory=list)
    doors: list[Door] | None = None
    feeds: Feeds | None = None
    error: BaseException | None = None
    where: str = ""
    fast: bool = False
    graph: Any = None
    reached_loss: bool = False
    has_loss: bool = False
    # Whether tensors of the backend can hold the labels.
    told: bool = True
    called: bool = False
    step: bool = False
    # The parts of the state that a training step of the model's own gave back; -1 where it gave no state.
    parts: int = 4
    # The placeholders, by the key paths of their leaves.
    fed: dict[KeyPath, Any] = field(default_factory=dict)
    # What keeps every gradient of the loss from the weights: types of operations and the calls they are in. ``None``: one arrives, or nobody knows.
    cut: list[tuple[str, Any]] | None = None
    # The calls of layers that none of the program's ends depends on, and whether they train weights.
    unused: list[tuple[Call, bool]] = field(default_factory=list)
    # Functions that were compiled while a framework inferred shapes, and read the weights of that moment.
    frozen: list[Frozen] = field(default_factory=list)
    # The calls of layers with trained weights that the model does not hold.
    outside: list[Call] = field(default_factory=list)


# What a source is called by its role in the data.
_SOURCES = {"x": "x", "y": "labels", "weight": "weights"}


def leaves(structure: Any, shape: Callable[[Any], Any], role: str) -> tuple[Any, list[Leaf]]:
    """The structure with a :class:`Leaf` at each leaf, and those leaves in the order of their keys."""

    def leaf(path: KeyPath, value: Any) -> Leaf:
        return Leaf(path, Spec(shape(value), value.dtype, getattr(value, "kind", "dense")), Source(show(path), _SOURCES[role], path))

    nest = map_paths(leaf, structure, role)
    return nest, [leaf for _, leaf in flatten(nest)]
