"""Whole programs of strangers on JAX: adapters, grouped heads, correlations, cells, losses of one's own, models that build themselves."""

from __future__ import annotations

import pytest
from strangers import serious, traced

LAYER = """
class Own(layers.Layer):
    def __init__(self, units=24, rank=4, heads=8, kv_heads=2):
        super().__init__()
        self.units, self.rank, self.heads, self.kv_heads = units, rank, heads, kv_heads
        self.inner = layers.Dense(units)
        self.q, self.k, self.v = layers.Dense(8 * heads), layers.Dense(8 * kv_heads), layers.Dense(8 * kv_heads)
    def build(self, shape):
        {build}
    def call(self, x):
{call}

def build():
    inputs = keras.Input((12, 16))
    model = keras.Model(inputs, layers.Dense(1)(Own()(inputs)))
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((20, 12, 16), "float32"), np.zeros((20, {y}1), "float32")
"""
LORA = ["return self.inner(x) + 2.0 * ops.matmul(ops.matmul(x, self.a), self.b)"]
GROUPED = [
    "b, t = x.shape[0], x.shape[1]",
    "q = self.q(x).reshape(-1, t, self.heads, 8)",
    "k = self.k(x).reshape(-1, t, self.kv_heads, 8)",
    "v = self.v(x).reshape(-1, t, self.kv_heads, 8)",
    'w = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k))',
    'return jnp.einsum("bhqk,bkhd->bqhd", w, v).reshape(-1, t, 64)',
]
CELL = [
    "k, r = self.a.value, self.b.value",
    "zeros = jnp.zeros((x.shape[0], self.units))",
    "def step(carry, xt):",
    "    h, c = carry",
    "    i, f, g, o = jnp.split(xt @ k + h @ r, 4, axis=-1)",
    "    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)",
    "    return (jax.nn.sigmoid(o) * c, c), c",
    "(h, _), _ = jax.lax.scan(step, (zeros, zeros), jnp.swapaxes(x, 0, 1))",
    "return h",
]
GRAPH = ["near = x @ jnp.swapaxes(x, 1, 2)", 'return jnp.einsum("ij,bjf->bif", near, x)']


def first(tmp_path, code):
    finding = serious(traced(tmp_path, code))[0]
    assert finding.fixes
    assert finding.fixes[0].proof == "source"
    return finding, finding.fixes[0].patch


def own(call, build="pass", y="12, "):
    return LAYER.format(call="\n".join(f"        {line}" for line in call), build=build, y=y)


def weights(a, b):
    return f'self.a, self.b = self.add_weight(shape={a}, name="a"), self.add_weight(shape={b}, name="b")'


def test_an_adapter_has_the_width_of_the_layer_beside_it(tmp_path):
    build = 'self.a = self.add_weight(shape=(16, self.rank), name="a")\n        self.b = self.add_weight(shape=(self.rank, shape[-1]), name="b")'
    _, patch = first(tmp_path, own(LORA, build))
    assert "+        self.b = self.add_weight(shape=(self.rank, self.units)" in patch


def test_keys_and_values_of_two_lines_are_both_repeated(tmp_path):
    _, patch = first(tmp_path, own(GROUPED))
    assert "k = ops.repeat(k, 4, axis=2)" in patch
    assert "v = ops.repeat(v, 4, axis=2)" in patch


def test_a_cell_has_as_many_columns_as_gates(tmp_path):
    _, patch = first(tmp_path, own(CELL, weights("(16, 3 * self.units)", "(self.units, 3 * self.units)"), ""))
    assert patch.count("4 * self.units") == 2


def test_an_einsum_gets_the_letter_of_the_batch(tmp_path):
    _, patch = first(tmp_path, own(GRAPH))
    assert '"bij,bjf->bif"' in patch


PAIR = """
class Pair(keras.Model):
    def __init__(self, dim=24):
        super().__init__()
        self.dim, self.encoder = dim, layers.Dense(dim)
    def call(self, x):
        a, b = self.encoder(x[0]), self.encoder(x[1])
        {norm}
        return a, b
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        a, b = y_pred
        {loss}

def build():
    model = Pair()
    model.compile("adam")
    return model

def data():
    return (np.ones((40, 10), "float32"), np.ones((40, 10), "float32")), None
"""


