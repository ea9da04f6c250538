"""What was tried and does not hold is not shown as a fix; what cannot be tried is an idea, and says why."""

from __future__ import annotations

from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape
from jupyter_tpushape.repair import search
from jupyter_tpushape.views.text import to_text

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])


@BOTH
def test_flatten_in_front_of_an_lstm_is_never_a_fix(lib):
    def build():
        model = lib.Sequential([lib.Input((8, 8, 3)), lib.layers.Flatten(), lib.layers.LSTM(4, name="lstm"), lib.layers.Dense(1)])
        model.compile("sgd", "mse")
        return model

    report = tpushape.trace(build, (np.zeros((8, 8, 8, 3), "float32"), np.zeros((8, 1), "float32")), tpu=None)
    fixes = report.findings[0].fixes
    assert fixes
    assert all(fix.verified for fix in fixes)
    assert not any(fix.title.startswith("Flatten before") for fix in fixes)


@BOTH
def test_labels_that_are_missing_are_not_made_up(lib):
    def build():
        i = lib.Input((6,))
        model = lib.Model(i, [lib.layers.Dense(3, activation="softmax", name="kind")(i), lib.layers.Dense(1, name="price")(i)])
        model.compile("sgd", ["sparse_categorical_crossentropy", "mse"])
        return model

    report = tpushape.trace(build, (np.zeros((8, 6), "float32"), [np.arange(8) % 3]), tpu=None)
    idea = report.findings[0].fixes[0]
    assert not idea.verified
    assert idea.title.endswith(": kind (8, 3), price (8, 1)")
    assert "1 of 2 outputs" in idea.reason
    assert any(line.startswith("  ? idea") and idea.title[:20] in line for line in to_text(report).splitlines())
    with pytest.raises(tpushape.CannotRebuild, match="by hand"):
        idea.rebuild()


@BOTH
def test_an_edit_that_cannot_be_made_here_is_an_idea_with_the_reason(lib):
    def rows():
        for _ in range(4):
            yield np.zeros((8, 64), "float32"), np.zeros((8, 3), "float32")

    class Net(lib.Model):
        """A class that does not tell how it was made."""

        def __init__(self, units):
            super().__init__()
            self.net = lib.Sequential([lib.Input((8, 8, 1)), lib.layers.Flatten(), lib.layers.Dense(units)])

        def call(self, x):
            return self.net(x)

    model = Net(3)
    model.compile("sgd", "mse")
    report = tpushape.trace(model, rows(), tpu=None)
    found = [fix for finding in report.findings if finding.serious for fix in finding.fixes]
    assert not any(fix.verified for fix in found)
    assert all(fix.reason and fix.patch and fix.edits for fix in found)


def test_a_stage_of_a_pipeline_that_stands_cannot_be_moved_and_says_so():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    ds = tf.data.Dataset.from_tensor_slices((np.zeros((32, 4), "float32"), np.zeros((32, 1), "float32")))
    ds = ds.map(lambda x, y: (x + tf.random.normal((4,)), y)).cache().batch(16, drop_remainder=True)
    report = tpushape.trace(model, ds, tpu="v3-8")
    idea = next(finding for finding in report.findings if finding.rule == "cache-after-random").fixes[0]
    assert ([edit.kind for edit in idea.edits], idea.verified) == (["batching"], False)
    assert "function" in idea.reason


@BOTH
def test_at_most_five_and_every_fix_says_why_it_stands_there(lib):
    def build():
        i = lib.Input((8, 8, 3))
        left, right = lib.layers.Conv2D(4, 3, strides=2, padding="same")(i), lib.layers.Conv2D(4, 3, padding="same")(i)
        model = lib.Model(i, lib.layers.Dense(1)(lib.layers.Flatten()(lib.layers.Concatenate()([left, right]))))
        model.compile("sgd", "mse")
        return model

    report = tpushape.trace(build, (np.zeros((8, 8, 8, 3), "float32"), np.zeros((8, 1), "float32")), tpu=None)
    fixes = report.findings[0].fixes
    assert 1 <= len(fixes) <= 5
    assert all(fix.reason for fix in fixes)


