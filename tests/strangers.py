"""A stranger's program, written to a file and traced."""

from __future__ import annotations

import jupyter_tpushape as tpushape

HEAD = """
import jax
import jax.numpy as jnp
import keras
import numpy as np
from keras import layers, ops
"""
# A model around a layer Own, and data of a shape.
AROUND = """
def build():
    model = keras.Sequential([keras.Input({shape}), layers.Dense(6), Own(), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((64, *{shape}), "float32"), np.zeros((64, {rows}1), "float32")
"""


def traced(tmp_path, code):
    path = tmp_path / "program.py"
    path.write_text(HEAD + code, encoding="utf-8")
    scope = {"__name__": "program", "__file__": str(path)}
    exec(compile(HEAD + code, str(path), "exec"), scope)
    return tpushape.trace(scope["build"], scope["data"], tpu=None)


def serious(report):
    return [finding for finding in report.findings if finding.serious]


def first(tmp_path, code, rule=""):
    """The patch of the first fix, which was verified from source."""
    finding = serious(traced(tmp_path, code))[0]
    assert not rule or finding.rule == rule
    assert finding.fixes
    assert finding.fixes[0].proof == "source"
    return finding.fixes[0].patch
