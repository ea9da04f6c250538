"""Along which axes of its operands an operation of TensorFlow sums, and how a softmax turns what it is given."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

# Between a softmax and the transposition that it makes where its axis is not the last one.
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


def turned(rank: int | None) -> list[int] | None:
    """The order of the axes that ``tf.nn.softmax`` gives a tensor so that its axis is the last one; ``None`` outside of it."""
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
