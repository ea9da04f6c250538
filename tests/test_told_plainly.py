"""Causes that were told in the framework's words alone, or of another kind."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

import jupyter_tpushape as tpushape

L = keras.layers


def first(build, data, **options):
    return next(finding for finding in tpushape.trace(build, data, **{"tpu": None, **options}).findings if finding.serious)


def test_labels_of_pictures_for_a_network_that_segments():
    """It enlarges what it reduced, so the labels may be at fault: nothing is verified."""

    def build():
        i = keras.Input((16, 16, 3))
        x = L.UpSampling2D()(L.Conv2D(4, 3, strides=2, padding="same")(i))
        model = keras.Model(i, L.Conv2D(1, 1, activation="sigmoid")(x))
        model.compile("sgd", "binary_crossentropy")
        return model

    finding = first(build, (np.zeros((8, 16, 16, 3), "float32"), np.zeros(8, "float32")))
    assert (finding.rule, finding.fact.cause) == ("missing-flatten", "map")
    assert finding.fixes and not any(fix.verified for fix in finding.fixes)


def test_an_output_that_a_model_does_not_have():
    def build():
        i = keras.Input((6,))
        outputs = keras.Model(i, [L.Dense(3)(i), L.Dense(2)(i)])(i)
        return keras.Model(i, outputs[2])

    fact = first(build, (np.zeros((8, 6), "float32"), None)).fact
    assert (fact.name, fact.index, fact.length) == ("outputs", 2, 2)


def test_a_loss_that_takes_no_labels():
    class Holder:
        def loss(self):
            return 0.0

        def model(self):
            model = keras.Sequential([keras.Input((6,)), L.Dense(2)])
            model.compile("sgd", self.loss)
            return model

    finding = first(lambda: Holder().model(), (np.zeros((8, 6), "float32"), np.zeros((8, 2), "float32")))
    assert (finding.rule, finding.fact.takes) == ("loss-raises", 0)


def test_a_masked_mean_on_replicas_of_one_row():
    """What looks like a single number is the sum of the one sample that a replica gets."""

    class Mean(L.Layer):
        def call(self, inputs):
            x, mask = inputs
            m = tf.cast(mask, tf.float32)[..., None]
            return tf.reduce_sum(x * m, axis=1) / tf.reduce_sum(m, axis=1)

    def build():
        i, mask = keras.Input((5, 3)), keras.Input((5,))
        model = keras.Model([i, mask], L.Dense(1)(Mean()([i, mask])))
        model.compile("sgd", "mse")
        return model

    data = [np.zeros((16, 5, 3), "float32"), np.ones((16, 5), "float32")], np.zeros((16, 1), "float32")
    assert tpushape.trace(build, data, tpu="v5e-8", batch_size=8).ok


def test_an_array_that_a_sequential_model_ignores():
    """Keras reads the first array of the list and says nothing of the second."""

    def build():
        model = keras.Sequential([keras.Input((12,)), L.Dense(1)])
        model.compile("sgd", "mse")
        return model

    rows = np.zeros((16, 12), "float32")
    finding = first(build, ([rows, rows[:, :4]], rows[:, :1]))
    assert (finding.rule, finding.severity, finding.fact.ignored) == ("input-structure", "silent", True)
    assert tpushape.trace(build, ([rows], rows[:, :1]), tpu=None).ok


def test_a_table_with_as_many_rows_as_the_batch_has_no_samples():
    """Its first rows are taken on purpose; the widths are what differs."""

    class Positions(L.Layer):
        def __init__(self):
            super().__init__()
            self.table = self.add_weight(shape=(8, 6), name="table")

        def call(self, x):
            return x + self.table[0:4]

    finding = first(lambda: keras.Sequential([keras.Input((4, 5)), Positions()]), (np.zeros((8, 4, 5), "float32"), None), batch_size=8)
    assert "samples" not in finding.why


def test_words_that_a_function_returns_are_no_keys_of_a_dict():
    def words():
        return "model", "keras"

    def build():
        name, extension = words()
        i = keras.Input((6,))
        return keras.Model(i, L.Reshape((4, 2), name=f"{name}_{extension}")(i))

    assert first(build, (np.zeros((8, 6), "float32"), None)).rule == "reshape-size"
