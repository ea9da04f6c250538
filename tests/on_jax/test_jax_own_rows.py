"""Programs on JAX whose fault is in the place or the order of axes: looked up in every sample, added in another order, scanned over the batch."""

from __future__ import annotations

import pytest
from strangers import serious, traced

TOP = """
class Top(layers.Layer):
    def __init__(self):
        super().__init__()
        self.score = layers.Dense(1)
    def call(self, x):
        {index}
        return {take}
def build():
    inputs = keras.Input((20, 16))
    x = Top()(inputs)
    x = {then}
    model = keras.Model(inputs, layers.Dense(3)(x))
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((32, 20, 16), "float32"), np.zeros((32, 3), "float32")
"""
BEST = "index = jnp.argsort(self.score(x)[..., 0], axis=1)[:, -8:]"
DRAWN = "index = ops.argsort(keras.random.uniform((ops.shape(x)[0], 20), seed=self.seed), axis=1)[:, :8]"
LATER = {"a recurrent layer": "layers.GRU(4)(x)", "flattened": "layers.Flatten()(x)", "attention": "layers.Flatten()(layers.MultiHeadAttention(2, 4)(x, x))"}


@pytest.mark.parametrize("then", LATER.values(), ids=LATER)
def test_a_lookup_of_all_samples_is_told_at_the_lookup(tmp_path, then):
    (finding,) = serious(traced(tmp_path, TOP.format(index=BEST, take="jnp.take(x, index, axis=1)", then=then)))
    assert type(finding.fact).__name__ == "EveryIndex"
    assert finding.fact.indices == (None, 8)
    assert finding.fixes[0].proof == "source"
    assert "+        return jnp.take_along_axis(x, index[..., None], axis=1)" in finding.fixes[0].patch
    right = TOP.format(index=BEST, take="jnp.take_along_axis(x, index[..., None], axis=1)", then=then)
    assert traced(tmp_path, right).ok


def test_a_lookup_of_all_samples_that_runs_is_told(tmp_path):
    code = TOP.format(index=BEST, take="jnp.take(x, index, axis=1).mean(axis=1)", then="layers.GRU(4)(x)")
    (finding,) = serious(traced(tmp_path, code))
    assert (finding.severity, type(finding.fact).__name__) == ("silent", "EveryIndex")


def test_random_indices_of_all_samples_are_told(tmp_path):
    code = TOP.format(index=DRAWN, take="ops.take(x, index, axis=1)", then="layers.GRU(4)(x)")
    (finding,) = serious(traced(tmp_path, code.replace("self.score = ", "self.seed = keras.random.SeedGenerator(0)\n        self.score = ")))
    assert type(finding.fact).__name__ == "EveryIndex"
    assert finding.fixes[0].proof == "source"


def test_the_same_positions_of_every_sample_are_a_right_lookup(tmp_path):
    code = TOP.format(index="index = jnp.arange(0, 20, 2)", take="jnp.take(x, index, axis=1)", then="layers.GRU(4)(x)")
    assert traced(tmp_path, code).ok


POOLED = """
class Pool(layers.Layer):
    def __init__(self):
        super().__init__()
        self.score = layers.Dense(1)
    def call(self, x):
        w = jax.nn.softmax(self.score(x)[..., 0], axis=-1)
        return jnp.einsum("{letters}", x, w)
def build():
    inputs = keras.Input((40, 24))
    model = keras.Model(inputs, layers.Dense(5)(Pool()(layers.Dense(32)(inputs))))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model
def data():
    return np.zeros((64, 40, 24), "float32"), np.zeros((64,), "int32")
"""


def test_the_letters_of_the_smaller_operand_are_wrong_and_not_the_order_of_the_larger(tmp_path):
    (finding,) = serious(traced(tmp_path, POOLED.format(letters="btd,bd->bd")))
    assert [fix.proof for fix in finding.fixes] == ["source"]
    assert 'jnp.einsum("btd,bt->bd", x, w)' in finding.fixes[0].patch
    assert traced(tmp_path, POOLED.format(letters="btd,bt->bd")).ok


