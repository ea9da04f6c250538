"""Builders that call their model on arrays, where nothing is traced: what broke inside a layer is the operation, with a fix."""

from __future__ import annotations

import pytest
from strangers import serious, traced

# A block of a diffusion model as it is often written: the embedding of the time step meets a map of features.
BLOCK = """
class ResBlock(layers.Layer):
    def __init__(self, ch):
        super().__init__()
        self.conv, self.emb, self.skip = layers.Conv2D(ch, 3, padding="same"), layers.Dense(ch), layers.Conv2D(ch, 1)
    def call(self, x, temb):
        h = self.conv(x)
        {0}
        return h + self.skip(x)
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.out = ResBlock(8), ResBlock(16), layers.Conv2D(1, 3, padding="same")
    def call(self, inputs):
        x, t = inputs["x"], inputs["t"]
        return self.out(self.second(self.first(x, t), t))
def build():
    model = Net()
    model({{"x": {1}.zeros((2, 14, 14, 1), "float32"), "t": {1}.zeros((2, 5), "float32")}})
    model.compile("adam", "mse")
    return model
def data():
    return {{"x": np.zeros((8, 14, 14, 1), "float32"), "t": np.zeros((8, 5), "float32")}}, np.zeros((8, 14, 14, 1), "float32")
"""


@pytest.mark.parametrize("module", ["np", "ops"])
def test_the_operation_inside_the_layer_is_named_with_its_fix(tmp_path, module):
    (finding,) = serious(traced(tmp_path, BLOCK.format("h = h + self.emb(temb)", module)))
    assert finding.rule == "op-shapes"
    assert finding.location.text == "h = h + self.emb(temb)"
    assert finding.fixes[0].proof == "source"
    assert "self.emb(temb)[:, None, None, :]" in finding.fixes[0].patch


def test_the_same_with_axes_for_the_map_is_ok(tmp_path):
    assert traced(tmp_path, BLOCK.format("h = h + self.emb(temb)[:, None, None, :]", "np")).ok


def test_code_that_asks_for_values_says_what_it_says_on_arrays(tmp_path):
    lines = "h = h * {2: 1.0}[int(ops.max(temb))]"
    (finding,) = serious(traced(tmp_path, BLOCK.format(lines, "np")))
    assert "0" in finding.why + finding.message
