"""Batches that a line turns around, takes apart, stacks or maps: what it does to them, and the line that does what was meant."""

from __future__ import annotations

import pytest
from strangers import AROUND, serious, traced

import jupyter_tpushape as tpushape

OWN = "class Own(layers.Layer):\n    def __init__(self):\n        super().__init__()\n        {init}\n    def call(self, x):\n        {call}\n"


def own(call, init="pass", shape=(8,)):
    text = OWN.format(init=init, call="\n        ".join(call))
    return text + AROUND.format(shape=shape, rows=f"{shape[0]}, " if len(shape) > 1 else "").replace("Own(),", "Own(), layers.Flatten(),").replace(
        f"(64, {shape[0]}, 1)", "(64, 1)"
    )


LINES = {
    "an attribute": (["return x.T @ x"], (20, 5), "return ops.swapaxes(x, -1, -2) @ x"),
    "a function": (["return jnp.matmul(x, jnp.transpose(x))"], (20, 5), "return jnp.matmul(x, ops.swapaxes(x, -1, -2))"),
    "a tensor taken apart": (["one, other, third = x", "return one + other * third"], (3, 5), "one, other, third = ops.unstack(x, axis=1)"),
    "two sets of vectors": (
        ["flat = jnp.reshape(x, (-1, 6))", "d = jnp.sum(flat**2, axis=1) + jnp.sum(self.book**2, axis=1) - 2 * flat @ self.book.T",
         "return jnp.reshape(self.book[jnp.argmin(d, axis=1)], x.shape) + x"],
        (7, 5), "d = jnp.sum(flat**2, axis=1, keepdims=True) + jnp.sum(self.book**2, axis=1) - 2 * flat @ self.book.T",
    ),
    "a window without padding": (
        ["f = lambda s: jnp.convolve(s, jnp.ones(3) / 3, mode='valid')", "return x - jax.vmap(f)(x)"], (20,), "mode='same'",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("call", "shape", "line"), LINES.values(), ids=LINES)
def test_the_line_does_what_was_meant(tmp_path, call, shape, line):
    report = traced(tmp_path, own(call, "self.book = jnp.asarray(np.random.default_rng(0).normal(size=(11, 6)), 'float32')", shape))
    finding = serious(report)[0]
    assert finding.fixes[0].verified
    assert line in finding.fixes[0].patch.replace("keras.ops", "ops").replace('"same"', "'same'")


PATCHES = """
class Patches(layers.Layer):
    def call(self, x):
        b, h, w, c = x.shape
        x = jnp.transpose(jnp.reshape(x, (b, h // 8, 8, w // 8, 8, c)), (0, 1, 3, 2, 4, 5))
        return {}
class Table(layers.Layer):
    def __init__(self, length):
        super().__init__()
        self.table = self.add_weight(shape=(1, length, 12))
    def call(self, x):
        return x + self.table
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.patches, self.embed, self.table, self.head = Patches(), layers.Dense(12), Table((32 // 8) ** 2), layers.Dense(1)
    def call(self, x):
        return self.head(jnp.mean(self.table(self.embed(self.patches(x))), axis=1))
def build():
    model = Net()
    model.compile("sgd", "mse")
    return model
def data():
    return np.zeros((32, 32, 32, 3), "float32"), np.zeros((32, 1), "float32")
"""


@pytest.mark.parametrize("written", ["jnp.reshape(x, (b, -1, 8 * 8{}))", "x.reshape(b, -1, 8 * 8{})"])
def test_patches_keep_their_channels(tmp_path, written):
    report = traced(tmp_path, PATCHES.format(written.format("")))
    fix = serious(report)[0].fixes[0]
    assert fix.verified
    assert written.format(" * x.shape[-1]") in fix.patch


FIELDS = """
class Fields(layers.Layer):
    def __init__(self):
        super().__init__()
        self.tables = [layers.Embedding(9, 8) for _ in range(5)]
    def call(self, x):
        parts = jnp.stack([table(x[:, i]) for i, table in enumerate(self.tables)]{})
        return jnp.reshape({}, (x.shape[0], -1))
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.fields, self.deep = Fields(), layers.Dense(1)
    def call(self, x):
        return self.deep(self.fields(x))
def build():
    model = Net()
    model.compile("adam", "mse")
    return model
def data():
    return np.random.default_rng(0).integers(0, 9, (64, 5)), np.zeros((64, 1), "float32")
"""


def test_columns_stacked_in_front_of_the_batch_are_not_those_of_the_samples(tmp_path):
    (finding,) = serious(traced(tmp_path, FIELDS.format("", "parts")))
    assert (finding.rule, finding.severity) == ("reshape-interleaves", "silent")
    assert "swapaxes(parts, 0, 1)" in finding.fixes[0].patch


@pytest.mark.parametrize(("axis", "parts"), [(", axis=1", "parts"), ("", "jnp.transpose(parts, (1, 0, 2))")])
def test_columns_beside_each_other_are(tmp_path, axis, parts):
    assert not serious(traced(tmp_path, FIELDS.format(axis, parts)))


STEP = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.a = layers.Dense(1)
    def call(self, x, training=False):
        return self.a(x)
    def loss_fn(self, tv, ntv, x, y):
        y_pred, ntv = self.stateless_call(tv, ntv, x, training=True)
        return self.compute_loss(x, y, y_pred), ntv
    def train_step(self, state, data):
        tv, ntv, ov, mv = state
        (loss, ntv), grads = jax.value_and_grad(self.loss_fn, has_aux=True)(tv, ntv, *data)
        grads = jax.tree.map(lambda g: jax.lax.pmean(g, "batch"), grads)
        tv, ov = self.optimizer.stateless_apply(ov, grads, tv)
        return {"loss": loss}, (tv, ntv, ov, mv)
def build():
    model = Net()
    model.compile("adam", "mse")
    return model
def data():
    return np.ones((64, 5), "float32"), np.ones((64, 1), "float32")
"""


def test_an_axis_of_pmap_is_none_of_fit(tmp_path):
    (finding,) = serious(traced(tmp_path, STEP))
    assert (finding.rule, finding.fact.axis) == ("code-raises", "batch")
    assert "grads = jax.tree.map(lambda g: g, grads)" in finding.fixes[0].patch


ROWS = """
class Rows(keras.utils.PyDataset):
    def __init__(self, batch=20):
        super().__init__()
        self.batch = batch
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return np.zeros((self.batch, 4), "float32"), np.zeros((self.batch, 1), "float32")
def build():
    model = keras.Sequential([keras.Input((4,)), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model
def data():
    return {}
"""


ARRAYS = 'np.zeros((100, 4), "float32"), np.zeros((100, 1), "float32")'


def planned(tmp_path, made):
    path = tmp_path / "program.py"
    text = "import keras\nimport numpy as np\nfrom keras import layers\n" + ROWS.format(made)
    path.write_text(text, encoding="utf-8")
    scope = {"__name__": "program", "__file__": str(path)}
    exec(compile(text, str(path), "exec"), scope)
    (finding,) = serious(tpushape.trace(scope["build"], scope["data"], tpu="v5e-8"))
    assert finding.rule == "mesh-batch"
    return finding.fixes[0]


def test_devices_share_batches_without_a_pipeline_of_tensorflow(tmp_path):
    fix = planned(tmp_path, "Rows()")
    assert fix.verified
    assert "+    def __init__(self, batch=16):" in fix.patch


def test_samples_that_devices_cannot_share_are_left_out_only_on_request(tmp_path):
    fix = planned(tmp_path, ARRAYS)
    assert fix.title == "Leave out the last 4 rows: 96 of 100"
    assert not fix.verified and fix.reason.endswith("divides their number.")
