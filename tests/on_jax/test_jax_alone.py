"""What is added up or looked up by itself: letters of an einsum, sums of a batch in a hinge, samples for nodes, spectra over samples, and softmaxes of a batch in a loss."""

from __future__ import annotations

import pytest
from strangers import AROUND, first, serious, traced

OWN = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.a, self.b = layers.Dense(6), layers.Dense(6)
    def call(self, x):
{body}
"""
LOSS = """
class Loss(keras.losses.Loss):
    def call(self, y, p):
{body}
def build():
    model = keras.Sequential([keras.Input((10,)), layers.Dense(6)])
    model.compile("sgd", Loss())
    return model
def data():
    return np.zeros((64, 10), "float32"), np.eye(6, dtype="float32")[np.arange(64) % 6]
"""


def lines(text):
    return "\n".join(f"        {line}" for line in text.split("; "))


def own(text):
    return OWN.format(body=lines(text)) + AROUND.format(shape="(15, 6)", rows="15, ")


def loss(text):
    return LOSS.format(body=lines(text))


W = "w = ops.softmax(ops.einsum('bqd,bkd->bqk', self.a(x), self.b(x))); "
WRONG = [
    (own(W + "return x + ops.einsum('bqk,bqd->bqd', w, x)"), "einsum-alone", '"bqk,bkd->bqd"'),
    (own(W + "return x + jnp.einsum('bji,bif->bif', w, x)"), "einsum-alone", '"bji,bif->bjf"'),
    (own("return x + jnp.real(jnp.fft.ifft(jnp.fft.fft(x, axis=0) * 0.5, axis=0))"), "samples-in-order", "jnp.fft.ifft(jnp.fft.fft(x, axis=1) * 0.5, axis=1)"),
    (own("return x + jnp.real(jnp.fft.fftn(x, axes=(0, 1)))"), "samples-in-order", "axes=(1, 2)"),
    (loss("return -ops.mean(ops.sum(y * ops.log_softmax(p, axis=0), axis=-1))"), "softmax-other-axis", "ops.log_softmax(p, axis=-1)"),
    (loss("q = ops.clip(ops.softmax(p, axis=0), 1e-7, 1.0); return -jnp.sum(jnp.log(q) * y, -1)"), "softmax-other-axis", "ops.softmax(p, axis=-1)"),
    (
        loss("near, far = ops.sum((p - y) ** 2), ops.sum((p + y) ** 2); return ops.maximum(near - far + 0.2, 0.0)"),
        "samples-summed",
        "ops.sum((p - y) ** 2, axis=-1), ops.sum((p + y) ** 2, axis=-1)",
    ),
    (loss("near, far = jnp.sum(y * p), jnp.sum((1 - y) * p); return jax.nn.relu(1.0 - (near - far))"), "samples-summed", "jnp.sum(y * p, axis=-1)"),
]
RIGHT = [
    own(W + "return x + ops.einsum('bqk,bkd->bqd', w, x)"),
    own(W + "return x * ops.einsum('bqk->bk', w)[..., None]"),
    own("w = ops.softmax(self.a(x), axis=1); return x + ops.einsum('btk,btd->bd', w, x)[:, None]"),
    own("g = ops.einsum('bti,btj->bij', x, x); return x + ops.einsum('bij,bti->btj', g, x)"),
    own("return x + jnp.real(jnp.fft.ifft(jnp.fft.fft(x, axis=1) * 0.5, axis=1))"),
    own("return x + jnp.real(jnp.fft.fftn(x, axes=(1, 2)))"),
    own("return x + self.a(x[:, np.arange(15) % 7])"),
    loss("return -ops.mean(ops.sum(y * ops.log_softmax(p, axis=-1), axis=-1))"),
    loss("return -ops.sum(ops.stop_gradient(ops.softmax(p / 0.1, axis=0)) * ops.log_softmax(p, axis=-1), axis=-1)"),
    loss("return -ops.sum(y * ops.log_softmax(p, axis=0), axis=0)"),
    loss("near, far = ops.sum((p - y) ** 2, axis=-1), ops.sum((p + y) ** 2, axis=-1); return ops.maximum(near - far + 0.2, 0.0)"),
    loss("return ops.maximum(ops.mean(ops.sum((p - y) ** 2, axis=-1)), 0.5)"),
]

STEP = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.one = layers.Dense(32)
    def call(self, x):
        return self.one(x)
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
{body}
def build():
    model = Net()
    model.compile("sgd")
    return model
def data():
    return np.zeros((64, 32), "float32"), np.zeros((64, 1), "float32")
"""


