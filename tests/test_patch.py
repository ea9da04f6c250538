"""A fix as a diff of the user's own source: minimal, remarks kept, and a program that runs once it is applied."""

from __future__ import annotations

import functools
import linecache

import pytest
from broken import HEAD, fit, load, write
from broken import PROGRAMS as FIRST
from kinds import KINDS

import jupyter_tpushape as tpushape
from jupyter_tpushape.repair.patch import StaleSource, patched

PROGRAMS = FIRST | KINDS
EVERY = pytest.mark.parametrize("name", PROGRAMS)
BOTH = pytest.mark.parametrize("framework", ["keras", "tf_keras"])


@pytest.fixture(scope="module")
def fixed(tmp_path_factory):
    """The file and the first fix of a program in a framework, which is traced once for all tests; they write into files of their own."""

    @functools.cache
    def fixed(name, framework):
        path = write(tmp_path_factory.mktemp("patch"), name, framework, PROGRAMS)
        return path, first_fix(path, name)

    return fixed


def first_fix(path, name):
    module = load(path)
    report = tpushape.trace(module.build, module.data, tpu=PROGRAMS[name].tpu)
    assert not report.ok
    return next(finding for finding in report.findings if finding.serious).fixes[0]


@BOTH
@EVERY
def test_the_first_fix_is_a_minimal_diff_that_makes_the_program_run(name, framework, fixed, tmp_path):
    path, fix = fixed(name, framework)
    before = HEAD.format(framework=framework) + PROGRAMS[name].source
    assert (tuple(edit.kind for edit in fix.edits), fix.verified) == (PROGRAMS[name].edits, True)
    assert fix.file == str(path)
    lines = fix.patch.splitlines()
    assert lines[:2] == ["--- train.py", "+++ train.py"]
    assert tuple(line[1:] for line in lines[2:] if line.startswith("-")) == PROGRAMS[name].removed
    assert tuple(line[1:] for line in lines[2:] if line.startswith("+")) == PROGRAMS[name].added
    assert path.read_text() == before, "nothing is written before it is asked for"

    path = tmp_path / "train.py"
    path.write_text(before)
    assert tpushape.apply(fix, path) == path
    after = path.read_text()
    kept = [line for line in before.splitlines() if line not in PROGRAMS[name].removed]
    assert [line for line in after.splitlines() if line not in PROGRAMS[name].added] == kept
    linecache.checkcache(str(path))
    again = load(path)
    report = tpushape.trace(again.build, again.data, tpu=PROGRAMS[name].tpu, fixes=False)
    assert report.ok, report
    fit(again.build(), again.data())


@BOTH
@pytest.mark.parametrize("name", FIRST)
def test_the_first_fix_rebuilds_a_fresh_model_and_data_that_train(name, framework, fixed):
    _, fix = fixed(name, framework)
    model, data = fix.rebuild()
    assert tpushape.trace(model, data, tpu=PROGRAMS[name].tpu, fixes=False).ok
    fit(model, data)
    other, _ = fix.rebuild()
    assert other is not model


def test_a_patch_is_refused_where_the_source_has_changed_since(tmp_path):
    path = write(tmp_path, "compile-argument", "keras")
    fix = first_fix(path, "compile-argument")
    changed = path.read_text().replace('optimizer="sgd"', 'optimizer="adam"')
    path.write_text(changed)
    with pytest.raises(StaleSource, match="trace again"):
        tpushape.apply(fix, path)
    assert path.read_text() == changed


def test_a_patch_is_refused_a_second_time(tmp_path):
    path = write(tmp_path, "units", "keras")
    fix = first_fix(path, "units")
    tpushape.apply(fix, path)
    once = path.read_text()
    with pytest.raises(StaleSource):
        tpushape.apply(fix, path)
    assert path.read_text() == once


def test_a_patch_leaves_the_end_of_the_file_as_it_is():
    patch = "--- a\n+++ a\n@@ -2,1 +2,1 @@\n-two\n+zwei"
    assert patched("one\ntwo\nthree", patch) == "one\nzwei\nthree"
    assert patched("one\ntwo\n", patch) == "one\nzwei\n"


def test_a_fix_without_a_source_is_a_snippet_that_says_where_it_goes(tmp_path):
    scope = {}
    exec(
        "import keras\ndef build():\n    m = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Dense(3, name='head')])\n"
        "    m.compile('sgd', 'sparse_categorical_crossentropy')\n    return m",
        scope,
    )
    import numpy as np

    report = tpushape.trace(scope["build"], (np.zeros((16, 8, 8, 1), "float32"), np.arange(16) % 3), tpu=None)
    fix = report.findings[0].fixes[0]
    where, line = fix.patch.splitlines()
    assert where.startswith("# ") and "head" in where
    assert line == "+layers.Flatten(),"
    with pytest.raises(ValueError, match="by hand"):
        tpushape.apply(fix, tmp_path / "nowhere.py")


