"""Tensors that are made alike and treated alike, loops of jax.lax over steps, sizes and keys that JAX needs: the first fix of strangers' layers."""

from __future__ import annotations

import pytest
from strangers import first, serious, traced

LAYER = """
from jax import lax
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.h, self.seed, self.g = 4, 42, keras.random.SeedGenerator(1)
        self.q, self.k, self.v = (layers.Dense(16) for _ in range(3))
    def build(self, shape):
        self.w = self.add_weight(shape=(32, 16), name="w")
        for one in (self.q, self.k, self.v):
            one.build(shape)
    def split(self, t):
        return ops.transpose(ops.reshape(t, (*t.shape[:2], self.h, 4)), (0, 2, 1, 3))
    def call(self, x, other):
        {lines}
    def compute_output_shape(self, x_shape, other_shape):
        return x_shape

def build():
    one, other = keras.Input((10, 16)), keras.Input((6, 16))
    x = layers.GlobalAveragePooling1D()(Own()(one, other))
    model = keras.Model([one, other], layers.Dense(1)(x))
    model.compile("sgd", "mse")
    return model

def data():
    return (np.ones((32, 10, 16), "float32"), np.ones((32, 6, 16), "float32")), np.zeros((32, 1), "float32")
"""
JOINED = "return ops.reshape(ops.transpose(ops.softmax(q @ ops.swapaxes(k, 2, 3)) @ v, (0, 2, 1, 3)), x.shape)"
LOOP = """
        w = self.w.value
        def step(h, now):
            h = jnp.tanh(jnp.concatenate([h, now], -1) @ w)
            return h, h"""

COUNTS = "d = self.k(x); ids = jnp.argmax(d, axis=-1)\n        _, n = jnp.unique(ids, return_counts=True)\n        "
TURNS = """n = jnp.argmax(other[:, 0], -1); h = x[:, 0]
        for t in range(jnp.max(n)):
            h = {turn}
        return x + h[:, None]"""
ANGLES = """
        def turned(t):
            {a}
        angles = jnp.outer(jnp.arange(10), 1.0 / 100 ** (jnp.arange(0, 16, 2) / 16))
        cos, sin = jnp.cos(angles), jnp.sin(angles)
        return x * cos + turned(x) * sin"""


