"""Calls of JAX's and Keras' functions in strangers' programs: which axis is which, by what a gradient is, and how many rows there are."""

from __future__ import annotations

import pytest
from strangers import AROUND, HEAD, serious, traced

import jupyter_tpushape as tpushape

CONVOLVED = """
class Own(layers.Layer):
    def __init__(self, filters=8, kernel_size=3):
        super().__init__()
        self.filters, self.kernel_size = filters, kernel_size
    def build(self, shape):
        self.kernel = self.add_weight(shape=({window}, shape[-1], self.filters), name="kernel")
    def call(self, x):
        return jax.lax.conv_general_dilated(x, self.kernel.value, {strides}, "SAME")

def build():
    model = keras.Sequential([keras.Input({shape}), Own(), layers.{pooling}(), layers.Dense(2)])
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((16, *{shape}), "float32"), np.zeros((16, 2), "float32")
"""
MAPS = {
    "sequences": ("self.kernel_size", "(1,)", (24, 6), "GlobalMaxPooling1D", '("NWC", "WIO", "NWC")'),
    "images": ("self.kernel_size, self.kernel_size", "(1, 1)", (24, 24, 3), "GlobalAveragePooling2D", '("NHWC", "HWIO", "NHWC")'),
}


@pytest.mark.parametrize(("window", "strides", "shape", "pooling", "order"), MAPS.values(), ids=MAPS)
def test_maps_with_their_channels_last_are_named_so(tmp_path, window, strides, shape, pooling, order):
    (finding,) = serious(traced(tmp_path, CONVOLVED.format(window=window, strides=strides, shape=shape, pooling=pooling)))
    assert f"reads axis 1 of (?, {', '.join(map(str, shape))})" in finding.message
    # A window as wide as the map, and no pooling, would also run.
    assert [fix.title for fix in finding.fixes if fix.verified] == [finding.fixes[0].title]
    assert f"dimension_numbers={order})" in finding.fixes[0].patch


STEP = """
class Model(keras.Model):
    def loss_of(self, {parameters}):
        p, rest = self.stateless_call(trainable, rest, x, training=True)
        return ops.mean((p - y) ** 2), rest
    def train_step(self, state, data):
        trainable, rest, optimizer, metrics = state
        x, y = data
        {gradient}
        trainable, optimizer = self.optimizer.stateless_apply(optimizer, gradients, trainable)
        return {{"loss": loss}}, (trainable, rest, optimizer, metrics)

def build():
    inputs = keras.Input((4,))
    model = Model(inputs, layers.Dense(1)(layers.Dense(3)(inputs)))
    model.compile("sgd", "mse")
    return model

def data():
    return np.ones((8, 4), "float32"), np.ones((8, 1), "float32")
"""
NAMED = "derive = jax.value_and_grad(self.loss_of, has_aux=True)\n        (loss, rest), gradients = derive(x, y, trainable, rest)"


def test_a_gradient_by_the_data_is_no_gradient_by_the_weights(tmp_path):
    code = STEP.format(parameters="x, y, trainable, rest", gradient=NAMED)
    (finding,) = serious(traced(tmp_path, code))
    assert finding.message == "stateless_apply receives one gradient of shape (8, 4), the shape of x, for 4 trainable variables."
    assert finding.fixes[0].verified
    assert "+        derive = jax.value_and_grad(self.loss_of, argnums=2, has_aux=True)" in finding.fixes[0].patch
    path = tmp_path / "program.py"
    tpushape.apply(finding.fixes[0], path)
    fixed = path.read_text(encoding="utf-8").removeprefix(HEAD)
    assert traced(tmp_path, fixed).ok


def test_a_gradient_by_the_weights_is_one(tmp_path):
    gradient = "(loss, rest), gradients = jax.value_and_grad(self.loss_of, has_aux=True)(trainable, rest, x, y)"
    assert traced(tmp_path, STEP.format(parameters="trainable, rest, x, y", gradient=gradient)).ok


CTC = """
def loss(y, p):
    rows = ops.shape(y)[0]
    steps = ops.shape(p)[1] * ops.ones((rows, {one}), dtype="int32")
    letters = ops.shape(y)[1] * ops.ones((rows, {one}), dtype="int32")
    return ops.ctc_loss(y, p, letters, steps, mask_index=9)

def build():
    model = keras.Sequential([keras.Input((20, 3)), layers.Dense(10)])
    model.compile("sgd", loss)
    return model

def data():
    return np.zeros((8, 20, 3), "float32"), np.ones((8, 5), "int32")
"""


