"""Counts and places that a compiled step must know: numbers that functions for tensors compute, and slices that are written."""

from __future__ import annotations

import ast

import pytest
from strangers import serious, traced
from test_jax_steps import repaired
from test_jax_users_again import own

from jupyter_tpushape.repair.makers.known_sizes import difference

PRUNING = """
class Pruning(layers.Layer):
    def __init__(self, keep=0.5):
        super().__init__()
        self.keep, self.score = keep, layers.Dense(1)
    def build(self, shape):
        self.score.build(shape)
    def call(self, x):
        scores = ops.squeeze(self.score(x), -1)
        {0}
        _, index = ops.top_k(scores, {1})
        return ops.take_along_axis(x * self.score(x), index[..., None], axis=1)
def build():
    i = keras.Input((16, 6))
    model = keras.Model(i, layers.Dense(3)(layers.GlobalAveragePooling1D()(Pruning()(i))))
    model.compile("adam", "mse")
    return model
def data():
    return np.random.rand(64, 16, 6).astype("float32"), np.random.rand(64, 3).astype("float32")
"""
COUNTS = {
    "a share": ('k = ops.cast(ops.ceil(self.keep * ops.shape(x)[1]), "int32")', "k", "k = math.ceil(self.keep * ops.shape(x)[1])"),
    "in its place": ("pass", 'ops.cast(self.keep * x.shape[1], "int32")', "ops.top_k(scores, int(self.keep * x.shape[1]))"),
    "at most": ("n = ops.minimum(x.shape[1], 8)", "n", "n = min(x.shape[1], 8)"),
}


@pytest.mark.parametrize(("line", "count", "new"), COUNTS.values(), ids=COUNTS)
def test_a_count_is_computed_in_python(tmp_path, line, count, new):
    code = PRUNING.format(line, count)
    finding = serious(traced(tmp_path, code))[0]
    assert (finding.fact.asked, finding.location.text.startswith("_, index = ops.top_k(")) == ("argument", True)
    patch, _ = repaired(tmp_path, code, "value-asked")
    assert new in patch


def test_so_is_the_number_of_elements_of_a_row(tmp_path):
    code = own(['place = jnp.linspace(0.0, 1.0, ops.cast(x.shape[-1], "int32"))', "return x + place"])
    code = code.replace("np.zeros((64, *(4,))", "np.ones((64, *(4,))")
    assert serious(traced(tmp_path, code))[0].fact.asked == "size"
    patch, _ = repaired(tmp_path, code, "value-asked")
    assert "jnp.linspace(0.0, 1.0, int(x.shape[-1]))" in patch


def test_a_count_that_the_data_gives_is_left_to_the_user(tmp_path):
    (finding,) = serious(traced(tmp_path, PRUNING.format('k = ops.cast(ops.sum(x), "int32")', "k")))
    assert finding.fact.asked == "argument"
    assert not any(fix.verified for fix in finding.fixes)


@pytest.mark.parametrize("line", ["if jnp.any(x > 0):\n            x = x * 2", "x = x * max(jnp.sum(x), 1.0)"])
def test_a_condition_of_the_programs_own_is_one(tmp_path, line):
    assert serious(traced(tmp_path, own([line, "return x"])))[0].fact.asked == "bool"


WRITTEN = """
class Augment(layers.Layer):
    def __init__(self, width=3):
        super().__init__()
        self.width, self.seed = width, keras.random.SeedGenerator(1)
    def call(self, x, training=False):
        {0}
        return x
def build():
    i = keras.Input((12, 4))
    model = keras.Model(i, layers.Dense(2)(layers.Flatten()(Augment()(i))))
    model.compile("adam", "mse")
    return model
def data():
    return np.random.rand(32, 12, 4).astype("float32"), np.random.rand(32, 2).astype("float32")
"""
START = "s = jax.random.randint(self.seed.next(), (), 0, x.shape[1] - self.width)"
PLACES = {
    "a span of random place": ([START, "x = x.at[:, s:s + self.width].set(0.0)"], "ops.arange(self.width)].set(0.0)"),
    "one that ends there": ([START, "x = x.at[:, s - 2:s, :].multiply(2.0)"], "ops.arange(2), :].multiply(2.0)"),
    "windows of a loop": (
        ["w = self.width", "x = jax.lax.fori_loop(0, 4, lambda i, y: y.at[:, i * w:(i + 1) * w].multiply(2.0), x)"],
        "y.at[:, i * w + keras.ops.arange(w)].multiply(2.0)",
    ),
}


@pytest.mark.parametrize(("lines", "new"), PLACES.values(), ids=PLACES)
def test_a_slice_that_moves_is_written_by_its_indices(tmp_path, lines, new):
    code = WRITTEN.format("\n        ".join(lines))
    assert ".at[" in serious(traced(tmp_path, code))[0].location.text
    patch, _ = repaired(tmp_path, code, "value-asked")
    assert new in patch.replace(" ops.arange(w)", " keras.ops.arange(w)")


@pytest.mark.parametrize(
    ("more", "less", "size"),
    [
        ("s + 8", "s", "8"),
        ("e", "e - self.n", "self.n"),
        ("(i + 1) * w", "i * w", "w"),
        ("2 * i + 2", "2 * i", "2"),
        ("i + a - b", "i", "a - b"),
        ("f(x)[0] + 3", "f(x)[0]", "3"),
        ("s", "s + 2", ""),
        ("b", "a", "b - a"),
    ],
)
def test_the_size_of_a_slice_is_what_its_bounds_differ_by(more, less, size):
    assert difference(*(ast.parse(text, mode="eval").body for text in (more, less))) == size


REPEATED = ["err, n = jnp.inf, 0", "while err > 1e-3 and n < 9:", "    y = jnp.tanh(x)", "    err, x, n = jnp.sum(abs(y - x)), y, n + 1", "return x"]


def test_a_loop_that_a_tensor_ends_is_told_as_one(tmp_path):
    (finding,) = serious(traced(tmp_path, own(REPEATED)))
    assert (finding.fact.asked, finding.location.text) == ("while", "while err > 1e-3 and n < 9:")
    assert "while_loop" in finding.why and "fori_loop" in finding.why


def test_an_assertion_about_values_is_removed(tmp_path):
    code = own(["assert jnp.all(jnp.isfinite(x)), 'not finite'", "return x * 2"]).replace("np.zeros((64, *(4,))", "np.ones((64, *(4,))")
    patch, _ = repaired(tmp_path, code, "value-asked")
    assert "-        assert jnp.all(jnp.isfinite(x)), 'not finite'" in patch
