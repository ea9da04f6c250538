"""The flow of a traced model: every tensor, real edges, and the break where it is."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape
from jupyter_tpushape.flow import Failure
from jupyter_tpushape.trace import frameworks as adapters

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])


def nodes(report, *kinds):
    return [node.name for node in report.flow.nodes if node.kind in (kinds or ("layer", "op"))]


def edge(report, source, target):
    by_id = {node.id: node.name for node in report.flow.nodes}
    return next(e for e in report.flow.edges if by_id[e.source] == source and by_id[e.target] == target)


def zeros(*shape):
    return np.zeros(shape, "float32")


@BOTH
def test_a_sequential_model_flows_from_its_data_to_its_loss(lib):
    model = lib.Sequential([lib.Input((8,)), lib.layers.Dense(4, name="a"), lib.layers.Dense(2, name="b")])
    model.compile("sgd", "mse", metrics=["mae"])
    report = tpushape.trace(model, (zeros(64, 8), zeros(64, 2)), tpu=None)
    assert report.ok
    assert nodes(report) == ["a", "b"]
    assert edge(report, "a", "b").spec.shape == (32, 4)
    assert [node.kind for node in report.flow.nodes][-1] == "output"
    assert len(nodes(report, "loss")) == 1
    assert len(nodes(report, "metric")) == 1


@BOTH
def test_edges_follow_the_data_and_not_the_order_of_calls(lib):
    layers = lib.layers
    i = lib.Input((6,))
    a, b = layers.Dense(3, name="left")(i), layers.Dense(3, name="right")(i)
    model = lib.Model(i, layers.Concatenate(name="join")([b, a]))
    report = tpushape.trace(model, (zeros(4, 6), None), tpu=None)
    into = [report.flow.node(e.source).name for e in report.flow.edges if report.flow.node(e.target).op == "Concatenate"]
    assert into == ["right", "left"]


@BOTH
def test_operations_between_layers_are_nodes_with_the_edges_of_the_graph(lib):
    class Head(lib.layers.Layer):
        def __init__(self):
            super().__init__(name="head")
            self.inner = lib.layers.Dense(5, name="inner")

        def call(self, x):
            return tf.reduce_sum(tf.nn.tanh(self.inner(x)) * 2.0, axis=-1)

    model = lib.Sequential([lib.Input((6,)), Head()])
    report = tpushape.trace(model, (zeros(4, 6), None), tpu=None)
    assert nodes(report) == ["head", "inner", "Tanh", "Mul", "Sum"]
    assert [report.flow.node(n.parent).name for n in report.flow.nodes if n.name in ("inner", "Tanh")] == ["head", "head"]
    assert edge(report, "Tanh", "Mul").spec.shape == (4, 5)
    assert edge(report, "Sum", "output" if lib is keras else nodes(report, "output")[0]).spec.shape == (4,)


@BOTH
def test_a_layer_that_is_called_twice_is_two_nodes_and_counts_its_weights_once(lib):
    shared = lib.layers.Dense(6, name="shared")
    i = lib.Input((6,))
    model = lib.Model(i, shared(shared(i)))
    report = tpushape.trace(model, (zeros(4, 6), None), tpu=None)
    assert nodes(report) == ["shared", "shared"]
    assert sum(node.params for node in report.flow.nodes) == 42


@BOTH
def test_nested_models_keep_their_inner_layers(lib):
    inner = lib.Sequential([lib.Input((6,)), lib.layers.Dense(3, name="deep")], name="tower")
    i = lib.Input((6,))
    model = lib.Model(i, lib.layers.Dense(1, name="top")(inner(i)))
    report = tpushape.trace(model, (zeros(4, 6), None), tpu=None)
    deep = next(node for node in report.flow.nodes if node.name == "deep")
    assert report.flow.node(deep.parent).name == "tower"
    assert edge(report, "deep", "top").spec.shape == (4, 3)


@BOTH
def test_dicts_of_inputs_and_several_losses(lib):
    a, b = lib.Input((3,), name="age"), lib.Input((1,), name="soil", dtype="int32")
    joined = lib.layers.Concatenate()([a, lib.layers.Flatten()(lib.layers.Embedding(10, 4)(b))])
    model = lib.Model({"age": a, "soil": b}, [lib.layers.Dense(1, name="u")(joined), lib.layers.Dense(3, name="v")(joined)])
    model.compile("sgd", ["mse", "sparse_categorical_crossentropy"])
    data = {"age": zeros(8, 3), "soil": np.zeros((8, 1), "int32")}, [zeros(8, 1), np.zeros(8, "int64")]
    report = tpushape.trace(model, data, tpu=None)
    assert report.ok, report
    assert nodes(report, "input") == ["age", "soil"]
    assert len(nodes(report, "loss")) == 2


@BOTH
def test_masks_flow_beside_the_data(lib):
    model = lib.Sequential([lib.Input((7,), dtype="int32"), lib.layers.Embedding(9, 4, mask_zero=True), lib.layers.LSTM(3)])
    report = tpushape.trace(model, (np.ones((4, 7), "int32"), None), tpu=None)
    masks = [e for e in report.flow.edges if e.label == "mask"]
    assert [(e.spec.shape, e.spec.dtype) for e in masks] == [((4, 7), "bool")]


@BOTH
def test_an_unbuilt_subclassed_model_is_traced_and_stays_unbuilt(lib):
    class Net(lib.Model):
        def __init__(self):
            super().__init__()
            self.a, self.b = lib.layers.Dense(4), lib.layers.Dense(2)

        def call(self, x):
            return self.b(self.a(x))

    model = Net()
    report = tpushape.trace(model, (zeros(4, 3), None), tpu=None)
    assert report.ok
    assert [node.params for node in report.flow.nodes if node.kind == "layer"] == [16, 10]
    assert not model.a.built
    assert model.a.weights == []


@BOTH
def test_what_a_layer_holds_beside_its_sub_layers_is_counted_once(lib):
    class Gated(lib.layers.Layer):
        def __init__(self):
            super().__init__()
            self.inner = lib.layers.Dense(4)

        def build(self, shape):
            self.gate = self.add_weight(name="gate", shape=(4,))

        def call(self, x):
            return self.inner(x) * self.gate

    model = lib.Sequential([lib.Input((3,)), Gated(), lib.layers.Dense(2)])
    flow = tpushape.trace(model, np.zeros((8, 3), "float32"), tpu=None).flow
    assert sum(node.params for node in flow.nodes) == model.count_params() == 16 + 4 + 10
    gated = next(node for node in flow.nodes if node.op == "Gated")
    assert [weight.shape for weight in gated.weights] == [(4,)]


@BOTH
def test_the_flow_holds_everything_up_to_the_break_and_what_was_not_reached(lib):
    def build():
        layers = lib.layers
        model = lib.Sequential([lib.Input((8, 8, 1)), layers.Conv2D(4, 3, name="conv"), layers.LSTM(5, name="lstm"), layers.Dense(2, name="head")])
        model.compile("sgd", "mse")
        return model

    report = tpushape.trace(build, (zeros(4, 8, 8, 1), zeros(4, 2)), tpu=None, fixes=False)
    status = {node.name: node.status for node in report.flow.nodes if node.kind in ("layer", "loss", "output")}
    assert status == {"conv": "ok", "lstm": "failed", "head": "not-reached", "output": "not-reached", "loss": "not-reached"}
    broken = edge(report, "conv", "lstm")
    assert broken.status == "failed"
    assert broken.spec.shape == (None, 6, 6, 4)


@BOTH
def test_the_line_that_made_a_layer_is_known(lib):
    def build():
        return lib.Sequential([lib.Input((8,)), lib.layers.Dense(4, name="here")])

    report = tpushape.trace(build, (zeros(4, 8), None), tpu=None)
    here = next(node for node in report.flow.nodes if node.name == "here")
    assert here.location.file.endswith("test_trace.py")
    assert 'name="here"' in Path(here.location.file).read_text().splitlines()[here.location.line - 1]


@BOTH
def test_no_line_is_claimed_for_layers_that_nobody_saw_being_made(lib):
    model = lib.applications.MobileNetV2(weights=None, input_shape=(32, 32, 3), classes=2)
    report = tpushape.trace(model, (zeros(2, 32, 32, 3), None), tpu=None)
    files = {node.location.file for node in report.flow.nodes if node.location is not None}
    assert files <= {__file__}


@BOTH
def test_memory_does_not_grow_with_the_batch(lib):
    model = lib.Sequential([lib.Input((64, 64, 3)), lib.layers.Conv2D(8, 3), lib.layers.Flatten(), lib.layers.Dense(1)])
    report = tpushape.trace(model, (tf.TensorSpec((10**9, 64, 64, 3)), None), tpu=None)
    assert report.flow.edges[-1].spec.shape == (10**9, 1)


@BOTH
def test_states_of_a_recurrent_layer_are_edges_of_their_own(lib):
    i = lib.Input((5, 3))
    sequence, h, c = lib.layers.LSTM(4, return_sequences=True, return_state=True, name="encoder")(i)
    model = lib.Model(i, lib.layers.LSTM(4, name="decoder")(sequence, initial_state=[h, c]))
    report = tpushape.trace(model, (zeros(2, 5, 3), None), tpu=None)
    assert report.ok, report
    decoder = next(node.id for node in report.flow.nodes if node.name == "decoder" and node.kind == "layer")
    into = [e.spec.shape for e in report.flow.into(decoder)]
    assert into == [(2, 5, 4), (2, 4), (2, 4)]


@BOTH
class Biased(keras.layers.Layer):
    """Keras adds a vector to a product in two ways: the second one fits a bias for each step."""

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], 7))
        self.b = self.add_weight(shape=(shape[1],))

    def call(self, x):
        return keras.ops.matmul(x, self.w) + self.b


def test_an_operation_that_raised_and_was_caught_is_no_fault():
    def build():
        model = keras.Sequential([keras.Input((5, 3)), Biased(), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        return model

    x, y = np.zeros((8, 5, 3), "float32"), np.zeros((8, 1), "float32")
    build().fit(x, y, verbose=0)
    report = tpushape.trace(build, (x, y), tpu=None)
    assert report.ok and not report.findings
    assert [node.status for node in report.flow.nodes if node.op in ("AddV2", "BiasAdd")] == ["ok"]


@BOTH
def test_training_and_inference_can_both_be_traced(lib):
    class Gate(lib.layers.Layer):
        def call(self, x, training=None):
            return tf.nn.relu(x) if training else tf.nn.tanh(x)

    model = lib.Sequential([lib.Input((3,)), Gate()])
    for training, op in ((True, "Relu"), (False, "Tanh")):
        report = tpushape.trace(model, (zeros(2, 3), None), tpu=None, training=training)
        assert op in nodes(report)


def test_keras_on_another_backend_is_told_in_one_sentence(monkeypatch):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    monkeypatch.delitem(adapters._FRAMEWORKS, "keras", raising=False)
    monkeypatch.setattr(keras.backend, "backend", lambda: "torch")
    with pytest.raises(ValueError, match=r"torch.*KERAS_BACKEND=jax"):
        tpushape.trace(model, tpu=None)


def test_both_frameworks_in_one_process_keep_apart():
    first = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    second = tf_keras.Sequential([tf_keras.Input((3,)), tf_keras.layers.Dense(2)])
    for model, name in ((first, "keras"), (second, "tf_keras"), (first, "keras")):
        report = tpushape.trace(model, (zeros(4, 3), None), tpu=None)
        assert report.ok
        assert report.flow.framework == name


@BOTH
@pytest.mark.parametrize("name", ["ResNet50", "MobileNetV3Small", "EfficientNetB0", "DenseNet121", "NASNetMobile"])
def test_every_edge_has_the_shape_of_a_real_forward_pass(lib, name):
    size = (64, 64, 3)
    model = getattr(lib.applications, name)(weights=None, input_shape=size, classes=3)
    report = tpushape.trace(model, (zeros(2, *size), None), tpu=None)
    assert report.ok, report
    probe = lib.Model(model.inputs, [layer.output for layer in model.layers[1:]])
    real = {layer.name: tuple(value.shape) for layer, value in zip(model.layers[1:], probe(zeros(2, *size)), strict=True)}
    checked = 0
    for e in report.flow.edges:
        name = report.flow.node(e.source).name
        if name in real:
            assert e.spec.shape == real[name], name
            checked += 1
    assert checked > 50


@pytest.mark.parametrize(("model", "data", "said"), [(5, None, "int.*trace.model, data"), (lambda: 7, None, "int.*`return model`")])
def test_what_is_no_model_is_said_in_one_sentence(model, data, said):
    with pytest.raises(ValueError, match=said) as caught:
        tpushape.trace(model, data, tpu=None)
    assert "\n" not in str(caught.value)


def test_an_unknown_target_names_the_known_ones():
    with pytest.raises(ValueError, match=r"'v9'.*v2-8"):
        tpushape.trace(keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)]), tpu="v9")


def test_the_wire_document_stays_small():
    model = keras.applications.EfficientNetB7(weights=None)
    report = tpushape.trace(model, (tf.TensorSpec((64, 600, 600, 3)), None), tpu="v5e-8")
    assert len(report.to_json()) / len(report.flow.nodes) < 300, len(report.to_json()) / len(report.flow.nodes)


def test_a_report_survives_the_wire_unchanged():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
    model.compile("sgd", "mse")
    text = tpushape.trace(model, (zeros(12, 8), zeros(12, 2))).to_json()
    assert tpushape.Report.from_json(text).to_json() == text


@pytest.mark.parametrize("built", [True, False])
@pytest.mark.parametrize("library", [keras, tf_keras], ids=["keras", "tf_keras"])
def test_a_regularizer_is_no_fault(library, built):
    model = library.Sequential([*([library.Input((4,))] if built else []), library.layers.Dense(1, kernel_regularizer="l2")])
    model.compile("sgd", "mse")
    assert tpushape.trace(model, (np.zeros((64, 4), "float32"), np.zeros((64, 1), "float32")), tpu="v5e-8").findings == []


def test_a_failure_is_said_by_its_first_sentence_and_what_was_received():
    def said(message):
        return Failure("ValueError", message).said

    assert said("Shapes differ.\n  • first\n  • second\n```\n") == "Shapes differ."
    assert said("Expected rank 4.\nSee the docs.\nReceived: (3, 4)") == "Expected rank 4. Received: (3, 4)"
    assert said("```\n\n  ") == said("") == "ValueError"


def test_a_layer_that_breaks_in_front_of_an_unbuilt_model_of_its_own_is_told():
    class Block(tf_keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.first, self.then = tf_keras.layers.Dense(4), tf_keras.Sequential([tf_keras.layers.Dense(2)])

        def call(self, x):
            return self.then(tf.matmul(self.first(x), tf.ones((3, 3))))

    def build():
        return tf_keras.Sequential([tf_keras.Input((5,)), Block()])

    report = tpushape.trace(build, zeros(8, 5), tpu=None)
    assert [finding.rule for finding in report.findings if finding.serious] == ["op-shapes"]
