"""A layout map in the builder's own source: its fix is the text that has run, keys and axes together."""

from __future__ import annotations

import pytest
from strangers import HEAD, traced

import jupyter_tpushape as tpushape

PROGRAM = """
def build():
    mesh = keras.distribution.DeviceMesh((2, 4), ["batch", "model"], devices={devices})
    layout = keras.distribution.LayoutMap(mesh)
    {layout}
    keras.distribution.set_distribution(keras.distribution.ModelParallel(layout_map=layout, batch_dim_name="batch"))
    model = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            layers.Conv2D(16, 3, name="conv_1"),
            layers.Conv2D(32, 3, name="conv_2"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(8, name="head"),
        ],
        name="net",
    )
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((16, 32, 32, 3), "float32"), np.zeros((16, 8), "float32")
"""


@pytest.fixture(autouse=True)
def _no_distribution():
    yield
    import keras

    keras.distribution.set_distribution(None)


NAMED, LISTED = '[f"tpu:{i}" for i in range(8)]', "keras.distribution.list_devices()"


def finding_of(tmp_path, layout, rule):
    # The devices are those of a slice that no test machine has.
    report = traced(tmp_path, PROGRAM.format(layout=layout, devices=NAMED))
    return next((one for one in report.findings if one.rule == rule), None)


def test_a_layout_for_matrices_gets_the_axes_of_the_kernels_that_it_is_for(tmp_path):
    finding = finding_of(tmp_path, 'layout["conv.*kernel"] = (None, "model")', "layout-key")
    assert (finding.severity, finding.fact.instead) == ("silent", ("", "", "", "model"))
    (fix,) = finding.fixes
    assert fix.verified and fix.proof == "source"
    assert '+    layout[".*conv.*kernel"] = (None, None, None, "model")' in fix.patch


def test_a_key_in_the_builder_is_mended_and_the_builder_runs(tmp_path):
    finding = finding_of(tmp_path, 'layout["head/kernel"] = ("model", None)', "layout-key")
    assert finding.fixes[0].proof == "source"
    assert '+    layout[".*head/kernel"] = ("model", None)' in finding.fixes[0].patch


def test_a_key_that_matches_kernels_with_the_right_axes_is_ok(tmp_path):
    assert finding_of(tmp_path, 'layout[".*conv.*kernel"] = (None, None, None, "model")', "layout-key") is None


@pytest.mark.parametrize("tpu", ["auto", "v5e-8"])
@pytest.mark.parametrize("devices", [NAMED, LISTED], ids=["named", "listed"])
def test_a_builder_for_a_slice_is_traced_without_its_devices(tmp_path, devices, tpu):
    path = tmp_path / "program.py"
    text = HEAD + PROGRAM.format(layout='layout[".*head/kernel"] = ("model", None)', devices=devices)
    path.write_text(text, encoding="utf-8")
    scope = {"__name__": "program", "__file__": str(path)}
    exec(compile(text, str(path), "exec"), scope)
    before = scope["keras"].distribution.list_devices()
    report = tpushape.trace(scope["build"], scope["data"], tpu=tpu)
    assert report.ok, report
    weight = next(weight for node in report.flow.nodes for weight in node.weights if node.name == "head" and weight.name.endswith("kernel"))
    assert weight.shard == (8, 8)
    assert scope["keras"].distribution.list_devices() == before
    assert scope["keras"].distribution.distribution() is None


def test_a_mesh_of_another_size_than_the_slice_is_told(tmp_path):
    path = tmp_path / "program.py"
    text = HEAD + PROGRAM.format(layout="", devices=LISTED)
    path.write_text(text, encoding="utf-8")
    scope = {"__name__": "program", "__file__": str(path)}
    exec(compile(text, str(path), "exec"), scope)
    report = tpushape.trace(scope["build"], scope["data"], tpu="v5e-4")
    assert "(2, 4)" in report.findings[0].message and not report.ok


def test_a_layout_with_more_axes_than_all_that_its_key_matches_loses_the_others(tmp_path):
    finding = finding_of(tmp_path, 'layout[".*conv.*bias"] = (None, "model")', "layout-rank")
    assert finding.fixes[0].verified and '+    layout[".*conv.*bias"] = ("model",)' in finding.fixes[0].patch
    assert len(finding.fixes) == 1


def test_a_key_of_kernels_and_biases_is_narrowed_to_variables_that_exist(tmp_path):
    finding = finding_of(tmp_path, 'layout[".*head.*"] = (None, "model")', "layout-rank")
    assert finding.fixes[0].verified and "/kernel" in finding.fixes[0].patch
