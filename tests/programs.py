"""Small programs for tests, the same in both frameworks."""

from __future__ import annotations

import importlib
import linecache
import textwrap
from typing import Any

import numpy as np
import tensorflow as tf

import jupyter_tpushape as tpushape


def example(source: str, framework: str) -> dict[str, Any]:
    """What an example defines: ``build`` or ``step``, and perhaps ``data`` and ``strategy``."""
    keras = importlib.import_module(framework)
    text = textwrap.dedent(source).strip() + "\n"
    name = f"/example/{abs(hash((text, framework)))}.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"keras": keras, "L": keras.layers, "np": np, "tf": tf, "tpushape": tpushape, "__name__": "example"}
    exec(compile(text, name, "exec"), scope)
    return scope
