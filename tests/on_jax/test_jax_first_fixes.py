"""The first fix for whole programs of strangers on JAX: views, adapters, columns of data, pictures of whole numbers."""

from __future__ import annotations

import pytest
from strangers import first, serious, traced

VIEWS = """
class Views(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = layers.Dense(8)
    def call(self, pair):
        a, b = pair
        return self.encoder(a), self.encoder(b)
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        za, zb = y_pred
        z = jnp.concatenate([za, zb], axis=1)
        z = z / jnp.linalg.norm(z, axis=-1, keepdims=True)
        n = za.shape[0]
        alike = z @ z.T / 0.1 - 1e9 * jnp.eye(2 * n)
        other = jnp.concatenate([jnp.arange(n) + n, jnp.arange(n)])
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(alike, axis=-1), other[:, None], axis=1))

def build():
    model = Views()
    model.compile("sgd")
    return model

def data():
    a = np.random.default_rng(0).normal(size=(32, 12)).astype("float32")
    return (a, a + 0.1), None
"""


def test_two_views_stand_one_below_the_other(tmp_path):
    assert "+        z = jnp.concatenate([za, zb], axis=0)" in first(tmp_path, VIEWS)


ADAPTER = """
class Adapter(layers.Layer):
    def __init__(self, units, rank=4):
        super().__init__()
        self.units, self.rank = units, rank
    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], self.units), trainable=False)
        self.a = self.add_weight(shape=(self.rank, shape[-1]))
        self.b = self.add_weight(shape=(self.units, self.rank), initializer="zeros")
    def call(self, x):
        w = self.kernel + 2.0 * {product}
        return x @ w

def build():
    model = keras.Sequential([keras.Input((12, 32)), Adapter(48), Adapter(32), layers.GlobalAveragePooling1D(), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((20, 12, 32), "float32"), np.zeros((20, 1), "float32")
"""


@pytest.mark.parametrize(("product", "fixed"), [
    ("jnp.matmul(self.b.value, self.a.value)", "ops.transpose(2.0 * jnp.matmul(self.b.value, self.a.value))"),
    ("(self.b @ self.a)", "ops.transpose(2.0 * (self.b @ self.a))"),
])  # fmt: skip
def test_an_adapter_in_the_wrong_order_is_transposed_and_its_layer_keeps_its_width(tmp_path, product, fixed):
    assert f"+        w = self.kernel + {fixed}" in first(tmp_path, ADAPTER.format(product=product))


COLUMNS = """
class Rows(keras.utils.PyDataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        image, meta = np.zeros((8, 16, 16, 3), "float32"), np.stack([np.zeros(8), np.zeros(8), np.zeros(8)]).astype("float32")
        return {"image": image, "meta": meta}, np.zeros((8, 1), "float32")

def build():
    image, meta = keras.Input((16, 16, 3), name="image"), keras.Input((3,), name="meta")
    joined = layers.Concatenate()([layers.GlobalAveragePooling2D()(image), layers.Dense(8)(meta)])
    model = keras.Model({"image": image, "meta": meta}, layers.Dense(1)(joined))
    model.compile("sgd", "mse")
    return model

def data():
    return Rows()
"""


def test_columns_that_are_stacked_as_rows_are_transposed(tmp_path):
    assert "np.transpose(meta, (1, 0))" in first(tmp_path, COLUMNS, "swapped-axes")


PICTURES = """
class Scaled(layers.Layer):
    def call(self, x):
        if jnp.max(x) > 1.5:
            x = x / 255.0
        return x

def build():
    model = keras.Sequential([keras.Input((12, 12, 1)), Scaled(), layers.Conv2D(4, 3), layers.Flatten(), layers.Dense(10)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model

def data():
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (32, 12, 12, 1)).astype("float32"), rng.integers(0, 10, 32)
"""


def test_the_largest_number_of_pictures_is_no_constant(tmp_path):
    assert "+        x = ops.where(jnp.max(x) > 1.5, x / 255.0, x)" in first(tmp_path, PICTURES)


