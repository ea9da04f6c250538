"""Samples of a batch that are taken for steps, or for parts of one whole, and what only looks like it."""

from __future__ import annotations

import pytest
from strangers import AROUND, serious, traced


def own(*lines, shape=(10, 4), init="pass"):
    text = f"class Own(layers.Layer):\n    def __init__(self):\n        super().__init__()\n        {init}\n    def call(self, x):\n"
    body = "".join(f"        {line}\n" for line in lines)
    return text + body + AROUND.format(shape=shape, rows=f"{shape[0]}, " if len(shape) > 1 else "")


LOOP = (
    "def step(h, u):\n            h = 0.9 * h + u\n            return h, h",
    "start = jnp.zeros(x.shape[1:])",
    "_, out = jax.lax.scan(step, start, x)",
    "return out",
)
TURNED = (LOOP[0], "x = jnp.swapaxes(x, 0, 1)", *LOOP[1:3], "return jnp.swapaxes(out, 0, 1)")
PAIR = "lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1])"
ORDERED = {
    "a cumulative sum": (["return ops.cumsum(x, axis=0)"], "ops.cumsum(x, axis=1)"),
    "one of jax.numpy": (["return jnp.cumsum(x, 0)"], "jnp.cumsum(x, 1)"),
    "an associative scan": ([f"return jax.lax.associative_scan({PAIR}, (x, x))[1]"], "(x, x), axis=1)"),
    "a loop": (LOOP, "jnp.swapaxes(x, 0, 1)"),
}


@pytest.mark.parametrize(("lines", "new"), ORDERED.values(), ids=ORDERED)
def test_samples_are_no_steps(tmp_path, lines, new):
    (finding,) = serious(traced(tmp_path, own(*lines)))
    assert (finding.rule, finding.severity) == ("samples-in-order", "silent")
    assert finding.fact.axis == 0
    assert finding.fixes[0].proof == "source"
    assert new in finding.fixes[0].patch


def test_the_first_state_and_the_results_of_a_loop_are_turned_with_it(tmp_path):
    (finding,) = serious(traced(tmp_path, own(*LOOP)))
    assert "+        start = jnp.zeros(jnp.swapaxes(x, 0, 1).shape[1:])" in finding.fixes[0].patch
    assert "+        out = jnp.swapaxes(out, 0, 1)" in finding.fixes[0].patch


RIGHT = {
    "steps": ["return ops.cumsum(x, axis=1)"],
    "steps of each sample, mapped": ["return jax.vmap(lambda one: jnp.cumsum(one, axis=0))(x)"],
    "a loop that passes nothing on": ["return jax.lax.map(lambda one: one * 2, x)"],
    "a loop that passes on what no sample changes": ["return jax.lax.scan(lambda i, one: (i + 1, one * 2), 0, x)[1]"],
    "a loop through steps": TURNED,
    "places in a queue": ["one = ops.one_hot(ops.argmax(x, axis=-1), 6)", "return x * ops.cast(ops.cumsum(one, axis=0) * one <= 8, x.dtype)"],
}


@pytest.mark.parametrize("lines", RIGHT.values(), ids=RIGHT)
def test_what_only_looks_like_it_is_not_reported(tmp_path, lines):
    assert traced(tmp_path, own(*lines)).ok


LOSS = """
def partial(y_true, y_pred):
    risk = ops.flip(ops.cumsum(ops.flip(ops.exp(y_pred), axis=0), axis=0), axis=0)
    return -ops.mean((y_pred - ops.log(risk)) * y_true)
def build():
    model = keras.Sequential([keras.Input((6,)), layers.Dense(1)])
    model.compile("sgd", partial)
    return model
def data():
    return np.zeros((64, 6), "float32"), np.ones((64, 1), "float32")
"""


def test_a_loss_goes_through_sorted_samples(tmp_path):
    assert traced(tmp_path, LOSS).ok


def test_a_softmax_of_a_layer_of_the_programs_own_is_over_the_axis_that_it_sums(tmp_path):
    (finding,) = serious(traced(tmp_path, own("return x * jax.nn.softmax(x, axis=0)")))
    assert finding.rule == "softmax-over-batch"
    assert finding.fixes[0].proof == "source"
    assert traced(tmp_path, own("return x * jax.nn.softmax(x, axis=1)")).ok


