"""What every maker of candidates uses: edits by what they do, fixes that several makers offer, and the way up from a node."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from ...examine.evidence import Evidence
from ...flow import Edge, Fact, Finding, KeyPath, Node, Shape, Who, show_shape
from ...rules.compared import copied_from
from ...rules.upstream import ancestors
from ..edits import Edit, InsertLayer, LayerConfig, ReplaceLayer, Transform

Fix = tuple[str, Sequence[Edit], str]
Made = Iterator[Fix]
Maker = Callable[[Evidence, Finding], Made]
F = TypeVar("F", bound=Fact)


def of(*kinds: type[F]) -> Callable[[Callable[[Evidence, Finding, F], Made]], Maker]:
    """A maker of a function that takes the fact too; of facts of other kinds nothing is made."""

    def maker_of(make: Callable[[Evidence, Finding, F], Made]) -> Maker:
        def maker(evidence: Evidence, finding: Finding) -> Made:
            return make(evidence, finding, finding.fact) if isinstance(finding.fact, kinds) else iter(())

        return maker

    return maker_of


# -- edits


def key_of(path: Sequence[Any]) -> Any:
    """Which leaf of a part of the data an edit is about."""
    return (path[1] if len(path) == 2 else list(path[1:])) if path[1:] else None


def transform(path: KeyPath, operation: str, **arguments: Any) -> Transform:
    """An operation on a leaf of the data or the labels, by its path."""
    return Transform(str(path[0]), str(path[0]), operation, arguments, tuple(path[1:]))


def shapes_set(shapes: dict[KeyPath, Shape], why: str) -> Made:
    """The shapes of tensors, set where the pipeline hands them over."""
    if shapes:
        edits = [transform(path, "ensure_shape", shape=list(shape)) for path, shape in shapes.items()]
        yield f"Set the shape in the pipeline: {', '.join(map(show_shape, shapes.values()))}", edits, why


def insert(before: str, kind: str, **config: Any) -> InsertLayer:
    return InsertLayer(before, kind, config)


def insert_at_call(node: Node, kind: str, **config: Any) -> InsertLayer:
    """In front of this call only, where a layer is called more than once."""
    return InsertLayer(node.name, kind, config, nth=node.config.get("call") or None)


def append(after: str, kind: str, **config: Any) -> InsertLayer:
    return InsertLayer(after, kind, config, "after")


def at(node: Node, index: int, layer: str, like: str = "", **config: Any) -> InsertLayer:
    return InsertLayer(node.name, layer, config, input=index, like=like)


def configure(layer: str, **config: Any) -> LayerConfig:
    return LayerConfig(layer, config)


def left_out(layer: str) -> ReplaceLayer:
    return ReplaceLayer(layer, "Identity")


# -- fixes that several makers offer


def last_step_of(node: Node, why: str) -> Fix:
    return f"Return only the last step: set return_sequences=False on {node.name}", [configure(node.name, return_sequences=False)], why


def sequence_of(node: Node, why: str) -> Fix:
    return f"Return the whole sequence: set return_sequences=True on {node.name}", [configure(node.name, return_sequences=True)], why


def padding_of(evidence: Evidence, node: Node) -> str:
    """The padding that keeps a size. Beside causal convolutions, or where the labels are the next steps, one that sees the future is another thing."""
    if "1D" not in node.op or "Pool" in node.op:
        return "same"
    causal = any(item.config.get("padding") == "causal" for item in evidence.flow.nodes)
    ahead = any(copied_from(evidence, path, ahead=True) for path, _ in evidence.y)
    return "causal" if causal or ahead else "same"


def same_size(node: Node, why: str, **config: Any) -> Fix:
    """A layer that slides a window and keeps the size, by these arguments."""
    said = ", ".join(f"{key}={value!r}" for key, value in config.items())
    return f"Keep the spatial size in {node.name}: {said}", [configure(node.name, **config)], why


def setting(node: Node | Who, key: str, value: Any, said: str, why: str) -> Fix:
    """Another value for one argument of a layer; ``said`` is what follows its name in the title."""
    return f"Set {key}={value} on {node.name}{said}", [configure(node.name, **{key: value})], why


def created(node: Node, key: str, value: Any, said: str, why: str) -> Fix:
    """The same for a layer of the user's own."""
    return f"Create {node.name} with {key}={value}{said}", [configure(node.name, **{key: value})], why


