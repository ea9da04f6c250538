"""Fixes inside functions of the user's own: the very line, and a program that runs once it is applied."""

from __future__ import annotations

import linecache

import pytest
from broken import HEAD, PROGRAMS, fit, load
from own_code import OWN

import jupyter_tpushape as tpushape
from jupyter_tpushape.repair.edits import Expression, Regroup, edit_of

CASES = [(name, lib) for name, own in OWN.items() for lib in ("keras", "tf_keras") if lib == "keras" or not own.keras]


@pytest.mark.parametrize(("name", "framework"), CASES)
def test_the_first_fix_mends_the_line(name, framework, tmp_path):
    path = tmp_path / f"own_{name.replace(' ', '_')}_{framework}.py"
    # Autograph remembers what it converted by the code alone, wherever it stands: here each stands on lines of its own.
    lines = "\n" * (framework == "tf_keras")
    path.write_text(lines + HEAD.format(framework=framework) + OWN[name].source.lstrip("\n"))
    before = path.read_text().splitlines()
    module = load(path)
    report = tpushape.trace(module.build, module.data, tpu=OWN[name].tpu)
    fix = next(finding for finding in report.findings if finding.serious).fixes[0]
    assert (fix.verified, fix.proof) == (True, "source"), fix.title
    tpushape.apply(fix, path)
    after = path.read_text().splitlines()
    for old, new in OWN[name].lines:
        assert old in before and new in after, "\n".join(line for line in after if line not in before)
    linecache.checkcache(str(path))
    again = load(path)
    assert tpushape.trace(again.build, again.data, tpu=OWN[name].tpu, fixes=False).ok
    fit(again.build(), again.data())


def test_the_same_code_in_another_file_is_mended_there(tmp_path):
    """Autograph converts equal code once, and names the first file that had it."""
    for folder in ("first", "second"):
        path = tmp_path / folder / "train.py"
        path.parent.mkdir()
        path.write_text(HEAD.format(framework="tf_keras") + PROGRAMS["hard-coded-batch"].source)
        module = load(path)
        fix = tpushape.trace(module.build, module.data, tpu="v5e-8").findings[0].fixes[0]
        assert fix.verified
        assert str(fix.file) == str(path)
        tpushape.apply(fix, path)


AMBIGUOUS = """
class Add(L.Layer):
    def call(self, x):
        return x + tf.reduce_mean(x, axis=1)


def build():
    i = keras.Input((6, 6))
    model = keras.Model(i, L.Dense(1)(L.Flatten()(Add()(i))))
    model.compile("adam", "mse")
    return model


def data():
    return np.zeros((5, 6, 6), "float32"), np.zeros((5, 1), "float32")
"""


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_where_two_axes_would_do_it_is_a_question(framework, tmp_path):
    path = tmp_path / f"ambiguous_{framework}.py"
    path.write_text(HEAD.format(framework=framework) + AMBIGUOUS.lstrip("\n"))
    module = load(path)
    report = tpushape.trace(module.build, module.data, tpu=None)
    fixes = [fix for finding in report.findings for fix in finding.fixes]
    axes = [fix for fix in fixes if fix.edits and isinstance(edit_of(fix.edits[-1]), Expression)]
    assert len(axes) == 2
    assert not any(fix.verified for fix in axes)
    assert all("?" in fix.reason for fix in axes)


def test_edits_travel_as_plain_values():
    for edit in (Expression("call", "net.py", [3, 3, 4, 9], "a + b", "{module}.cast({it}, b.dtype)", "tensorflow", "axis"), Regroup("x", 2, "(a, b)", "order")):
        assert edit_of(edit.value) == edit
        assert list(edit.shown(dataset=True))
