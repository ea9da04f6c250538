"""What stands in the wrong place on JAX: state in call, heads before steps, weights exchanged, rows and axes left out; each with its fix."""

from __future__ import annotations

import pytest
from strangers import AROUND, serious, traced

import jupyter_tpushape as tpushape

HEAD = "import jax\nimport jax.numpy as jnp\n"


def own(call, *, init=(), build=(), shape=(4,), name="call(self, x)"):
    parts = {"__init__(self)": ["super().__init__()", *init], "build(self, shape)": list(build), name: list(call)}
    body = "".join(
        f"    def {head}:\n" + "".join(f"        {line}\n" for line in lines) for head, lines in parts.items() if lines and (head != "__init__(self)" or init)
    )
    return HEAD + "class Own(layers.Layer):\n" + body + AROUND.format(shape=shape, rows=f"{shape[0]}, " if len(shape) > 1 else "")


def first(report, rule):
    finding = next(one for one in report.findings if one.rule == rule)
    return finding, finding.fixes[0]


MOVED = {
    "heads before steps": (
        own(["b, t = x.shape[0], x.shape[1]", "return ops.max(ops.reshape(x, (b, 2, t, 3)), axis=1)"], shape=(5, 4)),
        "reshape-interleaves",
        "ops.transpose(ops.reshape(x, (b, t, 2, 3)), (0, 2, 1, 3))",
    ),
    "a constant seed": (
        own(["return x + keras.random.normal(x.shape, seed=42)"], init=["self.rate = 0.1"]),
        "fixed-random",
        "keras.random.normal(x.shape, seed=self.seed_generator)",
    ),
    "a stack in front of the batch": (
        own(["y = jnp.stack([x[:, 0], x[:, 1]])", "return y"]).replace(", layers.Dense(1)]", "]").replace('"mse"', "lambda y, p: p[:, 0] - p[:, 1]"),
        "batch-axis-lost",
        "jnp.stack([x[:, 0], x[:, 1]], axis=1)",
    ),
    "low ranks exchanged": (
        own(
            ["return ops.matmul(ops.matmul(x, self.b), self.a)"],
            build=["self.a = self.add_weight(shape=(shape[-1], 2))", "self.b = self.add_weight(shape=(2, 5))"],
        ),
        "op-shapes",
        "ops.matmul(ops.matmul(x, self.a), self.b)",
    ),
    "a token without rows": (
        own(
            ["x = jnp.concatenate([self.token.value, x], axis=1)", "return x[:, 1:]"],
            build=["self.token = self.add_weight(shape=(1, shape[-1]))"],
            shape=(5, 4),
        ),
        "op-shapes",
        "(ops.shape(x)[0], *self.token.value.shape)), x], axis=1)",
    ),
    "zeros of one branch": (
        own(["return ops.cond(ops.mean(x) > 0, lambda: ops.relu(x), lambda: ops.zeros((6,)))"]),
        "op-shapes",
        "lambda: ops.zeros_like(ops.relu(x))",
    ),
}


@pytest.mark.parametrize(("code", "rule", "line"), MOVED.values(), ids=MOVED)
def test_what_stands_in_the_wrong_place_is_put_right(tmp_path, code, rule, line):
    _, fix = first(traced(tmp_path, code), rule)
    assert fix.proof == "source"
    assert fix.verified
    assert line in fix.patch.replace("keras.ops.", "ops.")


def test_a_token_that_makes_a_step_more_than_the_labels_is_mended_and_the_labels_come_next(tmp_path):
    code = own(
        ["return jnp.concatenate([self.token.value, x], axis=1)"], build=["self.token = self.add_weight(shape=(1, shape[-1]))"], shape=(5, 4),
    )  # fmt: skip
    _, fix = first(traced(tmp_path, code), "op-shapes")
    assert (fix.proof, fix.mends, fix.then) == ("source", True, ("output-size",))


CELL = """
class Cell(keras.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units
        self.state_size = {size}
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.units))
        self.u = self.add_weight(shape=(self.units, self.units))
    def call(self, inputs, states):
        before = states[0]
        out = ops.matmul(inputs, self.w) + ops.matmul(before, self.u)
        return out, [out]
def build():
    inputs = keras.Input((6, 4))
    model = keras.Model(inputs, layers.Dense(1)(layers.RNN(Cell(8))(inputs)))
    model.compile("sgd", "mse")
    return model
def data():
    return np.zeros((8, 6, 4), "float32"), np.zeros((8, 1), "float32")
"""


def test_the_line_of_a_cell_is_told_and_its_state_gets_the_size_of_its_weights(tmp_path):
    finding, fix = first(traced(tmp_path, CELL.format(size="2 * units")), "op-shapes")
    assert "ops.matmul(before, self.u)" in finding.location.text
    assert fix.verified
    assert "+        self.state_size = self.units" in fix.patch
    assert traced(tmp_path, CELL.format(size="units")).ok


NET = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense, self.mean = layers.Dense(4), keras.metrics.Mean()
    def call(self, x):
        h = self.dense(x)
        {call}
        return h
    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        {later}
        return super().compute_metrics(x, y, y_pred, sample_weight)
def build():
    model = Net()
    model.compile("sgd", "mse")
    return model
def data():
    return np.zeros((8, 4), "float32"), np.zeros((8, 4), "float32")
