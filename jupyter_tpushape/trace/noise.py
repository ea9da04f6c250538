"""Normal noise on its way from where it is drawn to what it scales: where it has no axis for the samples, all of them get the same numbers."""

from __future__ import annotations

import sys
from typing import Any

from .inside_jax import draws
from .locations import is_user_file, user_frame

# What leaves noise noise.
_KEEPS = frozenset({
    "mul", "add", "sub", "div", "neg", "multiply", "subtract", "divide", "true_divide", "convert_element_type", "broadcast_in_dim", "reshape", "squeeze",
    "copy", "stop_gradient", "where", "select_n",
})  # fmt: skip
_PRODUCTS = frozenset({"mul", "multiply"})


def shared(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether noise of this shape has no axis for what the other factor has first."""
    alike = (0 < len(shape) < len(other) and other[-len(shape) :] == shape) or (shape[:1] == (1,) and shape[1:] == other[1:] != other)
    return alike and other[0] != 1 and any(size != 1 for size in shape)


class Noise:
    """The noise of a trace, by the identity of its tensors, with the shape that was drawn. It holds them until the trace ends."""

    def __init__(self) -> None:
        self._drawn: dict[int, tuple[Any, tuple[int, ...], Any, bool]] = {}

    def note(self, name: str, params: dict[str, Any], given: list[Any], made: list[Any], fixed: dict[int, Any]) -> tuple[Any, ...] | None:
        """The other factor, the shape that was drawn, the line, and whether vmap maps over the other one, but not over the key.

        Only where this equation multiplies noise that has no axis for what the other one has first; with one key, in any equation.
        """
        if not made:
            return None
        called = str(params.get("name") or name).strip("_")
        if draws(name, params):
            one_key = _mapped_with_one_key(given)
            if one_key or "normal" in called:
                self._drawn[id(made[0])] = (made[0], tuple(made[0].shape), user_frame(), one_key)
            return None
        noise = [one for one in given if id(one) in self._drawn]
        others = [one for one in given if id(one) not in self._drawn and id(one) not in fixed]
        if len(noise) != 1 or called not in _KEEPS:
            return None
        _, shape, place, one_key = self._drawn[id(noise[0])]
        if not others:
            self._drawn[id(made[0])] = (made[0], shape, place, one_key)
            return None
        if len(others) != 1 or not (one_key or called in _PRODUCTS):
            return None
        other = tuple(others[0].shape)
        return (others[0], shape, place, one_key) if shared(shape, other) or (one_key and len(other) > len(shape)) else None

    def clear(self) -> None:
        """Lets go of everything."""
        self._drawn.clear()


def _mapped_with_one_key(given: list[Any]) -> bool:
    frame = sys._getframe() if given and not given[0].ndim else None
    while frame is not None and frame.f_code.co_name != "vmap_f":
        frame = frame.f_back
    return frame is not None


def scaled_noise(op_type: str, inputs: Any) -> tuple[Any, tuple[int, ...], Any, bool] | None:
    """The same of an operation of a TensorFlow graph."""
    for noise, other in (inputs, inputs[::-1]) if op_type == "Mul" else ():
        given = [noise.op]
        while len(given) == 1 and given[0].type in ("Mul", "AddV2", "Cast"):  # by numbers alone
            given = [one.op for one in given[0].inputs if one.op.type != "Const"]
        draw = given[0] if len(given) == 1 else other.op
        if "Normal" not in draw.type or draw is other.op or not noise.shape.is_fully_defined() or not other.shape.rank:
            continue
        shape, whole = tuple(noise.shape), tuple(other.shape)
        if shared(shape, whole):
            lines = ((one.filename, int(one.lineno)) for one in reversed(draw.traceback) if is_user_file(one.filename))
            return other, shape, next(lines, None), False
    return None
