"""What a look at fresh programs found: caches, segments, shortcuts by an operator, letters of an einsum, sizes in a class's defaults, frozen parts, layouts."""

from __future__ import annotations

import pytest
from strangers import HEAD, first, serious, traced

import jupyter_tpushape as tpushape

MODEL = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.out = layers.Dense(24), layers.Dense(24), layers.Dense(1)
    def call(self, x{more}):
        {lines}

class Net(keras.Model):
    def __init__(self, width=24, length=10):
        super().__init__()
        self.lift, self.own = layers.Dense(width), Own()
        self.table = self.add_weight(shape=(length, width), name="table")
    def call(self, inputs):
        {call}

def build():
    model = Net()
    model.compile("adam", "mse")
    return model

def data():
    return {x}, np.zeros((32, {y}), "float32")
"""
STEPS = 'np.zeros((32, 12, 5), "float32")'
CACHE = MODEL.replace("{more}", "").replace("{call}", "return self.own(inputs)").replace("{x}", STEPS).replace("{y}", "12, 24")
HEADS = "jnp.reshape(self.q(x), (x.shape[0], 12, 3, 8))"
READ = "return jnp.reshape(jnp.einsum('bqhd,bkhd->bqhd', {0}, cache[:, :12]), x.shape[:2] + (-1,))"
PUT = {
    "an update": "ops.slice_update(cache, (0, 0, 0, 0), k)",
    "one of lax": "jax.lax.dynamic_update_slice(cache, k, (0, 0, 0, 0))",
    "places": "cache.at[:, :12].set(k)",
}


@pytest.mark.parametrize("put", PUT.values(), ids=PUT)
def test_what_is_put_into_a_cache_is_split_as_the_cache_is(tmp_path, put):
    lines = f"k = {{}}\n        cache = jnp.zeros((x.shape[0], 20, 3, 8))\n        cache = {put}\n        {READ.format(HEADS)}"
    assert "reshape(k, (*k.shape[:-1], *cache.shape[-2:]))" in first(tmp_path, CACHE.replace("{lines}", lines.format("self.k(x)")), "op-shapes")
    assert not serious(traced(tmp_path, CACHE.replace("{lines}", lines.format(HEADS.replace("self.q", "self.k")))))


PAIR = MODEL.replace("{more}", ", ids").replace("{call}", "return self.own(self.lift(inputs[0]), inputs[1])")
PAIR = PAIR.replace("{x}", f'({STEPS}, np.zeros((32, 12), "int32"))').replace("{y}", "4, 1")


@pytest.mark.parametrize("call", ["jax.ops.segment_sum", "ops.segment_sum"])
def test_segments_of_each_sample_are_summed_apart(tmp_path, call):
    code = PAIR.replace("{lines}", f"return self.out({call}(x, ids, num_segments=4))")
    assert f"jax.vmap(lambda x, ids: {call}(x, ids, num_segments=4))(x, ids)" in first(tmp_path, code, "op-shapes")


def test_a_lambda_that_has_a_name_is_mapped_over_some_arguments(tmp_path):
    lines = "f = lambda a, b, w: a * b[0] @ w\n        return self.out(jax.vmap(f)(x, ids, jnp.ones((24, 4))))"
    code = PAIR.replace("{lines}", lines).replace('"int32"', '"float32"').replace("4, 1", "12, 1")
    assert "jax.vmap(f, in_axes=(0, 0, None))" in first(tmp_path, code, "op-shapes")


SPLIT = 'h = jnp.reshape(self.q(x), (x.shape[0], 12, 3, 8))\n        att = jnp.einsum("bqhd,bkhd->bhqk", h, h)'
LETTERS = {
    "of one size": (SPLIT, "bhqk,bhkd->bqhd", "att, h", "bhqk,bkhd->bqhd"),
    "samples second": ("q = x[:, 0]\n        k = jnp.swapaxes(x, 0, 1)", "bd,btd->bt", "q, k", "bd,tbd->bt"),
}


@pytest.mark.parametrize(("lines", "wrong", "given", "right"), LETTERS.values(), ids=LETTERS)
def test_letters_of_an_einsum_that_are_right_stay(tmp_path, lines, wrong, given, right):
    code = MODEL.replace("{more}", "").replace("{call}", "return self.own(self.lift(inputs))").replace("{x}", STEPS.replace("32, 12", "8, 12"))
    code = code.replace("{y}", "12, 1").replace("np.zeros((32", "np.zeros((8")
    end = f'return self.out(jnp.einsum("LETTERS", {given}).reshape(x.shape[0], 12, -1))'
    code = code.replace("{lines}", f"{lines}\n        {end}")
    (finding,) = serious(traced(tmp_path, code.replace("LETTERS", wrong)))
    assert f'+        return self.out(jnp.einsum("{right}"' in finding.fixes[0].patch
    assert [fix.verified for fix in finding.fixes].count(True) == 1
    assert not serious(traced(tmp_path, code.replace("LETTERS", right)))


@pytest.mark.parametrize("table", ["self.table.value[None]", "self.table", "self.table.value"])
def test_a_size_among_the_defaults_of_a_class(tmp_path, table):
    code = MODEL.replace("{more}", "").replace("{call}", f"return self.own(self.lift(inputs) + {table})").replace("{x}", STEPS)
    code = code.replace("{y}", "12, 1").replace("{lines}", "return self.out(x)")
    assert "length=12):" in first(tmp_path, code, "op-shapes")
    assert not serious(traced(tmp_path, code.replace("length=10", "length=12")))


RESIDUAL = """
def build():
    inputs = keras.Input({shape})
    x = inputs
    for width in (16, 32):
        y = layers.{layer}(x)
        x = layers.ReLU()({added})
    {pool}
    model = keras.Model(inputs, layers.Dense(1)(x))
    model.compile("adam", "mse")
    return model

