"""Axes that a program on JAX names itself: letters of an einsum, the axis of a norm, of a lookup and of a map, and the end of a list of skips."""

from __future__ import annotations

import pytest
from strangers import AROUND, first, serious, traced

SPLIT = """
class Own(layers.Layer):
    def build(self, shape):
        self.router = self.add_weight(shape=(shape[-1], 4), name="router")
        self.weight = self.add_weight(shape=(4, shape[-1], shape[-1]), name="weight")
    def call(self, x):
        gates = ops.softmax(ops.matmul(x, self.router))
        y = ops.einsum("btd,edh->bteh", x, self.weight)
        return {line}
"""


@pytest.mark.parametrize(("line", "fixed"), [
    ('ops.einsum("bte,btde->btd", gates, y)', '"bte,bted->btd"'),
    ('jnp.einsum("btde,bte->btd", y, gates)', '"bted,bte->btd"'),
])  # fmt: skip
def test_no_letter_of_an_einsum_is_left_alone_by_a_fix(tmp_path, line, fixed):
    code = SPLIT.format(line=line) + AROUND.format(shape=(5, 3), rows="5, ")
    assert fixed in first(tmp_path, code, "op-shapes")


SIAMESE = """
class Unit(layers.Layer):
    def call(self, x):
        return {unit}
    def compute_output_shape(self, shape):
        return shape

def build():
    a, b = keras.Input((9,)), keras.Input((9,))
    tower = keras.Sequential([layers.Dense(6), Unit()])
    distance = ops.sum(ops.square(tower(a) - tower(b)), axis=-1, keepdims=True)
    model = keras.Model([a, b], distance)
    model.compile("sgd", "mse")
    return model

def data():
    return [np.ones((64, 9), "float32"), np.ones((64, 9), "float32")], np.zeros((64, 1), "float32")
"""
NORMS = ("x / (jnp.linalg.norm(x, axis={}, keepdims=True) + 1e-8)", "ops.normalize(x, axis={})", "x / ops.norm(x, axis={}, keepdims=True)")


@pytest.mark.parametrize("unit", NORMS)
def test_a_norm_over_the_samples_is_reported_where_each_is_divided_by_it(tmp_path, unit):
    assert unit.format(-1) in first(tmp_path, SIAMESE.format(unit=unit.format(0)), "samples-summed")


@pytest.mark.parametrize("unit", [*(unit.format(-1) for unit in NORMS), "x / ops.sqrt(ops.mean(ops.square(x), axis=0) + 1e-3)"])
def test_a_norm_of_each_sample_and_a_mean_over_the_batch_are_silent(tmp_path, unit):
    assert not serious(traced(tmp_path, SIAMESE.format(unit=unit)))


MAPPED = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.values, self.out = layers.Dense(6), layers.Dense(6)
    def call(self, x):
        return {last}

def build():
    model = keras.Sequential([keras.Input((5, 4)), Own(), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((64, 5, 4), "float32"), np.zeros((64, {rows}1), "float32")
"""
PRODUCT = "jax.vmap(lambda a, b: a @ jnp.swapaxes(a, -1, -2) @ b, in_axes=(0, {}))(x, self.values(x))"


def test_a_batch_that_a_map_passes_whole_is_mapped(tmp_path):
    code = MAPPED.format(last=f"ops.mean(self.out({PRODUCT.format(None)}), axis=1)", rows="5, ")
    (finding,) = serious(traced(tmp_path, code))
    assert finding.rule == "batch-broadcast"


def test_a_map_of_both_is_silent(tmp_path):
    assert not serious(traced(tmp_path, MAPPED.format(last=f"self.out({PRODUCT.format(0)})", rows="5, ")))


UNET = """
class U(keras.Model):
    def __init__(self):
        super().__init__()
        self.downs = [layers.Conv1D(8, 3, strides=2, padding="same") for _ in range(3)]
        self.ups = [layers.Conv1DTranspose(8, 3, strides=2, padding="same") for _ in range(3)]
        self.out = layers.Conv1D(1, 1)
    def call(self, x):
        skips = []
        for down in self.downs:
            {store}
            x = down(x)
        for up in self.ups:
            x = up(x)
            skip = {skip}
            x = {joined}
        return self.out(x)

def build():
    model = U()
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((64, 32, 8), "float32"), np.zeros((64, 32, 1), "float32")
"""


@pytest.mark.parametrize(("store", "skip", "joined", "fixed"), [
    ("skips.append(x)", "skips.pop(0)", "ops.concatenate([x, skip], axis=-1)", "skips.pop()"),
    ("skips.insert(0, x)", "skips.pop()", "x + skip", "skips.pop(0)"),
    ("skips.append(x)", "skips.pop(0)", "layers.add([x, skip])", "skips.pop()"),
])  # fmt: skip
def test_skips_are_taken_from_the_other_end(tmp_path, store, skip, joined, fixed):
    assert f"+            skip = {fixed}" in first(tmp_path, UNET.format(store=store, skip=skip, joined=joined))


TAKEN = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(6)
    def call(self, x):
        parents = ops.take(x, [0, 0, 1, 2, 3], axis={axis})
        return x + self.dense(parents)
"""


def test_entries_of_each_sample_are_looked_up_behind_the_batch(tmp_path):
    code = TAKEN.format(axis=0) + AROUND.format(shape=(5, 3), rows="5, ")
    assert "[0, 0, 1, 2, 3], axis=1)" in first(tmp_path, code, "op-shapes")
    assert not serious(traced(tmp_path, TAKEN.format(axis=1) + AROUND.format(shape=(5, 3), rows="5, ")))


ROTARY = """
class Own(layers.Layer):
    def __init__(self, length, heads):
        super().__init__()
        self.heads = heads
        self.cos, self.sin = np.ones((length, 2), "float32"), np.ones((length, 2), "float32")
    def call(self, x):
        b, t, d = x.shape
        q, k = x.reshape(b, t, self.heads, 2), (2 * x).reshape(b, t, self.heads, 2)
        q = q * self.cos{at} + q[..., ::-1] * self.sin{at}
        k = k * self.cos{at} + k[..., ::-1] * self.sin{at}
        return (q * k).reshape(b, t, d)
"""


def test_a_table_that_lacks_an_axis_gets_it_in_every_line_and_keeps_its_length(tmp_path):
    around = AROUND.format(shape=(5, 3), rows="5, ").replace("Own()", "Own(5, 3)")
    patch = first(tmp_path, ROTARY.format(at="") + around, "op-shapes")
    assert patch.count("+        ") == 2
    assert patch.count("[:, None, :]") == 4
    assert not serious(traced(tmp_path, ROTARY.format(at="[:, None]") + around))


COLLECTIVE = """
class Own(layers.Layer):
    def call(self, x):
        mean = jax.lax.pmean(jnp.mean(x, axis=0, keepdims=True), axis_name="batch")
        return x - mean
    def compute_output_shape(self, shape):
        return shape
"""


def test_a_collective_is_removed_from_what_mixed_the_samples_before(tmp_path):
    assert "mean = jnp.mean(x, axis=0, keepdims=True)" in first(tmp_path, COLLECTIVE + AROUND.format(shape=(3,), rows=""), "code-raises")
