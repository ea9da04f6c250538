"""Faults whose text says what was meant: an index of an einsum, an axis that is mapped, the size of a weight or a state, labels that are class indices."""

from __future__ import annotations

import pytest
from strangers import first, serious, traced

CROSS = """
class Cross(layers.Layer):
    def __init__(self, heads=2):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (layers.Dense(8) for _ in range(3))

    def call(self, x, memory):
        q, k, v = (ops.reshape(z, (-1, z.shape[1], self.heads, 4)) for z in (self.q(x), self.k(memory), self.v(memory)))
        att = ops.softmax(ops.einsum("bqhd,bkhd->bhqk", q, k))
        y = ops.einsum("bhqk,LETTERS->bqhd", att, v)
        return ops.reshape(y, (-1, x.shape[1], 8))

def build():
    x, memory = keras.Input((5, 3)), keras.Input((7, 3))
    model = keras.Model([x, memory], layers.Dense(1)(Cross()(x, memory)))
    model.compile("sgd", "mse")
    return model

def data():
    return [np.zeros((16, 5, 3), "float32"), np.zeros((16, 7, 3), "float32")], np.zeros((16, 5, 1), "float32")
"""
NET = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.own = Own()
        self.out = layers.Dense(1)

    def call(self, x):
        return self.out(self.own(x))

def build():
    model = Net()
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((32, SHAPE), "float32"), np.zeros((32, 1), "float32")
"""
LORA = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.base = layers.Dense(20)

    def build(self, shape):
        self.base.build(shape)
        self.down = self.add_weight(name="down", shape=(shape[-1], 2))
        self.up = self.add_weight(name="up", shape=(2, COLUMNS), initializer="zeros")

    def call(self, x):
        y = self.base(x)
        return y + 0.5 * ops.matmul(ops.matmul(x, self.down), self.up)
""" + NET.replace("SHAPE", "12")
STATE = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.units = 9
        self.gate = layers.Dense(9)

    def call(self, x):
        start = jnp.zeros(FIRST)
        def step(h, v):
            h = jnp.tanh(v) + 0.5 * jnp.mean(h, axis=-1, keepdims=True)
            return h, h
        return jax.lax.scan(step, start, jnp.swapaxes(self.gate(x), 0, 1))[0]
""" + NET.replace("SHAPE", "7, 4")
MAPPED = """
class Own(layers.Layer):
    def build(self, shape):
        self.a = self.add_weight(name="a", shape=(4, shape[-1], 5))
        self.b = self.add_weight(name="b", shape=(4, 5, 3))

    def call(self, x):
        def expert(x, a, b):
            return jnp.tanh(x @ a) @ b
        return jnp.mean(jax.vmap(expert, in_axes=(AXIS, 0, 0), out_axes=1)(x, self.a.value, self.b.value), axis=1)