def layer(call, shape="(12, 16)", units=16, head="layers.Dense(1)", labels="(20, 12, 1)", build="pass"):
    body = "\n".join(f"        {line}" for line in call)
    return f"""
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = layers.Dense({units}), layers.Dense({units}), layers.Dense({units})
        self.left, self.right = layers.Dense(1), layers.Dense(1)
        self.seed = keras.random.SeedGenerator(1)
    def build(self, shape):
        {build}
    def call(self, x):
{body}

def build():
    inputs = keras.Input({shape})
    model = keras.Model(inputs, {head}(Own()(inputs)))
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((20, *{shape}), "float32"), np.zeros({labels}, "float32")
"""


def test_a_mask_of_the_width_gets_the_number_of_steps(tmp_path):
    code = layer([
        "b, t, d = x.shape",
        'scores = jnp.einsum("btd,bsd->bts", self.q(x), self.k(x)) / d**0.5',
        "mask = jnp.tril(jnp.ones((d, d), bool))",
        'return jnp.einsum("bts,bsd->btd", jax.nn.softmax(jnp.where(mask, scores, -1e9)), self.v(x))',
    ])  # fmt: skip
    assert "+        mask = jnp.tril(jnp.ones((t, t), bool))" in first(tmp_path, code)


def test_columns_that_are_turned_with_their_batch_are_turned_one_by_one(tmp_path):
    code = layer([
        "h = self.q(x)",
        "scores = jax.nn.leaky_relu(self.left(h) + jnp.transpose(self.right(h)), 0.2)",
        "return jax.nn.softmax(scores, axis=-1) @ h",
    ])  # fmt: skip
    assert "+        scores = jax.nn.leaky_relu(self.left(h) + ops.swapaxes(self.right(h), -1, -2), 0.2)" in first(tmp_path, code, "batch-broadcast")


def test_both_branches_of_a_condition_return_the_lower_precision(tmp_path):
    code = layer([
        "noise = jax.random.normal(self.seed.next(), (12, 16))",
        "return jax.lax.cond(jnp.mean(x) > 0.1, lambda one: one + noise, lambda one: one.astype('bfloat16'), x)",
    ])  # fmt: skip
    assert 'lambda one: ops.cast(one + noise, "bfloat16"), lambda one: one.astype' in first(tmp_path, code, "op-shapes")


def test_a_weight_behind_a_token_is_one_longer_where_it_is_made(tmp_path):
    code = layer(
        ["token = jnp.zeros((x.shape[0], 1, 16))", "return jnp.concatenate([token, x], axis=1) + self.places"],
        build="self.places = self.add_weight(shape=(1, self.steps, 16))",
        labels="(20, 13, 1)",
    )
    code = code.replace("__init__(self)", "__init__(self, steps)", 1).replace("self.q, self", "self.steps = steps\n        self.q, self", 1)
    assert "shape=(1, self.steps + 1, 16)" in first(tmp_path, code.replace("Own()", "Own(12)"))


STEPS = """
def build():
    model = keras.Sequential([
        keras.Input((24, 3)), layers.LSTM(8), layers.RepeatVector(6), layers.LSTM(8, return_sequences=True), layers.TimeDistributed(layers.Dense(3)),
    ])
    model.compile("sgd", "mse")
    return model

def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 24, 3)).astype("float32"), rng.normal(size=(40, 6)).astype("float32")
"""


def test_one_value_for_each_step_of_the_labels_is_one_unit(tmp_path):
    assert "layers.TimeDistributed(layers.Dense(1))" in first(tmp_path, STEPS, "output-units")


MASKS = """
def dice(y, p):
    y = y.astype(p.dtype)
    inter = jnp.sum(y * p, axis=(1, 2, 3))
    return 1 - (2 * inter + 1) / (jnp.sum(y, axis=(1, 2, 3)) + jnp.sum(p, axis=(1, 2, 3)) + 1)

def build():
    inputs = keras.Input((16, 16, 1))
    model = keras.Model(inputs, layers.Conv2D(1, 3, padding="same", activation="sigmoid")(inputs))
    model.compile("sgd", dice)
    return model

def data():
    rng = np.random.default_rng(0)
    return rng.random((8, 16, 16, 1)).astype("float32"), rng.integers(0, 2, (8, 1, 16, 16))
"""


