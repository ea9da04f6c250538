"""Whether a layer that is to run once for each step runs once for each row instead, where the number of steps is unknown.

Keras 3 takes the number from an axis of the wrong place then. A version that does not is not accused: a small layer is computed here.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from ..flow import Spec
from .backend import Graph
from .build import kept_counters
from .framework import Framework
from .recorder import Recorder

_STEPS = 3


def runs_by_rows(adapter: Framework, layer: Any, spec: Spec) -> bool:
    """Whether ``layer``, called on a tensor of ``spec``, gives as many steps as there are rows."""
    shape = spec.shape
    return type(layer).__name__ == "TimeDistributed" and shape is not None and len(shape) > 2 and shape[1] is None and _observed(adapter, layer.__class__)


@functools.cache
def _observed(adapter: Framework, cls: Any) -> bool:
    ends: dict[str, Any] = {}

    def body(graph: Graph) -> None:
        ends["x"] = graph.placeholder(Spec((None, None, 1), "float32"), "x")
        ends["out"] = cls(sys.modules[adapter.package].layers.Activation("linear"))(ends["x"])
        ends["graph"] = graph

    recorder = Recorder()
    with kept_counters(), adapter.scope():
        adapter.backend.trace(recorder, adapter, body, [])
        values = adapter.backend.values(recorder, ends["graph"], [ends["out"]], [])
        made = values.compute({id(ends["x"]): np.zeros((1, _STEPS, 1), "float32")}, 0)
    return bool(made[id(ends["out"])].shape[1] != _STEPS)