def step(text):
    return STEP.format(body=lines(text))


CENTERED = "a = (y_pred - ops.mean(y_pred, axis=0)) / (ops.std(y_pred, axis=0) + 1e-3); "
WRONG += [
    (step(CENTERED + "return ops.sum(ops.square(a @ ops.transpose(a) / 32 - ops.eye(a.shape[-1])))"), "samples-summed", "ops.transpose(a) @ a / 32"),
    (step(CENTERED + "c = ops.matmul(a, ops.transpose(a)); return ops.sum(ops.square(c - ops.eye(32)))"), "samples-summed", "ops.matmul(ops.transpose(a), a)"),
    (step("each = ops.sum(y_pred ** 2, axis=1); return ops.mean(each + 0.1 * ops.sum(x ** 2))"), "samples-summed", "ops.sum(x ** 2, axis=-1)"),
    (step("one = ops.ones((ops.shape(x)[0],)) * 0.9; return ops.mean(one * y_pred[:, :1])"), "batch-broadcast", "ops.ones((ops.shape(x)[0], 1)) * 0.9"),
    (
        step("same = ops.cast(ops.equal(y[:, None], y), 'float32'); return ops.mean(same * ops.matmul(y_pred, ops.transpose(y_pred)))"),
        "batch-broadcast",
        "ops.equal(y, ops.transpose(y))",
    ),
    (own("return x + ops.stack([self.a(one) for one in ops.unstack(x, 15, axis=0)], axis=1)"), "value-asked", "ops.unstack(x, 15, axis=1)"),
    (
        own(
            "past = ops.zeros_like(x); x = ops.concatenate([past, x], axis=1); s = ops.einsum('bqd,bkd->bqk', self.a(x)[:, 15:], x); T = 15; "
            "s = ops.where(ops.tril(ops.ones((T, T), dtype='bool')), s, -1e9); return ops.matmul(ops.softmax(s), x)"
        ),
        "op-shapes",
        "k=s.shape[-1] - T",
    ),
]
RIGHT += [
    step(CENTERED + "return ops.sum(ops.square(ops.transpose(a) @ a / 32 - ops.eye(a.shape[-1])))"),
    step("each = ops.sum(y_pred ** 2, axis=1); return ops.mean(each + 0.1 * ops.sum(x ** 2, axis=1))"),
    step("each = ops.sum(y_pred ** 2, axis=1); return ops.mean(each + 0.1 * ops.sum(self.one.kernel ** 2))"),
    step("one = ops.ones((ops.shape(x)[0], 1)) * 0.9; return ops.mean(one * y_pred[:, :1])"),
    step("same = ops.cast(ops.equal(y, ops.transpose(y)), 'float32'); return ops.mean(same * ops.matmul(y_pred, ops.transpose(y_pred)))"),
    step("s = ops.matmul(y_pred, ops.transpose(y_pred)) - 1e9 * ops.eye(ops.shape(x)[0]); return -ops.mean(ops.log_softmax(s)[:, 0])"),
]


@pytest.mark.parametrize(("code", "rule", "fixed"), WRONG, ids=range(len(WRONG)))
def test_what_is_reduced_alone_meets_its_counterpart(tmp_path, code, rule, fixed):
    assert fixed in first(tmp_path, code, rule)


@pytest.mark.parametrize("code", RIGHT, ids=range(len(RIGHT)))
def test_the_right_twins_are_left_alone(tmp_path, code):
    assert not serious(traced(tmp_path, code))


