"""Programs on JAX that share heads, mix samples by a number, index rows by [:, indices], scan along the batch, or add up a metric."""

from __future__ import annotations

from strangers import serious, traced

GROUPED = """
class Grouped(layers.Layer):
    def __init__(self, heads=8, groups=2, dim=8):
        super().__init__()
        q, k, v = (layers.EinsumDense("btd,dhk->bthk", output_shape=(None, many, dim)) for many in (heads, groups, groups))
        self.q, self.k, self.v = q, k, v
        self.out = layers.EinsumDense("bthk,hkd->btd", output_shape=(None, heads * dim))
    def call(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = jnp.einsum("bqhk,bshk->bhqs", q, k)
        return self.out(jnp.einsum("bhqs,bshk->bqhk", jax.nn.softmax(scores), v))
def build():
    inputs = keras.Input((24,), dtype="int32")
    model = keras.Model(inputs, layers.Dense(120)(Grouped()(layers.Embedding(120, 64)(inputs))))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model
def data():
    return np.zeros((40, 24), "int32"), np.zeros((40, 24), "int32")
"""


def test_keys_and_values_are_repeated_for_the_heads_of_their_group(tmp_path):
    (finding,) = serious(traced(tmp_path, GROUPED))
    assert finding.fixes[0].proof == "source"
    assert "k, v = ops.repeat(k, 4, axis=2), ops.repeat(v, 4, axis=2)" in finding.fixes[0].patch


SCALED = """
class Scaled(layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(shape=(4,), initializer="ones")
    def call(self, x):
        heads = jnp.moveaxis(x.reshape((-1, 24, 4, 16)), 2, 1)
        scores = jnp.matmul(heads, jnp.swapaxes(heads, -1, -2)) * {scale}
        return jnp.moveaxis(jnp.matmul(jax.nn.softmax(scores), heads), 1, 2).reshape((-1, 24, 64))
def build():
    inputs = keras.Input((24, 64))
    model = keras.Model(inputs, layers.Dense(2)(layers.GlobalAveragePooling1D()(Scaled()(inputs))))
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((40, 24, 64), "float32"), np.zeros((40, 2), "float32")
"""


def test_a_scale_for_each_head_stands_along_the_heads(tmp_path):
    (finding,) = serious(traced(tmp_path, SCALED.format(scale="self.scale.value")))
    assert finding.fixes[0].proof == "source"
    assert "self.scale.value[:, None, None]" in finding.fixes[0].patch
    assert traced(tmp_path, SCALED.format(scale="self.scale.value[:, None, None]")).ok


PICKED = """
class Picked(layers.Layer):
    def __init__(self):
        super().__init__()
        self.score = layers.Dense(1)
    def call(self, x):
        best, index = jax.lax.top_k(self.score(x)[..., 0], 12)
        x = {picked}
        return x * jax.nn.sigmoid(best)[..., None]
def build():
    inputs = keras.Input((60, 10))
    x = layers.Conv1D(32, 3)(Picked()(layers.Dense(32)(inputs)))
    model = keras.Model(inputs, layers.Dense(3)(layers.GlobalAveragePooling1D()(x)))
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((64, 60, 10), "float32"), np.zeros((64, 3), "float32")
"""


def test_indices_in_brackets_are_those_of_all_samples(tmp_path):
    (finding,) = serious(traced(tmp_path, PICKED.format(picked="x[:, index]")))
    assert type(finding.fact).__name__ == "EveryIndex"
    assert [fix.proof for fix in finding.fixes] == ["source"]
    assert "ops.take_along_axis(x, index[..., None], axis=1)" in finding.fixes[0].patch
    assert traced(tmp_path, PICKED.format(picked="jnp.take_along_axis(x, index[..., None], axis=1)")).ok
    assert traced(tmp_path, PICKED.format(picked="x[:, jnp.arange(12)]")).ok


MIXED = """
class Mixed(keras.Model):
    def __init__(self):
        super().__init__()
        self.judge = keras.Sequential([keras.Input((20,)), layers.Dense(16, activation="relu"), layers.Dense(1)])
        self.seed = keras.random.SeedGenerator(5)
    def call(self, x):
        return self.judge(x)
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        share = keras.random.uniform((ops.shape(x)[0],), seed=self.seed)
        mix = share * x + (1 - share) * ops.flip(x, axis=-1)
        slope = jax.grad(lambda t: jnp.sum(self.judge(t)))(mix)
        return jnp.mean((jnp.sqrt(jnp.sum(slope**2, axis=1) + 1e-8) - 1) ** 2) - jnp.mean(y_pred)
def build():
    model = Mixed()
    model.compile("adam")
    return model
def data():
    return np.zeros((256, 20), "float32")
"""