@pytest.mark.parametrize(("lines", "fixed"), [
    ("return x + x[jax.random.permutation(self.g.next(), 64)]", "permutation(self.g.next(), ops.shape(x)[0])"),
    (
        ("k = ops.reshape(self.k(x), (x.shape[0], 10, 2, 8)); c = jnp.zeros((x.shape[0], 2, 20, 8))\n        "
        "return x + jnp.mean(lax.dynamic_update_slice(c, k, (0, 0, 0, 0)), (1, 2, 3))[:, None, None]"), "ops.transpose(k, (0, 2, 1, 3))"
    ),
    (f"{COUNTS}self.add_loss(jnp.sum(jnp.square(n / jnp.sum(n)))); return x + d", "size=d.shape[-1]"),
    (TURNS.format(turn="jnp.where((t < n)[:, None], h + x[:, t], h)"), "range(x.shape[1])"),
    (ANGLES.format(a="a, b = jnp.split(t, 2, -1); return jnp.concatenate([-b, a], -1)"), "ops.tile(jnp.outer("),
    (ANGLES.format(a="return jnp.reshape(jnp.stack([-t[..., 1::2], t[..., ::2]], -1), t.shape)"), "ops.repeat(jnp.outer("),
    (
        ("_, hs = lax.scan(lambda h, now: (jnp.tanh(h + now[0] * now[1]), h), jnp.zeros((x.shape[0], 16)), (x, x))\n        "
        "return jnp.transpose(hs, (1, 0, 2))"), "(jnp.swapaxes(x, 0, 1), jnp.swapaxes(x, 0, 1)))"
    ),
    (TURNS.replace("jnp.max(n)", "int(n.max())").format(turn="jnp.where((t < n)[:, None], h + x[:, t], h)"), "range(x.shape[1])"),
    (
        ("k = ops.reshape(self.k(x), (x.shape[0], 10, 2, 8))\n        "
        "return x + jnp.mean(jnp.zeros((x.shape[0], 2, 20, 8)).at[:, :, :10].set(k), (1, 2, 3))[:, None, None]"), "ops.transpose(k, (0, 2, 1, 3))"
    ),
    (
        ("w = self.w.value[:22]\n        def step(h, now):\n            h = jnp.tanh(jnp.concatenate([h, now], -1) @ w[:, :6])\n            "
        "return h, h\n        h, _ = lax.scan(step, jnp.zeros(6), jnp.swapaxes(x, 0, 1))\n        return x + h[:, None, :1]"),
        "jnp.zeros((x.shape[0], 6))",
    ),
    ("a, b = jax.random.split(jax.random.key(3))\n        return x + jax.random.normal(b, x.shape) * other[:, :1]", "self.seed_generator.next())"),
    ("y = jax.vmap(lambda a, w: a @ w)(x, jnp.reshape(self.w.value, (2, 16, 16)))\n        return x + jnp.moveaxis(y, 0, 2)[:, :, 0]", "in_axes=(None, 0)"),
    ("for a, b in zip(self.q.weights, self.k.weights):\n            a.assign(a.numpy() * 0.9 + b.numpy() * 0.1)\n        return x + self.v(x)", "a.assign(a * 0.9 + b * 0.1)"),
    ("key = jax.random.PRNGKey(0)\n        return x + jax.random.normal(key, x.shape) * other[:, :1]", "key = self.seed_generator.next()"),
    (f"q = self.split(self.q(x)); k = self.k(x); v = self.split(self.v(x))\n        {JOINED}", "k = self.split(self.k(x))"),
    (f"q, k, v = self.q(x), self.k(x), self.v(x)\n        q = self.split(q); v = self.split(v)\n        {JOINED}", "self.split(k)"),
    ("q = self.q(x); k = self.k(other); v = self.v(x)\n        return ops.softmax(q @ ops.swapaxes(k, 1, 2)) @ v", "v = self.v(other)"),
    ("return x + jnp.einsum('nm,bfm->bnf', jnp.eye(10), x)", "nm,bmf->bnf"),
    (f"{LOOP}\n        _, hs = lax.scan(step, jnp.zeros((x.shape[0], 16)), x)\n        return jnp.swapaxes(hs, 0, 1)", "jnp.swapaxes(x, 0, 1))"),
    (
        ("def step(h, now):\n            return h + now, h\n        turned = jnp.swapaxes(x, 0, 1)\n        "
        "_, hs = lax.scan(step, jnp.zeros(16), turned)\n        return jnp.swapaxes(hs, 0, 1)"), "jnp.zeros((x.shape[0], 16))"
    ),
    ("return x + lax.dynamic_slice(x, (0, 2, 0), (1, 16))", "(x.shape[0], 1, 16)"),
    ("return x + jax.random.normal(self.seed, x.shape) * other[:, :1]", "jax.random.normal(self.seed_generator.next(), x.shape)"),
    ("return jax.vmap(lambda a, w: a @ w[16:], in_axes=(0,))(x, self.w.value)", "in_axes=(0, None)"),
    ("i = ops.argmax(ops.reshape(x, (-1, 16)), axis=0)\n        return ops.reshape(ops.one_hot(i, 16), x.shape)", "axis=-1"),
    (
        ("ids = jnp.argmax(self.k(x)[:, 0], axis=-1)\n        n = jnp.max(ids) + 1\n        "
        "return x + jax.ops.segment_sum(x[:, 0], ids, num_segments=n)[ids][:, None]"), "n = ids.shape[0]"
    ),
])  # fmt: skip
def test_the_first_fix_of_a_layer(tmp_path, lines, fixed):
    assert fixed in first(tmp_path, LAYER.format(lines=lines))


@pytest.mark.parametrize("lines", [
    f"{COUNTS}self.add_loss(jnp.mean(n * 1.0)); return x + d",
    f"{COUNTS}p = n / jnp.sum(n); self.add_loss(jnp.sum(p * jnp.log(p))); return x + d",
    TURNS.format(turn="h + x[:, t]"),
])  # fmt: skip
def test_zeros_that_would_count_and_turns_that_nothing_leaves_out_are_not_added(tmp_path, lines):
    (finding,) = serious(traced(tmp_path, LAYER.format(lines=lines)))
    assert (finding.rule, any(fix.verified for fix in finding.fixes)) == ("value-asked", False)


NAMED = """
class Sum(layers.Layer):
    def __init__(self):
        super().__init__()
        self.first, self.last = layers.Dense(4), layers.Dense(4)
    def call(self, x, other):
        return self.first(x) + self.last(other)
    def compute_output_shape(self, {shapes}):
        return {shapes}[:-1] + (4,)

def build():
    one, other = keras.Input((6,)), keras.Input((5,))
    model = keras.Model([one, other], Sum()(one, other))
    model.compile("sgd", "mse")
    return model

def data():
    return [np.zeros((32, 6), "float32"), np.zeros((32, 5), "float32")], np.zeros((32, 4), "float32")
"""