BIASED = """
class Biased(layers.Layer):
    def __init__(self, heads, dim):
        super().__init__()
        self.heads, self.dim = heads, dim
        self.qkv, self.out = layers.Dense(3 * heads * dim), layers.Dense(heads * dim)
    def build(self, shape):
        self.table = self.add_weight(shape=(127, self.heads), initializer="zeros")
    def call(self, x):
        b, t, d = x.shape
        q, k, v = jnp.moveaxis(self.qkv(x).reshape(b, t, 3, self.heads, self.dim), 2, 0)
        at = jnp.arange(t)
        bias = self.table.value[at[:, None] - at[None, :] + 63]
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) + {bias}
        return self.out(jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v).reshape(b, t, -1))
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed, self.attend, self.head = layers.Embedding(100, 32), Biased(4, 8), layers.Dense(6)
    def call(self, ids):
        x = self.embed(ids)
        return self.head((x + self.attend(x)).mean(axis=1))
def build():
    model = Net()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model
def data():
    return np.zeros((64, 48), "int32"), np.zeros((64,), "int32")
"""


def test_a_bias_with_its_axes_in_another_order_is_transposed(tmp_path):
    (finding,) = serious(traced(tmp_path, BIASED.format(bias="bias")))
    assert [fix.proof for fix in finding.fixes] == ["source"]
    assert "transpose(bias, (2, 0, 1))" in finding.fixes[0].patch
    assert traced(tmp_path, BIASED.format(bias="jnp.moveaxis(bias, -1, 0)")).ok


SCANNED = """
class Recurrence(layers.Layer):
    def build(self, shape):
        self.decay = self.add_weight(shape=(shape[-1],), initializer="uniform")
    def call(self, x):
        def step(h, xt):
            h = self.decay * h + xt
            return h, h
        _, hs = jax.lax.scan(step, ops.zeros((ops.shape(x)[0], 32)), x)
        return hs
def build():
    inputs = keras.Input((64,), dtype="int32")
    x = layers.GlobalAveragePooling1D()(Recurrence()(layers.Embedding(500, 32)(inputs)))
    model = keras.Model(inputs, layers.Dense(1)(x))
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((96, 64), "int32"), np.zeros((96, 1), "float32")
"""


def test_a_loop_over_the_batch_is_told_where_the_builder_raises(tmp_path):
    (finding,) = serious(traced(tmp_path, SCANNED))
    assert type(finding.fact.reason).__name__ == "ScanRows"
    assert finding.fact.reason.shape == (None, 64, 32)
    assert finding.fixes[0].proof == "source"
    assert "jnp.swapaxes(x, 0, 1)" in finding.fixes[0].patch


SEVERAL = """
class Several(layers.Layer):
    def __init__(self):
        super().__init__()
        self.value, self.gate, self.table = layers.Dense(12), layers.Dense(12, activation="sigmoid"), layers.Embedding(25, 12)
    def call(self, x):
        v, g = self.value(x), self.gate(x)
        {lines}
def build():
    inputs = keras.Input((25, 6))
    x = layers.Dense(1)(layers.GlobalAveragePooling1D()(Several()(inputs)))
    model = keras.Model(inputs, x)
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((48, 25, 6), "float32"), np.zeros((48, 1), "float32")
"""
STARTED = """def step(h, now):
            h = {step}
            return h, h
        start = ops.zeros_like(v[:, 0])
        """


@pytest.mark.parametrize(("step", "lines", "fixed"), [
    ("now[1] * h + now[0]", "_, y = ops.scan(step, start, (v, g))\n        return y",
     ["(ops.swapaxes(v, 0, 1), ops.swapaxes(g, 0, 1)))", "+        y = ops.swapaxes(y, 0, 1)"]),
    ("now['g'] * h + now['v']", "xs = {'v': v, 'g': g}\n        _, y = jax.lax.scan(step, start, xs)\n        return y",
     ["{'v': jnp.swapaxes(v, 0, 1), 'g': jnp.swapaxes(g, 0, 1)}", "+        y = jnp.swapaxes(y, 0, 1)"]),
    ("now[1] * h + now[0]", "return ops.scan(step, start, (v, g))[1]",
     ["return ops.swapaxes(ops.scan(step, start, (ops.swapaxes(v, 0, 1), ops.swapaxes(g, 0, 1)))[1], 0, 1)"]),
    ("h + now[0] + self.table(now[1])", "_, y = ops.scan(step, start, (v, ops.arange(25)))\n        return y",
     ["(ops.swapaxes(v, 0, 1), ops.arange(25)))"]),
])  # fmt: skip
def test_a_loop_over_the_batch_of_several_tensors_swaps_those_that_have_it_in_front(tmp_path, step, lines, fixed):
    (finding,) = serious(traced(tmp_path, SEVERAL.format(lines=STARTED.format(step=step) + lines)))
    assert type(finding.fact.reason).__name__ == "ScanRows"
    assert finding.fact.reason.shape == (None, 25, 12)
    assert finding.fixes[0].proof == "source"
    assert all(one in finding.fixes[0].patch for one in fixed)


