"""One program to judge: a builder, its data, and a name that tells what is special about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Case:
    """A builder of a compiled model and what is fed to it.

    Attributes:
        group: what disagreements are counted by: a layer's class, or a rule of the grammar.
        name: all that is needed to make it again.
    """

    group: str
    name: str
    build: Callable[[], Any]
    x: Any
    y: Any = None


def rows(shape: tuple[int, ...], dtype: str, seed: int = 0, high: int = 4) -> Any:
    """Values that any layer can take where it can take the dtype at all."""
    dice = np.random.default_rng(seed)
    if dtype == "string":
        return dice.choice(np.array(["a", "b"], object), shape)
    if dtype == "bool":
        return dice.random(shape) < 0.5
    if dtype.startswith(("int", "uint")):
        return dice.integers(0, high, shape).astype(dtype)
    if dtype == "bfloat16":
        import ml_dtypes

        return dice.random(shape).astype(ml_dtypes.bfloat16)
    return dice.random(shape).astype(dtype)