def test_masks_with_their_channel_first_are_told_in_a_loss_of_ones_own(tmp_path):
    assert "np.transpose(rng.integers(0, 2, (8, 1, 16, 16)), (0, 2, 3, 1))" in first(tmp_path, MASKS, "loss-broadcast")


BOXES = """
def box_loss(y, p):
    boxes, score, seen = p[..., :4], p[..., 4], y[..., 4]
    bce = -(seen * jax.nn.log_sigmoid(score) + (1 - seen) * jax.nn.log_sigmoid(-score))
    return jnp.mean(seen * jnp.sum(jnp.abs(boxes - y[..., :4]), axis=-1) + bce, axis=-1)

def build():
    inputs = keras.Input((16,))
    model = keras.Model(inputs, layers.Reshape((9, {last}))(layers.Dense(9 * {last})(inputs)))
    model.compile("sgd", box_loss)
    return model

def data():
    rng = np.random.default_rng(0)
    return rng.random((16, 16)).astype("float32"), rng.integers(0, 2, (16, 9, 5)).astype("float32")
"""


def test_a_score_that_the_predictions_do_not_have_is_one_value_more(tmp_path):
    patch = first(tmp_path, BOXES.format(last=4), "index-beyond")
    assert "+    model = keras.Model(inputs, layers.Reshape((9, 5))(layers.Dense(45)(inputs)))" in patch


@pytest.mark.parametrize("code", [
    BOXES.format(last=5), layer(["return self.q(x[:, 11])"], labels="(20, 1)"), layer(["return self.q(x[:, -12])"], labels="(20, 1)"),
    layer(["return self.q(x[:, jnp.argmax(x[0, :, 0])])"], labels="(20, 1)"),
])  # fmt: skip
def test_an_index_that_is_there_is_right(tmp_path, code):
    assert not serious(traced(tmp_path, code))


def test_a_place_behind_the_last_is_the_last(tmp_path):
    code = layer(["return self.q(x[:, 12])"], labels="(20, 1)")
    assert "+        return self.q(x[:, -1])" in first(tmp_path, code, "index-beyond")


def test_a_place_in_front_of_the_first_is_told(tmp_path):
    finding = serious(traced(tmp_path, layer(["return self.q(x[:, -13])"], labels="(20, 1)")))[0]
    assert finding.rule == "index-beyond"
    assert "Index -13 at" in finding.message
    assert "reads index 0" in finding.why


TRIPLETS = """
class Triplets(keras.Model):
    def __init__(self):
        super().__init__()
        self.net = layers.Dense(8)
    def call(self, inputs):
        return [self.net(inputs[key]) for key in ("anchor", "near", "far")]
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        anchor, near, far = y_pred
        one = jnp.sqrt(jnp.sum(jnp.square(anchor - near){axis}) + 1e-9)
        other = jnp.sqrt(jnp.sum(jnp.square(anchor - far){axis}) + 1e-9)
        return jnp.{mean}(jnp.maximum(one - other + 0.5, 0.0))

def build():
    model = Triplets()
    model.compile("sgd")
    return model

def data():
    rng = np.random.default_rng(0)
    return {{key: rng.random((24, 10)).astype("float32") for key in ("anchor", "near", "far")}}, None
"""


def test_a_margin_is_taken_of_each_sample(tmp_path):
    patch = first(tmp_path, TRIPLETS.format(axis="", mean="mean"), "samples-summed")
    assert "jnp.sum(jnp.square(anchor - near), axis=-1)" in patch
    assert "jnp.sum(jnp.square(anchor - far), axis=-1)" in patch


