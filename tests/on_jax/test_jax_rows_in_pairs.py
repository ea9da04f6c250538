"""Rows that meet in pairs or by the number of a batch, steps that a CTC loss is told, transposes that move the batch, and maps that leave an operand whole."""

from __future__ import annotations

import pytest
from strangers import first, serious, traced

STEPS = """
def loss(y, p):
    rows = ops.shape(p)[0]
    n = {n}
    return ops.ctc_loss(y, p, ops.full((rows,), y.shape[1], dtype="int32"), n)

def build():
    inputs = keras.Input((40, 6))
    model = keras.Model(inputs, layers.Dense(9)(layers.Conv1D(8, 3, strides=2, padding="same")(inputs)))
    model.compile("sgd", loss)
    return model

def data():
    return np.zeros((64, 40, 6), "float32"), np.ones((64, 5), "int32")
"""


@pytest.mark.parametrize(
    ("n", "fixed"),
    [
        ("ops.shape(p)[2] * ops.ones((rows,), dtype='int32')", "n = ops.shape(p)[1] * ops.ones"),
        ("ops.full((rows,), p.shape[-1], dtype='int32')", "n = ops.full((rows,), p.shape[1]"),
        ("ops.full((rows,), 40, dtype='int32')", "n = ops.full((rows,), p.shape[1]"),
    ],
)
def test_a_ctc_loss_is_told_the_steps_of_its_logits(tmp_path, n, fixed):
    assert fixed in first(tmp_path, STEPS.format(n=n), "ctc-lengths")


@pytest.mark.parametrize("n", ["ops.full((rows,), p.shape[1], dtype='int32')", "ops.full((rows,), 18, dtype='int32')"])
def test_steps_that_are_there_may_be_told(tmp_path, n):
    assert not serious(traced(tmp_path, STEPS.format(n=n)))


BATCHES = """
class Batches(keras.utils.PyDataset):
    x, y = np.random.default_rng(0).normal(size=(160, 4)).astype("float32"), np.random.default_rng(0).normal(size=(160, 6)).astype("float32")
    def __len__(self):
        return 10
    def __getitem__(self, index):
        rows = slice(16 * index, 16 * index + 16)
        return {x}, {y}

def build():
    model = keras.Sequential([keras.Input((4,)), layers.Dense(6)])
    model.compile("sgd", "mae")
    return model

def data():
    return Batches()
"""


@pytest.mark.parametrize(
    ("x", "y", "fixed"), [("self.x[rows]", "self.y[index]", "self.y[rows]"), ("self.x[index:index + 16]", "self.y[index]", "self.y[index:index + 16]")]
)
def test_labels_are_taken_by_the_slice_of_the_inputs(tmp_path, x, y, fixed):
    assert fixed in first(tmp_path, BATCHES.format(x=x, y=y), "loss-broadcast")
    assert not serious(traced(tmp_path, BATCHES.format(x=x, y=fixed)))


BOXES = """
def overlap(a, b):
    low, high = ops.maximum({low}), ops.minimum({high})
    inter = ops.prod(ops.relu(high - low), axis=-1)
    own, other = (ops.prod(one[..., 2:] - one[..., :2], axis=-1) for one in (a, b))
    return inter / (own[..., :, None] + other[..., None, :] - inter + 1e-6)

def loss(y, p):
    return 1.0 - ops.mean(ops.max(overlap(p, y), axis=-1), axis=-1)

def build():
    model = keras.Sequential([keras.Input((8,)), layers.Dense(80), layers.Reshape((20, 4))])
    model.compile("sgd", loss)
    return model

def data():
    return np.zeros((64, 8), "float32"), np.random.default_rng(0).random((64, 6, 4)).astype("float32")
"""


@pytest.mark.parametrize("rows", ["...", ":, :"])
def test_boxes_meet_in_pairs(tmp_path, rows):
    pairs = ["..., :, None", "..., None, :"] if rows == "..." else [":, :, None", ":, None, :"]
    fixed = f"a[{pairs[0]}, 2:], b[{pairs[1]}, 2:]"
    assert fixed in first(tmp_path, BOXES.format(low=f"a[{rows}, :2], b[{rows}, :2]", high=f"a[{rows}, 2:], b[{rows}, 2:]"), "loss-raises")
    assert not serious(traced(tmp_path, BOXES.format(low=fixed.replace("2:", ":2"), high=fixed)))


ALIGNED = """
class Own(layers.Layer):
    def call(self, a, b):
        s = ops.matmul(a, ops.swapaxes(b, 1, 2))
        return ops.matmul(ops.softmax({turned}), a)

def build():
    a, b = keras.Input((20, 8)), keras.Input((26, 8))
    model = keras.Model([a, b], layers.Dense(1)(Own()(a, b)))
    model.compile("sgd", "mse")
    return model

def data():
    return [np.zeros((64, 20, 8), "float32"), np.zeros((64, 26, 8), "float32")], np.zeros((64, 26, 1), "float32")
"""


def test_a_transpose_before_a_softmax_leaves_the_batch_in_front(tmp_path):
    assert "ops.softmax(ops.swapaxes(s, -1, -2))" in first(tmp_path, ALIGNED.format(turned="ops.transpose(s)"), "op-shapes")
    assert not serious(traced(tmp_path, ALIGNED.format(turned="ops.transpose(s, (0, 2, 1))")))


METRIC = """
class Share(keras.metrics.Metric):
    def __init__(self):
        super().__init__()
        self.total, self.count = self.add_weight(initializer="zeros"), self.add_weight(initializer="zeros")
    def update_state(self, y, p, sample_weight=None):
        guess = ops.argmax(p, axis={axis})
        self.total.assign_add(ops.sum(ops.cast(ops.equal(guess, ops.cast(y, guess.dtype)), "float32")))
        self.count.assign_add(ops.cast(ops.size(y), "float32"))
    def result(self):
        return self.total / self.count

def build():
    model = keras.Sequential([keras.Input((10, 14, 3)), layers.Conv2D(4, 1, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=[Share()])
    return model

def data():
    return np.zeros((64, 10, 14, 3), "float32"), np.zeros((64, 10, 14), "int32")
"""


def test_a_metric_takes_the_class_from_the_last_axis(tmp_path):
    assert "ops.argmax(p, axis=-1)" in first(tmp_path, METRIC.format(axis=1), "metric-raises")
    assert not serious(traced(tmp_path, METRIC.format(axis=-1)))


MAPPED = """
class Own(layers.Layer):
    def call(self, a, b):
        return jax.vmap(jax.vmap(lambda one, other: jnp.sum(one * other), in_axes=(None, 0)), in_axes=({axis}, 0))(a, b)

def build():
    a, b = keras.Input((8,)), keras.Input((12, 8))
    model = keras.Model([a, b], layers.Softmax()(Own()(layers.Dense(8)(a), layers.Dense(8)(b))))
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model

def data():
    return [np.zeros((64, 8), "float32"), np.zeros((64, 12, 8), "float32")], np.zeros((64,), "int32")
"""


def test_two_maps_in_one_map_both_batches(tmp_path):
    assert "in_axes=(0, 0))(a, b)" in first(tmp_path, MAPPED.format(axis="None"))
    assert traced(tmp_path, MAPPED.format(axis=0)).ok
