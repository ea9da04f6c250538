"""A distribution that is set after the model was built: found in builders and scripts, and mended by moving the line, on eight real devices."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

HEAD = """
import json
import keras
import numpy as np
from keras import layers
from keras.distribution import DataParallel, DeviceMesh, LayoutMap, ModelParallel, set_distribution

import jupyter_tpushape as tpushape

x, y = np.ones((64, 16), "float32"), np.ones((64, 8), "float32")
"""
SCRIPT = """
model = keras.Sequential([keras.Input((16,)), layers.Dense(8, name="up")])
model.compile("adam", "mse")
keras.distribution.set_distribution(keras.distribution.DataParallel())
"""
HELPERS = """
def make():
    made = keras.Sequential([keras.Input((16,)), layers.Dense(8, name="up")])
    made.compile("adam", "mse")
    return made

def set_up(mesh):
    layout = LayoutMap(mesh)
    layout[".*up/kernel"] = (None, "model")
    set_distribution(ModelParallel(layout_map=layout))

model = make()
# Two by four.
devices = DeviceMesh((2, 4), ["batch", "model"])
set_up(devices)
"""
BUILDER = """
def model():
    made = keras.Sequential([keras.Input((16,)), layers.Dense(8, name="up")])
    made.compile("adam", "mse")
    layout = LayoutMap(DeviceMesh((2, 4), ["batch", "model"]))
    layout[".*up/kernel"] = (None, "model")
    set_distribution(ModelParallel(layout_map=layout))
    return made
"""
DEPENDENT = """
model = keras.Sequential([keras.Input((16,)), layers.Dense(8, name="up")])
model.compile("adam", "mse")
layout = LayoutMap(DeviceMesh((2, 4), ["batch", "model"]))
layout[model.layers[0].kernel.path] = (None, "model")
set_distribution(ModelParallel(layout_map=layout))
"""
TOLD = """
before = keras.distribution.distribution()
report = tpushape.trace(model, (x, y))
told = {"rules": [one.rule for one in report.findings], "left": keras.distribution.distribution() is before}
late = [one for one in report.findings if one.rule == "mesh-set-late"]
fixes = [fix for one in late for fix in one.fixes]
told["proofs"], told["patch"] = [fix.proof for fix in fixes if fix.verified], fixes[0].patch if fixes else ""
if told["proofs"]:
    again, data = fixes[0].rebuild()
    told["devices"] = len(again.layers[-1].kernel.value.sharding.device_set)
    told["shard"] = list(again.layers[-1].kernel.value.sharding.shard_shape((16, 8)))
    again.fit(*data, verbose=0)
# The last thing, because Keras leaves nothing of a model whose step it refuses.
made = model() if not hasattr(model, "layers") else model
try:
    made.fit(x, y, verbose=0)
    told["raised"] = ""
except ValueError as error:
    told["raised"] = str(error)[:30]
print(json.dumps(told))
"""


def told(tmp_path, text):
    path = tmp_path / "train.py"
    path.write_text(HEAD + text + TOLD, encoding="utf-8")
    more = {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"}
    done = subprocess.run([sys.executable, str(path)], env={**os.environ, **more}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(("text", "shard"), [(SCRIPT, [16, 8]), (HELPERS, [16, 2]), (BUILDER, [16, 2])], ids=["script", "helpers", "builder"])
def test_the_line_is_moved_and_fit_runs_on_eight_devices(tmp_path, text, shard):
    found = told(tmp_path, text)
    assert found["rules"] == ["mesh-set-late"] and found["left"]
    assert "incompatible devices" in found["raised"]
    assert found["proofs"] == ["source"] and (found["devices"], found["shard"]) == (8, shard)
    # Lines are moved, and none is written anew; a comment goes with its line.
    lines = [line for line in found["patch"].splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert sorted(line[1:] for line in lines if line[0] == "+") == sorted(line[1:] for line in lines if line[0] == "-") != []


def test_nothing_is_said_where_the_line_comes_first_and_fit_runs_after_a_trace(tmp_path):
    *lines, last = SCRIPT.strip().splitlines()
    found = told(tmp_path, "\n".join([last, *lines]))
    assert (found["rules"], found["left"], found["raised"]) == ([], True, "")


def test_a_map_that_is_made_of_the_model_is_not_moved(tmp_path):
    found = told(tmp_path, DEPENDENT)
    assert "mesh-set-late" in found["rules"] and "source" not in found["proofs"]