@pytest.mark.parametrize(("old", "new"), [('jnp.einsum("id,jd->ij", a, b)', '"id,ij->dj"'), ("(a @ b.T)", "a.T @ b")], ids=["einsum", "matmul"])
def test_a_square_of_features_is_no_square_of_samples(tmp_path, old, new):
    norm = "a, b = a - jnp.mean(a, 0), b - jnp.mean(b, 0)"
    loss = f"c = {old} / a.shape[0]\n        return jnp.sum((c - jnp.eye(self.dim)) ** 2)"
    finding, patch = first(tmp_path, PAIR.format(norm=norm, loss=loss))
    assert new in patch
    assert not any("dim=" in fix.title for fix in finding.fixes)


def test_labels_of_a_contrastive_loss_are_counted_along_the_samples(tmp_path):
    loss = "targets = jnp.arange(a.shape[-1])\n        "
    loss += "return ops.mean(keras.losses.sparse_categorical_crossentropy(targets, a @ b.T, from_logits=True))"
    _, patch = first(tmp_path, PAIR.format(norm="pass", loss=loss))
    assert "+        targets = jnp.arange(a.shape[0])" in patch


LOSS = """
def loss(y, p):
    {loss}

class Whole(keras.losses.Loss):
    def __call__(self, y_true, y_pred, sample_weight=None):
        return loss(y_true, y_pred)

def build():
    model = keras.Sequential([keras.Input((7,)), layers.Dense(16, "relu"), {head}])
    model.compile("adam", {which})
    return model

def data():
    return np.ones((32, 7), "float32"), np.arange(32 * {n}).reshape({y}).astype("float32") % 2
"""
BCE = "return jnp.mean(-(y * jnp.log(p) + (1 - y) * jnp.log(1 - p)) * jnp.ones(6), axis=-1)"


def test_one_value_for_every_value_of_a_label_is_told(tmp_path):
    code = LOSS.format(loss=BCE, head='layers.Dense(1, "sigmoid")', which="loss", n=6, y="32, 6")
    finding, patch = first(tmp_path, code)
    assert finding.rule == "loss-broadcast"
    assert 'layers.Dense(6, "sigmoid")' in patch


def test_one_label_for_several_quantiles_is_a_choice(tmp_path):
    loss = "e = y - p\n    return jnp.mean(jnp.maximum(0.5 * e, -0.5 * e), axis=-1)"
    assert not serious(traced(tmp_path, LOSS.format(loss=loss, head="layers.Dense(3)", which="loss", n=1, y="32, 1")))


def test_a_loss_that_keras_does_not_call_is_looked_at(tmp_path):
    code = LOSS.format(loss="return jnp.mean((y - p) ** 2)", head="layers.Dense(1)", which="Whole()", n=1, y="32")
    (finding,) = serious(traced(tmp_path, code))
    assert finding.rule == "batch-broadcast"


def test_a_matrix_of_pairs_in_such_a_loss_is_meant(tmp_path):
    code = LOSS.format(loss="return jnp.mean((p - p.T) * (y - y.T))", head="layers.Dense(1)", which="Whole()", n=1, y="32, 1")
    assert not serious(traced(tmp_path, code))


def test_one_quantile_of_each_step_is_taken(tmp_path):
    loss = "e = 0.0\n    for i in range(3):\n        d = y - p[:, i]\n        e = e + jnp.mean(d ** 2, axis=-1)\n    return e"
    code = LOSS.format(loss=loss, head="layers.Dense(36), layers.Reshape((12, 3))", which="loss", n=12, y="32, 12")
    _, patch = first(tmp_path, code)
    assert "+        d = y - p[..., i]" in patch


LATE = """
class Block(layers.Layer):
    def __init__(self, filters):
        super().__init__()
        self.conv = layers.Conv2D(filters, 3)
    def call(self, x):
        return jax.nn.silu(self.conv(x))

def build():
    model = keras.Sequential([{layers}, layers.GlobalAveragePooling2D(), layers.Dense(2)])
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((16, {shape}), "float32"), np.zeros((16, 2), "float32")
"""


@pytest.mark.parametrize("block", ["Block(8)", "layers.Conv2D(8, 3)"])
def test_a_model_that_builds_itself_shows_what_led_to_the_break(tmp_path, block):
    finding, patch = first(tmp_path, LATE.format(layers=f"{block}, layers.MaxPooling2D()", shape="3, 48, 48"))
    assert finding.rule == "window-too-large"
    assert finding.fact.picture == (3, 48, 48)
    assert finding.fact.givers
    assert "(0, 2, 3, 1)" in patch