TEXT = """import {framework} as keras
import tensorflow as tf

L = keras.layers


def build():
    # Words become numbers.
    words = L.TextVectorization(output_sequence_length=4, vocabulary=["a", "b", "c"])
    i = keras.Input((), dtype="string")  # a sentence
    x = L.Embedding(8, 2)(words(i))
    model = keras.Model(i, L.Dense(1)(L.Flatten()(x)))
    model.compile("sgd", "mse")
    return model


def data():
    ds = tf.data.Dataset.from_tensor_slices((["a b", "c", "b", "a a"], tf.zeros((4, 1))))
    return ds.batch(4).prefetch(1)
"""


@BOTH
def test_a_layer_moves_from_the_model_into_the_pipeline(framework, tmp_path):
    path = tmp_path / "train.py"
    path.write_text(TEXT.format(framework=framework))
    module = load(path)
    report = tpushape.trace(module.build, module.data, tpu="v3-8")
    fix = next(finding for finding in report.findings if finding.serious).fixes[0]
    assert {edit.kind for edit in fix.edits} >= {"data-transform", "batching"}
    assert next(edit for edit in fix.edits if edit.kind == "batching").detail["batch"] == 8
    tpushape.apply(fix, path)
    text = path.read_text()
    assert '\n\nwords = L.TextVectorization(output_sequence_length=4, vocabulary=["a", "b", "c"])\n\n\ndef build():\n' in text
    assert '    i = keras.Input((4,), dtype="int64")  # a sentence\n    x = L.Embedding(8, 2)(i)\n' in text
    assert "    return ds.repeat(2).batch(8, drop_remainder=True).map(lambda x, y: (words(x), y)).prefetch(1)\n" in text
    linecache.checkcache(str(path))
    again = load(path)
    assert tpushape.trace(again.build, again.data, tpu="v3-8", fixes=False).ok
    fit(again.build(), again.data())


SCOPE = """import keras
import numpy as np

import jupyter_tpushape as tpushape

L = keras.layers


def build():
    strategy = tpushape.tpu_strategy("v5e-8")
    model = keras.Sequential([keras.Input((4,)), L.Dense(1)])  # outside
{compiling}
    return model


def data():
    return np.zeros((64, 4), "float32"), np.zeros((64, 1), "float32")
"""


def test_the_scope_of_a_strategy_is_taken_up_to_where_the_model_is_made(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(SCOPE.format(compiling='    with strategy.scope():\n        model.compile("sgd", "mse")'))
    module = load(path)
    report = tpushape.trace(module.build, module.data, tpu="v5e-8")
    fix = report.findings[0].fixes[0]
    assert (report.findings[0].rule, fix.title, fix.verified) == ("scope-outside", "Build and compile inside strategy.scope()", True)
    assert fix.patch.splitlines()[2:] == [
        "@@ -9,6 +9,6 @@",
        " def build():",
        '     strategy = tpushape.tpu_strategy("v5e-8")',
        "-    model = keras.Sequential([keras.Input((4,)), L.Dense(1)])  # outside",
        "     with strategy.scope():",
        "+        model = keras.Sequential([keras.Input((4,)), L.Dense(1)])  # outside",
        '         model.compile("sgd", "mse")',
        "     return model",
    ]
    tpushape.apply(fix, path)
    linecache.checkcache(str(path))
    again = load(path)
    assert tpushape.trace(again.build, again.data, tpu="v5e-8", fixes=False).ok


def test_the_line_of_a_cell_magic_is_no_context_of_a_diff():
    from jupyter_tpushape.repair.patch import _without_magic

    lines = ["--- In[1]", "+++ In[1]", "@@ -1,3 +1,3 @@", " # %%tpushape", " one", "-two", "+zwei"]
    assert _without_magic(lines) == ["--- In[1]", "+++ In[1]", "@@ -2,2 +2,2 @@", " one", "-two", "+zwei"]
    assert patched("%%tpushape --tpu v3-8\none\ntwo\n", "\n".join(_without_magic(lines))) == "%%tpushape --tpu v3-8\none\nzwei\n"
    assert _without_magic([*lines[:2], "@@ -4,2 +4,2 @@", " one", "-two", "+zwei"])[2] == "@@ -4,2 +4,2 @@"
