"""Softmaxes over the one score, over the wrong one of two nodes, or over key points for positions; labels beside their transpose; spectra of odd signals."""

from __future__ import annotations

import pytest
from strangers import AROUND, first, serious, traced

SCORED = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.p, self.l, self.r = layers.Dense(6), layers.Dense(1), layers.Dense(1)
    def call(self, x):
{body}
"""


def scored(*lines, shape="(15, 6)", rows=""):
    return SCORED.format(body="\n".join(f"        {line}" for line in lines)) + AROUND.format(shape=shape, rows=rows)


ONE = [
    (("e = ops.expand_dims(ops.sum(ops.tanh(x), axis=-1), -1)", "a = ops.softmax(e)", "return ops.sum(a * x, axis=1)"), "a = ops.softmax(e, axis=1)"),
    (("e = ops.squeeze(self.l(x), -1)", "a = ops.softmax(e[..., None])", "return ops.sum(a * x, axis=1)"), "a = ops.softmax(e[..., None], axis=1)"),
    (("e = ops.transpose(self.l(x), (0, 2, 1))", "a = ops.softmax(e, axis=1)", "return ops.squeeze(ops.matmul(a, x), 1)"), "a = ops.softmax(e, axis=2)"),
    (
        ("pairs = x[:, :, None] + x[:, None]", "a = ops.softmax(self.l(pairs), axis=-1)", "return ops.mean(ops.sum(a * x[:, None], axis=2), axis=1)"),
        "a = ops.softmax(self.l(pairs), axis=2)",
    ),
]
PAIRS = [
    (("s = self.l(x) + ops.transpose(self.r(x), (0, 2, 1))", "a = ops.softmax(s, axis=1)", "return ops.matmul(a, x)"), "a = ops.softmax(s, axis=-1)"),
    (
        (
            "s = ops.tanh(self.l(x) + ops.transpose(self.r(x), (0, 2, 1)))",
            "a = ops.softmax(s - 1e9 * (1 - s), axis=1)",
            "return ops.einsum('bij,bjd->bid', a, x)",
        ),
        "a = ops.softmax(s - 1e9 * (1 - s), axis=-1)",
    ),
    (
        ("s = ops.leaky_relu(self.p(x)[:, :, None] + self.p(x)[:, None])", "a = ops.softmax(s, axis=1)", "return ops.einsum('bijh,bjh->bih', a, x)"),
        "a = ops.softmax(s, axis=2)",
    ),
    (
        ("s = self.l(x) + ops.transpose(self.r(x), (0, 2, 1))", "a = ops.softmax(s, axis=1)", "return ops.sum(a[..., None] * x[:, None], axis=2)"),
        "a = ops.softmax(s, axis=-1)",
    ),
]
PLACES = [
    (("a = ops.softmax(x, axis=-1)", "return ops.sum(a * ops.reshape(ops.linspace(0.0, 1.0, 15), (1, 15, 1)), axis=1)"), "a = ops.softmax(x, axis=1)"),
    (("a = jax.nn.softmax(x)", "return jnp.sum(a * (jnp.arange(15.0) / 15)[None, :, None], axis=1)"), "a = jax.nn.softmax(x, axis=1)"),
]


@pytest.mark.parametrize(
    ("lines", "fixed", "rule", "rows"),
    [
        (*one, rule, rows)
        for group, rule, rows in ((ONE, "one-unit-softmax", ""), (PAIRS, "softmax-axis", "15, "), (PLACES, "softmax-axis", ""))
        for one in group
    ],
)
def test_a_softmax_runs_over_what_is_then_summed(tmp_path, lines, fixed, rule, rows):
    assert f"+        {fixed}\n" in first(tmp_path, scored(*lines, rows=rows), rule)
    assert not serious(traced(tmp_path, scored(*(fixed if line.startswith("a = ") else line for line in lines), rows=rows)))


@pytest.mark.parametrize(
    ("lines", "rows"),
    [
        # Weights that a transpose turns, that are scaled again, or that sum to 1 over the experts.
        (("s = self.l(x) + ops.transpose(self.r(x), (0, 2, 1))", "return ops.matmul(ops.transpose(ops.softmax(s, axis=1), (0, 2, 1)), x)"), "15, "),
        (("a = ops.softmax(self.l(x) + ops.transpose(self.r(x), (0, 2, 1)), axis=1)", "return ops.matmul(a / ops.sum(a, axis=2, keepdims=True), x)"), "15, "),
        (("a, t = ops.softmax(x), ops.reshape(ops.linspace(0.0, 1.0, 15), (1, 15, 1))", "return ops.sum(a * t, axis=1) / ops.sum(a, axis=1)"), ""),
        # A window over time, and the average of bins.
        (("a, t = ops.softmax(x), ops.reshape(ops.sin(ops.linspace(0.0, 3.0, 15)), (1, 15, 1))", "return ops.sum(a * t, axis=1)"), ""),
        (("return ops.sum(ops.softmax(x) * ops.arange(6.0), axis=-1, keepdims=True)[:, 0]",), ""),
    ],
)
def test_weights_that_are_meant_so_are_not_reported(tmp_path, lines, rows):
    assert not serious(traced(tmp_path, scored(*lines, rows=rows)))


SAME = """
def loss(y, p):
    y = ops.reshape(y, {flat})
    same = ops.cast({same}, "float32")
    return -ops.mean(same * ops.log_softmax(ops.matmul(p, ops.transpose(p))))

def build():
    model = keras.Sequential([keras.Input((20,)), layers.Dense(8)])
    model.compile("sgd", loss)
    return model

