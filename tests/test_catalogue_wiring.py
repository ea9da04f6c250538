"""Facts of docs/catalogue.md on losses, labels and SavedModels, reproduced with Keras itself; each under its number."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_hub as hub
import tf_keras

import jupyter_tpushape as tpushape

BOTH = pytest.mark.parametrize("framework", [keras, tf_keras], ids=["keras", "tf_keras"])
X = np.random.default_rng(0).random((8, 6, 4), dtype="float32")


def fit(framework, layers, loss, x, y, **compiled):
    """One epoch's loss of a Sequential of ``layers``."""
    model = framework.Sequential([framework.Input(x.shape[1:]), *layers])
    model.compile("sgd", loss, **compiled)
    return float(model.fit(x, y, batch_size=8, verbose=0).history["loss"][0])


def refusal(*args, **kwargs):
    with pytest.raises((ValueError, tf.errors.OpError)) as raised:
        fit(*args, **kwargs)
    return str(raised.value)


@BOTH
def test_l5_one_label_a_sample_against_one_prediction_a_step(framework):
    def layers():
        return [framework.layers.LSTM(5, return_sequences=True), framework.layers.Dense(3, activation="softmax")]

    sparse = "sparse_categorical_crossentropy"
    said = refusal(framework, layers(), sparse, X, np.zeros(8, "int32"))
    if framework is keras:
        assert "must have rank (ndim) `target.ndim - 1`. Received: target.shape=(8,), output.shape=(8, 6, 3)" in said
        column = refusal(framework, layers(), sparse, X, np.zeros((8, 1), "int32"))
        assert "must have the same shape up until the last dimension" in column
    else:
        assert "except for the last dimension. Received: labels.shape=(8,) and logits.shape=(48, 3)" in said
    assert np.isfinite(fit(framework, layers(), sparse, X, np.zeros((8, 6), "int32"))), "one label a step is right"


@BOTH
def test_l6_class_numbers_and_one_hot_rows_taken_for_one_another(framework):
    flat, dense = X[:, 0], [framework.layers.Dense(3, activation="softmax")]
    numbers, rows = np.zeros(8, "int32"), np.eye(3, dtype="float32")[np.zeros(8, "int32")]
    said = refusal(framework, dense, "categorical_crossentropy", flat, numbers)
    if framework is keras:
        assert "must have the same rank (ndim). Received: target.shape=(8,), output.shape=(8, 3)" in said
        wider = refusal(framework, dense, "categorical_crossentropy", flat, np.eye(4, dtype="float32")[numbers])
        assert "must have the same shape. Received: target.shape=(8, 4), output.shape=(8, 3)" in wider
        assert "Received: target.shape=(8, 3), output.shape=(8, 3)" in refusal(framework, dense, "sparse_categorical_crossentropy", flat, rows)
    else:
        assert "are incompatible" in said
    assert np.isfinite(fit(framework, dense, "categorical_crossentropy", flat, rows))


@BOTH
def test_l7_one_number_a_row_is_compared_with_every_unit(framework):
    y = np.arange(8, dtype="float32")[:, None]
    zeros = framework.layers.Dense(3, kernel_initializer="zeros")
    assert fit(framework, [zeros], "mse", X[:, 0], y) == pytest.approx(float(np.mean(y**2))), "no error, each number counted three times"


@BOTH
def test_l8_a_softmax_over_one_unit_has_nothing_to_learn(framework):
    one = framework.layers.Dense(1, activation="softmax")
    assert fit(framework, [one], "categorical_crossentropy", X[:, 0], np.ones((8, 1), "float32")) == pytest.approx(0.0, abs=1e-6)


@BOTH
def test_l9_d4_a_kernel_is_made_for_one_size_and_integers_are_cast(framework):
    layer = framework.layers.Dense(2)
    layer(np.zeros((3, 4), "float32"))
    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 4"):
        layer(np.zeros((3, 5), "float32"))
    assert np.isfinite(fit(framework, [framework.layers.Dense(1)], "mse", np.ones((8, 4), "int32"), np.ones((8, 1), "int64")))


class Encoder(tf.__internal__.tracking.AutoTrackable):
    """What a hub's layer is loaded from: one table, one number of rows."""

    def __init__(self):
        super().__init__()
        self.table = tf.Variable(tf.ones((9, 4)), name="table")
        self.variables = self.trainable_variables = [self.table]
        self.regularization_losses = []

    @tf.function(input_signature=[tf.TensorSpec((None, 6), tf.int32)])
    def __call__(self, ids):
        return tf.reduce_mean(tf.gather(self.table, ids), 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("encoder"))
    tf.saved_model.save(Encoder(), path)
    return path


def test_h1_a_hub_layer_is_one_of_tf_keras(folder):
    with pytest.raises(ValueError, match=r"Only instances of `keras\.Layer` can be added to a Sequential model\. Received: <tensorflow_hub"):
        keras.Sequential([hub.KerasLayer(folder), keras.layers.Dense(2)])
    with pytest.raises((TypeError, ValueError), match="KerasTensor"):
        hub.KerasLayer(folder)(keras.Input((6,), dtype="int32"))


def test_h2_a_hub_layer_loaded_outside_the_scope_is_refused_at_compile(folder):
    outside = hub.KerasLayer(folder, trainable=True)
    with tpushape.tpu_strategy("v5e-8").scope():
        given = tf_keras.Input((6,), dtype="int32")
        model = tf_keras.Model(given, tf_keras.layers.Dense(1)(outside(given)))
        with pytest.raises(ValueError, match="was not created in the distribution strategy scope"):
            model.compile("sgd", "mse")


def test_h4_tables_and_text_have_no_kernel():
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], tf.constant([1])), 0)
    for function, given in ((table.lookup, "a"), (tf.strings.lower, "a")):
        with pytest.raises(tf.errors.OpError, match=r"XLA_CPU_JIT|unsupported operations"):
            tf.function(function, jit_compile=True)(tf.constant([given]))


def test_h5_a_hub_layer_gives_each_replica_an_ordinary_tensor(folder):
    strategy = tpushape.tpu_strategy("v5e-8")
    with strategy.scope():
        encoder, dense = hub.KerasLayer(folder), tf_keras.layers.Dense(1)
        dense.build((None, 4))
    seen = []

    @tf.function
    def step(batch):
        def replica(ids):
            made = encoder(ids)
            seen.append((type(made), tuple(made.shape)))
            return dense(made)

        return strategy.run(replica, args=(batch,))

    rows = tf.data.Dataset.from_tensor_slices(np.zeros((16, 6), "int32")).batch(16, drop_remainder=True)
    data = strategy.experimental_distribute_dataset(rows)
    step.get_concrete_function(data.element_spec)
    ((kind, shape),) = seen  # a TPU's replicas run one program
    assert issubclass(kind, tf.Tensor)
    assert shape == (2, 4)
