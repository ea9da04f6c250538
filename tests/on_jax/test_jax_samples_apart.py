"""Programs of strangers: noise, norms and selections that take the samples of a batch for one, and sequences that meet position by position."""

from __future__ import annotations

import pytest
from strangers import serious, traced

SAMPLING = """
class Sampling(layers.Layer):
    def __init__(self):
        super().__init__()
        self.seed = keras.random.SeedGenerator(1)
    def call(self, mean, deviation):
        noise = {noise}
        return {made}
def build():
    inputs = keras.Input((20,))
    model = keras.Model(inputs, layers.Dense(20)(Sampling()(layers.Dense(4)(inputs), layers.Dense(4)(inputs))))
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((64, 20), "float32"), np.zeros((64, 20), "float32")
"""
SCALED = "mean + jnp.exp(0.5 * deviation) * noise"
SHARED = {"of keras": "keras.random.normal((4,), seed=self.seed)", "of jax": "jax.random.normal(self.seed.next(), (1, mean.shape[1]))"}


@pytest.mark.parametrize("noise", SHARED.values(), ids=SHARED)
def test_noise_without_a_batch_axis_is_the_same_for_all_samples(tmp_path, noise):
    (finding,) = serious(traced(tmp_path, SAMPLING.format(noise=noise, made=SCALED)))
    assert (finding.rule, finding.severity) == ("noise-shared", "silent")
    assert finding.fixes[0].proof == "source"
    assert "ops.shape(mean)" in finding.fixes[0].patch


RIGHT = {
    "of each sample": ("keras.random.normal(ops.shape(mean), seed=self.seed)", SCALED),
    "one number": ("keras.random.normal((), seed=self.seed)", SCALED),
    "only added": ("keras.random.normal((4,), seed=self.seed)", "mean + deviation + 0.1 * noise"),
    "a scale for each feature": ("keras.random.normal((4,), seed=self.seed)", "mean * (1 + noise)"),
    "a mask": ("keras.random.uniform((4,), seed=self.seed)", "mean + deviation * ops.cast(noise > 0.5, 'float32')"),
}


@pytest.mark.parametrize(("noise", "made"), RIGHT.values(), ids=RIGHT)
def test_other_noise_is_not_reported(tmp_path, noise, made):
    assert traced(tmp_path, SAMPLING.format(noise=noise, made=made)).ok


PAIRS = """
class Pairs(keras.Model):
    def __init__(self):
        super().__init__()
        self.one, self.other = layers.Dense(12), layers.Dense(12)
    def call(self, inputs):
        return self.one(inputs[0]), self.other(inputs[1])
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        u, v = y_pred
        u = {first}
        v = {second}
        {loss}
def build():
    model = Pairs()
    model.compile("adam")
    return model
def data():
    return ((np.zeros((64, 20), "float32"), np.zeros((64, 9), "float32")),)
"""
CLIP = "return jnp.mean(keras.losses.sparse_categorical_crossentropy(jnp.arange(u.shape[0]), u @ v.T, from_logits=True))"
NORM = "{0} / jnp.linalg.norm({0}, axis={1}, keepdims=True)"


def test_samples_that_are_compared_are_normalized_one_by_one(tmp_path):
    code = PAIRS.format(first=NORM.format("u", 0), second="ops.normalize(v, axis=0)", loss=CLIP)
    first, second = serious(traced(tmp_path, code))
    assert {first.rule, second.rule} == {"samples-summed"}
    assert first.fixes[0].proof == "source"
    assert first.fixes[0].patch.count("axis=-1") == 2
    assert traced(tmp_path, PAIRS.format(first=NORM.format("u", -1), second="ops.normalize(v, axis=-1)", loss=CLIP)).ok


def test_features_that_are_compared_are_normalized_over_the_samples(tmp_path):
    loss = "return jnp.sum((u.T @ v - jnp.eye(12)) ** 2)"
    assert traced(tmp_path, PAIRS.format(first=NORM.format("u", 0), second="ops.normalize(v, axis=0)", loss=loss)).ok