@BOTH
@pytest.mark.parametrize(
    ("declared", "rows", "kind"),
    [((12, 12, 3), (3, 12, 12), "data-transform"), ((3, 12, 12), (12, 12, 3), "input-shape")],
    ids=["the declaration is right", "the data is right"],
)
def test_channels_stand_where_the_layers_work_on_them(lib, declared, rows, kind):
    def build():
        layers = [lib.layers.Conv2D(2, 3), lib.layers.MaxPooling2D(3), lib.layers.Flatten(), lib.layers.Dense(1)]
        model = lib.Sequential([lib.Input(declared), *layers])
        model.compile("sgd", "mse")
        return model

    report = tpushape.trace(build, (np.zeros((8, *rows), "float32"), np.zeros((8, 1), "float32")), tpu=None)
    assert report.findings[0].rule == "channels-order"
    fix = report.findings[0].fixes[0]
    assert ([edit.kind for edit in fix.edits], "(12, 12, 3)" in fix.title) == ([kind], True)


@BOTH
def test_pooling_stands_before_a_flatten_that_makes_a_dense_of_millions(lib):
    def build():
        model = lib.Sequential([lib.Input((64, 64, 3)), lib.layers.Conv2D(32, 3), lib.layers.Dense(1000, "relu", name="wide"), lib.layers.Dense(5, "softmax")])
        model.compile("sgd", "sparse_categorical_crossentropy")
        return model

    report = tpushape.trace(build, (np.zeros((8, 64, 64, 3), "float32"), np.arange(8) % 5), tpu=None)
    first, second, *_ = report.findings[0].fixes
    for fix, layer, weights in ((first, "GlobalAveragePooling2D", "32,000"), (second, "Flatten", "123,008,000")):
        assert (fix.edits[0].target, fix.edits[0].detail["layer"]) == ("wide", layer)
        assert weights in fix.reason


@BOTH
def test_what_is_only_slow_gets_numbers_and_no_fix(lib):
    model = lib.Sequential([lib.Input((8,)), lib.layers.Dense(1)])
    model.compile("sgd", "mse")
    ds = tf.data.Dataset.from_tensor_slices((np.zeros((40, 8), "float32"), np.zeros((40, 1), "float32"))).batch(16)
    report = tpushape.trace(model, ds, tpu="v3-8")
    slow = [finding for finding in report.findings if finding.severity == "slow"]
    assert slow
    assert not any(finding.fixes for finding in slow)


def test_what_is_being_tried_is_said_once_it_takes_more_than_a_second(monkeypatch):
    from jupyter_tpushape.examine import Program, examine
    from jupyter_tpushape.rules import run_rules

    def build():
        model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(3, activation="softmax")])
        model.compile("sgd", "categorical_crossentropy")
        return model

    said = []
    seen = examine(Program(build, (np.zeros((8, 6), "float32"), np.arange(8) % 3), progress=said.append))
    clock = iter([10.0])
    monkeypatch.setattr(search, "time", SimpleNamespace(perf_counter=lambda: next(clock, 12.0)))
    one = search.Search(seen)
    one.repair(run_rules(seen.evidence)[0])
    assert len(said) == 1 and "sparse_categorical_crossentropy" in said[0]


@BOTH
def test_two_layers_of_a_list_that_stand_the_other_way_round_change_places(lib, tmp_path):
    source = f"""import {lib.__name__} as keras
L = keras.layers
def build():
    model = keras.Sequential([
        keras.Input((8, 8, 3)),
        L.Flatten(),
        L.Conv2D(4, 3, name="conv"),
        L.Dense(4, activation="softmax"),
    ])
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model
"""
    path = tmp_path / "train.py"
    path.write_text(source)
    scope = {"__name__": "train"}
    exec(compile(source, str(path), "exec"), scope)
    data = np.zeros((8, 8, 8, 3), "float32"), np.arange(8) % 4
    fix = tpushape.trace(scope["build"], data, tpu=None).findings[0].fixes[0]
    assert len(fix.edits) == 1 and "conv" in fix.title and "flatten" in fix.title
    tpushape.apply(fix, path)
    lines = path.read_text().splitlines()
    assert lines[5:7] == ['        L.Conv2D(4, 3, name="conv"),', "        L.Flatten(),"]
    model, _ = fix.rebuild()
    assert tpushape.trace(model, data, tpu=None, fixes=False).ok