""" + NET.replace("SHAPE", "6")
HEADS = """
class Own(layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(name="w", shape=(4, 6, 5))

    def call(self, x):
        h = jnp.reshape(x, (x.shape[0], x.shape[1], 4, 6))
        y = jax.vmap(lambda z, w: z @ w, in_axes=(AXIS, 0), out_axes=2)(h, self.w.value)
        return jnp.mean(jnp.reshape(y, (x.shape[0], x.shape[1], 20)), axis=1)
""" + NET.replace("SHAPE", "10, 24")
NOISE = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.seed = keras.random.SeedGenerator(1)
        self.conv = layers.Conv2D(3, 3, padding="same")

    def call(self, x):
        t = keras.random.uniform((ops.shape(x)[0], ONES), seed=self.seed)
        signal, rate = ops.cos(t), ops.sin(t)
        noise = keras.random.normal(ops.shape(x), seed=self.seed)
        return self.conv(signal * x + rate * noise)

def build():
    model = Net()
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((24, 10, 10, 3), "float32"), np.zeros((24, 10, 10, 3), "float32")
"""
CLASSES = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(6)

    def call(self, x, training=None):
        return self.dense(x)

    def objective(self, weights, others, x, y):
        out, others = self.stateless_call(weights, others, x, training=True)
        logp = jax.nn.log_softmax(out)
        return -jnp.mean(jnp.sum(LABELS * logp, axis=-1)), others

    def train_step(self, state, data):
        weights, others, optimizer, metrics = state
        (loss, others), grads = jax.value_and_grad(self.objective, has_aux=True)(weights, others, *data)
        weights, optimizer = self.optimizer.stateless_apply(optimizer, grads, weights)
        return {"nll": loss}, (weights, others, optimizer, metrics)

def build():
    model = Net()
    model.compile("sgd")
    return model

def data():
    return np.zeros((32, 4), "float32"), np.arange(32) % 6
"""
FIXED = {
    "the values by the letter of the queries": (CROSS.replace("LETTERS", "bqhd"), '"bhqk,bkhd->bqhd"'),
    "columns of an adapter": (LORA.replace("COLUMNS", "shape[-1]"), "shape=(2, self.base.units)"),
    "a state as wide as the input": (STATE.replace("FIRST", "(x.shape[0], x.shape[-1])"), "(x.shape[0], self.units)"),
    "a state of one sample": (STATE.replace("FIRST", "(1, self.units)"), "(x.shape[0], self.units)"),
    "samples beside experts": (MAPPED.replace("AXIS", "0"), "in_axes=(None, 0, 0)"),
    "steps beside heads": (HEADS.replace("AXIS", "1"), "in_axes=(2, 0)"),
    "one time for each picture": (NOISE.replace("ONES", "1, 1"), "(ops.shape(x)[0], 1, 1, 1)"),
    "indices of classes": (CLASSES.replace("LABELS", "y"), "one_hot(y, logp.shape[-1]) * logp"),
}
FIXED["indices of classes after a cast"] = (CLASSES.replace("LABELS", "y.astype(jnp.float32)"), "one_hot(y, logp.shape[-1]) * logp")
CORRECT = {
    "cross attention": CROSS.replace("LETTERS", "bkhd"),
    "an adapter": LORA.replace("COLUMNS", "self.base.units"),
    "a loop": STATE.replace("FIRST", "(x.shape[0], self.units)"),
    "experts": MAPPED.replace("AXIS", "None"),
    "heads": HEADS.replace("AXIS", "2"),
    "noise": NOISE.replace("ONES", "1, 1, 1"),
    "one-hot labels": CLASSES.replace("LABELS", "jax.nn.one_hot(y, 6)"),
}


@pytest.mark.parametrize(("code", "written"), FIXED.values(), ids=FIXED)
def test_the_first_fix_is_what_was_meant(tmp_path, code, written):
    assert written in first(tmp_path, code)


@pytest.mark.parametrize("code", CORRECT.values(), ids=CORRECT)
def test_the_correct_twin_has_no_problem(tmp_path, code):
    assert not serious(traced(tmp_path, code))


def test_class_indices_are_the_cause_and_get_no_axis(tmp_path):
    (finding,) = serious(traced(tmp_path, CLASSES.replace("LABELS", "y")))
    assert (finding.fact.reason.labels, finding.fact.reason.values) == ((32,), (32, 6))
    assert not any("None" in fix.patch for fix in finding.fixes)


HELD = """
class Heads:
    def __init__(self):
        self.parts = [layers.Dense(5) for _ in range(2)]
        self.last = layers.Dense(1)

    def __call__(self, x):
        return self.last(ops.concatenate([part(x) for part in self.parts], axis=-1))

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.trunk = layers.Dense(4)
        self.heads = Heads()

    def build(self, shape):
        self.trunk.build(shape)
        for part in self.heads.parts:
            part.build((None, 4))
        self.heads.last.build((None, 10))
        self.built = True

    def call(self, x):
        return self.heads(self.trunk(x))

def build():
    model = Net()
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((32, 3), "float32"), np.zeros((32, 1), "float32")
"""


def test_layers_of_a_plain_object_are_held_by_the_model(tmp_path):
    assert "self.heads_layers = [self.heads.parts, self.heads.last]" in first(tmp_path, HELD, "weights-outside")
