"""Fixes that were tried: fresh objects that train, weights kept, the user's own model untouched, and plain refusals."""

from __future__ import annotations

import itertools
import time

import keras
import numpy as np
import pytest
import tf_keras
from broken import HEAD, fit, load
from written_solved import SOLVED

import jupyter_tpushape as tpushape

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])


def pictures(*labels):
    return np.zeros((16, 8, 8, 1), "float32"), np.arange(16) % 3 if not labels else labels[0]


def made_by(fix):
    """What a fix adds to a model, and where."""
    return [(edit.kind, edit.target, edit.detail["layer"]) for edit in fix.edits]


def broken_model(lib):
    """A classifier without its Flatten, already built."""
    layers = lib.layers
    model = lib.Sequential([lib.Input((8, 8, 1)), layers.Conv2D(4, 3, name="conv"), layers.Dense(3, activation="softmax", name="head")], name="classifier")
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


@BOTH
def test_a_live_model_keeps_its_weights_in_the_rebuilt_one_and_is_not_touched(lib):
    model = broken_model(lib)
    before = [weight.copy() for weight in model.get_weights()]
    layers = list(model.layers)
    fix = tpushape.trace(model, pictures(), tpu=None).findings[0].fixes[0]
    assert made_by(fix) == [("insert-layer", "head", "Flatten")]
    made, data = fix.rebuild()
    assert made is not model
    np.testing.assert_array_equal(made.get_layer("conv").get_weights()[0], before[0])
    assert made.get_layer("head").get_weights()[0].shape == (144, 3)
    fit(made, data)
    assert list(model.layers) == layers
    for weight, old in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(weight, old)
    assert model.loss == "sparse_categorical_crossentropy"


@BOTH
def test_a_fix_of_the_data_leaves_the_users_arrays_alone(lib):
    model = lib.Sequential([lib.Input((8,)), lib.layers.Dense(3, activation="softmax")])
    model.compile("sgd", "categorical_crossentropy")
    x, y = np.zeros((16, 8), "float32"), np.arange(16) % 3
    report = tpushape.trace(model, (x, y), tpu=None)
    fix = next(item for item in report.findings[0].fixes if item.edits[0].kind == "label-transform")
    assert fix.edits[0].detail["depth"] == 3
    made, (_, labels) = fix.rebuild()
    assert np.asarray(labels).shape == (16, 3)
    fit(made, (x, labels))
    assert y.shape == (16,)


def test_a_fix_from_a_saved_report_says_why_it_cannot_be_rebuilt():
    report = tpushape.trace(broken_model(keras), pictures(), tpu=None)
    again = tpushape.Report.from_json(report.to_json())
    assert made_by(again.findings[0].fixes[0]) == [("insert-layer", "head", "Flatten")]
    assert again.findings[0].fixes[0].verified
    with pytest.raises(tpushape.CannotRebuild, match="saved report"):
        again.findings[0].fixes[0].rebuild()


@BOTH
def test_a_model_whose_class_cannot_be_made_again_says_so(lib):
    class Net(lib.Model):
        def __init__(self, secret):
            super().__init__()
            self.conv, self.head = lib.layers.Conv2D(4, 3), lib.layers.Dense(3, activation="softmax")

        def call(self, x):
            return self.head(self.conv(x))

        def get_config(self):
            return {}

    model = Net(secret=object())
    model.compile("sgd", "sparse_categorical_crossentropy")
    finding = tpushape.trace(model, pictures(), tpu=None).findings[0]
    assert finding.rule == "missing-flatten"
    assert not [fix for fix in finding.fixes if fix.verified]
    idea = finding.fixes[0]
    ((kind, target, layer),) = made_by(idea)
    assert (kind, layer) == ("insert-layer", "Flatten") and target.startswith("dense")
    assert "Net" in idea.reason and "TypeError" in idea.reason


@BOTH
def test_flatten_before_an_lstm_is_never_offered(lib):
    def build():
        layers = lib.layers
        return lib.Sequential([lib.Input((8, 8, 1)), layers.Conv2D(4, 3), layers.LSTM(5, name="lstm"), layers.Dense(1)])

    finding = tpushape.trace(build, (pictures()[0], None), tpu=None).findings[0]
    assert finding.fixes
    for fix in finding.fixes:
        assert fix.verified
        assert "Flatten" not in [edit.detail.get("layer") for edit in fix.edits]


@BOTH
def test_what_was_tried_and_does_not_hold_is_listed_as_rejected_and_not_as_a_fix(lib):
    def build():
        i = lib.Input((64,))
        x = lib.layers.Conv1D(4, 3, name="conv")(i)
        model = lib.Model(i, lib.layers.Dense(1)(lib.layers.Flatten()(x)))
        model.compile("sgd", "mse")
        return model

    finding = tpushape.trace(build, (np.zeros((16, 64), "float32"), np.zeros((16, 1), "float32")), tpu=None).findings[0]
    assert made_by(finding.fixes[0]) == [("insert-layer", "conv", "Reshape")]
    assert finding.fixes[0].edits[0].detail["config"]["target_shape"] == [64, 1]
    assert all(fix.verified for fix in finding.fixes)
    rejected = {text.split(" (")[0] for text in finding.rejected}
    assert rejected
    assert not rejected & {fix.title for fix in finding.fixes}
    assert any("Reshape((1, 64))" in text and "window-too-large" in text for text in finding.rejected)


