"""No fix is called verified that runs and means something else."""

from __future__ import annotations

import importlib

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

import jupyter_tpushape as tpushape
from jupyter_tpushape.repair.roles import crosses


@pytest.fixture(params=["keras", "tf_keras"])
def lib(request):
    return importlib.import_module(request.param)


def first_fixes(build, data):
    report = tpushape.trace(build, data, tpu=None)
    assert not report.ok
    return report.findings[0].fixes


def compiled(model, loss="categorical_crossentropy"):
    model.compile("sgd", loss)
    return model


def test_maps_of_an_odd_size_are_not_put_side_by_side(lib):
    layers = lib.layers

    def build():
        i = lib.Input((17, 16, 4))
        down = layers.Conv2D(4, 3, padding="same")(layers.MaxPooling2D(2)(i))
        up = layers.UpSampling2D(2)(down)
        return compiled(lib.Model(i, layers.Conv2D(1, 1)(layers.Concatenate()([up, i]))), "mse")

    fixes = first_fixes(build, (np.zeros((4, 17, 16, 4), "float32"), np.zeros((4, 17, 16, 1), "float32")))
    assert not any(fix.verified for fix in fixes if any("axis" in edit.detail.get("config", {}) for edit in fix.edits))


def test_colors_of_a_mask_are_no_classes(lib):
    layers = lib.layers

    def build():
        i = lib.Input((8, 8, 3))
        return compiled(lib.Model(i, layers.Conv2D(19, 1, activation="softmax")(i)))

    masks = np.random.default_rng(0).integers(0, 255, (4, 8, 8, 3)).astype("float32")
    fixes = first_fixes(build, (np.zeros((4, 8, 8, 3), "float32"), masks))
    assert fixes
    assert not any(fix.verified for fix in fixes)
    assert any("argmax" in fix.title for fix in fixes)


def test_rows_of_patches_are_no_picture(lib):
    def build():
        model = lib.Sequential([lib.Input((64, 64, 3)), lib.layers.Flatten(), lib.layers.Dense(2)])
        return compiled(model, "mse")

    fixes = first_fixes(build, (np.zeros((4, 16, 768), "float32"), np.zeros((4, 2), "float32")))
    assert not any(fix.verified for fix in fixes if any(edit.detail.get("op") == "reshape_rows" for edit in fix.edits))


def test_a_flat_picture_is_one(lib):
    def build():
        model = lib.Sequential([lib.Input((8, 8, 1)), lib.layers.Flatten(), lib.layers.Dense(2)])
        return compiled(model, "mse")

    first = first_fixes(build, (np.zeros((4, 64), "float32"), np.zeros((4, 2), "float32")))[0]
    assert first.verified
    assert first.edits[0].detail["op"] == "reshape_rows"


def test_labels_of_zeros_are_not_one_hot(lib):
    def build():
        model = lib.Sequential([lib.Input((8,)), lib.layers.Dense(3, "softmax")])
        return compiled(model, "sparse_categorical_crossentropy")

    fixes = first_fixes(build, (np.zeros((4, 8), "float32"), np.zeros((4, 3), "float32")))
    assert not any(fix.verified for fix in fixes if any(edit.detail.get("op") == "argmax" for edit in fix.edits))


shapes = st.lists(st.integers(2, 4), min_size=1, max_size=4).map(tuple)


@given(shapes, shapes)
def test_a_reshape_crosses_axes_unless_it_only_splits_or_folds(one, other):
    if np.prod(one) != np.prod(other):
        return
    # Splitting and folding keep the numbers of each outer index together, in order.
    whole = np.arange(int(np.prod(one))).reshape(one)
    leading = {tuple(block.reshape(-1)) for axis in range(1, len(one)) for block in whole.reshape(-1, *one[axis:])}
    made = whole.reshape(other)
    blocks = {tuple(block.reshape(-1)) for axis in range(1, len(other)) for block in made.reshape(-1, *other[axis:])}
    kept = leading <= blocks or blocks <= leading
    assert crosses(one, other) is not kept


