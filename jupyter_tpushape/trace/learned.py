"""What the traced graph of TensorFlow tells: whether a gradient finds a way from a loss to a weight, and which axes a product sums over."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops

# Their gradients are registered, and are ``None``.
_NONE = frozenset({"Floor", "Ceil", "Round", "Rint", "FloorDiv", "TruncateDiv"})

# Under these names TensorFlow keeps the graphs of a loop and of a branch at their operation.
_GRAPHS = ("_body_graph", "_true_graph", "_false_graph")
_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})


@dataclass(frozen=True)
class Cut:
    """An operation that lets no gradient through: the operation, and the call of the recorder's that it is in or is."""

    operation: Any
    call: Any


def cuts(end: Any, weights: Collection[int], fixed: Collection[int], producers: dict[int, Any]) -> list[Cut] | None:
    """Where all ways from a loss to a weight stop; ``[]`` where there is none at all, ``None`` where a gradient arrives.

    Args:
        end: the loss. weights: ids of tensors that stand for something trained. fixed: ids of the handles of variables that are not trained.
        producers: who made a tensor, by its id.
    """
    held = {id(inner): id(outer) for outer, inner in end.graph.captures}
    found: list[Cut] = []
    seen: set[int] = set()
    pending = [(end, None)]
    while pending:
        tensor, call = pending.pop()
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        call = producers.get(id(tensor), call)
        if _weight(tensor, weights, fixed, held):
            return None
        operation = tensor.op
        if _inside(operation, weights):
            return None
        if not _passes(operation):
            found.append(Cut(operation, call))
            continue
        for one in operation.inputs:
            if _carries(one):
                pending.append((one, call))
            elif operation.type == "Cast":
                found.append(Cut(operation, call))
    return [cut for cut in found if _behind(cut.operation, weights, fixed, held)]


def _inside(operation: Any, weights: Collection[int]) -> bool:
    """Whether a loop, a branch or a function reads a weight in its own graph: one without a value yet is made where it is read, and not handed in."""
    for graph in filter(None, (*(getattr(operation, name, None) for name in _GRAPHS), _called(operation))):
        for one in graph.get_operations():
            if any(id(tensor) in weights for tensor in one.outputs) or _inside(one, weights):
                return True
    return False


def _called(operation: Any) -> Any:
    if operation.type not in _CALLS:
        return None
    known = getattr(operation.graph, "_get_function", lambda _: None)(operation.get_attr("f").name)
    return getattr(known, "graph", None)


def _carries(tensor: Any) -> bool:
    dtype = tensor.dtype
    return bool(dtype.is_floating or dtype.is_complex or dtype in (tf.resource, tf.variant))


def _weight(tensor: Any, weights: Collection[int], fixed: Collection[int], held: dict[int, int]) -> bool:
    return id(tensor) in weights or (tensor.dtype == tf.resource and id(tensor) in held and held[id(tensor)] not in fixed)


def _passes(operation: Any) -> bool:
    """Whether an operation has a gradient; one without an entry raises by itself when it is asked for one."""
    try:
        return operation.type not in _NONE and (not operation.inputs or ops.get_gradient_function(operation) is not None)
    except LookupError:
        return True


def _behind(operation: Any, weights: Collection[int], fixed: Collection[int], held: dict[int, int]) -> bool:
    pending, seen = list(operation.inputs), set()
    while pending:
        tensor = pending.pop()
        if _weight(tensor, weights, fixed, held) or _inside(tensor.op, weights):
            return True
        if id(tensor.op) not in seen:
            seen.add(id(tensor.op))
            pending += tensor.op.inputs
    return False


# From a softmax to its own transposition.
_FRAMES = 40


def along(operation: Any, kind: str, ranks: list[int | None]) -> Iterator[tuple[int, int]]:
    """The place of an operand, and an axis of it that a product of two tensors sums over."""
    if kind in ("MatMul", "BatchMatMul", "BatchMatMulV2"):
        names = ("transpose_a", "transpose_b") if kind == "MatMul" else ("adj_x", "adj_y")
        for place, (name, rank) in enumerate(zip(names, ranks, strict=False)):
            if rank is not None:
                yield place, rank - 1 - (bool(operation.get_attr(name)) == (place == 0))
    elif kind == "Einsum":
        given, _, made = operation.get_attr("equation").decode().partition("->")
        terms = given.split(",")
        for place, (term, rank) in enumerate(zip(terms, ranks, strict=False)):
            for at, letter in enumerate(term.replace("...", ".")):
                if letter != "." and letter not in made and given.count(letter) > 1 and rank is not None:
                    before = "." not in term or term.index(".") > at
                    yield place, at if before else at + rank - len(term.replace("...", "."))


_STEPPED, _MOST = 3, 99


def counted(operation: Any) -> Iterator[Any]:
    """What an operation adds to samples of several steps and is made of the places of the samples alone."""
    pair = [one for one in operation.inputs if one.shape.rank == _STEPPED] if operation.type in ("AddV2", "ConcatV2") else []
    for one, other in (pair, pair[::-1]) if len(pair) == 2 else ():
        pending, seen = [one.op] if one.shape[1] == 1 != other.shape[1] else [], set[Any]()
        while pending and len(seen) < _MOST:
            behind = pending.pop()
            if behind not in seen and behind.type != "Shape":
                pending += [part.op for part in behind.inputs if part.dtype != tf.resource]
            seen.add(behind)
        kinds = " ".join(part.type for part in (*seen, *pending))
        if "Range" in kinds and not pending and "Placeholder" not in kinds and "Random" not in kinds:
            yield one


def turned(rank: int | None) -> list[int] | None:
    """The order of the axes that ``tf.nn.softmax`` gives a tensor so that its axis is the last one."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_FRAMES):
        if frame is None or frame.f_code.co_name in ("softmax_v2", "log_softmax_v2"):
            break
        frame = frame.f_back
    else:
        return None
    axis = frame.f_locals.get("axis") if frame is not None else None
    if not isinstance(axis, int) or not rank:
        return None
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return order
