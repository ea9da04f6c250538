"""A function that returns nothing is told only where something is read of it."""

from __future__ import annotations

import pytest
from broken import HEAD, load

import jupyter_tpushape as tpushape

_ADDED = """
class Penalty(L.Layer):
    def call(self, x):
        y = tf.reduce_mean(tf.square(x))
        self.add_loss(y)
"""
RIGHT = {
    "a layer for its loss alone beside an open shape": _ADDED + """
def build():
    i = keras.Input((None, 5))
    h = L.Dense(8)(i)
    Penalty()(h)
    model = keras.Model(i, L.Dense(1)(L.Flatten()(h)))
    model.compile("sgd", "mse")
    return model


def data():
    return np.zeros((8, 7, 5), "float32"), np.zeros((8, 1), "float32")
""",
    "a layer that raises by itself": """
class Half(L.Layer):
    def call(self, x):
        y = keras.ops.reshape(x, (7, 7))


def build():
    model = keras.Sequential([keras.Input((5,)), Half(), L.Dense(1)])
    model.compile("sgd", "mse")
    return model


def data():
    return np.zeros((8, 5), "float32"), np.zeros((8, 1), "float32")
""",
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_not_read_may_return_nothing(name, tmp_path):
    path = tmp_path / f"returns_{'_'.join(name.split())}.py"
    path.write_text(HEAD.format(framework="keras") + RIGHT[name].lstrip("\n"))
    module = load(path)
    findings = tpushape.trace(module.build, module.data, tpu=None, fixes=False).findings
    assert any(finding.serious for finding in findings)
    assert not any("returns nothing" in finding.message for finding in findings)
