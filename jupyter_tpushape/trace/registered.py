"""The second program that tf_keras puts into a graph for each recurrent layer: what a GPU would run in place of the first.

Nothing calls it there: it is a function of the graph's library, with its gradient, which takes longer to make than the layer's own. A trace
calls each layer several times with the same shapes, so the second program is made at the first of them. What cannot be made raises again
each time, as it does in ``fit``.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from .recorder import active

_MADE: set[Any] = set()
# Then it begins anew: shapes differ from model to model.
_MOST = 10_000


def around_registering(original: Any) -> Any:
    def function_register(func: Any, *args: Any, **kwargs: Any) -> Any:
        if active() is None:
            return original(func, *args, **kwargs)
        seen = _key(func, args, kwargs)
        if seen in _MADE:
            return None
        made = original(func, *args, **kwargs)
        if seen is not None:
            if len(_MADE) >= _MOST:
                _MADE.clear()
            _MADE.add(seen)
        return made

    return function_register


def _key(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the program depends on: its code, shapes and dtypes, and plain arguments; ``None`` where an argument is something else."""
    code = getattr(getattr(func, "python_function", None), "__code__", None)
    values = [_part(value) for value in (*args, *kwargs.values())]
    return None if code is None or None in values else (code, tuple(kwargs), tuple(values))


def _part(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return type(value), value
    if isinstance(value, (tf.Tensor, tf.Variable)):
        shape = value.shape
        return "tensor", None if shape.rank is None else tuple(shape.as_list()), value.dtype.name
    return None