def data():
    return np.zeros((64, 20), "float32"), np.arange(64) % 5
"""


@pytest.mark.parametrize(
    ("same", "pairs"),
    [
        ("ops.equal(y, ops.transpose(y))", "ops.equal(y[:, None], y[None, :])"),
        ("y == y.T", "y[:, None] == y[None, :]"),
        ("y.T == y", "y[None, :] == y[:, None]"),
    ],
)
def test_a_vector_beside_its_transpose_is_compared_in_pairs(tmp_path, same, pairs):
    assert pairs in first(tmp_path, SAME.format(flat="(-1,)", same=same), "vector-transposed")
    assert not serious(traced(tmp_path, SAME.format(flat="(-1, 1)", same=same)))
    assert not serious(traced(tmp_path, SAME.format(flat="(-1,)", same="ops.equal(y[:, None], y[None, :])")))


@pytest.mark.parametrize(
    ("lines", "fixed"),
    [
        (("return x + jnp.fft.irfft(jnp.fft.rfft(x, axis=1), axis=1)",), "jnp.fft.irfft(jnp.fft.rfft(x, axis=1), axis=1, n=x.shape[1])"),
        (("y = ops.swapaxes(x, 1, 2)", "y = ops.irfft(ops.rfft(y))", "return x + ops.swapaxes(y, 1, 2)"), "ops.irfft(ops.rfft(y), fft_length=x.shape[1])"),
    ],
)
def test_the_inverse_of_a_spectrum_is_told_an_odd_length(tmp_path, lines, fixed):
    assert fixed in first(tmp_path, scored(*lines, rows="15, "), "op-shapes")
    assert not serious(traced(tmp_path, scored(*lines, shape="(16, 6)", rows="16, ")))


BESIDE = """
class Own(layers.Layer):
    def call(self, x):
        return jnp.fft.irfft(jnp.fft.rfft(x, axis=1), axis=1)

def build():
    inputs = keras.Input((15, 6))
    model = keras.Model(inputs, layers.Dense(1)(layers.Add()([inputs, Own()(inputs)])))
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((64, 15, 6), "float32"), np.zeros((64, 15, 1), "float32")
"""


def test_a_layer_that_returns_one_step_less_than_it_got_is_told_the_length(tmp_path):
    assert "axis=1, n=x.shape[1])" in first(tmp_path, BESIDE, "merge-shapes")


HALF = """
class Own(layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(shape=({half}, shape[-1]), initializer="ones")
    def call(self, x):
        spectrum = jnp.fft.rfft(x, axis=1)
        return jnp.fft.irfft(spectrum * self.scale, axis=1)
"""


def test_weights_of_a_half_spectrum_have_one_more_than_half(tmp_path):
    around = AROUND.format(shape="(16, 6)", rows="16, ")
    assert "shape=(shape[1] // 2 + 1, shape[-1])" in first(tmp_path, HALF.format(half="shape[1] // 2") + around, "op-shapes")
    assert not serious(traced(tmp_path, HALF.format(half="shape[1] // 2 + 1") + around))


POSITIONS = """
class Own(layers.Layer):
    def build(self, shape):
        self.table = layers.Embedding(48, 6)
    def call(self, x):
        places = ops.arange(ops.shape(x)[{axis}])
        return x + self.table(places)
"""


def test_positions_are_counted_along_the_steps(tmp_path):
    around = AROUND.format(shape="(15, 6)", rows="15, ")
    patch = first(tmp_path, POSITIONS.format(axis=0) + around, "op-shapes")
    assert "places = ops.arange(ops.shape(x)[1])" in patch
    report = traced(tmp_path, POSITIONS.format(axis=0) + around)
    assert not any("None" in fix.patch for fix in serious(report)[0].fixes if fix.verified)
    assert not serious(traced(tmp_path, POSITIONS.format(axis=1) + around))


ON_ONE_LINE = """
class Own(layers.Layer):
    def build(self, shape):
        self.table, self.seed = layers.Embedding(48, 6), keras.random.SeedGenerator(0)
    def call(self, x):
        return x {made}
"""


def test_no_axis_makes_positions_of_samples(tmp_path):
    around = AROUND.format(shape="(15, 6)", rows="15, ")
    patch = first(tmp_path, ON_ONE_LINE.format(made="+ self.table(ops.arange(ops.shape(x)[0]))") + around, "op-shapes")
    assert "ops.arange(ops.shape(x)[1])" in patch
    report = traced(tmp_path, ON_ONE_LINE.format(made='* ops.arange(x.shape[0], dtype="float32")') + around)
    assert not any(fix.verified for fix in serious(report)[0].fixes)
    # Random numbers, and what is computed from each sample, get one.
    for made in ("+ keras.random.uniform((ops.shape(x)[0],), seed=self.seed)", "* ops.mean(x, axis=(1, 2))"):
        report = traced(tmp_path, ON_ONE_LINE.format(made=made) + around)
        assert any("[:, None, None]" in fix.patch for fix in serious(report)[0].fixes if fix.verified)


BY_HAND = """
class Own(layers.Layer):
    def call(self, x):
        weights = ops.exp(x - ops.max(x)) / ops.sum(ops.exp(x - ops.max(x)){axis})
        return ops.sum(weights * x, axis=1)
"""


def test_a_softmax_by_hand_is_one_for_each_sample(tmp_path):
    around, fixed = AROUND.format(shape="(15, 6)", rows=""), ", axis=-1, keepdims=True"
    assert fixed in first(tmp_path, BY_HAND.format(axis="") + around, "samples-summed")
    assert not serious(traced(tmp_path, BY_HAND.format(axis=fixed) + around))