@pytest.mark.parametrize(("lookup", "right"), [("x[np.arange(15) % 7]", "x[:, np.arange(15) % 7]"), ("jnp.take(x, np.array([0, 3, 5]), axis=0)", "x")])
def test_nodes_are_looked_up_in_each_sample(tmp_path, lookup, right):
    found = serious(traced(tmp_path, own(f"return x + ops.mean(self.a({lookup}), axis=0)")))[0]
    assert (found.rule, found.fact.reader.op) == ("samples-picked", "AddV2")
    assert not serious(traced(tmp_path, own(f"return x + ops.mean(self.a({right}), axis=1, keepdims=True)")))


CODES = """
class Own(layers.Layer):
    def build(self, shape):
        self.table = self.add_weight(shape={shape}, initializer="uniform", name="table")
    def call(self, x):
        near = ops.argmax(ops.matmul(x, {turned}), axis=-1)
        return x + {taken}
"""


@pytest.mark.parametrize("taken", ["ops.take(self.table, near, axis=0)", "jnp.asarray(self.table)[near]"])
def test_a_codebook_is_read_by_its_codes(tmp_path, taken):
    around = AROUND.format(shape="(15, 6)", rows="15, ")
    patch = first(tmp_path, CODES.format(shape="(shape[-1], 40)", turned="self.table", taken=taken) + around, "embedding-range")
    assert "ops.transpose(" in patch.split("\n+")[-1]
    assert not serious(traced(tmp_path, CODES.format(shape="(40, shape[-1])", turned="ops.transpose(self.table)", taken=taken) + around))


CONDITIONED = """
class Own(layers.Layer):
    def build(self, shapes):
        self.scale = layers.Embedding(10, 6)
    def call(self, given):
        x, label = given
        return {made}
def build():
    image, label = keras.Input((8, 8, 6)), keras.Input(({last}), dtype="int32")
    maps = layers.Conv2D(5, 3)(Own()([image, label]))
    model = keras.Model([image, label], layers.Dense(1)(layers.GlobalAveragePooling2D()(maps)))
    model.compile("sgd", "mse")
    return model
def data():
    return [np.zeros((64, 8, 8, 6), "float32"), np.zeros((64, {last}), "int32")], np.zeros((64, 1), "float32")
"""


@pytest.mark.parametrize("made", ["x * self.scale(label)[:, None, None]", "ops.multiply(x, self.scale(label)[:, None, None, :])"])
def test_a_label_on_an_axis_of_its_own_pairs_the_samples(tmp_path, made):
    assert "self.scale(label[:, 0])" in first(tmp_path, CONDITIONED.format(made=made, last="1,"), "batch-broadcast")
    assert not serious(traced(tmp_path, CONDITIONED.format(made=made, last="")))


MASKED = """
def build():
    ids = keras.Input((18,), dtype="int32")
    x, keep = layers.Embedding(50, 32)(ids), ops.cast(ops.not_equal(ids, 0), "float32")
    pooled = ops.sum(x * keep{axis}, axis=1) / ops.sum(keep, axis=1{kept})
    model = keras.Model(ids, layers.Dense(1)(pooled))
    model.compile("sgd", "mse")
    return model
def data():
    return np.arange(64 * 18).reshape(64, 18) % 50, np.zeros((64, 1), "float32")
"""


def test_a_masked_mean_in_a_functional_model_divides_each_sample(tmp_path):
    patch = first(tmp_path, MASKED.format(axis="[..., None]", kept=""), "batch-broadcast")  # 32 features and as many samples
    assert "ops.sum(keep, axis=1)[:, None]" in patch
    patch = first(tmp_path, MASKED.format(axis="", kept=""), "merge-shapes")
    assert "keep[..., None]" in patch
    assert "ops.sum(keep, axis=1)[:, None]" in patch
    assert not serious(traced(tmp_path, MASKED.format(axis="[..., None]", kept=", keepdims=True")))


RESIZED = """
class Up(layers.Layer):
    def __init__(self, size):
        super().__init__()
        self.size = size
    def call(self, x):
        return ops.image.resize(x, self.size)
def build():
    image = keras.Input((48, 64, 3))
    one = layers.Conv2D(4, 3, strides=2, padding="same")(image)
    two = {layer}(layers.Conv2D(4, 3, strides=2, padding="same")(one))
    model = keras.Model(image, layers.Dense(1)(layers.Flatten()(layers.Concatenate()([one, two]))))
    model.compile("sgd", "mse")
    return model
def data():
    return np.zeros((64, 48, 64, 3), "float32"), np.zeros((64, 1), "float32")
"""


