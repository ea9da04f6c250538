"""The shortest way through everything, run with each combination of versions by `make test-matrix`."""

from __future__ import annotations

import json

import keras
import numpy as np
import pytest
import tf_keras

import jupyter_tpushape as tpushape
from jupyter_tpushape.cli import main

pytestmark = pytest.mark.smoke
BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
DATA = (np.zeros((16, 8, 8, 1), "float32"), np.arange(16) % 3)


def model(lib, *more):
    made = lib.Sequential([lib.Input((8, 8, 1)), lib.layers.Conv2D(4, 3), *more, lib.layers.Dense(3, activation="softmax")])
    made.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return made


@BOTH
@pytest.mark.parametrize("tpu", [None, "v5e-8"])
def test_a_fault_is_found_and_its_fix_trains(lib, tpu):
    report = tpushape.trace(lambda: model(lib), DATA, tpu=tpu)
    assert report.findings[0].rule == "missing-flatten"
    fixed, data = report.findings[0].fixes[0].rebuild()
    fixed.fit(*data, epochs=1, verbose=0)


@BOTH
def test_a_sound_model_flows_and_is_as_it_was(lib):
    made = model(lib, lib.layers.Flatten(), lib.layers.BatchNormalization())
    before = [np.asarray(weight) for weight in made.weights]
    assert tpushape.trace(made, DATA, tpu="v5e-8").ok
    for left, right in zip(before, made.weights, strict=True):
        np.testing.assert_array_equal(left, np.asarray(right))


@BOTH
def test_an_unbuilt_model_and_a_subclassed_one(lib):
    unbuilt = lib.Sequential([lib.layers.Flatten(), lib.layers.Dense(3)])

    class Net(lib.Model):
        def __init__(self):
            super().__init__()
            self.flat, self.head = lib.layers.Flatten(), lib.layers.Dense(3)

        def call(self, x):
            return self.head(self.flat(x))

    for made in (unbuilt, Net()):
        made.compile("adam", "mse")
        report = tpushape.trace(made, (DATA[0], np.zeros((16, 1), "float32")), tpu=None)
        assert report.findings[0].rule in ("loss-broadcast", "output-units")
        assert not made.built


def test_a_recurrent_layer_on_images_is_told():
    report = tpushape.trace(lambda: keras.Sequential([keras.Input((8, 8, 1)), keras.layers.LSTM(4, name="reader")]))
    finding = report.findings[0]
    assert (finding.rule, str(finding.expected)) == ("layer-rank", "(batch, time, features)")
    assert "reader (LSTM)" in finding.message


def test_every_form_that_needs_no_browser(tmp_path):
    report = tpushape.trace(model(keras), DATA, tpu="v5e-8")
    for suffix in ("html", "json", "svg", "md"):
        assert report.save(tmp_path / f"report.{suffix}").stat().st_size > 200
    assert json.loads(report.to_json())["version"] == 1


def test_the_command_line(tmp_path, capsys):
    (tmp_path / "train.py").write_text("import keras\ndef build():\n    return keras.Sequential([keras.Input((8, 8, 1)), keras.layers.LSTM(4)])\n")
    assert main(["check", f"{tmp_path}/train.py:build"]) == 1
    assert "layer-rank" in capsys.readouterr().out
    assert main(["doctor"]) == 0


def test_the_magic(capsys):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "jupyter_tpushape")
    try:
        shell.run_line_magic("load_ext", "jupyter_tpushape")
        shell.user_ns["broken"] = model(keras)
        shell.run_line_magic("tpushape", "broken --text --tpu none")
        shell.run_cell("import keras\nkeras.Sequential([keras.Input((8, 8, 1)), keras.layers.LSTM(4)])")
        assert "tpushape ▸ lstm" in capsys.readouterr().err
    finally:
        shell.run_line_magic("unload_ext", "jupyter_tpushape")
        InteractiveShell.clear_instance()


def test_the_widget():
    from jupyter_tpushape.views.widget import ReportWidget

    assert ReportWidget(tpushape.trace(model(keras), DATA, tpu=None, fixes=False)).report["version"] == 1
