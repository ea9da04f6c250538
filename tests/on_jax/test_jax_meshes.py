"""Meshes as programs write them: axes of other names, and another number of devices than there are places."""

from __future__ import annotations

import pytest
from strangers import HEAD, serious

import jupyter_tpushape as tpushape

PROGRAM = """
def build():
    devices = {devices}
    mesh = keras.distribution.DeviceMesh({shape}, ["batch", "model"], devices=devices)
    layout = keras.distribution.LayoutMap(mesh)
    layout[".*up/kernel"] = (None, "{axis}")
    keras.distribution.set_distribution(keras.distribution.ModelParallel(layout_map=layout, batch_dim_name="{batch}"))
    model = keras.Sequential([keras.Input((32,)), layers.Dense(64, name="up"), layers.Dense(8)])
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((64, 32), "float32"), np.zeros((64, 8), "float32")
"""
SLICE = '[f"tpu:{i}" for i in range(8)]'


@pytest.fixture(autouse=True)
def _no_distribution():
    yield
    import keras

    keras.distribution.set_distribution(None)


def found(tmp_path, *, devices=SLICE, shape="(2, 4)", axis="model", batch="batch", tpu=None):
    path = tmp_path / "program.py"
    code = HEAD + PROGRAM.format(devices=devices, shape=shape, axis=axis, batch=batch)
    path.write_text(code, encoding="utf-8")
    scope = {"__name__": "program", "__file__": str(path)}
    exec(compile(code, str(path), "exec"), scope)
    return serious(tpushape.trace(scope["build"], scope["data"], tpu=tpu))


def test_a_layout_that_names_no_axis_of_the_mesh_gets_the_one_that_was_meant(tmp_path):
    (finding,) = found(tmp_path, axis="modle")
    assert (finding.fact.got, finding.fact.axes) == ("modle", ("batch", "model"))
    assert finding.fixes[0].proof == "source"
    assert '+    layout[".*up/kernel"] = (None, "model")' in finding.fixes[0].patch


def test_a_batch_along_no_axis_of_the_mesh_is_told(tmp_path):
    (finding,) = found(tmp_path, batch="batches")
    assert (finding.fact.got, finding.fact.batch) == ("batches", True)
    assert finding.fixes[0].proof == "source"
    assert 'batch_dim_name="batch"' in finding.fixes[0].patch
    (finding,) = found(tmp_path, batch="data")
    assert not any(fix.verified for fix in finding.fixes)


def test_a_mesh_with_fewer_places_than_devices_takes_all_or_some(tmp_path):
    (finding,) = found(tmp_path, shape="(1, 4)")
    assert (finding.fact.wanted, finding.fact.devices) == (4, 8)
    assert [fix.proof for fix in finding.fixes[:2]] == ["source", "source"]
    assert "DeviceMesh((2, 4)," in finding.fixes[0].patch and "devices=devices[:4]" in finding.fixes[1].patch


def test_the_devices_of_a_planned_slice_are_those_that_keras_lists(tmp_path):
    (finding,) = found(tmp_path, devices="jax.devices()", tpu="v5e-8")
    assert (finding.fact.wanted, finding.fact.devices) == (8, 1)
    assert finding.fixes[0].proof == "source"
    assert "+    devices = keras.distribution.list_devices()" in finding.fixes[0].patch


def test_a_mesh_as_it_should_be_is_ok(tmp_path):
    assert not found(tmp_path)
    assert not found(tmp_path, devices="keras.distribution.list_devices()", tpu="v5e-8")
