"""Going on behind a break: one layer of a builder is handed what it asks for, so that what lies behind it is seen too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..flow import Shape

if TYPE_CHECKING:
    from .framework import Framework


@dataclass(frozen=True)
class Assume:
    """The layer ``name`` gets tensors of these ``shapes``, by their place among its tensors; the batch axis stays what it is."""

    name: str
    shapes: tuple[tuple[int, Shape], ...]

    def bridged(self, framework: Framework, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """The layer's arguments with a tensor of the wanted shape in place of each that has another."""
        wanted, places = dict(self.shapes), iter(range(1000))

        def bridge(value: Any) -> Any:
            if not framework.is_symbolic(value):
                return value
            shape = wanted.get(next(places))
            return value if shape is None else _bridge(framework, tuple(shape[1:]), framework.spec(value).dtype)(value)

        return framework.map_structure(bridge, args), framework.map_structure(bridge, kwargs)


def _bridge(framework: Framework, rest: tuple[int | None, ...], dtype: str) -> Any:

    class Assumed(framework.Layer):  # type: ignore[misc, name-defined]
        def call(self, x: Any) -> Any:
            import tensorflow as tf

            made = tf.zeros((tf.shape(x)[0], *(n or 1 for n in rest)), tf.as_dtype(dtype))
            made.set_shape((x.shape[0], *rest))
            return made + tf.cast(tf.reduce_sum(x), made.dtype) * tf.cast(0, made.dtype)

    return Assumed(dtype=dtype)