ADDED = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = layers.Dense(20), layers.Dense(20), layers.Dense(1)
    def call(self, queries, keys):
        score = self.v({around}(self.q(queries){first} + self.k(keys){second})){last}
        return ops.einsum("bqk,bkd->bqd", jax.nn.softmax(score, axis=-1), keys)
def build():
    one, other = keras.Input((11, 8)), keras.Input((18, 6))
    model = keras.Model([one, other], layers.Dense(1)(Own()(one, other)))
    model.compile("adam", "mse")
    return model
def data():
    return (np.zeros((64, 11, 8), "float32"), np.zeros((64, 18, 6), "float32")), np.zeros((64, 11, 1), "float32")
"""


def test_an_attention_that_adds_needs_every_pair_of_positions(tmp_path):
    code = ADDED.format(around="jnp.tanh", first="", second="", last="[..., 0]")
    fix = serious(traced(tmp_path, code))[0].fixes[0]
    assert fix.proof == "source"
    assert "self.q(queries)[:, :, None] + self.k(keys)[:, None]" in fix.patch
    assert traced(tmp_path, ADDED.format(around="jnp.tanh", first="[:, :, None]", second="[:, None]", last="[..., 0]")).ok


HARD = """
class Hard(keras.Model):
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        each = keras.losses.sparse_categorical_crossentropy(y, y_pred, from_logits=True)
        cut = jnp.quantile(each, 0.5)
        return {loss}
def build():
    inputs = keras.Input((8,))
    model = Hard(inputs, layers.Dense(3)(inputs))
    model.compile("adam")
    return model
def data():
    return np.zeros((64, 8), "float32"), np.zeros((64,), "int32")
"""


def test_a_mask_of_names_that_are_set_once_is_the_same_everywhere(tmp_path):
    (finding,) = serious(traced(tmp_path, HARD.format(loss="jnp.mean(each[each > cut])")))
    assert finding.fixes[0].proof == "source"
    assert "ops.where(each > cut, each, 0.0)" in finding.fixes[0].patch
    assert traced(tmp_path, HARD.format(loss="jnp.mean(jnp.where(each > cut, each, 0.0))")).ok


def test_a_property_goes_by_the_name_of_what_it_does(tmp_path):
    flow = traced(tmp_path, PAIRS.format(first="u", second="v", loss=CLIP)).flow
    assert "Transpose" in {node.op for node in flow.nodes}


BOXES = """
class Boxes(keras.Model):
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        total = 0.0
        for i in range(y_pred.shape[0]):
            mask = y["there"][i] > 0
            p = y_pred[i][mask]
            t = y["box"][i][mask]
            total = total + jnp.mean(jnp.abs(p - t))
        return total / y_pred.shape[0]
def build():
    inputs = keras.Input((16,))
    model = Boxes(inputs, layers.Reshape((6, 4))(layers.Dense(24)(inputs)))
    model.compile("adam")
    return model
def data():
    return np.zeros((8, 16), "float32"), {"there": np.ones((8, 6), "float32"), "box": np.zeros((8, 6, 4), "float32")}
"""


def test_a_mean_of_selected_rows_is_divided_by_all_of_their_values(tmp_path):
    (finding,) = serious(traced(tmp_path, BOXES))
    fix = finding.fixes[0]
    assert fix.proof == "source"
    assert "ops.where(mask[..., None], ops.ones_like(jnp.abs(p - t)), 0.0)" in fix.patch


LOOP = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.table = layers.Embedding(12, 8)
    def call(self, h):
        start = {start}
        def body(carry, _):
            token, h = carry
            h = jnp.tanh(h + {read})
            return (jax.nn.softmax(h).max(-1), h), h
        return jax.lax.scan(body, (start, h), None, length=3)[1][-1]
def build():
    model = keras.Sequential([keras.Input((8,)), Own(), layers.Dense(1)])
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((64, 8), "float32"), np.zeros((64, 1), "float32")
"""


def test_whole_numbers_that_are_written_stay_whole(tmp_path):
    code = LOOP.format(start='jnp.zeros((h.shape[0],), "int32")', read="self.table(token)")
    finding = serious(traced(tmp_path, code))[0]
    assert type(finding.fact).__name__ == "CarryApart"
    assert not any("as float32" in fix.title for fix in finding.fixes)


