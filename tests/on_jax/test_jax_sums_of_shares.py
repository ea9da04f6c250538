"""A softmax that is summed along its own axis is 1 everywhere: nothing reaches its scores. And values that JAX takes or refuses."""

from __future__ import annotations

import linecache

import pytest
from strangers import HEAD, traced

import jupyter_tpushape as tpushape


def applied(tmp_path, code, finding):
    """The program's text with the first fix, and what is said of it then."""
    path = tmp_path / "mended.py"
    path.write_text(HEAD + code, encoding="utf-8")
    scope = {"__name__": "mended", "__file__": str(path)}
    exec(compile(HEAD + code, str(path), "exec"), scope)
    again = next(one for one in tpushape.trace(scope["build"], scope["data"], tpu=None).findings if one.rule == finding.rule)
    tpushape.apply(again.fixes[0], path)
    linecache.checkcache()
    text = path.read_text(encoding="utf-8")
    exec(compile(text, str(path), "exec"), scope)
    return text, tpushape.trace(scope["build"], scope["data"], tpu=None)


ATTENTION = """
class Attend(layers.Layer):
    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v = (layers.Dense(width, name=name) for name in "qkv")
        self.drop = layers.Dropout(0.1)
    def build(self, shape):
        for one in (self.q, self.k, self.v):
            one.build(shape)
        self.built = True
    def call(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = ops.einsum("bqd,bkd->bqk", q, k)
        {body}
def build():
    tokens = keras.Input((10,), dtype="int32")
    x = layers.Embedding(50, 16)(tokens)
    x = x + Attend(16)(x)
    model = keras.Model(tokens, layers.Dense(1)(layers.GlobalAveragePooling1D()(x)))
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((32, 10), "int32"), np.zeros((32, 1), "float32")
"""
FOUND = [
    'return jnp.einsum("bqk,bqd->bqd", jax.nn.softmax(scores, axis=-1), v)',
    'weights = ops.softmax(scores)\n        return ops.einsum("bqk,bqd->bqd", weights, v)',
    "weights = layers.Softmax()(scores)\n        return ops.sum(weights, axis=-1, keepdims=True) * v",
    "weights = ops.exp(scores) / ops.sum(ops.exp(scores), axis=-1, keepdims=True)\n        return ops.mean(weights, axis=-1, keepdims=True) * v",
]  # fmt: skip
MEANT = [
    # The sum of one row divides another.
    "weights = jnp.exp(scores)\n        weights = weights / weights.sum(2)[:, None, :]\n        return weights.sum(2, keepdims=True) * v",
    # A gradient that is kept out of the divisor alone.
    "weights = jnp.exp(scores)\n        weights = weights / jax.lax.stop_gradient(weights.sum(2, keepdims=True))\n        return weights.sum(2, keepdims=True) * v",
    'return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores, axis=-1), v)',
    # Over the other axis: how much each is looked at.
    "return ops.sum(ops.softmax(scores), axis=1)[..., None] * v",
    # With dropout or a mask, the sum is not 1.
    "return ops.sum(self.drop(ops.softmax(scores), training=True), axis=-1, keepdims=True) * v",
    'return ops.sum(ops.softmax(scores) * ops.cast(scores > 0, "float32"), axis=-1, keepdims=True) * v',
    "weights = ops.exp(scores) / (1 + ops.sum(ops.exp(scores), axis=-1, keepdims=True))\n        return ops.sum(weights, axis=-1, keepdims=True) * v",
    "weights = ops.softmax(scores)\n        return ops.matmul(weights / ops.sum(weights, axis=-1, keepdims=True), v)",
    "weights = ops.square(ops.softmax(scores))\n        return ops.sum(weights, axis=-1, keepdims=True) * v",
]  # fmt: skip


def untrained(report):
    return [one for one in report.findings if one.rule == "weights-untrained"]


@pytest.mark.parametrize("body", FOUND)
def test_a_softmax_that_is_summed_along_its_own_axis_is_found(tmp_path, body):
    (finding,) = untrained(traced(tmp_path, ATTENTION.replace("{body}", body)))
    assert finding.severity == "silent" and "softmax along its own axis" in finding.message


