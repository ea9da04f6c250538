"""Methods of Keras 3 layers that are compiled by themselves: found exactly where ``fit`` leaves weights as they were."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import jupyter_tpushape as tpushape

HEAD = "import numpy as np\nimport tensorflow as tf\nimport {lib} as keras\nfrom {lib} import layers as L\n"
DATA = """
def data():
    rng = np.random.default_rng(0)
    return rng.random((16, 6), dtype="float32"), rng.random((16, 1), dtype="float32")
"""
NET = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner, self.head = L.Dense(8), L.Dense(1)
    {methods}

def build():
    model = Net()
    {built}
    model.compile("sgd", "mse")
    return model
"""
LAYER = """
class Own(L.Layer):
    {methods}
    @tf.function
    def call(self, x):
        return {result}

def build():
    i = keras.Input((6,))
    model = keras.Model(i, L.Dense(1)(Own()(i)))
    model.compile("sgd", "mse")
    return model
"""
CALL = "@tf.function\n    def call(self, x{more}):\n        return self.head(self.inner(x))"
PART = "{at}\n    def part(self, x):\n        return self.inner(x)\n    def call(self, x):\n        return self.head(self.part(x))"
MADE = "def __init__(self):\n        super().__init__()\n        self.dense = L.Dense(4)"
BUILT = "def build(self, shape):\n        self.w = self.add_weight(shape=(shape[-1], 4), name='w')"
PROGRAMS = {
    "the call of a model": NET.format(methods=CALL.format(more=""), built=""),
    "the call of a model, with a flag": NET.format(methods=CALL.format(more=", training=False"), built=""),
    "the call of a model that has been called": NET.format(methods=CALL.format(more=""), built="model(np.zeros((1, 6), 'float32'))"),
    "another method": NET.format(methods=PART.format(at="@tf.function"), built=""),
    "another method, with options": NET.format(methods=PART.format(at="@tf.function(jit_compile=False)"), built=""),
    "another method of a model that has been called": NET.format(methods=PART.format(at="@tf.function"), built="model(np.zeros((1, 6), 'float32'))"),
    "no method": NET.format(methods=PART.format(at="# plain"), built=""),
    "the call of a layer with layers": LAYER.format(methods=MADE, result="self.dense(x)"),
    "the call of a layer that builds its weights": LAYER.format(methods=BUILT, result="tf.matmul(x, self.w)"),
}  # fmt: skip


def load(tmp_path, source, lib="keras"):
    path = tmp_path / "program.py"
    path.write_text(HEAD.format(lib=lib) + source + DATA, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return path, module


def trains(module):
    """Whether ``fit`` changes every kernel."""
    model, data = module.build(), module.data()
    try:
        model.fit(*data, verbose=0)
    except ValueError:  # No gradients provided for any variable
        return False
    before = [one.numpy() for one in model.trainable_variables]
    model.fit(*data, verbose=0)
    return all(bool((one.numpy() != old).any()) for one, old in zip(model.trainable_variables, before, strict=True) if old.ndim > 1)


@pytest.mark.parametrize("lib", ["keras", "tf_keras"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_found_where_fit_does_not_train_a_weight(tmp_path, name, lib):
    _, module = load(tmp_path, PROGRAMS[name], lib)
    found = [one.rule for one in tpushape.trace(module.build, module.data, tpu=None, fixes=False).findings if one.serious]
    assert found == ([] if trains(module) else ["weights-frozen"])


@pytest.mark.parametrize("name", ["the call of a model", "another method, with options", "the call of a layer with layers"])
def test_the_fix_takes_the_decorator_away_and_all_weights_train(tmp_path, name):
    path, module = load(tmp_path, PROGRAMS[name])
    (found,) = [one for one in tpushape.trace(module.build, module.data, tpu=None).findings if one.serious]
    assert found.fixes[0].verified
    assert found.fixes[0].proof == "source"
    tpushape.apply(found.fixes[0], path)
    assert "tf.function" not in path.read_text(encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    scope: dict = {}
    exec(compile(text, "again.py", "exec"), scope)
    model = scope["build"]()
    x, y = scope["data"]()
    model.fit(x, y, verbose=0)
    before = [one.numpy() for one in model.trainable_variables]
    model.fit(x, y, verbose=0)
    assert all(np.any(one.numpy() != old) for one, old in zip(model.trainable_variables, before, strict=True))


def test_a_live_model_is_looked_at_as_well(tmp_path):
    _, module = load(tmp_path, PROGRAMS["the call of a layer with layers"])
    (found,) = [one for one in tpushape.trace(module.build(), module.data(), tpu=None).findings if one.serious]
    assert (found.rule, found.severity) == ("weights-frozen", "silent")
