"""Breaks in JAX's own functions inside a layer, a step or a metric: the cause is told, and where one line mends it, that line is written."""

from __future__ import annotations

import keras
import numpy as np
import pytest
from strangers import serious, traced

import jupyter_tpushape as tpushape
from jupyter_tpushape.flow import Spec

L = keras.layers
LAYER = """
class Own(layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(6, 6), name="w")
    def call(self, x):
{body}

def build():
    model = keras.Sequential([keras.Input((12, 8)), layers.Dense(6), Own(), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((64, 12, 8), "float32"), np.zeros((64, 12, 1), "float32")
"""
STEP = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.drop, self.head = layers.Dropout(0.2), layers.Dense(3)
    def call(self, x, training=None):
        return self.head(self.drop(x, training=training))
{body}

def build():
    model = Net()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model

def data():
    return np.zeros((64, 8), "float32"), np.zeros((64,), "int32")
"""
LOSS = """    def loss_of(self, trainable, rest, x, y):
        y_pred, rest = self.stateless_call(trainable, rest, x, training=True)
        return self.compute_loss(x, y, y_pred), rest
    def train_step(self, state, data):
        trainable, rest, slots, metrics = state
        (loss, rest), grads = jax.value_and_grad(self.loss_of, has_aux=True)(trainable, rest, *data)
        trainable, slots = self.optimizer.stateless_apply(slots, grads, trainable)
        return {"loss": loss}, (trainable, rest, slots, metrics)
"""


def layer(*lines):
    return LAYER.format(body="\n".join(f"        {line}" for line in lines))


def step(*exchanged):
    body = LOSS
    for old, new in exchanged:
        assert old in body
        body = body.replace(old, new)
    return STEP.replace("{body}", body)


BROKEN = {
    "a float as a size": (
        layer("half = x.shape[-1] / 2", "return ops.reshape(x, (-1, 12, half, 2))[..., 0]"),
        "FloatAsSize(text='x.shape[-1] / 2', value=3.0)",
        "half = x.shape[-1] // 2",
    ),
    "a state of another dtype": (
        layer(
            "start = jnp.zeros((x.shape[0],), 'int32')",
            "step = lambda total, now: (total + now.sum(-1), total)",
            "return x * jax.lax.scan(step, start, jnp.swapaxes(x, 0, 1))[0][:, None, None]",
        ),
        "was='int32', becomes='float32'",
        'ops.cast(start, "float32")',
    ),
    "branches of two shapes": (
        layer("return jax.lax.cond(x.sum() > 0, lambda v: v, lambda v: v[..., :1], x)"),
        "first=(None, 12, 6), second=(None, 12, 1)",
        "",
    ),
    "weights that are mapped": (layer("return jax.vmap(lambda row, w: row @ w)(x, self.w.value)"), "(6, 0, 'w')", "in_axes=(0, None)"),
    "floats as indices": (
        layer("return jnp.take(self.w.value, x[..., 0], axis=0)").replace("layers.Dense(6), ", ""),
        "dtype='float32'",
        'ops.cast(x[..., 0], "int32")',
    ),
    "an einsum of two widths": (layer('return jnp.einsum("btd,de->bte", x[..., :5], self.w.value)'), "Einsum", ""),
    "a value that does not fit its place": (layer("return x.at[:, 0].set(jnp.ones((1, 8)))"), "value=(1, 8), place=(None, 6)", ""),
    "counts from a tensor": (layer("n = ops.cast(ops.sum(x), 'int32')", "return ops.tile(x, (n, 1, 1))"), "asked='index'", ""),
    "no has_aux": (step((", has_aux=True", "")), "several=True", "self.loss_of, has_aux=True)"),
    "a pair as predictions": (
        step(("y_pred, rest = self.s", "y_pred = self.s"), ("y_pred), rest", "y_pred)"), (", has_aux=True", ""), ("(loss, rest), g", "loss, g")),
        "StatefulPair(",
        "has_aux=True",  # a loss that returns no new state has a step that throws it away
    ),
    "a state of three": (step(("slots, metrics)\n", "slots)\n")), "parts=3", ""),
}


@pytest.mark.parametrize(("code", "said", "fix"), BROKEN.values(), ids=BROKEN)
def test_the_cause_is_told_and_a_line_that_mends_it_is_written(tmp_path, code, said, fix):
    (finding,) = [one for one in traced(tmp_path, code).findings if one.serious]
    assert said in repr(finding.fact)
    assert finding.location.file.endswith("program.py")
    assert not fix or (finding.fixes[0].verified and fix in finding.fixes[0].patch)


def test_indices_that_a_layer_computes_leave_that_layer_without_a_gradient_once_they_are_cast(tmp_path):
    found = [one for one in traced(tmp_path, layer("return jnp.take(self.w.value, x[..., 0], axis=0)")).findings if one.serious]
    assert [(one.rule, bool(one.behind)) for one in found] == [("op-shapes", False), ("weights-untrained", True)]
    assert not found[0].fixes[0].verified


@pytest.mark.parametrize("code", [step(), layer("return jax.vmap(lambda row: row @ self.w.value)(x)")], ids=["step", "map"])
def test_the_same_without_the_fault_is_ok(tmp_path, code):
    assert traced(tmp_path, code).ok


class Hits(keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="hits")
        self.total = 0.0

    def update_state(self, y, p, sample_weight=None):
        self.total = self.total + keras.ops.sum(p)

    def result(self):
        return self.total


def test_a_metric_that_keeps_its_state_in_an_attribute():
    model = keras.Sequential([keras.Input((8,)), L.Dense(3)])
    model.compile("adam", "mse", metrics=[Hits()])
    (finding,) = [one for one in tpushape.trace(model, (np.zeros((8, 8)), np.zeros((8, 3))), tpu=None).findings if one.serious]
    assert (finding.rule, finding.severity) == ("state-lost", "error")
    assert finding.location.text.startswith("self.total = ")


class Mean(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = L.Dense(2)

    def call(self, x):
        return self.dense(keras.ops.mean(x, axis=1))


def test_axes_of_unknown_size_stay_unknown():
    report = tpushape.trace(Mean(), (Spec((None, None, 8), "float32"), None), tpu=None)
    assert report.ok, report
    shapes = [edge.spec.shape for edge in report.flow.edges]
    assert (None, None, 8) in shapes and (None, 2) in shapes
    declared = keras.Sequential([keras.Input((None, None, 3)), L.Conv2D(4, 3, strides=2), L.GlobalAveragePooling2D()])
    assert tpushape.trace(declared, tpu=None).ok


class Pictures(keras.utils.PyDataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return np.zeros((16, 3, 32, 32), "float32"), np.zeros((16,), "int64")


def pictures():
    return Pictures()


def network():
    model = keras.Sequential([keras.Input((32, 32, 3)), L.Conv2D(8, 3), L.GlobalAveragePooling2D(), L.Dense(10)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def test_pictures_of_a_dataset_are_transposed_where_a_batch_is_made():
    (finding,) = [one for one in tpushape.trace(network, pictures, tpu=None).findings if one.serious]
    assert finding.rule == "channels-order"
    assert [fix.verified for fix in finding.fixes] == [True]
    assert '+        return np.transpose(np.zeros((16, 3, 32, 32), "float32"), (0, 2, 3, 1)), ' in finding.fixes[0].patch


ZEROS = """
class Own(layers.Layer):
    def call(self, x):
        steps = jnp.swapaxes(x, 0, 1)
        ids = jnp.argmax(x, axis=-1)
        state = {state}
        state, _ = jax.lax.scan(lambda state, now: (jnp.tanh(state + now), None), state, steps)
        return state