@pytest.mark.parametrize("body", FOUND[:2])
def test_the_values_are_summed_along_the_axis_of_the_weights(tmp_path, body):
    (finding,) = untrained(traced(tmp_path, ATTENTION.replace("{body}", body)))
    assert finding.fixes[0].verified
    text, after = applied(tmp_path, ATTENTION.replace("{body}", body), finding)
    assert '"bqk,bkd->bqd"' in text and not after.findings


@pytest.mark.parametrize("body", MEANT)
def test_what_does_not_add_up_to_one_is_left_alone(tmp_path, body):
    assert untrained(traced(tmp_path, ATTENTION.replace("{body}", body))) == []


PLAIN = """
def build():
    model = keras.Sequential([keras.Input((12,)), layers.Dense(4{activation}), layers.Dense(1)])
    model.compile("adam", "mse")
    return model
"""
ROWS = """
class Rows(keras.utils.PyDataset):
    def __init__(self, count, size=16):
        super().__init__()
        self.x, self.y, self.size = np.zeros((count, 12), "float32"), np.zeros((count, 1), "float32"), size
    def __len__(self):
        return {length}
    def __getitem__(self, index):
        rows = slice(index * self.size, (index + 1) * self.size)
        return self.x[rows], self.y[rows]
def data():
    return Rows({count})
"""


@pytest.mark.parametrize("length", ["len(self.x) // self.size + 1", "1 + len(self.x) // self.size"])
def test_a_last_batch_without_rows_is_found_and_the_count_rounded_up(tmp_path, length):
    text = PLAIN.replace("{activation}", "") + ROWS.replace("{length}", length).replace("{count}", "64")
    (finding,) = traced(tmp_path, text).findings
    assert finding.rule == "data-misfit" and "The last batch has no rows" in finding.message
    written, after = applied(tmp_path, text, finding)
    assert "return -(-len(self.x) // self.size)" in written and not after.findings


@pytest.mark.parametrize(("length", "count"), [("len(self.x) // self.size + 1", "70"), ("-(-len(self.x) // self.size)", "64"), ("2", "64")])
def test_batches_that_all_have_rows_are_ok(tmp_path, length, count):
    text = PLAIN.replace("{activation}", "") + ROWS.replace("{length}", length).replace("{count}", count)
    assert not traced(tmp_path, text).findings


VALUES = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.net = keras.Sequential([keras.Input((1,)), layers.Dense(8, activation="tanh"), layers.Dense(1)])
    def call(self, x):
        {body}
def build():
    inputs = keras.Input((1,))
    model = keras.Model(inputs, Own()(inputs))
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((32, 1), "float32"), np.zeros((32, 1), "float32")
"""


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ("return jax.vmap(jax.grad(lambda p: self.net(p[None, :])[0]))(x)", "self.net(p[None, :])[0][0]"),
        ("return jax.vmap(jax.grad(lambda p: self.net(p[None, :])))(x)", "self.net(p[None, :])[0, 0]"),
        ("slope = jax.grad(lambda p: self.net(p[None, :])[0])\n        return jax.vmap(slope)(x)", "self.net(p[None, :])[0][0]"),
    ],
)
def test_the_only_value_of_a_result_is_taken_where_a_scalar_is_differentiated(tmp_path, body, written):
    text = VALUES.replace("{body}", body)
    finding = traced(tmp_path, text).findings[0]
    assert finding.fixes and finding.fixes[0].verified, finding
    changed, after = applied(tmp_path, text, finding)
    assert written in changed and not after.findings


def test_a_function_of_numpy_that_keras_has_in_another_form_is_taken_from_jax(tmp_path):
    text = VALUES.replace("{body}", "return self.net(x) + jnp.abs(np.fft.rfft(x, axis=1))")
    finding = traced(tmp_path, text).findings[0]
    changed, after = applied(tmp_path, text, finding)
    assert "jnp.fft.rfft(x, axis=1)" in changed and not after.findings


def test_sizes_of_tensors_of_one_number_are_written_as_numbers(tmp_path):
    body = """rows = ops.shape(x)[0]
        many = ops.concatenate([ops.expand_dims(ops.convert_to_tensor(rows), -1), ops.convert_to_tensor([1])], axis=0)
        return self.net(x) + ops.tile(ops.ones((1, 1)), many)"""
    text = VALUES.replace("{body}", body)
    finding = traced(tmp_path, text).findings[0]
    changed, after = applied(tmp_path, text, finding)
    assert "many = [rows, 1]" in changed and not after.findings