def test_positions_of_two_inputs_of_different_lengths_are_not_paired_unasked(lib):
    layers = lib.layers

    def build():
        left, right = lib.Input((6, 2), name="left"), lib.Input((9, 2), name="right")
        read = layers.LSTM(4, return_sequences=True)
        return compiled(lib.Model([left, right], layers.Dense(1)(layers.GlobalMaxPooling1D()(layers.Subtract()([read(left), read(right)])))), "mse")

    data = ((np.zeros((4, 6, 2), "float32"), np.zeros((4, 9, 2), "float32")), np.zeros((4, 1), "float32"))
    report = tpushape.trace(build, data, tpu=None)
    finding = report.findings[0]
    assert finding.rule == "merge-shapes"
    assert finding.fact.made == ("left: axis 1 has size 6", "right: axis 1 has size 9")
    assert finding.fixes and not any(fix.verified for fix in finding.fixes)


def test_a_table_of_another_size_makes_no_classes(lib):
    import tensorflow as tf

    layers, weights = lib.layers, (0.2, 0.3, 0.3, 0.2)

    def weighted(t, p):
        rows = tf.one_hot(tf.cast(tf.reshape(t, [-1]), tf.int32), 3)
        return tf.reduce_sum(tf.constant(weights) * rows * -tf.math.log(p + 1e-7), axis=-1)

    def build():
        i = lib.Input((5,))
        return compiled(lib.Model(i, layers.Dense(3, activation="softmax")(i)), weighted)

    fixes = first_fixes(build, (np.zeros((9, 5), "float32"), np.arange(9) % 3))
    assert not any(fix.verified for fix in fixes)


def test_a_number_that_changes_how_many_samples_there_are_is_none_to_solve_for(tmp_path):
    from broken import HEAD, load

    path = tmp_path / "nodes.py"
    path.write_text(
        HEAD.format(framework="keras")
        + """
N = 40
class Spread(L.Layer):
    def __init__(self):
        super().__init__()
        self.way = L.Dense(3)
    def call(self, given):
        x, a = given
        return tf.matmul(a, self.way(x))
def build():
    x, a = keras.Input((4,)), keras.Input((N,))
    model = keras.Model([x, a], L.Dense(1)(Spread()([x, a])))
    model.compile("sgd", "mse")
    return model
def data():
    return [np.zeros((N, 4), "float32"), np.eye(N, dtype="float32")], np.zeros((N, 1), "float32")
"""
    )
    module = load(path)
    fixes = first_fixes(module.build, module.data)
    assert fixes[0].verified and fixes[0].proof == "source" and "batch(40" in fixes[0].patch
    assert not any(fix.verified and "N = 32" in fix.patch for fix in fixes)


def test_a_number_that_shortens_every_sequence_is_none_to_solve_for(tmp_path):
    from broken import HEAD, load

    path = tmp_path / "steps.py"
    path.write_text(
        HEAD.format(framework="keras")
        + """
N = 9
def build():
    i, j = keras.Input((N, 4)), keras.Input((None, 4))
    pair = [L.LSTM(5, return_sequences=True)(i), L.LSTM(5, return_sequences=True)(j)]
    c = L.Attention()(pair)
    model = keras.Model([i, j], L.Dense(1)(L.Concatenate()([pair[1], c])))
    model.compile("sgd", "mse")
    return model
def data():
    return (np.ones((8, N, 4), "float32"), np.ones((8, 6, 4), "float32")), np.ones((8, 6, 1), "float32")
"""
    )
    module = load(path)
    fixes = first_fixes(module.build, module.data)
    assert not any(fix.verified and "N = 6" in fix.patch for fix in fixes)