def test_shapes_are_named_after_what_call_takes(tmp_path):
    patch = first(tmp_path, NAMED.replace("{shapes}[:-1]", "a[:-1]").format(shapes="a, b"), "layer-raises")
    assert "compute_output_shape(self, x_shape, other_shape)" in patch and "return x_shape[:-1]" in patch
    assert not serious(traced(tmp_path, NAMED.format(shapes="x_shape")))


SPARSE = """
class Sparse(layers.Layer):
    def __init__(self):
        super().__init__()
        self.route, self.experts = layers.Dense(3), [layers.Dense(8) for _ in range(3)]
    def call(self, x):
        scores = jax.nn.softmax(self.route(x))
        chosen, out = jnp.argmax(scores, -1), jnp.zeros((x.shape[0], 8))
        for i, expert in enumerate(self.experts):
            mask = chosen == i
            out = {out}
        return out * jnp.max(scores, -1, keepdims=True)
    def compute_output_shape(self, shape):
        return shape[0], 8

def build():
    model = keras.Sequential([keras.Input((8,)), layers.Dense(8), Sparse(), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((32, 8), "float32"), np.zeros((32, 1), "float32")
"""


def test_rows_of_a_mask_are_kept_by_where(tmp_path):
    fixed = "ops.where(mask[:, None], self.experts[i](x), out)"
    assert fixed in first(tmp_path, SPARSE.format(out="out.at[mask].set(self.experts[i](x[mask]))"), "value-asked")
    assert not serious(traced(tmp_path, SPARSE.format(out=fixed)))


def test_no_step_is_shown_after_which_the_program_breaks_where_it_ran_before(tmp_path):
    lines = "W = self.w.value\n        u = lax.fori_loop(0, 3, lambda i, u: W @ u, jnp.ones((16,)))\n        return x * jnp.sum(u)"
    (finding,) = serious(traced(tmp_path, LAYER.format(lines=lines)))
    assert "starts as (16,), but becomes (32,)" in finding.message
    assert not any(fix.verified or fix.patch for fix in finding.fixes)


CELL = """
class Cell(layers.Layer):
    state_size, output_size = 12, 3
    def build(self, shape):
        self.w, self.p = self.add_weight(shape=(shape[-1] + 12, 12)), self.add_weight(shape=(12, 3))
    def call(self, inputs, states):
        kept = ops.tanh(ops.concatenate([inputs, states[0]], -1) @ self.w)
        out = kept @ self.p
        return {returned}

def build():
    model = keras.Sequential([keras.Input((9, 4)), layers.RNN(Cell()), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((32, 9, 4), "float32"), np.zeros((32, 1), "float32")
"""


@pytest.mark.parametrize("returned", ["out, [out]", "kept @ self.p, [kept @ self.p]"])
def test_a_cell_keeps_what_its_output_is_made_of(tmp_path, returned):
    assert "[kept]" in first(tmp_path, CELL.format(returned=returned), "rnn-states")
    assert not serious(traced(tmp_path, CELL.format(returned="out, [kept]")))


STEP = """
class Own(keras.Model):
    def loss_of(self, weights, rest, x, y):
        predicted, rest = self.stateless_call(weights, rest, x, training=True)
        return ops.mean((y - predicted) ** 2), rest
    def train_step(self, state, data):
        weights, rest, opt, met = state
        (loss, rest), grads = jax.value_and_grad(self.loss_of, has_aux=True)(weights, rest, *data)
        weights, opt = self.optimizer.stateless_apply(opt, grads, weights)
        return {returned}

def build():
    x = keras.Input((5,))
    model = Own(x, layers.Dense(2)(x))
    model.compile("sgd")
    return model

def data():
    return np.zeros((32, 5), "float32"), np.zeros((32, 2), "float32")
"""


@pytest.mark.parametrize("returned", ['(weights, rest, opt, met), {"loss": loss}', "loss, (weights, rest, opt, met)"])
def test_logs_are_a_dict_in_front_of_the_state(tmp_path, returned):
    assert '+        return {"loss": loss}, (weights, rest, opt, met)' in first(tmp_path, STEP.format(returned=returned), "step-without-state")
    assert not serious(traced(tmp_path, STEP.format(returned='{"loss": loss}, (weights, rest, opt, met)')))


MIXTURE = """
K = 5
def mixture(y, p):
    weight, mean, scale = jnp.split(p, 3, axis=-1)
    return jnp.mean(jnp.sum(weight * ((y - mean) ** 2 + scale), axis=-1))

def build():
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2 * K + 1)])
    model.compile("sgd", mixture)
    return model

def data():
    return np.zeros((32, 3), "float32"), np.zeros((32, 1), "float32")
"""


def test_each_part_of_a_split_has_as_many_values_as_the_name_says(tmp_path):
    assert "layers.Dense(3 * K)" in first(tmp_path, MIXTURE, "loss-raises")