@pytest.mark.parametrize(("layer", "fixed"), [("Up((32, 24))", "Up((24, 32))"), ("layers.Resizing(32, 24)", "layers.Resizing(24, 32)")])
def test_rows_and_columns_of_a_resize_are_those_of_the_other_branch(tmp_path, layer, fixed):
    assert fixed in first(tmp_path, RESIZED.format(layer=layer), "merge-shapes")
    assert not serious(traced(tmp_path, RESIZED.format(layer=fixed)))


ROTARY = """
def turned(x, c, s):
    return x * c + jnp.{turn} * s
class Own(layers.Layer):
    def build(self, shape):
        self.mix = layers.Dense(shape[-1])
    def call(self, x):
        n, d = x.shape[1], x.shape[2]
        angle = jnp.arange(n)[:, None] / 100.0 ** (jnp.arange(d // 2) / d)
        return turned(self.mix(x), {tables})
"""


@pytest.mark.parametrize(
    ("turn", "fixed"),
    [
        ("concatenate([-x[..., 3:], x[..., :3]], axis=-1)", "concatenate([one, one], axis=-1) for one in (c, s)"),
        ("stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)", "repeat(one, 2, axis=-1) for one in (c, s)"),
    ],
)
def test_rotary_tables_have_an_angle_for_both_of_a_pair(tmp_path, turn, fixed):
    around = AROUND.format(shape="(15, 6)", rows="15, ")
    assert fixed in first(tmp_path, ROTARY.format(turn=turn, tables="jnp.cos(angle), jnp.sin(angle)") + around, "op-shapes")
    tables = "*[jnp.concatenate([one(angle)] * 2, axis=-1) for one in (jnp.cos, jnp.sin)]"
    assert not serious(traced(tmp_path, ROTARY.format(turn=turn, tables=tables) + around))


WINDOWED = """
def windows(x, w):
    _, h, v, c = x.shape
    return ops.reshape(ops.reshape(x, (-1, h // w, w, v // w, w, c)){turn}, (-1, w * w, c))
class Own(layers.Layer):
    def build(self, shape):
        self.mix = layers.Dense(16)
    def call(self, x):
        h = self.mix(windows(x, 4))
        return x + ops.reshape(h{back}, (-1, 8, 8, 16))
def build():
    image = keras.Input((8, 8, 16))
    model = keras.Model(image, layers.Dense(1)(layers.GlobalAveragePooling2D()(Own()(image))))
    model.compile("sgd", "mse")
    return model
def data():
    return np.zeros((64, 8, 8, 16), "float32"), np.zeros((64, 1), "float32")
"""


def test_windows_are_put_back_as_they_were_cut(tmp_path):
    turn = ".transpose((0, 1, 3, 2, 4, 5))"
    back = "ops.transpose(ops.reshape(h, (-1, 2, 2, 4, 4, 16)), (0, 1, 3, 2, 4, 5))"
    assert back in first(tmp_path, WINDOWED.format(turn=turn, back=""), "reshape-interleaves")
    both = first(tmp_path, WINDOWED.format(turn="", back=""), "reshape-interleaves")  # one alone leaves the other
    assert back in both
    assert both.count("(0, 1, 3, 2, 4, 5)") == 2
    assert not serious(traced(tmp_path, WINDOWED.format(turn=turn, back=".reshape((-1, 2, 2, 4, 4, 16))" + turn)))


def test_windows_that_are_split_again_are_put_back_as_they_were_cut(tmp_path):
    split, turn = ".reshape((-1, 2, 4, 2, 4, 16))", ".transpose((0, 1, 3, 2, 4, 5))"
    back = "ops.transpose(ops.reshape(h, (-1, 2, 2, 4, 4, 16)), (0, 1, 3, 2, 4, 5))"
    assert back in first(tmp_path, WINDOWED.format(turn=turn, back=split), "reshape-interleaves")
    assert back in first(tmp_path, WINDOWED.format(turn="", back=split), "reshape-interleaves")