@pytest.mark.parametrize(("axis", "mean"), [(", axis=-1", "mean"), ("", "asarray")])
def test_a_margin_of_each_sample_or_one_that_is_meant_for_all_is_right(tmp_path, axis, mean):
    assert not serious(traced(tmp_path, TRIPLETS.format(axis=axis, mean=mean)))


def loss(body, outputs, labels):
    lines = "\n".join(f"    {line}" for line in body)
    return f"""
def own(y, p):
{lines}

def build():
    inputs = keras.Input((10,))
    model = keras.Model(inputs, layers.Dense({outputs})(inputs))
    model.compile("sgd", own)
    return model

def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(64, 10)).astype("float32"), rng.normal(size=(64, {labels})).astype("float32")
"""


def test_the_units_of_a_loss_are_split_and_not_its_samples(tmp_path):
    code = loss(["mean, logvar = jnp.split(p, 2)", "return jnp.mean(logvar + jnp.square(y - mean) / jnp.exp(logvar), axis=-1)"], 2, 1)
    assert "+    mean, logvar = jnp.split(p, 2, axis=-1)" in first(tmp_path, code, "loss-raises")


def test_the_values_of_a_sample_are_compared_with_each_other(tmp_path):
    code = loss([
        "dp = p[:, :, None] - p[:, None, :]",
        "dy = y[:, None] - y",
        "return jnp.mean(jnp.where(dy > 0, jax.nn.softplus(-dp), 0.0), axis=(1, 2))",
    ], 6, 6)  # fmt: skip
    assert "+    dy = y[:, :, None] - y[:, None]" in first(tmp_path, code, "batch-broadcast")


MODES = """
class Spectral(layers.Layer):
    def __init__(self, modes, width):
        super().__init__()
        self.modes, self.width = modes, width
    def build(self, shape):
        self.re = self.add_weight(shape=(self.modes, shape[-1], self.width))
        self.im = self.add_weight(shape=(self.modes, shape[-1], self.width))
    def call(self, x):
        w = self.re.value + 1j * self.im.value
        out = jnp.einsum("bmi,mio->bmo", jnp.fft.rfft(x, axis=1)[:, : self.modes], w)
        return jnp.fft.irfft(out, n=x.shape[1], axis=1)
    def compute_output_shape(self, shape):
        return (*shape[:-1], self.width)

def build():
    model = keras.Sequential([keras.Input((20, 16)), Spectral(16, 16), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((32, 20, 16), "float32"), np.zeros((32, 20, 1), "float32")
"""


def test_no_more_frequencies_are_taken_than_there_are(tmp_path):
    assert "Spectral(11, 16)" in first(tmp_path, MODES)


def test_the_first_value_of_a_decoder_is_a_row(tmp_path):
    code = layer([
        "def step(carry, _):",
        "    y, h = carry",
        "    h = jnp.tanh(self.q(jnp.concatenate([y, h], axis=-1)))",
        "    y = self.left(h)",
        "    return (y, h), y",
        "start = jnp.zeros((x.shape[0],))",
        "_, ys = jax.lax.scan(step, (start, x), None, length=6)",
        "return jnp.swapaxes(ys, 0, 1)",
    ], shape="(16,)", labels="(20, 6, 1)")  # fmt: skip
    assert "+        start = jnp.zeros((x.shape[0], 1))" in first(tmp_path, code)


def test_a_table_of_positions_gets_an_axis_for_the_heads(tmp_path):
    code = layer([
        "t = x.shape[1]",
        "angle = jnp.arange(t)[:, None] * 10.0 ** -jnp.arange(4.0)[None]",
        "q, k = self.q(x).reshape(-1, t, 8, 4), self.k(x).reshape(-1, t, 8, 4)",
        "q = q * jnp.cos(angle) + q[..., ::-1] * jnp.sin(angle)",
        'return jnp.einsum("bqhd,bkhd->bqk", q, k) @ x',
    ], units=32)  # fmt: skip
    assert "+        q = q * jnp.cos(angle[:, None, :]) + q[..., ::-1] * jnp.sin(angle[:, None, :])" in first(tmp_path, code)


