"""BERT from a hub: a SavedModel with its signature, in both Kerases, each usual fault with its true cause, and the right program clean."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_hub as hub
import tf_keras

import jupyter_tpushape as tpushape

KEYS = ("input_word_ids", "input_mask", "input_type_ids")
BOTH = pytest.mark.parametrize("framework", [keras, tf_keras], ids=["keras", "tf_keras"])


class Encoder(tf.__internal__.tracking.AutoTrackable):
    """A BERT encoder's signature over a table of vectors."""

    def __init__(self):
        super().__init__()
        self.table = tf.Variable(tf.zeros((50, 16)), name="table")
        self.variables = self.trainable_variables = [self.table]
        self.regularization_losses = []

    @tf.function(input_signature=[{key: tf.TensorSpec((None, None), tf.int32, name=key) for key in KEYS}])
    def __call__(self, inputs):
        sequence = tf.gather(self.table, inputs["input_word_ids"]) * tf.cast(inputs["input_mask"], tf.float32)[..., None]
        return {"pooled_output": tf.tanh(tf.reduce_mean(sequence, axis=1)), "sequence_output": sequence}


class Preprocessor(tf.Module):
    """A BERT preprocessor's signature: sentences in, three int32 tensors out."""

    def __init__(self):
        super().__init__()
        words = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int32))
        self.words = tf.lookup.StaticHashTable(words, 0)

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string)])
    def __call__(self, text):
        ids = self.words.lookup(tf.strings.split(text)).to_tensor(shape=(None, 12))
        return {"input_word_ids": ids, "input_mask": tf.cast(ids > 0, tf.int32), "input_type_ids": tf.zeros_like(ids)}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    encoder, preprocessor = Encoder(), Preprocessor()
    paths = [str(tmp_path_factory.mktemp(name)) for name in ("encoder", "preprocessor")]
    tf.saved_model.save(encoder, paths[0], signatures=encoder.__call__.get_concrete_function())
    tf.saved_model.save(preprocessor, paths[1])
    return paths


def layer(framework, folder, endpoint="__call__"):
    return hub.KerasLayer(folder) if framework is tf_keras else keras.layers.TFSMLayer(folder, call_endpoint=endpoint)


def inputs(framework, keys=KEYS, dtype="int32"):
    return {key: framework.Input((12,), dtype=dtype, name=key) for key in keys}


