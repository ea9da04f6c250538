"""Normal noise on its way from where it is drawn to what it scales: where it has no axis for the samples, all of them get the same numbers."""

from __future__ import annotations

from typing import Any

from .inside_jax import draws
from .locations import is_user_file, user_frame

# What leaves noise noise.
_KEEPS = frozenset({
    "mul", "add", "sub", "div", "neg", "multiply", "subtract", "divide", "true_divide", "convert_element_type", "broadcast_in_dim", "reshape", "squeeze",
    "copy", "stop_gradient",
})  # fmt: skip
_PRODUCTS = frozenset({"mul", "multiply"})


def shared(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether noise of this shape has no axis for what the other factor has first."""
    alike = (0 < len(shape) < len(other) and other[-len(shape) :] == shape) or (shape[:1] == (1,) and shape[1:] == other[1:] != other)
    return alike and other[0] != 1 and any(size != 1 for size in shape)


class Noise:
    """The noise of a trace, by the identity of its tensors, with the shape that was drawn. It holds them until the trace ends."""

    def __init__(self) -> None:
        self._drawn: dict[int, tuple[Any, tuple[int, ...], Any]] = {}

    def note(self, name: str, params: dict[str, Any], given: list[Any], made: list[Any], fixed: dict[int, Any]) -> tuple[Any, ...] | None:
        """The other factor, the shape that was drawn and the line, where this equation multiplies noise that has no axis for what the other one has first."""
        if not made:
            return None
        called = str(params.get("name") or name).strip("_")
        if "normal" in called and draws(name, params):
            self._drawn[id(made[0])] = (made[0], tuple(made[0].shape), user_frame())
            return None
        noise = [one for one in given if id(one) in self._drawn]
        others = [one for one in given if id(one) not in self._drawn and id(one) not in fixed]
        if len(noise) != 1 or called not in _KEEPS:
            return None
        _, shape, place = self._drawn[id(noise[0])]
        if not others:
            self._drawn[id(made[0])] = (made[0], shape, place)
            return None
        if called not in _PRODUCTS or len(others) != 1:
            return None
        other = tuple(others[0].shape)
        return (others[0], shape, place) if shared(shape, other) else None

    def clear(self) -> None:
        """Lets go of everything."""
        self._drawn.clear()


def scaled_noise(op_type: str, inputs: Any) -> tuple[Any, tuple[int, ...], Any] | None:
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
            return other, shape, next(lines, None)
    return None
