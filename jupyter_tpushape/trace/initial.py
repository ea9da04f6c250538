"""What initializers of the user's own return: on some backends a variable takes their shape, whatever it was declared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..flow import Shape
from .locations import defined, user_frame
from .recorder import Recorder
from .whose import of_the_user


@dataclass(eq=False, frozen=True)
class Initial:
    """A variable whose initializer returned the shape ``got`` where it was asked for ``want``: the layer that was running, the initializer's line."""

    variable: Any
    layer: Any
    want: Shape
    got: Shape
    line: tuple[str, int] | None


def shaped(recorder: Recorder, variable: Any, initializer: Any, infer: Callable[[Callable[[], Any]], Any]) -> Any:
    """Gives a variable the shape that an initializer of the user's own returns, whose code may raise: ``infer`` runs it without values.

    Returns the initializer as it is to be kept: asked again, it gets the shape that it was asked for first.
    """
    if not of_the_user(initializer) and not _holds_array(initializer):
        return initializer
    made = infer(lambda: initializer(variable._shape, dtype=variable._dtype))
    want, variable._shape = tuple(variable._shape), tuple(getattr(made, "shape", variable._shape))
    if variable._shape != want:
        layer = recorder.stack[-1].obj if recorder.stack else None
        recorder.initial.append(Initial(variable, layer, want, variable._shape, defined(initializer) or user_frame()))
        return lambda _, dtype=None: initializer(want, dtype=dtype)
    return initializer


def _holds_array(initializer: Any) -> bool:
    """Whether an initializer of Keras was given values of the user's for a whole weight, as ``Constant`` may be."""
    return bool(getattr(getattr(initializer, "value", None), "shape", ()))
