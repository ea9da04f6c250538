"""Layers that a model does not hold, and steps in opposite orders: found where training suffers, and nowhere else."""

from __future__ import annotations

import keras
import pytest
import tf_keras
from broken import load

import jupyter_tpushape as tpushape

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
HEAD = "import numpy as np\nimport tensorflow as tf\nimport {lib} as keras\nfrom {lib} import layers as L\n"
PROGRAM = """
class Box:
    def __init__(self, layer):
        self.layer = layer

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.f, self.b = L.GRU(4, return_sequences=True), L.GRU(4, return_sequences=True, go_backwards=True)
        self.kept, self.head = {{"a": [L.Dense(4)], "b": (L.Dense(4),)}}, L.Dense(1)
        self.box, self.frozen, self.own = Box(L.Dense(4)), Box(L.Dense(4, trainable=False)), Box(self.head)
    def call(self, x):
        {lines}

def build():
    model = Net()
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((8, 7, 6), "float32"), np.zeros((8, 7, 1), "float32")
"""
RIGHT = {
    "layers in lists and dicts": "return self.head(self.kept['b'][0](self.kept['a'][0](x)))",
    "a layer that is not to be trained": "return self.head(self.frozen.layer(x))",
    "a layer that the model holds as well": "return self.own.layer(x)",
    "steps that are turned": "return self.head(tf.concat([self.f(x), self.b(x)[:, ::-1]], -1))",
    "steps that are turned by a function": "return self.head(tf.concat([self.f(x), tf.reverse(self.b(x), [1])], -1))",
    "steps that nothing joins": "return self.head(self.b(x))",
    "both backwards": "return self.head(tf.concat([self.b(x), self.b(x)], -1))",
    "steps that are all pooled": "return self.head(tf.reduce_mean(tf.concat([self.f(x), self.b(x)], -1), 1, keepdims=True) + 0 * x[:, :, :1])",
    "one behind the other": "return self.head(tf.concat([self.f(x), self.b(x)], 1))[:, :7]",
}
WRONG = {
    "a layer that an object holds": ("return self.head(self.box.layer(x))", "weights-outside"),
    "steps in opposite orders": ("return self.head(tf.concat([self.f(x), self.b(x)], -1))", "steps-reversed"),
    "a sum of steps in opposite orders": ("return self.head(self.f(x) + self.b(x))", "steps-reversed"),
}


def _rules(lib, lines, folder):
    path = folder / "parts_apart.py"
    path.write_text(HEAD.format(lib=lib.__name__) + PROGRAM.format(lines=lines))
    module = load(path)
    return [finding.rule for finding in tpushape.trace(module.build, module.data, tpu=None).findings]


@BOTH
@pytest.mark.parametrize("kind", RIGHT)
def test_what_is_right_is_not_reported(kind, lib, tmp_path):
    assert not {"weights-outside", "steps-reversed"} & set(_rules(lib, RIGHT[kind], tmp_path))


@BOTH
@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_is_reported(kind, lib, tmp_path):
    lines, rule = WRONG[kind]
    assert rule in _rules(lib, lines, tmp_path)


def test_a_step_that_trains_other_layers_is_not_reported(tmp_path):
    step = """return self.head(self.box.layer(x))
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x) - y) ** 2)
        weights = self.trainable_variables + self.box.layer.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}"""
    assert "weights-outside" not in _rules(keras, step, tmp_path)