def flattened(before: str, why: str = "Keeps every value.") -> Fix:
    return f"Add Flatten before {before}", [insert(before, "Flatten")], why


def reshaped_before(layer: str, title: str, shape: Sequence[int], why: str = "Keeps every value.") -> Fix:
    """A Reshape in front of a layer."""
    return f"{title}Reshape({tuple(shape)}) before {layer}", [insert(layer, "Reshape", target_shape=list(shape))], why


# -- the flow


def received(evidence: Evidence) -> list[Edge]:
    """The tensors of known rank that the failing layer got, masks left out."""
    return [edge for edge in evidence.operands() if edge.spec.shape]


def failing(evidence: Evidence) -> tuple[Node, Shape | None]:
    """The layer that raised and the shape that it got."""
    node = evidence.failed
    assert node is not None
    return node, next((edge.spec.shape for edge in evidence.operands()), None)


def upstream(evidence: Evidence, node: Node) -> Iterator[Node]:
    """The straight way up: nearest first, as long as there is one producer."""
    yield from ancestors(evidence, node.id)


def way_to(evidence: Evidence, node: Node) -> list[Node]:
    """A node, and the straight way up from it."""
    return [node, *upstream(evidence, node)]


def known(row: tuple[int | None, ...]) -> bool:
    """Whether every axis is known."""
    return None not in row


def given(evidence: Evidence, node: Node) -> Shape | None:
    """The shape of what a node gets."""
    return next((edge.spec.shape for edge in evidence.flow.into(node.id)), None)


def gives(evidence: Evidence, node: Node) -> Shape | None:
    """The shape of what a node gives."""
    return next((edge.spec.shape for edge in evidence.flow.out_of(node.id)), None)


def named(evidence: Evidence, name: str) -> Node | None:
    return next((node for node in evidence.flow.nodes if node.name == name), None)


def owner_of(evidence: Evidence, node: Node) -> Node | None:
    while node.parent:
        node = evidence.flow.node(node.parent)
    return node if node.kind == "layer" else None


# -- sizes


def width_of(node: Node) -> str:
    """The argument that decides the last axis of what a layer gives."""
    return "units" if isinstance(node.config.get("units"), int) else "filters"


def samples_alone(evidence: Evidence) -> set[int | None]:
    """The number of samples in a batch, where the operands of what failed have that size on axes of samples only: no size to create a layer with."""
    axes = [(size, axis in (given.grows or ())) for given in evidence.given for axis, size in enumerate(given.spec.shape or ())]
    return {size for size, grows in axes if grows} - {size for size, grows in axes if not grows}


def pooling(shape: Shape) -> str:
    """The global pooling that takes tensors of this shape."""
    return f"GlobalAveragePooling{len(shape) - 2}D" if len(shape) in (3, 4, 5) else ""


def halves(gaps: Sequence[int]) -> list[Any]:
    """What to pad or crop on both sides of each axis, as a layer takes it."""
    both = [[gap // 2, gap - gap // 2] for gap in gaps]
    return both if len(both) > 1 else both[0]


def images(size: int) -> list[tuple[int, int]]:
    """``(side, channels)`` of square images of so many numbers: one channel, three, then the largest ones."""
    found = [(side, size // (side * side)) for side in range(math.isqrt(size), 1, -1) if size % (side * side) == 0]
    return sorted(found, key=lambda pair: (pair[1] not in (1, 3), -pair[0]))[:3]


def squared(size: int, side: int, channels: int) -> str:
    """Why so many numbers may be an image."""
    return f"{size} is {side} × {side}" + (f" × {channels}." if channels > 1 else ".")
