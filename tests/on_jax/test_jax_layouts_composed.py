"""Keys of layout maps that are patterns of file names, or that a program composes, and layouts of what layers give."""

from __future__ import annotations

import pytest
from test_jax_layouts_written import RIGHT, blocks, judged, mended

KEYS = """
{before}
def keys():
{body}

def build():
    set_distribution(laid(keys(), batch_dim_name="{batch}"))
    inputs = keras.Input((64,))
    x = layers.Dense(512, activation="relu", name="dense")(inputs)
    x = layers.Dense({width}, name="dense_1")(x)
    model = keras.Model(inputs, layers.Dense(8, name="head")(x), name="net")
    model.compile("adam", "mse")
    return model

def data():
    return np.zeros((64, 64), "float32"), np.zeros((64, 8), "float32")
"""


@pytest.fixture(autouse=True)
def _no_distribution():
    yield
    import keras

    keras.distribution.set_distribution(None)


def composed(*lines, before="", batch="batch", width=64):
    return KEYS.format(body="\n".join(f"    {line}" for line in lines), before=before, batch=batch, width=width)


def test_a_pattern_of_file_names_is_told_and_written_as_a_regular_expression(tmp_path):
    text = composed('return {"*/dense/kernel": (None, "model"), "**/dense_1/kernel": ("model", None)}')
    finding = mended(tmp_path, text, "layout-pattern", '{".*dense/kernel": (None, "model"), ".*dense_1/kernel": ("model", None)}')
    assert finding.severity == "error"
    assert "nothing to repeat" in finding.message


def test_a_star_behind_a_name_stands_for_any_characters(tmp_path):
    layout = RIGHT.replace(r'r".*block_\d/expand/kernel"', '"stack/block_*/expand/kernel"')
    finding = mended(tmp_path, blocks(layout), "layout-key", '"stack/block_.*/expand/kernel"')
    assert finding.fact.how == "glob"


ROOTS = {
    "a constant": ('PATH = "lm/block_{}"', 'return {PATH.format(i) + "/expand/kernel": (None, "model") for i in range(2)} | REST', 'PATH = "stack/block_{}"'),
    "a formatted string": ("", 'return {f"lm/block_{i}/expand/kernel": (None, "model") for i in range(2)} | REST', 'f"stack/block_{i}/expand/kernel"'),
}
REST = 'REST = {".*project/kernel": ("model", None), ".*head/kernel": ("model", None)}\n'


@pytest.mark.parametrize(("before", "line", "written"), ROOTS.values(), ids=ROOTS)
def test_composed_keys_below_another_root_are_mended_in_their_one_literal(tmp_path, before, line, written):
    text = f"{REST}{before}\ndef keys():\n    {line}\n" + blocks("keys()")
    finding = mended(tmp_path, text, "layout-key", written)
    assert (finding.fact.how, finding.severity) == ("root", "silent")
    assert finding.fixes[0].proof == "source"


def test_names_that_begin_alike_are_matched_whole(tmp_path):
    text = composed(
        'found = {"head/kernel": (None, "model")}',
        'for name, axes in (("dense", (None, "model")), ("dense_1", ("model", None))):',
        '    found[f".*{name}.*kernel"] = axes',
        "return found",
    )
    assert mended(tmp_path, text, "layout-clash", 'found[f".*{name}/kernel"] = axes').severity == "error"


def test_the_one_layout_of_composed_keys_gets_another_axis(tmp_path):
    text = composed('return {f"{name}/kernel": (None, "model") for name in ("dense_1",)}', width=54)
    assert mended(tmp_path, text, "layout-indivisible", '{f"{name}/kernel": ("model", None) for name').fact.path == "dense_1/kernel"


def test_an_axis_that_only_unmatched_keys_name_gets_no_entry_of_its_own(tmp_path):
    found = judged(tmp_path, composed('return {"lm/block/other/w": (None, "model")}'))[1]().findings
    assert not next(one for one in found if one.rule == "mesh-axis-idle").fixes


def test_a_batch_along_the_axis_of_the_weights_is_moved(tmp_path):
    text = composed('return {"dense/kernel": (None, "model"), "dense_1/kernel": ("model", None)}')
    text = text.replace('laid(keys(), batch_dim_name="batch")', 'ModelParallel(layout_map=laid(keys())._layout_map, batch_dim_name="model")')
    assert "Without batch_dim_name" not in mended(tmp_path, text, "mesh-axis-idle", 'batch_dim_name="batch"').why


OUTPUTS = {
    "too many axes": ('("batch", None, "model")', "layout-rank", '("batch", "model")'),
    "an axis that does not divide": ('("batch", "model")', "layout-indivisible", '("batch", None)'),
}


@pytest.mark.parametrize(("axes", "rule", "written"), OUTPUTS.values(), ids=OUTPUTS)
def test_the_layout_of_an_output_is_judged_as_that_of_a_variable(tmp_path, axes, rule, written):
    text = composed(f'return {{"dense/kernel": (None, "model"), "dense_1/output": {axes}}}', width=54 if rule != "layout-rank" else 64)
    finding = mended(tmp_path, text, rule, f'"dense_1/output": {written}')
    assert finding.fact.path == "dense_1/output"


def test_the_layout_of_an_output_that_fits_is_ok(tmp_path):
    text = composed('return {"dense.kernel": (None, "model"), "dense/output": ("batch", "model"), "dense_1/output": ("batch", None)}')
    assert not judged(tmp_path, text)[1]().findings


def test_a_loop_that_counts_from_one_counts_from_zero(tmp_path):
    text = blocks("keys()") + '\nREST = {".*head/kernel": ("model", None)}\ndef keys():\n    found = dict(REST)\n'
    text += '    for i in range(1, 3):\n        found[f"stack/block_{i}/expand/kernel"] = (None, "model")\n'
    text += '        found[f"stack/block_{i}/project/kernel"] = ("model", None)\n    return found\n'
    assert mended(tmp_path, text, "layout-key", "for i in range(2):").fixes[0].proof == "source"


def test_all_keys_of_one_layout_get_the_axis_that_divides_them_all(tmp_path):
    text = 'TABLE = {f".*{name}/kernel": (None, "model") for name in ("expand", "head")}\nTABLE[".*project/kernel"] = ("model", None)\n'
    text += blocks("TABLE").replace("layers.Dense(8", "layers.Dense(6").replace("(16, 8)", "(16, 6)")
    assert mended(tmp_path, text, "layout-indivisible", '{f".*{name}/kernel": ("model", None) for name').fact.path == "stack/head/kernel"
