"""A layout map in the builder's own source: its fix is the text that has run, keys and axes together."""

from __future__ import annotations

import pytest
from strangers import traced

PROGRAM = """
def build():
    mesh = keras.distribution.DeviceMesh((2, 4), ["batch", "model"], devices=[f"cpu:{{i}}" for i in range(8)])
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


def finding_of(tmp_path, layout, rule):
    report = traced(tmp_path, PROGRAM.format(layout=layout))
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
