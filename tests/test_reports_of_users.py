"""What users of both Kerases reported: labels of several outputs in one array, masks that do not fit, weights that only a loop reads."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape

BOTH = pytest.mark.parametrize("framework", [keras, tf_keras], ids=["keras", "tf_keras"])


def serious(build, data):
    return [finding for finding in tpushape.trace(build, data, tpu=None, fixes=False).findings if finding.serious]


def floats(*shape):
    return np.random.default_rng(0).random(shape).astype("float32")


def ids(*shape):
    return np.ones(shape, "int32")


def _two_outputs(framework, units):
    def build():
        i = framework.Input((3,))
        model = framework.Model(i, [framework.layers.Dense(units, name=name)(i) for name in ("low", "high")])
        model.compile("sgd", "mse")
        return model

    return build


@BOTH
@pytest.mark.parametrize("labels", [(8, 2, 1), (8, 2)])
def test_one_array_with_the_labels_of_all_outputs_is_told_as_such(framework, labels):
    (found,) = serious(_two_outputs(framework, 1), lambda: (floats(8, 3), floats(*labels)))
    assert (found.rule, found.fact.given, found.fact.shared) == ("output-names", 1, framework is tf_keras)
    assert found.severity == ("silent" if framework is tf_keras else "error")


def test_outputs_that_share_their_labels_are_left_alone():
    assert not serious(_two_outputs(tf_keras, 2), lambda: (floats(8, 3), floats(8, 2)))


@BOTH
@pytest.mark.parametrize("kind", ["GRU", "LSTM", "map_fn", "cond"])
def test_a_weight_that_only_a_loop_or_a_branch_reads_is_trained(framework, kind):
    class Alone(framework.Model):
        def __init__(self):
            super().__init__()
            made = framework.layers.Dense(4) if kind in ("map_fn", "cond") else getattr(framework.layers, kind)(4, return_sequences=True)
            self.inner = made

        def call(self, x):
            if kind == "map_fn":
                return tf.map_fn(self.inner, x, fn_output_signature="float32")
            if kind == "cond":
                return tf.cond(tf.reduce_sum(x) > 0, lambda: self.inner(x), lambda: -self.inner(x))
            return self.inner(x)

    def build():
        model = Alone()
        model.compile("sgd", "mse")
        return model

    assert not serious(build, lambda: (floats(8, 5, 3), floats(8, 5, 4)))


def _masked(framework, returned):
    class Half(framework.layers.Layer):
        supports_masking = True

        def call(self, x, mask=None):
            return x[:, ::2]

        def compute_mask(self, x, mask=None):
            return returned(mask)

    def build():
        i = framework.Input((8,), dtype="int32")
        x = Half()(framework.layers.Embedding(9, 4, mask_zero=True)(i))
        model = framework.Model(i, framework.layers.Dense(1)(framework.layers.LSTM(3)(x)))
        model.compile("sgd", "mse")
        return model

    return build


@BOTH
def test_a_recurrent_layer_that_reads_the_mask_of_other_steps(framework):
    (found,) = serious(_masked(framework, lambda mask: mask), lambda: (ids(8, 8), floats(8, 1)))
    assert (found.rule, found.severity, found.fact.shape[1], found.fact.mask[1]) == ("mask-shapes", "silent", 4, 8)
    assert found.fact.passes.op == "Half" and found.fact.makers


@BOTH
def test_a_mask_that_fits_is_left_alone(framework):
    assert not serious(_masked(framework, lambda mask: mask[:, ::2]), lambda: (ids(8, 8), floats(8, 1)))
    assert not serious(_masked(framework, lambda mask: None), lambda: (ids(8, 8), floats(8, 1)))


def test_an_attention_of_tf_keras_reads_the_masks_off_its_inputs():
    class Encoder(tf_keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.embed, self.attend = (tf_keras.layers.Embedding(9, 4, mask_zero=True), tf_keras.layers.MultiHeadAttention(2, 4, attention_axes=2))

        def call(self, x):
            x = self.embed(x)
            return self.attend(query=x, value=x)

    def build():
        i = tf_keras.Input((3, 5), dtype="int32")
        model = tf_keras.Model(i, Encoder()(i))
        model.compile("sgd", "mse")
        return model

    (found,) = serious(build, lambda: (ids(8, 3, 5), floats(8, 3, 5, 4)))
    assert (found.rule, found.severity, found.fact.mask[1:], found.fact.makers) == ("mask-shapes", "error", (3, 5), (found.fact.makers[0],))


def _pictures(framework, layers, loss="mse"):
    def build():
        model = framework.Sequential([framework.Input((16, 16, 1)), *(layer() for layer in layers)])
        model.compile("sgd", loss)
        return model

    return build


def _decoder(framework):
    return [lambda: framework.layers.Conv2D(4, 3, strides=2, padding="same"), lambda: framework.layers.Conv2DTranspose(1, 3, strides=2, padding="same")]


@BOTH
def test_labels_of_an_autoencoder_that_are_no_inputs(framework):
    build = _pictures(framework, _decoder(framework))
    (found,) = serious(build, lambda: (floats(8, 16, 16, 1), ids(8)))
    assert (found.rule, found.severity) == ("labels-not-inputs", "silent")
    (found,) = serious(build, lambda: (floats(8, 16, 16, 1), floats(8, 5)))
    assert (found.rule, found.severity) == ("labels-not-inputs", "error")
    assert not serious(build, lambda: (floats(8, 16, 16, 1), floats(8, 16, 16, 1)))


@BOTH
def test_pixels_that_nothing_made_fewer_are_not_taken_for_an_autoencoder(framework):
    """A classifier without Flatten has one value per pixel, too."""
    build = _pictures(framework, [lambda: framework.layers.Conv2D(4, 3, padding="same"), lambda: framework.layers.Dense(1)])
    assert [found.rule for found in serious(build, lambda: (floats(8, 16, 16, 1), floats(8)))] == ["loss-broadcast"]


@BOTH
def test_labels_that_a_loss_of_its_own_does_not_read_are_left_alone(framework):
    build = _pictures(framework, _decoder(framework), loss=lambda y, p: tf.reduce_mean(tf.square(p), axis=(1, 2, 3)))
    assert not serious(build, lambda: (floats(8, 16, 16, 1), floats(8)))


@BOTH
@pytest.mark.parametrize("labels", ["a batch in each row", "batched as well", "batched afterwards"])
def test_zipped_pipelines_that_fit_are_left_alone(framework, labels):
    def build():
        model = framework.Sequential([framework.Input((6,)), framework.layers.Dense(3, activation="softmax")])
        model.compile("sgd", "sparse_categorical_crossentropy")
        return model

    def data():
        slices = tf.data.Dataset.from_tensor_slices
        if labels == "batched afterwards":
            return tf.data.Dataset.zip((slices(floats(8, 6)), slices(ids(8)))).batch(4)
        return tf.data.Dataset.zip((slices(floats(8, 6)).batch(4), slices(ids(2, 4)) if labels == "a batch in each row" else slices(ids(8)).batch(4)))

    assert not serious(build, data)