SHORTER = """
class Past(layers.Layer):
    def build(self, shape):
        self.conv = layers.Conv1D(6, 3)
    def call(self, x):
        return self.conv({given})
def build():
    x = keras.Input((40, 6))
    model = keras.Model(x, layers.Dense(1)(layers.Add()([Past()(x), x])))
    model.compile("sgd", "mse")
    return model
def data():
    return np.zeros((64, 40, 6), "float32"), np.zeros((64, 40, 1), "float32")
"""


def test_which_positions_an_own_layer_leaves_out_is_asked(tmp_path):
    found = serious(traced(tmp_path, SHORTER.format(given="x")))[0]
    assert found.rule == "merge-shapes"
    assert not any(fix.verified and ("Cropping" in fix.patch or "ZeroPadding" in fix.patch) for fix in found.fixes)
    assert not serious(traced(tmp_path, SHORTER.format(given="ops.pad(x, ((0, 0), (2, 0), (0, 0)))")))


def test_a_cosine_divides_each_sample_by_its_own_norm(tmp_path):
    code = "a, b = y / jnp.linalg.norm(y{0}), p / (jnp.linalg.norm(p{0}) + 1e-6); return 1 - jnp.sum(a * b, axis=-1)"
    patch = first(tmp_path, loss(code.format("")), "samples-summed")
    assert patch.count("axis=-1, keepdims=True") == 2
    assert not serious(traced(tmp_path, loss(code.format(", axis=-1, keepdims=True"))))


SHUFFLED = """
def build():
    image = keras.Input((12, 12, 4))
    maps = layers.Conv2D({filters}, 3, padding="same")(image)
    model = keras.Model(image, layers.Conv2D(1, 1)(Own()(maps)))
    model.compile("sgd", "mse")
    return model
def data():
    return np.zeros((64, 12, 12, 4), "float32"), np.zeros((64, {size}, {size}, 1), "float32")
class Own(layers.Layer):
    def call(self, x):
        h, w, c = x.shape[1:]
        return ops.reshape({x}, {target})
"""


@pytest.mark.parametrize(
    ("target", "apart", "size"), [("(-1, h * 2, w * 2, c // 4)", "(-1, 12, 12, 2, 2, 3)", 24), ("(-1, h // 2, w // 2, c * 4)", "(-1, 6, 2, 6, 2, 12)", 6)]
)
def test_pixels_are_shuffled_with_a_transpose(tmp_path, target, apart, size):
    right = f"ops.transpose(ops.reshape(x, {apart}), (0, 1, 3, 2, 4, 5))"
    assert right in first(tmp_path, SHUFFLED.format(filters=12, size=size, x="x", target=target), "reshape-interleaves")
    assert not serious(traced(tmp_path, SHUFFLED.format(filters=12, size=size, x=right, target=target)))


def test_rows_meet_all_others_and_not_themselves(tmp_path):
    code = "d = ops.sum((x[:, :, None] - {}) ** 2, axis=-1); return x + ops.matmul(ops.exp(-d), self.a(x))"
    assert "x[:, :, None] - x[:, None]" in first(tmp_path, own(code.format("x")), "op-shapes")
    assert not serious(traced(tmp_path, own(code.format("x[:, None]"))))
    # Heads of one tensor may well be subtracted from each other.
    assert not serious(traced(tmp_path, own("one, two = ops.split(x, 2, axis=-1); return x + self.a(one - two)")))


def test_distributions_are_compared_along_one_axis(tmp_path):
    code = "p, y = [ops.reshape(one, (-1, 2, 3)) for one in (p, y)]; t = ops.softmax(y, axis={0}); return -ops.sum(t * ops.log_softmax(p, axis={0}), axis=-1)"
    patch = first(tmp_path, loss(code.format(1)), "softmax-other-axis")
    assert "".join(line for line in patch.splitlines() if line.startswith("+")).count("axis=-1") == 3
    assert not serious(traced(tmp_path, loss(code.format(-1))))
