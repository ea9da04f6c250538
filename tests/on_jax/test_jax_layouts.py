"""Layout maps judged, and every share of a tensor, beside what Keras and JAX do on eight virtual devices."""

from __future__ import annotations

import json
import linecache
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

import jupyter_tpushape as tpushape
from jupyter_tpushape import cli
from jupyter_tpushape.compilers import bridge
from jupyter_tpushape.replicas.layouts import Mesh, parse_mesh, planned

L = keras.layers
MODELS = int(os.environ.get("TPUSHAPE_LAYOUTS", "3"))


def told_by(script, *options, **environment):
    """What a script beside this file tells of eight devices, in a process of its own."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name(script)), *options],
        env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


EIGHT = {"XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"}


def test_what_is_said_of_maps_and_shares_is_what_eight_devices_do():
    (told,) = told_by("eight_devices.py", str(MODELS), "1", "7", **EIGHT)
    assert told["wrong"] == []
    assert told["faults"] > 40 and told["foretold"] == told["raise"] > 20 and told["seen"] == told["silent"] > 10
    assert told["mended"] == told["fixes"] > 20
    assert told["weights"] > 50 and told["activations"] > 50 and told["false"] == 0


def test_what_released_maps_and_maps_in_their_style_divide_is_told_as_a_build_does_it():
    (told,) = told_by("released_maps.py", "--few", **EIGHT)
    assert told["wrong"] == []
    assert told["builds"] >= 24 and told["foretold"] == told["raise"] > 10 and told["false"] == 0
    assert told["builds"] - told["raise"] > 10 and told["weights"] > 20 and told["activations"] >= 2


@pytest.mark.skipif(bool(bridge.check()), reason="the TPU compiler is not installed")
def test_memory_and_exchange_of_a_verdict_are_what_jax_says_of_the_same_step():
    # libtpu knows none of the flags with which the tests' own programs are compiled.
    found = told_by("compiled_beside.py", "3", XLA_FLAGS="", PYTHONPATH=os.pathsep.join(filter(None, (str(bridge.home() or ""), os.environ.get("PYTHONPATH")))))
    assert [one["told"] for one in found] == [one["jax"] for one in found]
    assert len(found) == 3 and all(one["told"]["temporaries"] and one["told"]["exchanged"] for one in found)


def build():
    inputs = keras.Input((256,))
    x = L.Dense(512, activation="relu", name="up")(inputs)
    model = keras.Model(inputs, L.Dense(8, name="head")(L.Dense(256, name="down")(x) + inputs))
    model.compile("adam", "mse")
    return model


DATA = (np.zeros((64, 256), "float32"), np.zeros((64, 8), "float32"))


def test_shares_go_through_the_document_and_back():
    on = planned({"batch": 2, "model": 4}, {".*up/kernel": (None, "model"), ".*down/kernel": ("model", None)})
    report = tpushape.trace(build, DATA, tpu="v5e-8", batch_size=64, strategy=on)
    assert report.ok, report
    assert [(axis.name, axis.size) for axis in report.target.mesh] == [("batch", 2), ("model", 4)]
    again = tpushape.Report.from_json(report.to_json())
    up = next(node for node in again.flow.nodes if node.name == "up")
    assert [(weight.layout, weight.shard) for weight in up.weights] == [(("", "model"), (256, 128)), (("",), (512,))]
    (edge,) = again.flow.out_of(up.id)
    assert edge.layout == ("batch", "model")
    assert [one.shape for one in edge.replicas] == [(32, 128)] * 8


def test_a_key_that_is_not_a_whole_path_is_told_with_one_that_is():
    on = planned({"batch": 2, "model": 4}, {"u.*nel": (None, "model"), ".*own/kernel": ("model", None), "p/kern": (None, "model")})
    report = tpushape.trace(build, DATA, tpu=None, strategy=on, fixes=False)
    (finding,) = [one for one in report.findings if one.rule == "layout-key"]
    assert (finding.fact.key, finding.fact.near) == ("p/kern", ())
    assert finding.severity == "note"
    on = planned({"batch": 2, "model": 4}, {"up/ker": (None, "model"), ".*own/kernel": ("model", None)})
    report = tpushape.trace(build, DATA, tpu=None, strategy=on, fixes=False)
    (finding,) = [one for one in report.findings if one.rule == "layout-key"]
    assert (finding.severity, finding.fact.near, finding.fact.key_for) == ("silent", ("up/kernel",), "up/ker.*")


def test_meshes_as_they_are_typed():
    assert parse_mesh("batch=2, model=4") == {"batch": 2, "model": 4}
    for text in ("", "2x4", "batch=0", "batch=2,batch=4", "batch"):
        with pytest.raises(ValueError, match='"batch=2,model=4"'):
            parse_mesh(text)
    mesh = Mesh((("batch", 2), ("model", 4)), "batch")
    assert mesh.shard((64, None, 8), ("batch", "", "model")) == (32, None, 2)
    assert mesh.undivided((64, 6), ("batch", "model")) == (1, "model")
    assert mesh.copies(("", "model")) == 2


PROGRAM = """
import keras
L = keras.layers

def build():
    inputs = keras.Input((256,))
    return keras.Model(inputs, L.Dense(9, name="head")(L.Dense(512, name="up")(inputs)))

LAYOUT = {
    "up/ker": (None, "model"),
    ".*head/kernel": (None, "model"),
}
"""


def test_fixes_are_written_into_the_maps_own_source_and_hold_there(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")

    def traced():
        scope = {"__name__": "program", "__file__": str(path)}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
        return tpushape.trace(scope["build"], (DATA[0], None), tpu=None, strategy=planned({"batch": 2, "model": 4}, scope["LAYOUT"]))

    # What several rules find is mended at once.
    found = {one.rule: one.fixes[0] for one in traced().findings if one.serious}
    assert {*found} == {"layout-key", "layout-indivisible"}
    assert all(fix.mends and fix.verified and fix.proof == "live" for fix in found.values())
    tpushape.apply(found["layout-key"], path)
    linecache.checkcache()
    assert not [one for one in traced().findings if one.serious]
    text = path.read_text(encoding="utf-8")
    assert '"up/ker.*": (None, "model"),' in text and '".*head/kernel": ("model", None),' in text


def test_a_mesh_and_a_layout_are_named_in_a_terminal(tmp_path, capsys):
    path = tmp_path / "train.py"
    path.write_text(PROGRAM.replace("9, name", "8, name").replace('"up/ker"', '".*up/kernel"'), encoding="utf-8")
    typed = ["check", f"{path}:build", "--input-spec", "64,256:float32", "--tpu", "v5e-8"]
    assert cli.main([*typed, "--mesh", "batch=2,model=4", "--layout", f"{path}:LAYOUT"]) == 0
    assert "as (batch/2, model/4)" in capsys.readouterr().out
    assert cli.main([*typed, "--mesh", "batch=2,model=2"]) == 2
    assert cli.main([*typed, "--mesh", "2x4"]) == 2
    assert cli.main([*typed, "--layout", f"{path}:LAYOUT"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert all(part in said[0] for part in ("v5e-8 has 8 devices", "batch 2 × model 2", "4"))
    assert "'2x4'" in said[1] and "--mesh" in said[2]