SHARES = {
    "a sum": (["w = ops.exp(x)", "return w / (ops.sum(w) + 1e-6)"], "ops.sum(w, axis=-1, keepdims=True)"),
    "a norm": (["return x / jnp.linalg.norm(x)"], "jnp.linalg.norm(x, axis=-1, keepdims=True)"),
}


@pytest.mark.parametrize(("lines", "new"), SHARES.values(), ids=SHARES)
def test_each_sample_is_divided_by_its_own_number(tmp_path, lines, new):
    (finding,) = serious(traced(tmp_path, own(*lines, shape=(6,))))
    assert (finding.rule, type(finding.fact).__name__) == ("samples-summed", "SharedByAll")
    assert finding.fixes[0].proof == "source"
    assert new in finding.fixes[0].patch


def test_steps_with_one_value_are_summed_over_the_steps(tmp_path):
    (finding,) = serious(traced(tmp_path, own("w = ops.exp(self.score(x))", "return x * (w / ops.sum(w))", init="self.score = layers.Dense(1)")))
    assert finding.fixes[0].proof == "source"
    assert "ops.sum(w, axis=1, keepdims=True)" in finding.fixes[0].patch


WHOLE = {"a statistic": ["return (x - jnp.mean(x)) / (jnp.std(x) + 1e-3)"], "the norm of a weight": ["return x / jnp.linalg.norm(self.w.value)"]}


@pytest.mark.parametrize("lines", WHOLE.values(), ids=WHOLE)
def test_numbers_of_the_whole_batch_that_are_meant_are_not_reported(tmp_path, lines):
    assert traced(tmp_path, own(*lines, shape=(6,), init='self.w = self.add_weight(shape=(6,), name="w")')).ok


RATES = """
class Noised(keras.Model):
    def __init__(self):
        super().__init__()
        self.net, self.seed = layers.Dense(32), keras.random.SeedGenerator(3)
    def call(self, x):
        t = keras.random.uniform((ops.shape(x)[0],), seed=self.seed)
        self.add_loss(ops.mean(ops.square(self.net(ops.cos(t){axis} * x))))
        return x
def build():
    model = Noised()
    model.compile("adam")
    return model
def data():
    return np.zeros((64, 32), "float32"), None
"""


def test_random_numbers_one_for_each_sample_meet_features_by_chance(tmp_path):
    (finding,) = serious(traced(tmp_path, RATES.format(axis="")))
    assert (finding.rule, finding.severity) == ("batch-broadcast", "silent")
    assert finding.fixes[0].proof == "source"
    assert "ops.cos(t)[:, None] * x" in finding.fixes[0].patch
    assert traced(tmp_path, RATES.format(axis="[:, None]")).ok


EMBEDDED = """
class Encoder(keras.Model):
    def __init__(self):
        super().__init__()
        self.body = layers.Dense(16)
    def call(self, x):
        z = self.body(x)
        return z / jnp.linalg.norm(z{norm})
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        scores = y_pred @ y_pred.T
        {loss}
def build():
    model = Encoder()
    model.compile("sgd")
    return model
def data():
    return np.zeros((64, 6), "float32"), np.zeros((64,), "int32")
"""
PLAIN, SHARED = ("return jnp.mean(jax.nn.softmax(scores, axis=-1))", "return jnp.mean(scores / jnp.sum(jnp.exp(scores)))")


def test_what_a_model_computes_is_apart_from_what_its_loss_does(tmp_path):
    (finding,) = serious(traced(tmp_path, EMBEDDED.format(norm="", loss=PLAIN)))
    assert (finding.rule, type(finding.fact).__name__) == ("samples-summed", "SharedByAll")
    assert "jnp.linalg.norm(z, axis=-1, keepdims=True)" in finding.fixes[0].patch
    assert traced(tmp_path, EMBEDDED.format(norm=", axis=-1, keepdims=True", loss=SHARED)).ok
