"""A fix as a diff of the user's own source: minimal, remarks kept, and a program that runs once it is applied."""

from __future__ import annotations

import linecache

import pytest
from broken import PROGRAMS, fit, load, write

import jupyter_tpushape as tpushape
from jupyter_tpushape.repair.patch import StaleSource, patched

EVERY = pytest.mark.parametrize("name", PROGRAMS)
BOTH = pytest.mark.parametrize("framework", ["keras", "tf_keras"])


def first_fix(path, name):
    module = load(path)
    report = tpushape.trace(module.build, module.data, tpu=PROGRAMS[name].tpu)
    assert not report.ok
    return next(finding for finding in report.findings if finding.serious).fixes[0]


@BOTH
@EVERY
def test_the_first_fix_is_a_minimal_diff_that_makes_the_program_run(name, framework, tmp_path):
    path = write(tmp_path, name, framework)
    before = path.read_text()
    fix = first_fix(path, name)
    assert (fix.title, fix.verified) == (PROGRAMS[name].title, True)
    assert fix.file == str(path)
    lines = fix.patch.splitlines()
    assert lines[:2] == ["--- train.py", "+++ train.py"]
    assert tuple(line[1:] for line in lines[2:] if line.startswith("-")) == PROGRAMS[name].removed
    assert tuple(line[1:] for line in lines[2:] if line.startswith("+")) == PROGRAMS[name].added
    assert path.read_text() == before, "nothing is written before it is asked for"

    assert tpushape.apply(fix, path) == path
    after = path.read_text()
    kept = [line for line in before.splitlines() if line not in PROGRAMS[name].removed]
    assert [line for line in after.splitlines() if line not in PROGRAMS[name].added] == kept
    linecache.checkcache(str(path))
    again = load(path)
    report = tpushape.trace(again.build, again.data, tpu=PROGRAMS[name].tpu, fixes=False)
    assert report.ok, report
    fit(again.build(), again.data())


def test_a_patch_is_refused_where_the_source_has_changed_since(tmp_path):
    path = write(tmp_path, "compile-argument", "keras")
    fix = first_fix(path, "compile-argument")
    changed = path.read_text().replace('optimizer="sgd"', 'optimizer="adam"')
    path.write_text(changed)
    with pytest.raises(StaleSource, match="is not what it was when the fix was made: trace again for a fresh fix"):
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
    assert fix.patch == "# in front of head:\n+layers.Flatten(),"
    with pytest.raises(ValueError, match="This fix knows no source to change, only what to write: put its lines in by hand"):
        tpushape.apply(fix, tmp_path / "nowhere.py")
