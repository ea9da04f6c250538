"""Normal noise that a product takes without an axis for the samples, read off a TensorFlow graph."""

from __future__ import annotations

from typing import Any

from .locations import is_user_file

_DRAWS = frozenset({"RandomStandardNormal", "TruncatedNormal", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"})
_KEEPS = frozenset({"Mul", "AddV2", "Add", "Cast", "Identity"})


def scaled_noise(op_type: str, inputs: Any) -> tuple[Any, tuple[int, ...], Any] | None:
    """The other factor, the shape that was drawn and the line, where this multiplies noise that has no axis for what the other one has first."""
    if op_type != "Mul":
        return None
    draws = [_draw(tensor) for tensor in inputs]
    if sum(draw is not None for draw in draws) != 1:
        return None
    noise, other = inputs if draws[0] is not None else inputs[::-1]
    if not noise.shape.is_fully_defined() or other.shape.rank is None:
        return None
    shape, whole = tuple(noise.shape), tuple(other.shape)
    shared = (0 < len(shape) < len(whole) and whole[-len(shape) :] == shape) or (shape[:1] == (1,) and shape[1:] == whole[1:] != whole)
    if not shared or whole[0] == 1 or all(size == 1 for size in shape):
        return None
    operation = next(draw for draw in draws if draw is not None)
    place = next(((one.filename, int(one.lineno)) for one in reversed(operation.traceback) if is_user_file(one.filename)), None)
    return other, shape, place


def _draw(tensor: Any) -> Any:
    """The draw that a tensor is, scaled and moved by numbers alone; ``None`` for what is no noise."""
    for _ in range(5):
        operation = tensor.op
        if operation.type in _DRAWS:
            return operation
        given = [one for one in operation.inputs if one.op.type != "Const"]
        if operation.type not in _KEEPS or len(given) != 1:
            return None
        tensor = given[0]
    return None