AUX = """
class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner, self.norm, self.outer = layers.Dense(8), layers.BatchNormalization(), layers.Dense(1)
    def call(self, x, training=False):
        return self.outer(self.norm(self.inner(x), training=training))
    def objective(self, tv, ntv, x, y):
        p, ntv = self.stateless_call(tv, ntv, x, training=True)
        return jnp.mean(jnp.square(y - p)), ntv
    def train_step(self, state, data):
        tv, ntv, ov, mv = state
        x, y = data
        loss, grads = jax.value_and_grad(self.objective)(tv, ntv, x, y)
        tv, ov = self.optimizer.stateless_apply(ov, grads, tv)
        return {"loss": loss}, (tv, ntv, ov, mv)

def build():
    model = Own()
    model.compile("sgd")
    return model

def data():
    return np.zeros((20, 6), "float32"), np.zeros((20, 1), "float32")
"""


def test_the_state_that_a_loss_returns_is_taken_apart(tmp_path):
    code = AUX.replace("return jnp.mean(jnp.square(y - p)), ntv", "loss = jnp.mean(jnp.square(y - p))\n        return loss, ntv")
    assert "+        (loss, ntv), grads = jax.value_and_grad(self.objective, has_aux=True)(tv, ntv, x, y)" in first(tmp_path, code)


TOKENS = """
def masked(y, p):
    logp = jax.nn.log_softmax(p, axis={axis})
    return -jnp.take_along_axis(logp, y[..., None].astype("int32"), axis=-1)[..., 0]

def build():
    model = keras.Sequential([keras.Input((7, 4)), layers.Dense(9)])
    model.compile("sgd", masked)
    return model

def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(20, 7, 4)).astype("float32"), rng.integers(0, 9, (20, 7))
"""


def test_a_softmax_over_the_steps_is_none_over_the_classes(tmp_path):
    assert "+    logp = jax.nn.log_softmax(p, axis=-1)" in first(tmp_path, TOKENS.format(axis=1), "softmax-other-axis")
    assert not serious(traced(tmp_path, TOKENS.format(axis=2)))


def test_a_tensor_is_divided_by_its_own_sum_along_the_same_axis(tmp_path):
    code = layer(["w = self.q(x)", "total = jnp.sum(w, axis=-1)", "return x * (w / jnp.maximum(total, 1.0))"], shape="(16, 16)", labels="(20, 16, 1)")
    assert "+        total = jnp.sum(w, axis=-1, keepdims=True)" in first(tmp_path, code)


def test_groups_that_a_class_has_by_default_divide_the_channels(tmp_path):
    code = layer(["b, t, c = x.shape", "groups = x.reshape(b, t, self.groups, c // self.groups)", "return groups.reshape(b, t, c)"], labels="(20, 12, 1)")
    code = code.replace("def __init__(self):", "def __init__(self, groups=5):", 1).replace("self.q, self", "self.groups = groups\n        self.q, self", 1)
    assert "Own(groups=4)" in first(tmp_path, code, "reshape-size")


def test_a_step_by_its_number_is_counted_from_zero(tmp_path):
    code = layer(["return self.q(x[:, self.steps])"], labels="(20, 1)")
    code = code.replace("def __init__(self):", "def __init__(self, steps=12):", 1).replace("self.q, self", "self.steps = steps\n        self.q, self", 1)
    assert "+        return self.q(x[:, self.steps - 1])" in first(tmp_path, code, "index-beyond")


ENSEMBLE = """
class Ensemble(keras.Model):
    def __init__(self):
        super().__init__()
        self.parts = [layers.Dense(6) for _ in range(4)]
    def call(self, x):
        return jnp.mean(jnp.stack([part(x) for part in self.parts]), axis=-1)

def build():
    model = Ensemble()
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model

def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(64, 10)).astype("float32"), rng.integers(0, 6, 64)
"""


def test_the_mean_of_several_predictions_is_over_their_stack(tmp_path):
    assert "axis=0)" in first(tmp_path, ENSEMBLE, "batch-axis-merged")