def test_lengths_in_a_column_are_no_labels_of_another_rank(tmp_path):
    (finding,) = serious(traced(tmp_path, CTC.format(one="1")))
    assert finding.rule == "loss-raises"
    assert "(8, 1) holds one number for each sample" in finding.why
    assert finding.fixes[0].verified
    assert "ops.ctc_loss(y, p, ops.squeeze(letters, -1), ops.squeeze(steps, -1), mask_index=9)" in finding.fixes[0].patch


def test_lengths_in_a_row_are_right(tmp_path):
    assert traced(tmp_path, CTC.format(one="").replace("(rows, )", "(rows,)")).ok


SIZES = {
    "segments": ("ids = jnp.arange(x.shape[0]) // 2\n        return x + ops.sum(ops.segment_sum(x, ids))", "ops.segment_sum(x, ids, num_segments=ids.shape[0])"),
    "distinct values": (
        "ids = ops.cast(x, 'int32')\n        found, at = jnp.unique(ids, return_inverse=True)\n        return x + ops.cast(jnp.take(found, at.reshape(ids.shape)), 'float32')",
        "jnp.unique(ids, return_inverse=True, size=ids.size)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("code", "line"), SIZES.values(), ids=SIZES)
def test_a_result_as_long_as_the_values_say_is_as_long_as_it_can_be(tmp_path, code, line):
    own = f"class Own(layers.Layer):\n    def call(self, x):\n        {code}\n"
    finding = serious(traced(tmp_path, own + AROUND.format(shape=(4,), rows="").replace("keras.Input((4,)), ", "")))[0]
    assert (finding.rule, finding.fact.asked) == ("value-asked", "size")
    assert finding.fixes[0].verified
    assert line in finding.fixes[0].patch


TOKEN = """
class Own(layers.Layer):
    def build(self, shape):
        self.token = self.add_weight(shape=(1, shape[-1]), name="token")
    def call(self, x):
        token = ops.repeat(self.token, ops.shape(x)[0], axis=0)
        return ops.concatenate([token, x], axis=1)
"""


def test_a_row_for_each_sample_lacks_an_axis_and_no_batch(tmp_path):
    code = TOKEN + AROUND.format(shape=(5, 4), rows="6, ")
    (finding,) = serious(traced(tmp_path, code))
    assert "(?, 6) lacks an inner axis of (?, 5, 6)" in finding.why
    assert finding.fixes[0].verified


MASKED = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = layers.Dense(6), layers.Dense(6), layers.Dense(6)
    def heads(self, x):
        return ops.transpose(ops.reshape(x, (-1, 20, 2, 3)), (0, 2, 1, 3))
    def call(self, x):
        q, k, v = self.heads(self.query(x)), self.heads(self.key(x)), self.heads(self.value(x))
        scores = ops.matmul(q, ops.transpose(k, (0, 1, 3, 2)))
        scores = scores + ops.cast(ops.all(x == 0, axis=-1), "float32") * -1e9
        return ops.reshape(ops.transpose(ops.matmul(ops.softmax(scores), v), (0, 2, 1, 3)), (-1, 20, 6))
"""


def test_a_mask_beside_scores_needs_no_flatten(tmp_path):
    code = MASKED + AROUND.format(shape=(20, 4), rows="20, ")
    (finding,) = serious(traced(tmp_path, code))
    assert "lacks an inner axis" in finding.why
    assert finding.fixes[0].verified
    assert "[:, None, None, :]" in finding.fixes[0].patch


GRAPH = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.message, self.head = layers.Dense(3), layers.Dense(2)
    def call(self, inputs):
        nodes, edges = inputs
        given = ops.take(self.message(nodes), edges[:, 0], axis=0)
        sums = ops.segment_sum(given, edges[:, 1], num_segments=40)
        return self.head(ops.concatenate([nodes, sums], axis=-1))

def build():
    model = Net()
    model.compile("sgd", "mse")
    return model

def data():
    return [np.zeros((40, 5), "float32"), np.zeros((90, 2), "int64")], np.zeros((40, 2), "float32")
"""


def test_the_rows_of_a_graph_are_not_cut_to_a_batch_nor_its_edges_made_floats(tmp_path):
    findings = serious(traced(tmp_path, GRAPH))
    assert [finding.rule for finding in findings][:1] == ["data-misfit"]
    titles = [fix.title for finding in findings for fix in finding.fixes]
    assert titles
    assert not [title for title in titles if "32" in title or "ast the data" in title]
