"""What a fix or an idea writes on JAX is keras.ops, also where TensorFlow is loaded."""

from __future__ import annotations

import sys
import types

import keras
import numpy as np

import jupyter_tpushape as tpushape
from jupyter_tpushape.repair.text.keras_ops import operations, spelled

L = keras.layers
SOURCE = """
import keras
L = keras.layers

class Noise(L.Layer):
    def call(self, x):
        return x + keras.ops.ones((32, 4))

def build():
    model = keras.Sequential([keras.Input((4,)), Noise(), L.Dense(1)])
    model.compile("sgd", "mse")
    return model
"""


def test_keras_ops_are_meant_also_where_tensorflow_is_loaded(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", types.ModuleType("tensorflow"))
    assert operations() is keras.ops
    assert spelled() == "ops"


def test_rows_are_counted_with_keras_ops(tmp_path):
    path = tmp_path / "noise.py"
    path.write_text(SOURCE, encoding="utf-8")
    scope = {"__name__": "noise", "__file__": str(path)}
    exec(compile(SOURCE, str(path), "exec"), scope)
    report = tpushape.trace(scope["build"], (np.zeros((80, 4), "float32"), np.zeros((80, 1), "float32")), batch_size=32, tpu=None)
    (finding,) = [one for one in report.findings if one.serious]
    texts = [f"{fix.title}\n{fix.patch}" for fix in finding.fixes]
    assert finding.fixes[0].verified
    assert "+        return x + keras.ops.ones((keras.ops.shape(x)[0], 4))" in finding.fixes[0].patch
    assert not any("tf." in text for text in texts), texts


def test_an_idea_for_an_own_loss_names_keras_ops():
    def loss(y, prediction):
        return keras.ops.mean(keras.ops.matmul(y[:, None, :], prediction))

    model = keras.Sequential([keras.Input((4,)), L.Dense(3)])
    model.compile("sgd", loss)
    report = tpushape.trace(model, (np.zeros((32, 4), "float32"), np.zeros((32, 3), "float32")), tpu=None)
    texts = [fix.title for finding in report.findings for fix in finding.fixes]
    assert not any("tf." in text for text in texts), texts
    assert any("ops.reshape(y_true, ops.shape(y_pred))" in text or "same rank" in text for text in texts), texts


def test_a_script_that_traces_at_its_top_level_does_not_trace_within_its_own_fixes(tmp_path):
    asked = SOURCE + (
        "import numpy as np, jupyter_tpushape as tpushape\n"
        "report = tpushape.trace(build, (np.zeros((80, 4), 'float32'), np.zeros((80, 1), 'float32')), tpu=None)\n"
        "told.append([fix.verified for finding in report.findings for fix in finding.fixes])\n"
    )
    path, told = tmp_path / "script.py", []
    path.write_text(asked, encoding="utf-8")
    exec(compile(asked, str(path), "exec"), {"__name__": "__main__", "__file__": str(path), "told": told})
    assert told[-1][0]
