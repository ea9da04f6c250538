"""Products of two tensors whose summed sizes layers give: the layer's argument is the fault, and no operand is moved."""

from __future__ import annotations

import pytest
from strangers import AROUND, serious, traced

ATTENTION = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = layers.Dense(32), layers.Dense(24), layers.Dense(32)
    def call(self, x):
        return ops.matmul(ops.softmax(ops.matmul(self.q(x), {key})), self.v(x))
"""
KEYS = ["ops.transpose(self.k(x), (0, 2, 1))", "jnp.swapaxes(self.k(x), 1, 2)"]


@pytest.mark.parametrize("key", KEYS)
def test_queries_and_keys_get_one_width(tmp_path, key):
    (finding,) = serious(traced(tmp_path, ATTENTION.format(key=key) + AROUND.format(shape=(10, 16), rows="10, ")))
    assert (finding.rule, finding.fact.reason.left, finding.fact.reason.right) == ("op-shapes", 32, 24)
    assert {finding.fact.reason.first.split(": ")[1], finding.fact.reason.second.split(": ")[1]} == {"units=32", "units=24"}
    assert finding.fixes[0].proof == "source"
    assert "layers.Dense(32), layers.Dense(32), layers.Dense(32)" in finding.fixes[0].patch
    assert not any("Swap the operands" in fix.title for fix in finding.fixes)


PAIRS = """
class Pairs(keras.Model):
    def __init__(self):
        super().__init__()
        self.image = keras.Sequential([layers.Flatten(), layers.Dense(64)])
        self.text = keras.Sequential([layers.Embedding(100, 32), layers.GlobalAveragePooling1D(), layers.Dense(48)])
    def call(self, inputs):
        return ops.matmul(self.image(inputs["image"]), ops.transpose(self.text(inputs["text"])))
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return ops.mean(keras.losses.sparse_categorical_crossentropy(ops.arange(ops.shape(y_pred)[0]), y_pred, from_logits=True))
def build():
    model = Pairs()
    model.compile("adam")
    return model
def data():
    return {"image": np.zeros((40, 8, 8), "float32"), "text": np.zeros((40, 7), "int32")}, None
"""


def test_two_towers_end_in_one_width(tmp_path):
    finding = serious(traced(tmp_path, PAIRS))[0]
    assert finding.fixes[0].proof == "source"
    assert "+        self.text = keras.Sequential([layers.Embedding(100, 32), layers.GlobalAveragePooling1D(), layers.Dense(64)])" in (finding.fixes[0].patch)


ORDER = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.q, self.v = layers.Dense(8), layers.Dense(6)
    def call(self, x):
        weights = ops.softmax(ops.matmul(self.q(x), ops.transpose(self.q(x), (0, 2, 1))))
        return ops.matmul(self.v(x), weights)
"""


def test_values_times_weights_is_still_turned_around(tmp_path):
    (finding,) = serious(traced(tmp_path, ORDER + AROUND.format(shape=(10, 16), rows="10, ")))
    assert finding.fixes[0].proof == "source"
    assert finding.fixes[0].title.startswith("Swap the operands")