@BOTH
def test_a_verified_fix_leaves_nothing_serious_and_says_what_it_reaches(lib):
    fixes = tpushape.trace(broken_model(lib), pictures(), tpu=None).findings[0].fixes
    assert 1 <= len(fixes) <= 5
    for fix in fixes:
        assert fix.verified
        assert fix.effect.text.startswith("reaches the loss; predictions (16, 6, 6, 3) → (16, 3)")
        assert tpushape.trace(*fix.rebuild(), tpu=None, fixes=False).ok


@BOTH
def test_without_fixes_none_are_searched(lib):
    assert tpushape.trace(broken_model(lib), pictures(), tpu=None, fixes=False).findings[0].fixes == []


@BOTH
def test_no_fix_ends_in_one_unit_under_a_softmax_and_two_faults_at_once_have_two_edits(lib):
    """Inner axes and class numbers together: a last layer of one unit would let the shapes agree, and learn nothing."""
    layers = lib.layers

    def build():
        first = [lib.Input((12, 12, 3)), layers.Conv2D(4, 3, activation="relu"), layers.MaxPooling2D(), layers.Dense(8, activation="relu")]
        model = lib.Sequential([*first, layers.Dense(5, activation="softmax")])
        model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
        return model

    report = tpushape.trace(build, (np.zeros((20, 12, 12, 3), "float32"), np.arange(20) % 5), tpu=None)
    fixes = [fix for fix in report.findings[0].fixes if fix.verified]
    first, second = fixes[0].edits
    assert (first.kind, first.detail["layer"]) == ("insert-layer", "Flatten") and first.target.startswith("dense")
    assert (second.kind, second.detail["loss"]) == ("loss", "sparse_categorical_crossentropy")
    assert not [edit for fix in fixes for edit in fix.edits if edit.detail.get("layer") == "Dense" and edit.detail["config"]["units"] == 1]
    model, data = fixes[0].rebuild()
    model.fit(*data, verbose=0)


def test_a_search_that_fails_costs_one_fix_and_not_the_finding(monkeypatch, capsys):
    from jupyter_tpushape.repair import candidates

    # A fault of the package's own stands in a file of the package.
    names: dict = {}
    exec(compile("def fails(evidence, finding): raise KeyError('lost')", candidates.__file__, "exec"), names)

    def report():
        return tpushape.trace(lambda: broken_model(keras), pictures, tpu=None)

    monkeypatch.setattr(candidates, "FIRST", (names["fails"], *candidates.FIRST))
    with pytest.raises(KeyError):  # as in these tests
        report()
    monkeypatch.delenv("TPUSHAPE_STRICT")
    finding = report().findings[0]
    assert (finding.rule, finding.fixes[0].verified) == ("missing-flatten", True)
    assert "Internal error in tpushape (your code is fine): KeyError: 'lost'" in capsys.readouterr().err


@BOTH
@pytest.mark.parametrize("given", ["m = m * 2.0", "m = (\n            2.0 * m\n        )", "m = n * 1.0\n        n = m * 1.0"])
def test_a_name_that_is_given_what_it_holds_is_followed_to_an_end(lib, given, tmp_path):
    path = tmp_path / f"again_{lib.__name__}_{len(given)}.py"
    path.write_text(f"""import {lib.__name__} as keras
import numpy as np
import tensorflow as tf


class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.head = keras.layers.Dense(3)

    def call(self, x):
        x = self.head(x)
        n = tf.ones((8, 4))
        m = tf.ones((8, 4))
        {given}
        return tf.add(m, x)


def build():
    model = Own()
    model.compile("sgd", "mse")
    return model


def data():
    return np.zeros((8, 5), "float32"), np.zeros((8, 3), "float32")
""")
    program = load(path)
    finding = tpushape.trace(program.build, program.data, tpu=None).findings[0]
    assert finding.rule == "op-shapes" and finding.fixes[0].proof == "source"
    assert all(fix.edits for fix in finding.fixes)


def test_the_fixes_of_a_slow_machine_are_those_of_a_fast_one(tmp_path, monkeypatch):
    """A clock that jumps by minutes between any two looks changes nothing that is shown."""
    path = tmp_path / "rows_for_loss.py"
    path.write_text(HEAD.format(framework="keras") + next(own.source for _, own in SOLVED.values()).lstrip("\n"))
    program = load(path)

    def shown():
        return [(finding.rule, [fix.title for fix in finding.fixes]) for finding in tpushape.trace(program.build, program.data, tpu=None).findings]

    before, ticks = shown(), itertools.count(0, 600)
    assert any(titles for _, titles in before)
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    assert shown() == before