def finish(framework, given, features):
    model = framework.Model(given, framework.layers.Dense(2)(features))
    model.compile("adam", framework.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def tokens():
    x = {key: np.ones((64, 12), "int32") for key in KEYS}
    return tf.data.Dataset.from_tensor_slices((x, np.arange(64) % 2)).batch(32, drop_remainder=True).prefetch(1)


def sentences():
    return tf.data.Dataset.from_tensor_slices((["a b"] * 64, np.arange(64) % 2)).batch(32, drop_remainder=True).prefetch(1)


def found(build, data=None):
    report = tpushape.trace(build, data or tokens(), tpu="v5e-8", fixes=False)
    return [(finding.rule, finding.message) for finding in report.findings]


@BOTH
@pytest.mark.parametrize("scoped", [True, False])
def test_the_right_program_is_clean(framework, folders, scoped):
    def build():
        given = inputs(framework)
        return finish(framework, given, layer(framework, folders[0])(given)["pooled_output"])

    def in_scope():
        with tpushape.tpu_strategy("v5e-8").scope():
            return build()

    assert found(in_scope if scoped else build) == []


@BOTH
def test_text_that_is_preprocessed_in_the_pipeline_is_clean(framework, folders):
    preprocess = tf.saved_model.load(folders[1])

    def build():
        given = inputs(framework)
        return finish(framework, given, layer(framework, folders[0])(given)["pooled_output"])

    data = sentences().map(lambda text, label: (preprocess(text), label), num_parallel_calls=2)
    data = data.map(lambda x, y: ({key: tf.ensure_shape(value, (32, 12)) for key, value in x.items()}, y), num_parallel_calls=2)
    assert found(build, data.prefetch(1)) == []


@BOTH
def test_sequence_output_with_one_label_a_sentence(framework, folders):
    def build():
        given = inputs(framework)
        return finish(framework, given, layer(framework, folders[0])(given)["sequence_output"])

    ((rule, message),) = found(build)
    assert rule == "missing-flatten"
    assert "(4, 12, 2)" in message and "(4,)" in message and "token" in message


@BOTH
@pytest.mark.parametrize("sequential", [True, False])
def test_a_dict_that_meets_a_dense(framework, folders, sequential):
    def build():
        encoder = layer(framework, folders[0])
        if not sequential:
            given = inputs(framework)
            return finish(framework, given, encoder(given))
        model = framework.Sequential([encoder, framework.layers.Dense(2)])
        model.compile("adam", framework.losses.SparseCategoricalCrossentropy(from_logits=True))
        return model

    ((rule, message),) = found(build)
    assert rule == "dict-output"
    assert "pooled_output" in message and "sequence_output" in message and "dense" in message


@BOTH
@pytest.mark.parametrize(
    ("make", "gets"),
    [
        (lambda framework: framework.Input((12,), dtype="int32"), ("one tensor", "(?, 12)", "int32")),
        (lambda framework: [framework.Input((12,), dtype="int32", name=key) for key in KEYS], ("a list of 3 tensors",)),
        (lambda framework: inputs(framework, ("ids", "mask", "types")), ("a dict of ids, mask, types",)),
        (lambda framework: inputs(framework, dtype="float32"), ("int32", "input_mask", "float32")),
    ],
    ids=["one tensor", "a list", "other names", "floats"],
)
def test_another_structure_than_the_signature_takes(framework, folders, make, gets):
    def build():
        given = make(framework)
        return finish(framework, given, layer(framework, folders[0])(given)["pooled_output"])

    ((rule, message),) = found(build)
    assert rule == "saved-model-input"
    assert all(part in message for part in gets)


def test_an_endpoint_that_takes_names(folders):
    def build():
        given = inputs(keras)
        return finish(keras, given, layer(keras, folders[0], "serving_default")(given)["pooled_output"])

    ((rule, message),) = found(build)
    assert rule == "saved-model-input"
    assert message == "tfsm_layer calls an endpoint that takes its inputs by name: input_mask, input_type_ids, input_word_ids."


@pytest.mark.parametrize("sequential", [True, False])
def test_a_hub_layer_in_a_keras_3_model(folders, sequential):
    def build():
        if sequential:
            return keras.Sequential([hub.KerasLayer(folders[0]), keras.layers.Dense(2)])
        given = inputs(keras)
        return finish(keras, given, hub.KerasLayer(folders[0])(given)["pooled_output"])

    assert [rule for rule, _ in found(build)] == ["hub-layer-in-keras-3"]


@BOTH
def test_a_layer_that_was_loaded_outside_the_scope(framework, folders):
    def build():
        encoder = layer(framework, folders[0])
        with tpushape.tpu_strategy("v5e-8").scope():
            given = inputs(framework)
            return finish(framework, given, encoder(given)["pooled_output"])

    ((rule, _),) = found(build)
    assert rule == "scope-outside"


@BOTH
def test_text_that_is_preprocessed_inside_the_model(framework, folders):
    def build():
        given = framework.Input((), dtype="string")
        return finish(framework, given, layer(framework, folders[0])(layer(framework, folders[1])(given))["pooled_output"])

    report = tpushape.trace(build, sentences(), tpu="v5e-8", fixes=False)
    (finding,) = report.findings
    assert (finding.rule, finding.fact.path, finding.fact.dynamic) == ("string-input", ("x",), False)
    assert report.flow.node(report.findings[0].nodes[0]).op in ("KerasLayer", "TFSMLayer")