"""


def test_a_metric_has_no_state_in_call(tmp_path):
    (finding,) = serious(traced(tmp_path, NET.format(call="self.mean.update_state(h)", later="pass")))
    assert (finding.rule, finding.severity, finding.fact.name) == ("metric-in-call", "error", "mean")
    assert "update_state" in finding.location.text
    assert traced(tmp_path, NET.format(call="pass", later="self.mean.update_state(y_pred)")).ok


def test_a_layer_that_is_made_in_call_is_never_trained(tmp_path):
    (finding,) = serious(traced(tmp_path, NET.format(call="h = layers.Dense(4)(h)", later="pass")))
    assert (finding.rule, finding.severity, finding.fact.cls) == ("made-in-call", "silent", "Dense")
    assert traced(tmp_path, NET.format(call="m = keras.metrics.Mean(); m.update_state(h)", later="pass")).ok


def test_random_features_are_the_same_on_purpose(tmp_path):
    assert traced(tmp_path, own(["return ops.cos(ops.matmul(x, keras.random.normal((6, 5), seed=1)))"])).ok


def test_a_map_of_images_is_split_without_being_mixed(tmp_path):
    assert traced(tmp_path, own(["return ops.reshape(ops.reshape(x, (-1, 4, 4, 6)), (-1, 16, 6))"], shape=(16, 4))).ok


STEP = """
import jax
class Net(keras.Model):
    def loss_of(self, trainable, rest, x, y):
        y_pred = self.stateless_call(trainable, rest, x, training=True)
        return self.compute_loss(x, y, y_pred), rest
    def train_step(self, {arguments}):
        trainable, rest, slots, metrics = state
        (loss, rest), grads = jax.value_and_grad(self.loss_of, has_aux=True)(trainable, rest, *data)
        trainable, slots = self.optimizer.stateless_apply(slots, grads, trainable)
        return {{"loss": loss}}, (trainable, rest, slots, metrics)
def build():
    inputs = keras.Input((8,))
    model = Net(inputs, layers.Dense(3)(layers.Dropout(0.2)(inputs)))
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((64, 8), "float32"), np.zeros((64, 3), "float32")
"""


def test_the_pair_of_a_stateless_call_is_unpacked(tmp_path):
    _, fix = first(traced(tmp_path, STEP.format(arguments="state, data")), "code-raises")
    assert fix.verified
    assert "+        y_pred, rest = self.stateless_call(trainable, rest, x, training=True)" in fix.patch


OWN_NET = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense({units})
    def call(self, x):
        return self.dense({given})
{step}
def build():
    model = Net()
    model.compile("sgd")
    return model
def data():
    return (np.zeros((8, 4), "float32"),)
"""

ALONE = OWN_NET.format(
    units=4,
    given="x",
    step="""
    def train_step(self, data):
        x = data[0]
        return {"loss": ops.mean(self.dense(x))}
""",
)


def test_a_step_without_state_is_told_before_what_it_reads(tmp_path):
    (finding,) = serious(traced(tmp_path, ALONE))
    assert finding.rule == "step-without-state"


PAIRS = OWN_NET.format(
    units=1,
    given="ops.concatenate([x, -x], axis=0)",
    step="""
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        n = ops.shape(x)[0]
        return ops.mean(ops.square(y_pred - ops.concatenate([ops.ones((n, 1)), ops.zeros((n, 1))], axis=0)))
""",
)


def test_the_rows_of_an_output_are_the_business_of_the_models_own_loss(tmp_path):
    assert traced(tmp_path, PAIRS).ok


YIELDED = """
def batches():
    for _ in range(4):
        yield {"image": np.zeros((8, 4), "float32"), "label": np.zeros((8,), "int32")}
def build():
    inputs = keras.Input((4,), name="image")
    model = keras.Model(inputs, layers.Dense(3, activation="softmax")(inputs))
    model.compile("adam", "sparse_categorical_crossentropy")
    return model
def data():
    return batches()
"""


def test_a_dict_of_inputs_and_labels_is_taken_apart(tmp_path):
    _, fix = first(traced(tmp_path, YIELDED), "data-misfit")
    assert fix.verified
    assert '+        yield np.zeros((8, 4), "float32"), np.zeros((8,), "int32")' in fix.patch


def test_the_mesh_that_a_builder_sets_is_judged(tmp_path):
    code = """
import jax
def build():
    mesh = keras.distribution.DeviceMesh((1, 1), ["batch", "model"], devices=jax.devices()[:1])
    held = keras.distribution.LayoutMap(mesh)
    held["dense.*kernel"] = (None, "model")
    keras.distribution.set_distribution(keras.distribution.ModelParallel(layout_map=held, batch_dim_name="batch"))
    model = keras.Sequential([keras.Input((4,)), layers.Dense(3, name="head")])
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((8, 4), "float32"), np.zeros((8, 3), "float32")
"""
    import keras

    for tpu in ("auto", None):
        path = tmp_path / "laid.py"
        path.write_text("import keras\nimport numpy as np\nfrom keras import layers\n" + code, encoding="utf-8")
        scope = {"__name__": "laid"}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
        report = tpushape.trace(scope["build"], scope["data"], tpu=tpu)
        assert any(finding.rule == "layout-key" and finding.fact.key == "dense.*kernel" for finding in report.findings)
        assert keras.distribution.distribution() is None