def test_a_model_that_builds_itself_and_is_right_is_left_alone(tmp_path):
    report = traced(tmp_path, LATE.format(layers="Block(8), layers.MaxPooling2D()", shape="48, 48, 3"))
    assert report.ok
    assert sum(node.op == "MaxPooling2D" for node in report.flow.nodes) == 1


def test_a_softmax_over_the_positions_is_none_over_one_score(tmp_path):
    call = ["a = jax.nn.softmax(self.score(x), axis={})", "return jnp.sum(a * x, axis=1)"]
    code = own(call, "pass", "").replace("self.inner = layers.Dense(units)", "self.score = layers.Dense(1)")
    assert not [one for one in traced(tmp_path, code.format(1)).findings if one.rule == "one-unit-softmax"]
    assert [one for one in traced(tmp_path, code.format(-1)).findings if one.rule == "one-unit-softmax"]


CODEBOOK = """
class Codebook(layers.Layer):
    def __init__(self, dim=64):
        super().__init__()
        self.dim = dim
    def build(self, shape):
        self.table = self.add_weight(shape=(10, self.dim), name="table")
    def call(self, z):
        flat = ops.reshape(z, (-1, self.dim))
        near = jnp.argmax(flat @ ops.transpose(self.table), axis=1)
        return ops.reshape(ops.take(self.table, near, axis=0), {back})

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.table, self.last = layers.Conv2D({width}, 1), Codebook(), layers.Dense(1)
    def call(self, x):
        z = self.first(x)
        return self.last(z + self.table(z))

def build():
    model = Net()
    model.compile("sgd", "mse")
    return model

def data():
    return np.ones((16, {side}, {side}, 3), "float32"), np.ones((16, {side}, {side}, 1), "float32")
"""


def test_rows_that_end_in_another_sample_are_told(tmp_path):
    finding, patch = first(tmp_path, CODEBOOK.format(back="z.shape", width=32, side=7))
    assert finding.rule == "reshape-interleaves"
    assert (finding.fact.sample, finding.fact.block, finding.fact.width) == (1568, 64, 32)
    assert "Codebook(dim=32)" in patch


def test_rows_of_one_position_each_are_right(tmp_path):
    report = traced(tmp_path, CODEBOOK.format(back="z.shape", width=64, side=7))
    assert not [finding for finding in report.findings if finding.rule == "reshape-interleaves"]


STEP = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.norm, self.head = layers.BatchNormalization(), layers.Dense(3)
    def call(self, x, training=None):
        return self.head(self.norm(x, training=training))
    def train_step(self, state, data):
        tv, ntv, ov, mv = state
        x, y = data
        def loss_of(tv):
            p, _ = self.stateless_call(tv, ntv, x, training=True)
            return jnp.mean((p - y) ** 2)
        {taken}
        tv, ov = self.optimizer.stateless_apply(ov, grads, tv)
        return {{}}, (tv, ntv, ov, mv)

def build():
    model = Net()
    model.compile("sgd")
    return model

def data():
    return np.ones((32, 8), "float32"), np.ones((32, 3), "float32")
"""


@pytest.mark.parametrize(
    ("taken", "line"),
    [
        ("loss, grads = jax.value_and_grad(loss_of)(tv)", "(loss, ntv), grads = jax.value_and_grad(loss_of, has_aux=True)(tv)"),
        ("grads = jax.grad(loss_of)(tv)", "grads, ntv = jax.grad(loss_of, has_aux=True)(tv)"),
        ("take = jax.grad(loss_of)\n        grads = take(tv)", "take = jax.grad(loss_of, has_aux=True)"),
    ],
    ids=["value", "gradient", "by a name"],
)
def test_the_state_that_a_differentiated_function_drops_is_returned(tmp_path, taken, line):
    finding, patch = first(tmp_path, STEP.format(taken=taken))
    assert finding.rule == "step-without-state"
    assert f"+        {line}" in patch
    assert "+            p, new_ntv = self.stateless_call" in patch


ADDED = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.made, self.judge, self.seed = layers.Dense(6), layers.Dense(1), keras.random.SeedGenerator(1)
    def call(self, x):
        z = keras.random.normal((x.shape[0], 5, 4), seed=self.seed)
        eps = keras.random.uniform((x.shape[0], 1), seed=self.seed)
        fake = self.made(z)
        self.add_loss(jnp.mean(self.judge(eps * x + fake)))
        return fake

def build():
    model = Net()
    model.compile("sgd")
    return model

def data():
    return np.ones((32, 5, 6), "float32"), None
"""