MEMORY = """
class Memory(layers.Layer):
    def build(self, shape):
        self.decay = self.add_weight(shape=(shape[-1], 4))
    def call(self, x):
        def step(state, now):
            state = self.decay.value * state + now[..., None]
            return state, jnp.sum(state, axis=-1)
        start = jnp.zeros((x.shape[0], x.shape[2], 4))
        _, made = jax.lax.scan(step, start, {over})
        return {made}
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.memory, self.head = Memory(), layers.Dense(2)
    def call(self, x):
        return self.head(self.memory(x))
def build():
    model = Net()
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((64, 20, 6), "float32"), np.zeros((64, 20, 2), "float32")
"""


def test_a_step_that_gets_more_axes_in_the_loop_is_still_one_of_all_samples(tmp_path):
    code = MEMORY.format(over="x", made="made")
    (finding,) = serious(traced(tmp_path, code))
    assert type(finding.fact.reason).__name__ == "ScanRows"
    assert "jax.lax.scan(step, start, jnp.swapaxes(x, 0, 1))" in finding.fixes[0].patch
    assert traced(tmp_path, MEMORY.format(over="jnp.swapaxes(x, 0, 1)", made="jnp.swapaxes(made, 0, 1)")).ok


BLOCKS = """
class Blocks(layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(3, shape[-1] + {more}, shape[-1]))
    def call(self, x):
        return jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, self.w.value)[0]
"""


def test_a_loop_over_stacked_weights_goes_through_no_samples(tmp_path):
    code = BLOCKS + "class Net" + MEMORY.partition("class Net")[2].replace("Memory()", "Blocks()")
    (finding,) = serious(traced(tmp_path, code.replace("{more}", "1")))
    assert type(finding.fact.reason).__name__ != "ScanRows"
    assert traced(tmp_path, code.replace("{more}", "0")).ok


CELL = """
class Cell(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units
        self.state_size = {size}
    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1] + self.units, 4 * self.units))
    def call(self, x, states):
        h, c = states
        i, f, g, o = ops.split(ops.matmul(ops.concatenate([x, h], axis=-1), self.kernel), 4, axis=-1)
        c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
        h = ops.sigmoid(o) * ops.tanh(c)
        return h, [h, c]
def build():
    model = keras.Sequential([{input}layers.RNN(Cell(24)), layers.Dense(1)])
    model.compile("rmsprop", "mae")
    return model
def data():
    return np.zeros((80, 30, 9), "float32"), np.zeros((80, 1), "float32")
"""


@pytest.mark.parametrize("declared", ["", "keras.Input((30, 9)), "], ids=["built late", "declared"])
def test_a_cell_declares_the_states_that_it_unpacks(tmp_path, declared):
    (finding,) = serious(traced(tmp_path, CELL.format(size="units", input=declared)))
    assert (finding.rule, finding.fact.wanted, finding.fact.declared) == ("rnn-states", 2, 1)
    assert finding.fixes[0].proof == "source"
    assert "+        self.state_size = [units, units]" in finding.fixes[0].patch
    assert traced(tmp_path, CELL.format(size="[units, units]", input=declared)).ok


DISTILLED = """
class Distiller(keras.Model):
    def __init__(self, student, teacher):
        super().__init__()
        self.student, self.teacher = student, teacher
    def call(self, x):
        return self.student(x)
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        hard = keras.losses.sparse_categorical_crossentropy(y, y_pred, from_logits=True)
        soft = keras.losses.kl_divergence(ops.softmax(self.teacher(x)), ops.softmax(y_pred))
        return ops.mean(hard + soft)
def net(width, classes):
    return keras.Sequential([keras.Input((12,)), layers.Dense(width, activation="relu"), layers.Dense(classes)])
def build():
    model = Distiller(net(8, 10), net(16, 12))
    model.compile("adam")
    return model
def data():
    return np.zeros((64, 12), "float32"), np.zeros((64,), "int32")
"""


def test_what_a_line_of_compute_loss_compares_is_told_and_not_the_labels(tmp_path):
    (finding,) = serious(traced(tmp_path, DISTILLED))
    assert (finding.rule, set(finding.fact.shapes)) == ("loss-raises", {(32, 12), (32, 10)})
    assert "net(16, 10)" in finding.fixes[0].patch
