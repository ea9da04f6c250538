"""Which module a program's own code computes with: TensorFlow, or keras.ops where Keras has another backend."""

from __future__ import annotations

import sys
from types import ModuleType


def operations() -> ModuleType:
    """The module that is loaded: ``tensorflow`` or ``keras.ops``."""
    tensorflow, keras = sys.modules.get("tensorflow"), sys.modules.get("keras")
    foreign = keras is not None and keras.config.backend() != "tensorflow"
    return sys.modules["keras.ops"] if foreign or tensorflow is None else tensorflow


def spelled() -> str:
    """How an idea or a snippet names it: ``tf`` or ``ops``."""
    return "ops" if operations().__name__.startswith("keras") else "tf"