def test_a_share_of_each_sample_stays_one_number(tmp_path):
    (finding,) = serious(traced(tmp_path, MIXED))
    assert finding.fixes[0].proof == "source"
    assert "share[..., None] * x + ((1 - share)[..., None])" in finding.fixes[0].patch


RUNNING = """
class Running(layers.Layer):
    def __init__(self):
        super().__init__()
        self.gate, self.value = layers.Dense(32, activation="sigmoid"), layers.Dense(32)
    def call(self, x):
        z = self.gate(x)
        _, y = jax.lax.associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (1 - z, z * self.value(x)){axis})
        return y
def build():
    inputs = keras.Input((20,), dtype="int32")
    model = keras.Model(inputs, layers.Dense(1)(Running()(layers.Embedding(50, 24)(inputs))))
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((64, 20), "int32"), np.zeros((64, 20, 1), "float32")
"""


def test_an_associative_scan_runs_along_the_steps(tmp_path):
    (finding,) = serious(traced(tmp_path, RUNNING.format(axis="")))
    assert type(finding.fact).__name__ == "BatchScanned"
    assert finding.fixes[0].proof == "source"
    assert "axis=1)" in finding.fixes[0].patch
    assert traced(tmp_path, RUNNING.format(axis=", axis=1")).ok


COUNTED = """
class Within(keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="within")
        self.hits = self.add_variable(shape=(), initializer="zeros", name="hits")
    def update_state(self, y_true, y_pred, sample_weight=None):
        near = jnp.abs(y_true - y_pred) < 0.5
        self.hits.assign(self.hits + near.sum({axis}))
    def result(self):
        return ops.convert_to_tensor(self.hits)
def build():
    model = keras.Sequential([keras.Input((8,)), layers.Dense(1)])
    model.compile("adam", "mse", metrics=[Within()])
    return model
def data():
    return np.zeros((64, 8), "float32"), np.zeros((64, 1), "float32")
"""


def test_a_metric_of_single_numbers_is_summed_over_all_axes(tmp_path):
    (finding,) = serious(traced(tmp_path, COUNTED.format(axis="axis=0")))
    assert finding.fixes[0].proof == "source"
    assert "near.sum(axis=None)" in finding.fixes[0].patch
    assert traced(tmp_path, COUNTED.format(axis="")).ok


BESIDE = """
class Grouped(layers.Layer):
    def __init__(self, heads=8, groups=2, dim=8):
        super().__init__()
        self.times = heads // groups
        self.q, self.k, self.v = (layers.EinsumDense("btd,dhk->bhtk", output_shape=(n, None, dim)) for n in (heads, groups, groups))
        self.out = layers.EinsumDense("bhtk,hkd->btd", output_shape=(None, heads * dim))
    def call(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        keys = {keys}
        scores = ops.softmax(ops.matmul(q, ops.swapaxes(keys, -1, -2)))
        return self.out(ops.matmul(scores, {values}))
"""


def test_values_are_repeated_as_the_keys_beside_them_are(tmp_path):
    model = GROUPED[GROUPED.index("def build") :]
    keys, values = (f"ops.repeat({name}, self.times, axis=1)" for name in "kv")
    (finding,) = serious(traced(tmp_path, BESIDE.format(keys=keys, values="v") + model))
    assert finding.fixes[0].proof == "source"
    assert f"+        return self.out(ops.matmul(scores, {values}))" in finding.fixes[0].patch
    assert traced(tmp_path, BESIDE.format(keys=keys, values=values) + model).ok


ROTARY = """
def tables(steps, dim):
    inverse = 10000.0 ** (-{places} / dim)
    angle = jnp.arange(steps, dtype="float32")[:, None] * inverse[None, :]
    return jnp.cos(angle), jnp.sin(angle)
def rotate(x, cos, sin):
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)
class Grouped(layers.Layer):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (layers.Dense(24) for _ in range(3))
    def call(self, x):
        cos, sin = tables(x.shape[1], 24)
        q, k = rotate(self.q(x), cos, sin), rotate(self.k(x), cos, sin)
        return jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k), axis=-1) @ self.v(x)
    def compute_output_shape(self, shape):
        return (*shape[:-1], 24)
"""


def test_one_angle_turns_a_pair_of_values(tmp_path):
    model = GROUPED[GROUPED.index("def build") :]
    for places in ("jnp.arange(0, dim)", 'jnp.arange(dim, dtype="float32")'):
        (finding,) = serious(traced(tmp_path, ROTARY.format(places=places) + model))
        assert finding.fixes[0].proof == "source"
        assert "jnp.arange(0, dim, 2" in finding.fixes[0].patch
    assert traced(tmp_path, ROTARY.format(places="jnp.arange(0, dim, 2)") + model).ok
