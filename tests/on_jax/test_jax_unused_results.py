"""Results of layers that nothing uses, on JAX: whatever else the program changes, such as the state of a seed."""

from __future__ import annotations

import pytest
from strangers import first, serious, traced

NET = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = layers.Dense(8), layers.Dense(8), layers.Dense(1)
        self.norm, self.drop = layers.LayerNormalization(), layers.Dropout(0.5, seed=1)
        self.mean = self.add_weight(shape=(), initializer="zeros", trainable=False)
    def call(self, inputs):
        {lines}

def build():
    model = Net()
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((8, 6), "float32"), np.zeros((8, 1), "float32")
"""
LOST = {
    "once more": ("x = self.first(inputs)\n        x = self.second(inputs)\n        return self.head(x)", "        x = self.second(x)"),
    "without a name": (
        "h = self.drop(self.first(inputs))\n        self.norm(h)\n        return self.head(jnp.tanh(h))", "        h = self.norm(h)"
    ),
}  # fmt: skip
MEANT = {
    "a variable is computed from it": (
        "h = self.first(inputs)\n        mean = ops.mean(self.second(inputs))\n        self.mean.assign(mean)\n        return self.head(h)"
    ),
    "it adds a loss": "h = self.first(inputs)\n        self.add_loss(ops.mean(self.second(inputs)))\n        return self.head(h)",
    "an operation of JAX reads it": "h = self.second(inputs)\n        h = jnp.sin(h) + self.first(inputs)\n        return self.head(h)",
    "a scan reads it": (
        "h = self.second(inputs)\n        h, _ = jax.lax.scan(lambda c, _: (c + h, None), jnp.zeros_like(h), length=3)\n        return self.head(self.first(h))"
    ),
}


@pytest.mark.parametrize("case", LOST)
def test_a_lost_result_is_used_in_the_next_line(tmp_path, case):
    lines, mended = LOST[case]
    assert f"+{mended}\n" in first(tmp_path, NET.format(lines=lines), "unused-result")


@pytest.mark.parametrize("case", MEANT)
def test_what_is_meant_is_not_reported(tmp_path, case):
    assert not serious(traced(tmp_path, NET.format(lines=MEANT[case])))
