"""The models of the program beside the one that is traced."""

from __future__ import annotations

from typing import Any

from ..flow import Shape
from ..trace.framework import Framework
from ..trace.reach import plain


def models_beside(seen: Any, adapter: Framework) -> tuple[tuple[str, Shape, Shape], ...]:
    """The name of each, and the shapes that it takes and returns."""
    program = seen.program
    names = {**(getattr(program.handed, "names", None) or {}), **getattr(plain(program.model), "__globals__", {})}
    models = [(name, one) for name, one in names.items() if one is not seen.model and adapter.is_model(one)]
    shapes = [(name, getattr(one, "input_shape", None), getattr(one, "output_shape", None)) for name, one in models]
    return tuple((name, takes, gives) for name, takes, gives in shapes if type(takes) is type(gives) is tuple)