def data():
    return np.zeros((32, *{shape}), "float32"), np.zeros((32, 1), "float32")
"""


@pytest.mark.parametrize(("added", "left", "right"), [("x + y", "(", ") + y"), ("ops.add(x, y)", "ops.add(", ", y)")])
@pytest.mark.parametrize(
    ("shape", "layer", "pool", "new"),
    [
        ((12, 12, 16), 'Conv2D(width, 3, padding="same")', "x = layers.GlobalAveragePooling2D()(x)", "layers.Conv2D(width, kernel_size=(1, 1))"),
        ((16,), "Dense(width)", "", "layers.Dense(width)"),
    ],
)
def test_a_shortcut_is_projected_where_an_operator_adds_it(tmp_path, shape, layer, pool, new, added, left, right):
    code = RESIDUAL.format(shape=shape, layer=layer, added=added, pool=pool)
    assert f"{left}x if x.shape[-1] == width else {new}(x){right}" in first(tmp_path, code, "merge-shapes")


FORWARD = """
def block(x, hidden):
    f = layers.Dense(hidden, activation="gelu")(x)
    f = layers.Dropout(0.1)(f){second}
    return layers.LayerNormalization()(x + f)

def build():
    inputs = keras.Input((9, 16))
    model = keras.Model(inputs, layers.Dense(1)(block(block(inputs, 64), 64)))
    model.compile("adam", "mse")
    return model

def data():
    return np.zeros((32, 9, 16), "float32"), np.zeros((32, 9, 1), "float32")
"""


def test_a_feed_forward_block_gets_its_second_layer(tmp_path):
    assert "(x + layers.Dense(16)(f))" in first(tmp_path, FORWARD.format(second=""), "merge-shapes")
    assert "+    f = layers.Dense(16)(f)" in first(tmp_path, FORWARD.format(second="\n    f = layers.Dense(24)(f)"), "merge-shapes")


FROZEN = """
class Distilled(keras.Model):
    def __init__(self):
        super().__init__()
        self.student, self.teacher, self.head = layers.Dense({0}), layers.Dense({1}), layers.Dense(3)
        self.teacher.trainable = False
    def call(self, x):
        self.add_loss(ops.mean((self.student(x) - self.teacher(x)) ** 2))
        return self.head(self.student(x))

def build():
    model = Distilled()
    model.compile("adam", "mse")
    return model

def data():
    return np.zeros((32, 8), "float32"), np.zeros((32, 3), "float32")
"""


def test_the_trained_part_follows_the_frozen_one(tmp_path):
    assert "layers.Dense(56), layers.Dense(56)" in first(tmp_path, FROZEN.format(40, 56))
    assert not serious(traced(tmp_path, FROZEN.format(56, 56)))


METRIC = """
class Each(keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="each")
        self.total, self.hits = (self.add_weight(shape=(5,), initializer="zeros", name=name) for name in ("total", "hits"))
    def update_state(self, y_true, y_pred, sample_weight=None):
        error = ops.abs(y_true - y_pred)
        self.total.assign_add(ops.sum(error, axis={0}))
        self.hits.assign_add(ops.sum(error, axis={0}))
    def result(self):
        return ops.mean(self.total / self.hits)