def build():
    inputs = keras.Input((7, 6))
    model = keras.Model(inputs, layers.Dense(1)(Own()(inputs)))
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((32, 7, 6), "float32"), np.zeros((32, 1), "float32")
"""


def test_a_first_state_in_the_dtype_of_another_tensor_is_converted(tmp_path):
    (finding,) = serious(traced(tmp_path, ZEROS.format(state="jnp.zeros(x[:, 0].shape, dtype=ids.dtype)")))
    assert finding.rule == "op-shapes"
    assert finding.fixes[0].proof == "source"


DERIVED = """
class Net(keras.Model):
    def objective(self, {parameters}):
        y_pred, ntv = self.stateless_call(tv, ntv, x, training=True)
        return jnp.mean((y - y_pred) ** 2), ntv
    def train_step(self, state, data):
        tv, ntv, slots, metrics = state
        x, y = data
        (loss, ntv), grads = jax.value_and_grad(self.objective, argnums={at}, has_aux=True)({parameters})
        tv, slots = self.optimizer.stateless_apply(slots, grads, tv)
        return {{"value": loss}}, (tv, ntv, slots, metrics)

def build():
    inputs = keras.Input((9,))
    model = Net(inputs, layers.Dense(1)(layers.Dense(16)(inputs)))
    model.compile("adam", "mse")
    return model

def data():
    return np.zeros((32, 9), "float32"), np.zeros((32, 1), "float32")
"""


@pytest.mark.parametrize(("parameters", "at", "new"), [("x, tv, ntv, y", 0, 1), ("tv, x, ntv, y", 1, 0)])
def test_the_written_position_of_the_weights_is_corrected(tmp_path, parameters, at, new):
    (finding,) = serious(traced(tmp_path, DERIVED.format(parameters=parameters, at=at)))
    assert finding.fixes[0].proof == "source"
    assert f"argnums={new}, has_aux" in finding.fixes[0].patch
    assert traced(tmp_path, DERIVED.format(parameters=parameters, at=new)).ok


DOUBLED = """
class Own(layers.Layer):
    def call(self, inputs):
        points, turns = inputs
        return jax.vmap(lambda points, turn: {product}, in_axes={axes})(points, turns)

def build():
    inputs = keras.Input((10, 3))
    turns = layers.Reshape((3, 3))(layers.Dense(9)(layers.Flatten()(inputs)))
    model = keras.Model(inputs, layers.Dense(4)(layers.Flatten()(Own()([inputs, turns]))))
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((32, 10, 3), "float32"), np.zeros((32, 4), "float32")
"""


@pytest.mark.parametrize("axes", ["(None, 0)", "(0, None)"])
@pytest.mark.parametrize("product", ["points @ turn", "jnp.matmul(points, turn)"])
def test_a_batch_that_a_map_leaves_to_one_of_two_tensors_is_there_twice(tmp_path, axes, product):
    finding = serious(traced(tmp_path, DOUBLED.format(axes=axes, product=product)))[0]
    assert finding.rule == "axis-unknown"
    assert finding.fact.doubled.op == "MatMul"
    assert finding.fixes[0].proof == "source"
    assert "in_axes=(0, 0)" in finding.fixes[0].patch
    assert traced(tmp_path, DOUBLED.format(axes="(0, 0)", product=product)).ok