def test_an_input_that_only_feeds_an_added_loss_is_no_question(tmp_path):
    _, patch = first(tmp_path, ADDED)
    # One number for each sample, where it is drawn.
    assert "+        eps = keras.random.uniform((x.shape[0], 1, 1), seed=self.seed)" in patch


FLOW = """
class Flow(keras.Model):
    def __init__(self):
        super().__init__()
        self.scale = layers.Dense(8)
    def call(self, x):
        s = jnp.tanh(self.scale(x))
        return x * jnp.exp(s), jnp.sum(s, axis=-1)
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        z, logdet = y_pred
        prior = -0.5 * z ** 2
        return -jnp.mean(prior + {term})

def build():
    model = Flow()
    model.compile("adam")
    return model

def data():
    return np.ones(({rows}, 8), "float32"), None
"""


@pytest.mark.parametrize("rows", [32, 8], ids=["raises", "silent"])
def test_a_term_beside_a_sum_is_summed(tmp_path, rows):
    _, patch = first(tmp_path, FLOW.format(term="logdet", rows=rows))
    assert "+        return -jnp.mean(ops.sum(prior, axis=-1) + logdet)" in patch


def test_a_term_beside_a_mean_gets_an_axis(tmp_path):
    _, patch = first(tmp_path, FLOW.format(term="logdet", rows=32).replace("jnp.sum(s", "jnp.mean(s"))
    assert "logdet[..., None]" in patch or "logdet[:, None]" in patch


AUDIO = """
class Audio(keras.Model):
    def __init__(self):
        super().__init__()
        self.norm, self.conv, self.pool = layers.Normalization(mean=0.0, variance=1.0, axis=None), layers.Conv2D(4, 3), layers.GlobalMaxPooling2D()
    def call(self, x):
        return self.pool(self.conv(self.norm(x)))

def build():
    model = Audio()
    model.compile("adam", "mse")
    return model

def data():
    return np.ones((16, 20, 20), "float32"), np.ones((16, 4), "float32")
"""


def test_a_break_is_told_where_a_tensor_leaks_as_well(tmp_path):
    assert serious(traced(tmp_path, AUDIO))[0].rule == "layer-rank"


PER_SAMPLE = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.head = layers.Dense(3)
    def call(self, x, training=None):
        return self.head(x)
    def loss_of(self, tv, ntv, x, y):
        p, ntv = self.stateless_call(tv, ntv, x, training=True)
        {returned}
    def train_step(self, state, data):
        tv, ntv, ov, mv = state
        x, y = data
        {taken}
        tv, ov = self.optimizer.stateless_apply(ov, grads, tv)
        return {{}}, (tv, ntv, ov, mv)

def build():
    model = Net()
    model.compile("sgd")
    return model

def data():
    return np.ones((32, 8), "float32"), np.ones((32, 3), "float32")
"""


@pytest.mark.parametrize(
    ("returned", "taken", "line"),
    [
        (
            "return jnp.mean((p - y) ** 2, axis=-1), ntv",
            "(loss, ntv), grads = jax.value_and_grad(self.loss_of, has_aux=True)(tv, ntv, x, y)",
            "        return ops.mean(jnp.mean((p - y) ** 2, axis=-1)), ntv",
        ),
        (
            "losses = keras.losses.mean_squared_error(y, p)\n        return losses, ntv",
            "grads, ntv = jax.grad(self.loss_of, has_aux=True)(tv, ntv, x, y)",
            "        return ops.mean(losses), ntv",
        ),
        ("return (p - y) ** 2", "grads = jax.grad(self.loss_of)(tv, ntv, x, y)", "        return ops.mean((p - y) ** 2)"),
    ],
    ids=["beside the state", "by a name", "of every value"],
)
def test_a_loss_to_differentiate_is_the_mean_over_the_samples(tmp_path, returned, taken, line):
    finding, patch = first(tmp_path, PER_SAMPLE.format(returned=returned, taken=taken))
    assert finding.rule == "op-shapes"
    assert f"+{line}" in patch


def test_a_derivative_by_the_samples_is_no_loss_to_take_the_mean_of(tmp_path):
    taken = "grads = jax.grad(lambda points: self.stateless_call(tv, ntv, points)[0])(x)"
    step = PER_SAMPLE.format(returned="return jnp.mean((p - y) ** 2), ntv", taken=taken)
    finding = serious(traced(tmp_path, step))[0]
    assert "returns shape (32, 3) instead of a scalar" in finding.message
    assert not any("mean" in fix.title for fix in finding.fixes)
