"""The models of the program beside the one that is traced, without its own parts."""

from __future__ import annotations

from typing import Any

from ..flow import Shape
from ..trace.framework import Framework
from ..trace.reach import plain


def models_beside(seen: Any, adapter: Framework) -> tuple[tuple[str, Shape, Shape], ...]:
    """The name of each, and the shapes that it takes and returns; not one that keeps its input's shape, such as an augmentation."""
    program = seen.program
    names = {**(getattr(program.handed, "names", None) or {}), **getattr(plain(program.model), "__globals__", {})}
    flat = getattr(seen.model, "_flatten_layers", None)
    own = set(map(id, flat())) if flat is not None else set()
    models = [(name, one) for name, one in names.items() if one is not seen.model and adapter.is_model(one) and id(one) not in own]
    shapes = [(name, getattr(one, "input_shape", None), getattr(one, "output_shape", None)) for name, one in models]
    return tuple((name, takes, gives) for name, takes, gives in shapes if type(takes) is type(gives) is tuple and takes != gives)
