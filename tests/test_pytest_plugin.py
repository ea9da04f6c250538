"""The fixture for users' tests, run by a pytest of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jupyter_tpushape as tpushape

TESTS = """
import keras, numpy as np, pytest
L = keras.layers

def model(*more):
    m = keras.Sequential([keras.Input((8, 8, 1)), L.Conv2D(4, 3), *more, L.Dense(3, activation="softmax")])
    m.compile("sgd", "sparse_categorical_crossentropy")
    return m

def data(rows=16):
    return np.zeros((rows, 8, 8, 1), "float32"), np.arange(rows) % 3

def test_good(assert_flows):
    assert assert_flows(model(L.Flatten()), data()).target is None

def test_broken(assert_flows):
    assert_flows(model(), data())

@pytest.mark.tpushape(tpu="v5e-8", batch_size=12)
def test_marked(assert_flows):
    assert_flows(model(L.Flatten()), data(24))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("users")
    (folder / "test_users.py").write_text(TESTS)
    root = str(Path(tpushape.__file__).parents[1])
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": root}
    command = [sys.executable, "-m", "pytest", "-p", "jupyter_tpushape.pytest_plugin", "-q", "--strict-markers", "test_users.py"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout


def test_a_failure_is_the_report_and_not_a_traceback(said):
    assert "2 failed, 1 passed" in said
    assert "missing-flatten" in said
    # The model was made inside the test and handed over: there is no text that makes it.
    assert re.search(r"✓ fix[^✓]*?live model[^✓]*?Flatten before dense", " ".join(said.split()))
    assert "pytest_plugin.py" not in said


def test_a_marker_sets_the_target(said):
    assert "uneven-replicas" in said


def test_assert_flows_raises_the_report():
    keras = pytest.importorskip("keras")
    with pytest.raises(AssertionError, match="layer-rank"):
        tpushape.assert_flows(lambda: keras.Sequential([keras.Input((8, 8, 1)), keras.layers.LSTM(4)]))


def test_the_hook_of_pre_commit_calls_the_command():
    text = (Path(__file__).parents[1] / ".pre-commit-hooks.yaml").read_text()
    assert "entry: tpushape check" in text and "pass_filenames: false" in text
