"""Options of a layer by place, and numbers that do not fit into 32 bits."""

from __future__ import annotations

import pytest
from strangers import serious, traced
from test_jax_steps import repaired

NET = """
class Scale(layers.Layer):
    def call(self, x, options=None):
        x = x * options["scale"]
        return x - ops.mean(x, axis=-1, keepdims=True) if options["mode"] == "center" else x
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.options = {{"scale": 0.5, "mode": "center"}}
        self.scale, self.body, self.norm, self.head = Scale(), layers.Dense(8), layers.BatchNormalization(), layers.Dense(1)
    def call(self, x, training=False):
        return self.head({0})
def build():
    model = Net()
    model.compile("sgd", "mse")
    return model
def data():
    return np.random.rand(64, 6).astype("float32"), np.random.rand(64, 1).astype("float32")
"""
BY_PLACE = {
    "a dict": ("self.scale(self.body(x), self.options)", "self.scale(self.body(x), options=self.options)"),
    "a flag": ("self.norm(self.body(x), training)", "self.norm(self.body(x), training=training)"),
    "a constant": ("self.norm(self.body(x), False)", "self.norm(self.body(x), training=False)"),
}


@pytest.mark.parametrize(("call", "new"), BY_PLACE.values(), ids=BY_PLACE)
def test_options_of_a_layer_are_passed_by_name(tmp_path, call, new):
    (finding,) = serious(traced(tmp_path, NET.format(call)))
    assert finding.rule in ("code-raises", "layer-raises")
    assert finding.fact.arguments[0][0] == 1
    assert finding.fixes[0].proof == "source"
    assert f"+        return self.head({new})" in finding.fixes[0].patch


@pytest.mark.parametrize("call", [new for _, new in BY_PLACE.values()], ids=BY_PLACE)
def test_options_by_name_are_ok(tmp_path, call):
    assert traced(tmp_path, NET.format(call)).ok


HASHED = """
class Hashed(layers.Layer):
    def __init__(self):
        super().__init__()
        self.table = layers.Embedding(500, 8)
    def call(self, ids):
        return self.table(ops.mod(ids * {0}, 500))
def build():
    model = keras.Sequential([keras.Input((10,), dtype="int32"), Hashed(), layers.Flatten(), layers.Dense(1)])
    model.compile("adam", "mse")
    return model
def data():
    return np.random.randint(0, 100000, (64, 10)).astype("int32"), np.random.rand(64, 1).astype("float32")
"""


def test_a_hash_by_multiplication_has_no_sign(tmp_path):
    patch, _ = repaired(tmp_path, HASHED.format(2654435761), "code-raises")
    assert 'ops.cast(ids, "uint32") * ops.convert_to_tensor(2654435761, "uint32")' in patch


def test_a_number_of_64_bits_is_told(tmp_path):
    (finding,) = serious(traced(tmp_path, HASHED.format(11400714819323198485)))
    assert (finding.fact.value, finding.fact.unsigned) == (11400714819323198485, False)
    assert not any(fix.verified for fix in finding.fixes)
