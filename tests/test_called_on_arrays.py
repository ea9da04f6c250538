"""Builders that call their model on arrays, on TensorFlow: what broke inside a layer is the operation, with a fix."""

from __future__ import annotations

import jupyter_tpushape as tpushape

CODE = """
import keras
import numpy as np
from keras import layers, ops

class Block(layers.Layer):
    def __init__(self, ch):
        super().__init__()
        self.conv, self.emb = layers.Conv2D(ch, 3, padding="same"), layers.Dense(ch)
    def call(self, x, temb):
        h = self.conv(x)
        return h + self.emb(temb)

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.out = Block(8), layers.Conv2D(1, 3, padding="same")
    def call(self, inputs):
        return self.out(self.first(inputs["x"], inputs["t"]))

def build():
    model = Net()
    model({"x": np.zeros((2, 14, 14, 1), "float32"), "t": np.zeros((2, 5), "float32")})
    model.compile("adam", "mse")
    return model

def data():
    return {"x": np.zeros((8, 14, 14, 1), "float32"), "t": np.zeros((8, 5), "float32")}, np.zeros((8, 14, 14, 1), "float32")
"""


def test_the_operation_inside_the_layer_is_named_with_its_fix(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(CODE, encoding="utf-8")
    scope = {"__name__": "program", "__file__": str(path)}
    exec(compile(CODE, str(path), "exec"), scope)
    (finding,) = [one for one in tpushape.trace(scope["build"], scope["data"], tpu=None).findings if one.serious]
    assert finding.rule == "op-shapes"
    assert finding.location is not None
    assert finding.location.text == "return h + self.emb(temb)"
    assert finding.fixes[0].proof == "source"
    assert "self.emb(temb)[:, None, None, :]" in finding.fixes[0].patch