def test_a_state_that_is_whole_by_default_becomes_what_a_step_returns(tmp_path):
    code = LOOP.format(start="jnp.zeros_like(jnp.argmax(h, axis=-1))", read="token[:, None]")
    assert "as float32" in serious(traced(tmp_path, code))[0].fixes[0].title


TABLE = """
ALPHA = np.ones((5,), "float32")
class Focal(keras.losses.Loss):
    def call(self, y_true, y_pred):
        y = jnp.squeeze(y_true, -1).astype("int32")
        p = jnp.take_along_axis(jax.nn.log_softmax(y_pred), y[:, None], axis=-1)[:, 0]
        return -{alpha} * (1 - jnp.exp(p)) ** 2 * p
def build():
    model = keras.Sequential([keras.Input((8,)), layers.Dense(5)])
    model.compile("adam", Focal())
    return model
def data():
    return np.zeros((64, 8), "float32"), np.zeros((64, 1), "int32")
"""


def test_an_array_of_numpy_is_an_operand_as_well(tmp_path):
    (finding,) = serious(traced(tmp_path, TABLE.format(alpha="ALPHA")))
    assert finding.fact.shapes == ((5,), (32,))
    assert finding.fixes[0].proof == "source"
    assert "ops.take(-ALPHA" in finding.fixes[0].patch
    assert traced(tmp_path, TABLE.format(alpha="jnp.take(jnp.asarray(ALPHA), y)")).ok


VIEWS = """
class Views(keras.Model):
    def __init__(self):
        super().__init__()
        self.f = layers.Dense(16)
    def call(self, x):
        return self.f(x)
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        z = ops.normalize(ops.concatenate([self(x), self(-x)], axis=0), axis=-1)
        b = ops.shape(x)[0]
        target = {target}
        return ops.mean(keras.losses.sparse_categorical_crossentropy(target, ops.matmul(z, ops.transpose(z)) - 1e9 * ops.eye(2 * b), from_logits=True))
def build():
    model = Views()
    model.compile("adam")
    return model
def data():
    return np.zeros((96, 30), "float32"), None
"""


def test_the_second_view_of_each_sample_has_a_label_of_its_own(tmp_path):
    (finding,) = serious(traced(tmp_path, VIEWS.format(target="ops.arange(b) + b")))
    assert "without their last axis, (64,)" in finding.why
    assert finding.fixes[0].proof == "source"
    assert "ops.concatenate([ops.arange(b) + b, ops.arange(b)])" in finding.fixes[0].patch


def test_a_sample_that_is_kept_from_itself_is_no_label_of_its_own(tmp_path):
    (finding,) = serious(traced(tmp_path, VIEWS.format(target="ops.arange(b)")))
    assert "ops.concatenate([ops.arange(b) + b, ops.arange(b)])" in finding.fixes[0].patch


def test_labels_that_count_the_samples_themselves_are_left_to_the_user(tmp_path):
    (finding,) = serious(traced(tmp_path, VIEWS.format(target="ops.arange(b)").replace(" - 1e9 * ops.eye(2 * b)", "")))
    assert not any(fix.verified for fix in finding.fixes)


CHOSEN = """
class Values(keras.Model):
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return jnp.mean(({chosen} - y["reward"]) ** 2)
def build():
    inputs = keras.Input((6,))
    model = Values(inputs, layers.Dense(4)(inputs))
    model.compile("adam")
    return model
def data():
    return np.zeros((64, 6), "float32"), {{"action": np.zeros((64,), "int32"), "reward": np.zeros((64,), "float32")}}
"""


def test_one_value_of_each_row_is_read_at_its_own_index(tmp_path):
    (finding,) = serious(traced(tmp_path, CHOSEN.format(chosen='y_pred[:, y["action"]]')))
    assert finding.rule == "batch-broadcast"
    assert finding.fixes[0].proof == "source"
    assert "axis=1)[:, 0]" in finding.fixes[0].patch
    assert traced(tmp_path, CHOSEN.format(chosen='jnp.take_along_axis(y_pred, y["action"][:, None], axis=1)[:, 0]')).ok