def build():
    model = keras.Sequential([keras.Input((16,)), layers.Dense(5)])
    model.compile("adam", "mse", metrics=[Each()])
    return model

def data():
    return np.zeros((32, 16), "float32"), np.zeros((32, 5), "float32")
"""


def test_what_a_metric_adds_to_a_variable_is_summed_over_the_samples(tmp_path):
    assert first(tmp_path, METRIC.format(-1), "metric-raises").count("axis=0))") == 2
    assert not serious(traced(tmp_path, METRIC.format(0)))


STEP = """
class Own(keras.Model):
    def train_step(self, state, data):
        trained, others, slots, metrics = state
        x, y = data
        {held}
        def loss(trained, others):
            pred, others = self.stateless_call(trained, others, x, training=True)
            return {loss}(y, pred), others
        (value, others), grads = jax.value_and_grad(loss, has_aux=True)(trained, others)
        trained, slots = self.optimizer.stateless_apply(slots, grads, trained)
        return {{"loss": value}}, (trained, others, slots, metrics)

def build():
    inputs = keras.Input((8,))
    model = Own(inputs, layers.Dense(4, activation="softmax")(inputs))
    model.compile("adam")
    return model

def data():
    return np.zeros((32, 8), "float32"), np.eye(4, dtype="float32")[np.arange(32) % 4]
"""


@pytest.mark.parametrize(
    ("held", "loss"), [("", "keras.losses.SparseCategoricalCrossentropy()"), ("entropy = keras.losses.SparseCategoricalCrossentropy()", "entropy")]
)
def test_a_loss_object_for_class_indices_is_one_for_one_hot_rows(tmp_path, held, loss):
    patch = first(tmp_path, STEP.format(held=held or "pass", loss=loss), "loss-raises")
    assert "keras.losses.CategoricalCrossentropy()" in patch.split("\n+")[-1]


KEYS = """
def build():
    inputs = keras.Input((8,), name="x")
    model = keras.Model(inputs, {"kind": layers.Dense(1, name="kind")(inputs), "box": layers.Dense(4, name="box")(inputs)})
    model.compile("adam", loss={"kind": "mse", "bbox": "mse"})
    return model

def data():
    return {"x": np.zeros((32, 8), "float32")}, {"kind": np.zeros((32, 1), "float32"), "bbox": np.zeros((32, 4), "float32")}
"""


def test_keys_that_compile_and_the_labels_share_are_renamed_together(tmp_path):
    patch = first(tmp_path, KEYS, "output-names")
    assert '"box": "mse"' in patch and '"box": np.zeros((32, 4)' in patch


MAP = """
def build():
    inputs = keras.Input((24,), dtype="int32")
    x = layers.Embedding(64, 32, name="tokens")(inputs)
    x = layers.MultiHeadAttention(4, 8, name="attention")(x, x)
    model = keras.Model(inputs, layers.Dense(8, name="block_out")(x))
    model.compile("adam", "mse")
    return model

def data():
    return np.zeros((32, 24), "int32"), np.zeros((32, 24, 8), "float32")

def strategy():
    mesh = keras.distribution.DeviceMesh((2, 4), ["batch", "model"], devices=[f"tpu:{i}" for i in range(8)])
    layout = keras.distribution.LayoutMap(mesh)
    layout["attention/(query|key|value)/kernel"] = (None, None, None, "model")
    layout["KEY"] = ("model", None)
    return keras.distribution.ModelParallel(layout_map=layout, batch_dim_name="batch")
"""


@pytest.mark.parametrize("key", ["out/kernel", "block_out/kernel"])
def test_unnamed_axes_that_are_too_many_go_with_what_other_rules_find(tmp_path, key):
    path, scope = tmp_path / "program.py", {"__name__": "program"}
    path.write_text(HEAD + MAP.replace("KEY", key), encoding="utf-8")
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
    report = tpushape.trace(scope["build"], scope["data"], tpu="v5e-8", strategy=scope["strategy"]())
    finding = next(one for one in report.findings if one.rule == "layout-rank")
    assert finding.fixes[0].verified
    assert '(None, None, "model")' in finding.fixes[0].patch
    assert (".*out/kernel" in finding.fixes[0].patch) is (key == "out/kernel")