@pytest.mark.parametrize(("columns", "order"), [("score, kind", "score (2), kind (1)"), ("kind, score", "kind (1), score (2)"), ("kind, kind, kind", "")])
def test_columns_are_split_only_where_their_values_tell_the_class(columns, order):
    import keras

    def build():
        i = keras.Input((4,))
        outputs = [keras.layers.Dense(3, activation="softmax", name="kind")(i), keras.layers.Dense(2, name="score")(i)]
        model = keras.Model(i, outputs)
        model.compile("sgd", ["sparse_categorical_crossentropy", "mse"])
        return model

    parts = {"kind": np.arange(8.0)[:, None] % 3, "score": np.random.default_rng(0).random((8, 2))}
    y = np.concatenate([parts[name] for name in columns.split(", ")], axis=1).astype("float32")
    verified = [fix.title for fix in first_fixes(build, (np.zeros((8, 4), "float32"), y)) if fix.verified]
    assert verified == ([f"Split the 3 columns of the labels between the outputs: {order}"] if order else [])


def test_one_value_is_not_broadcast_over_the_positions_that_a_pooling_took_away(tmp_path):
    from broken import HEAD, load

    path = tmp_path / "teacher.py"
    path.write_text(
        HEAD.format(framework="keras")
        + """
def build():
    i, t = keras.Input((48, 48, 3)), keras.Input((48, 48, 3))
    x = L.MaxPooling2D(2)(L.Conv2D(16, 3, padding="same")(i))
    student = keras.Model(i, L.Conv2D(32, 3, dilation_rate=4, padding="same")(x))
    y = L.MaxPooling2D(2)(L.Conv2D(32, 3, padding="same", trainable=False)(t))
    teacher = keras.Model(t, L.MaxPooling2D(2)(y))
    def perceptual(y_true, y_pred):
        return keras.losses.mean_absolute_error(teacher(y_true), y_pred)
    student.compile("sgd", perceptual)
    return student
def data():
    x = np.random.default_rng(0).random((8, 48, 48, 3)).astype("float32")
    return x, x
"""
    )
    module = load(path)
    fixes = first_fixes(module.build, module.data)
    assert not any(fix.verified for fix in fixes if "[:, None" in fix.patch)
    assert any("every position" in fix.reason for fix in fixes)


@pytest.mark.parametrize("depth", [4, 5])
def test_a_class_that_the_labels_have_no_place_for_is_not_left_out(lib, depth):
    labels = np.eye(5, dtype="float32")[np.arange(40) % 5][:, :depth]

    def build():
        return compiled(lib.Sequential([lib.Input((6,)), lib.layers.Dense(depth + 1, activation="softmax")]))

    fixes = first_fixes(build, lambda: (np.zeros((40, 6), "float32"), labels))
    # With a row of zeros for each sample of class 4, the labels are what is wrong, and not the model.
    assert [fix.title for fix in fixes if "units=" in fix.title and fix.verified == (depth == 5)]
    assert any(fix.verified for fix in fixes) == (depth == 5)


def test_steps_that_are_drawn_for_each_sample_are_no_positions():
    def build():
        class Net(keras.Model):
            def __init__(self):
                super().__init__()
                self.maps, self.time, self.last = (
                    keras.layers.Conv2D(16, 3, padding="same"),
                    keras.layers.Embedding(50, 16),
                    keras.layers.Conv2D(1, 3, padding="same"),
                )

            def call(self, inputs):
                x, t = inputs
                return self.last(self.maps(x) + self.time(t))

            def train_step(self, data):
                t = tf.random.uniform((tf.shape(data)[0],), 0, 50, dtype=tf.int32)
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(tf.square(data - self((data, t), training=True)))
                self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables, strict=True))
                return {"loss": loss}

        model = Net()
        model.compile("sgd")
        return model

    fix = first_fixes(build, lambda: np.zeros((8, 12, 12, 1), "float32"))[0]
    assert fix.verified and "self.time(t)[:, None, None" in fix.patch


def test_an_embedding_of_one_id_has_no_positions_to_lose(lib):
    layers = lib.layers

    def build():
        number, month = lib.Input((1,)), lib.Input((1,), dtype="int32")
        joined = layers.Concatenate()([number, layers.Embedding(13, 2)(month)])
        return compiled(lib.Model([number, month], layers.Dense(1)(joined)), "mse")

    fixes = first_fixes(build, lambda: ((np.zeros((8, 1), "float32"), np.ones((8, 1), "int32")), np.zeros((8, 1), "float32")))
    assert fixes[0].verified and fixes[0].title.startswith("Flatten embedding")