@BOTH
def test_an_embedding_stands_behind_an_input_that_several_layers_read(lib):
    def build():
        ids = lib.Input((6,), dtype="int32")
        seen = lib.layers.MultiHeadAttention(2, 4)(ids, ids)
        model = lib.Model(ids, lib.layers.Dense(1)(lib.layers.GlobalAveragePooling1D()(lib.layers.Add()([ids, seen]))))
        model.compile("sgd", "mse")
        return model

    data = np.arange(48).reshape(8, 6) % 9, np.zeros((8, 1), "float32")
    fix = next(finding for finding in tpushape.trace(build, data, tpu=None).findings if finding.serious).fixes[0]
    assert "Embedding(9, 8) after " in fix.title
    model, _ = fix.rebuild()
    assert [type(layer).__name__ for layer in model.layers].count("Embedding") == 1
    assert tpushape.trace(model, data, tpu=None, fixes=False).ok


@BOTH
def test_sequences_of_several_lengths_get_one(lib):
    def build():
        model = lib.Sequential([lib.Input((None, 4)), lib.layers.Flatten(name="flat"), lib.layers.Dense(1)])
        model.compile("sgd", "mse")
        return model

    lengths = tf.data.Dataset.from_generator(lambda: (np.ones((n, 4), "float32") for n in range(4, 20)), output_signature=tf.TensorSpec((None, 4)))
    ds = lengths.map(lambda x: (x, tf.zeros((1,)))).padded_batch(8, padded_shapes=([None, 4], [1]))
    finding = tpushape.trace(build, ds, tpu=None).findings[0]
    assert finding.rule == "axis-unknown"
    assert [[edit.kind for edit in fix.edits] for fix in finding.fixes] == [["replace-layer"], ["data-transform", "input-shape"]]
    assert finding.fixes[0].edits[0].detail["layer"] == "GlobalAveragePooling1D"
    model, data = finding.fixes[1].rebuild()
    assert data.element_spec[0].shape[1:] == (24, 4)
    model.fit(data, verbose=0)


@BOTH
@pytest.mark.parametrize("joined", [True, False])
def test_one_label_for_made_and_real_samples_is_not_a_fix(lib, joined):
    """Labels for half of the rows: with one value for all of them, a discriminator has nothing to tell apart."""

    class Pair(lib.Model):
        def __init__(self):
            super().__init__()
            self.maker, self.judge, self.score = lib.layers.Dense(4), lib.layers.Dense(1), lib.losses.BinaryCrossentropy(from_logits=True)

        def train_step(self, real):
            n = tf.shape(real)[0]
            made = self.maker(tf.random.normal((n, 3)))
            rows = tf.stack([made, made], axis=1)
            if joined:
                rows = tf.concat([made, real], axis=0)
            with tf.GradientTape() as tape:
                scores = self.judge(rows)
                loss = self.score(tf.ones((n, 1)), scores)
            weights = self.judge.trainable_weights
            self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            return {"loss": loss}

    def build():
        model = Pair()
        model.compile("sgd")
        return model

    rows = np.zeros((16, 4), "float32")
    found = tpushape.trace(build, lambda: tf.data.Dataset.from_tensor_slices(rows).batch(8), tpu=None).findings[0]
    first = found.fixes[0]
    if joined:
        assert not any(fix.verified for fix in found.fixes)
        assert first.title == "Join the labels as the samples are: tf.concat([labels of made, labels of real], axis=0)"
    else:
        assert first.verified


@BOTH
@pytest.mark.parametrize("as_loss", [False, True], ids=["metric", "loss"])
def test_python_code_of_a_metric_or_a_loss_is_not_sent_into_the_pipeline(lib, as_loss):
    def rounded(y_true, y_pred):
        value = tf.numpy_function(lambda y, p: np.float32(np.mean(np.round(p) == y)), [y_true, y_pred], tf.float32)
        return tf.ensure_shape(value, ())

    def both(y_true, y_pred):
        return tf.reduce_mean(tf.square(y_true - y_pred)) + tf.stop_gradient(rounded(y_true, y_pred))

    def build():
        model = lib.Sequential([lib.Input((6,)), lib.layers.Dense(1)])
        model.compile("sgd", both if as_loss else "mse", metrics=[] if as_loss else [rounded])
        return model

    report = tpushape.trace(build, (np.zeros((16, 6), "float32"), np.zeros((16, 1), "float32")), tpu="v3-8")
    finding = next(finding for finding in report.findings if finding.rule == "tpu-kernel")
    assert finding.fact.within.kind == ("loss" if as_loss else "metric")
    assert not any("ds.map" in fix.title for fix in finding.fixes)
    assert any("callback" in fix.title for fix in finding.fixes) is not as_loss
