"""Training steps and metrics on JAX that lose or lack their state: the fix is in the user's own text, and one real fit runs with it."""

from __future__ import annotations

import numpy as np
import pytest
from strangers import serious, traced
from test_jax_places import own

import jupyter_tpushape as tpushape


def repaired(tmp_path, code, rule):
    """The patch of the first fix, after one real epoch of the patched program that trained it."""
    finding = serious(traced(tmp_path, code))[0]
    assert finding.rule == rule
    assert finding.fixes[0].proof == "source"
    path = tmp_path / "program.py"
    tpushape.apply(finding.fixes[0], path)
    scope = {"__name__": "program"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
    model, data = scope["build"](), scope["data"]()
    model.build(data[0].shape) if not model.built else None
    before = [one.numpy() for one in model.trainable_variables]
    history = model.fit(*data, epochs=1, verbose=0).history
    assert all(not np.array_equal(one, two.numpy()) for one, two in zip(before, model.trainable_variables, strict=True))
    assert all(np.isfinite(values[-1]) for values in history.values())
    assert tpushape.trace(scope["build"], scope["data"], tpu=None).ok
    return finding.fixes[0].patch, history


STEP = """
class Net(keras.Model):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.size = keras.metrics.Mean(name="size")
    def loss_of(self, tv, ntv, x, y):
        y_pred, ntv = self.stateless_call(tv, ntv, x, training=True)
        return ops.mean(ops.square(y - y_pred)), (y_pred, ntv)
    def train_step(self, {arguments}):
        {step}
def build():
    inputs = keras.Input((8,))
    model = Net(inputs, layers.Dense(3)(layers.BatchNormalization()(inputs)))
    model.compile("sgd", "mse")
    return model
def data():
    return np.random.rand(64, 8).astype("float32"), np.random.rand(64, 3).astype("float32")
"""


def step(*lines, arguments="state, data"):
    return STEP.format(arguments=arguments, step="\n        ".join(lines))


GRADIENT = [
    "tv, ntv, ov, mv = state",
    "(loss, (y_pred, {})), grads = jax.value_and_grad(self.loss_of, has_aux=True)(tv, ntv, *data)",
    "{}, ov = self.optimizer.stateless_apply(ov, grads, tv)",
]


def derived(ntv="ntv", tv="tv"):
    return [GRADIENT[0], GRADIENT[1].format(ntv), GRADIENT[2].format(tv)]


RETURNED = {
    "no state": ([*derived(), 'return {"loss": loss, "mae": ops.mean(ops.abs(data[1] - y_pred))}'], "(tv, ntv, ov, mv)"),
    "new names": ([*derived("fresh", "after"), 'return {"loss": loss, "mean": ops.mean(y_pred)}'], "(after, fresh, ov, mv)"),
    "three groups": ([*derived(), 'return {"loss": loss}, (tv, ntv, ov)'], '{"loss": loss}, (tv, ntv, ov, mv)'),
}


@pytest.mark.parametrize(("lines", "returned"), RETURNED.values(), ids=RETURNED)
def test_a_step_returns_the_whole_state(tmp_path, lines, returned):
    patch, _ = repaired(tmp_path, step(*lines), "step-without-state")
    assert returned in patch


def test_a_state_whose_new_names_are_not_known_is_left_to_the_user(tmp_path):
    lines = [*derived("fresh"), 'return {"loss": loss}']
    (finding,) = serious(traced(tmp_path, step(*lines)))
    assert not any(fix.verified for fix in finding.fixes)


IGNORED = {
    "dropped": (GRADIENT[2].format("tv").partition(" = ")[2], "        tv, ov = self.optimizer.stateless_apply(ov, grads, tv)"),
    "kept elsewhere": (GRADIENT[2].format("after"), '        return {"loss": loss}, (after, ntv, ov, mv)'),
}


@pytest.mark.parametrize(("line", "new"), IGNORED.values(), ids=IGNORED)
def test_weights_that_come_back_as_they_were_are_told(tmp_path, line, new):
    code = step(*derived()[:2], line, 'return {"loss": loss}, (tv, ntv, ov, mv)')
    assert serious(traced(tmp_path, code))[0].severity == "silent"
    patch, _ = repaired(tmp_path, code, "step-without-state")
    assert f"+{new}" in patch


def test_an_optimizer_that_changes_weights_in_place_becomes_stateless(tmp_path):
    lines = [*derived()[:2], "self.optimizer.apply(grads, self.trainable_variables)", 'return {"loss": loss}, (tv, ntv, ov, mv)']
    patch, _ = repaired(tmp_path, step(*lines), "step-without-state")
    assert "tv, ov = self.optimizer.stateless_apply(ov, grads, tv)" in patch


def test_what_a_loss_returns_beside_itself_is_one_tuple(tmp_path):
    code = step(*derived(), 'return {"loss": loss}, (tv, ntv, ov, mv)').replace(", (y_pred, ntv)\n", ", y_pred, ntv\n")
    patch, _ = repaired(tmp_path, code.replace("(loss, (y_pred, ntv)), grads", "(loss, y_pred, ntv), grads"), "op-shapes")
    assert "(loss, (y_pred, ntv)), grads = jax.value_and_grad(" in patch


METRICS = [
    ["self.size.update_state(loss)", 'return {"loss": loss, "size": self.size.result()}, (tv, ntv, ov, mv)'],
    ["logs = {}", "for one in self.metrics:", "    if one.name == 'size':", "        one.update_state(loss)", "    logs[one.name] = one.result()",
     "return logs, (tv, ntv, ov, mv)"],
]  # fmt: skip


@pytest.mark.parametrize("lines", METRICS, ids=["returned", "in a loop"])
def test_metrics_of_a_step_are_updated_in_a_scope_with_their_state(tmp_path, lines):
    patch, history = repaired(tmp_path, step(*derived(), *lines), "step-without-state")
    assert "keras.StatelessScope(list(zip(self.metrics_variables, mv)))" in patch
    assert history["size"][-1] > 0


SUPER = {
    "called": (["return super().train_step((data[0] + 1.0, data[1]))"], "return super().train_step(state, (data[0] + 1.0, data[1]))"),
    "kept": (["logs = super().train_step(data)", 'logs["one"] = 1.0', "return logs"], "return logs, state"),
}


@pytest.mark.parametrize(("lines", "line"), SUPER.values(), ids=SUPER)
def test_the_state_is_handed_to_the_step_of_keras(tmp_path, lines, line):
    patch, _ = repaired(tmp_path, step(*lines, arguments="data"), "step-without-state")
    assert "+    def train_step(self, state, data):" in patch
    assert f"+        {line}" in patch


TAPE = [
    "x, target = data",
    "with tf.GradientTape() as tape:",
    "    out = self(x, training=True)",
    "    # far from the target, and large",
    "    loss = ops.mean(ops.square(target - out))",
    "    for one in (0.1, 0.2):",
    "        loss = loss + one * ops.mean(ops.abs(out))",
    "grads = tape.gradient(loss, self.trainable_variables)",
    "self.optimizer.apply_gradients(zip(grads, self.trainable_variables))",
    "self.size.update_state(loss)",
    "return {one.name: one.result() for one in self.metrics}",
]


def test_a_step_with_a_tape_becomes_a_loss(tmp_path):
    patch, history = repaired(tmp_path, "tf = None\n" + step(*TAPE, arguments="data"), "step-without-state")
    assert "+        target = y\n" in patch and "+        out = y_pred\n" in patch
    assert history["size"][-1] == pytest.approx(history["loss"][-1], rel=1e-3)


def changed(old, *new):
    at = TAPE.index(old)
    return [*TAPE[:at], *new, *TAPE[at + 1 :]]


OTHER = ["with tf.GradientTape() as other:", "    more = ops.mean(self(x))", "other.gradient(more, self.weights)"]
MORE = {
    "two tapes": changed(TAPE[-1], *OTHER, TAPE[-1]),
    "some weights": changed(TAPE[7], "grads = tape.gradient(loss, self.layers[-1].trainable_variables)"),
    "clipped": changed(TAPE[8], "grads = [ops.clip(one, -1, 1) for one in grads]", TAPE[8]),
    "clipped at once": changed(TAPE[7], "grads = [one * 2 for one in tape.gradient(loss, self.trainable_variables)]"),
    "first row": changed(TAPE[0], "x = data[0]", "target = data[1]"),
    "exchanged": changed(TAPE[0], "y, x = data", "target = y"),
    "a metric by name": changed(TAPE[9], "for one in self.metrics:", "    if one.name == 'size':", "        one.update_state(loss)"),
}


@pytest.mark.parametrize("lines", MORE.values(), ids=MORE)
def test_a_step_that_does_more_than_a_loss_is_left_to_the_user(tmp_path, lines):
    (finding,) = serious(traced(tmp_path, "tf = None\n" + step(*lines, arguments="data")))
    assert not any(fix.verified for fix in finding.fixes)


def test_what_a_step_feeds_to_the_model_besides_x_is_fed_in_the_loss(tmp_path):
    lines = changed(TAPE[2], "    out = self(x * 2.0, training=True)")
    patch, _ = repaired(tmp_path, "tf = None\n" + step(*lines, arguments="data"), "step-without-state")
    assert "+        out = self(x * 2.0, training=True)" in patch


METER = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = layers.Dense(4), layers.Dense(2)
    def build(self, shape):
        self.seen = keras.metrics.Mean(name="seen")
        self.hidden.build(shape)
        self.out.build((None, 4))
    def call(self, inputs):
        h = self.hidden(inputs)
        self.seen.update_state({})
        y = self.out(h)
        return y
def build():
    model = Net()
    model.compile("sgd", "mse")
    return model
def data():
    return np.random.rand(64, 8).astype("float32"), np.random.rand(64, 2).astype("float32")
"""


def test_a_metric_of_the_inputs_is_updated_after_the_call(tmp_path):
    patch, history = repaired(tmp_path, METER.format("ops.mean(inputs, axis=1)"), "metric-in-call")
    assert "+        self.seen.update_state(ops.mean(x, axis=1))" in patch
    assert 0 < history["seen"][-1] < 1


def test_a_metric_of_what_only_the_call_knows_is_left_to_the_user(tmp_path):
    (finding,) = serious(traced(tmp_path, METER.format("ops.mean(h)")))
    assert finding.rule == "metric-in-call"
    assert not finding.fixes


LOOP = ["i = ops.zeros((), 'int32')", "grow = lambda i, y: (i + 1, y * 0.5)", "return ops.while_loop(lambda i, y: i < 3, grow, (i, {}))[1]"]


def test_a_loop_that_jax_cannot_derive_is_told_at_its_line(tmp_path):
    (finding,) = serious(traced(tmp_path, own([*LOOP[:2], LOOP[2].format("x")])))
    assert (finding.rule, finding.severity) == ("loop-gradient", "error")
    assert "while_loop" in finding.location.text


DERIVED = [
    [*LOOP[:2], LOOP[2].format("ops.stop_gradient(x)")],
    [*LOOP[:2], "return x + " + LOOP[2].format("ops.ones((6,))")[7:]],
    ["return ops.fori_loop(0, 3, lambda i, y: y * 0.5, x)"],
]


@pytest.mark.parametrize("call", DERIVED, ids=["no gradient", "no data", "counted"])
def test_a_loop_that_needs_no_gradient_is_ok(tmp_path, call):
    assert traced(tmp_path, own(call)).ok


ROWS = """
class Rows(keras.utils.PyDataset):
    def __init__(self):
        super().__init__()
        self.x, self.y = np.random.rand(100, 8).astype("float32"), np.random.rand(100, 3).astype("float32")
    def __len__(self):
        return int(np.ceil(len(self.x) / 24))
    def __getitem__(self, index):
        at = slice(index * 24, index * 24 + 24)
        return {}
def build():
    model = keras.Sequential([keras.Input((8,)), layers.Dense(3)])
    model.compile("sgd", "mse")
    return model
def data():
    return Rows()
"""


def test_the_last_batch_of_a_dataset_with_a_length_is_left_out_where_it_does_not_divide(tmp_path):
    traced(tmp_path, ROWS.format("self.x[at], self.y[at]"))
    scope = {"__name__": "program"}
    exec(compile((tmp_path / "program.py").read_text(encoding="utf-8"), str(tmp_path / "program.py"), "exec"), scope)
    finding = serious(tpushape.trace(scope["build"], scope["data"], tpu="v5e-8"))[0]
    assert (finding.rule, finding.fact.rows, finding.fact.last) == ("mesh-batch", 4, True)
    assert finding.fixes[0].proof == "source"
    assert "+        return len(self.x) // 24" in finding.fixes[0].patch


def test_a_batch_of_one_batch_is_the_batch(tmp_path):
    (finding,) = serious(traced(tmp_path, ROWS.format("np.array([self.x[at]]), np.array([self.y[at]])")))
    assert finding.rule == "input-rank"
    fixes = {fix.title: fix for fix in finding.fixes if fix.verified}
    assert not any(edit.kind == "input-shape" for fix in fixes.values() for edit in fix.edits)
    assert "+        return np.array([self.x[at]])[0], np.array([self.y[at]])[0]" in finding.fixes[0].patch


SIZES = {
    "a root": (["b, t, f = ops.shape(x)", "side = ops.sqrt(t)", "y = ops.reshape(x, (b, side, side, f))", "return ops.mean(y, axis=(1, 2))"], "int(t ** 0.5)"),
    "a quotient": (["b, t, f = ops.shape(x)", "n = ops.floor_divide(t, self.n)", "return ops.mean(ops.reshape(x, (b, n, 2, f)), axis=(1, 2))"], "t // self.n"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "size"), SIZES.values(), ids=SIZES)
def test_sizes_are_computed_in_python(tmp_path, call, size):
    code = own(call, init=["self.n = ops.cast(2, 'int32')"], shape=(16, 4))
    patch, _ = repaired(tmp_path, code.replace("np.zeros((64, 16, 1)", "np.zeros((64, 1)").replace("np.zeros", "np.ones"), "value-asked")
    assert f"= {size}" in patch


def test_a_loss_that_asks_for_values_uses_the_tensors(tmp_path):
    code = STEP.format(arguments="data", step="pass").replace("train_step(self, data)", "unused(self)").replace('"mse")', "far)")
    far = "\ndef far(y_true, y_pred):\n    true, guess = y_true.numpy(), y_pred.numpy()\n    return ((true - guess) ** 2).mean()\n"
    patch, _ = repaired(tmp_path, code + far, "value-asked")
    assert "+    true, guess = y_true, y_pred" in patch


OWN_LOSS = STEP.format(arguments="data", step="pass").replace("train_step(self, data)", "unused(self)") + (
    "\nclass Loss(Net):\n    def compute_loss(self, {}):\n        return ops.mean(ops.square(y - y_pred))\nNet = Loss\n"
)


def test_a_loss_of_the_models_own_takes_all_that_keras_passes(tmp_path):
    patch, _ = repaired(tmp_path, OWN_LOSS.format("x, y, y_pred"), "loss-raises")
    assert "+    def compute_loss(self, x, y, y_pred, sample_weight=None, training=True):" in patch


def test_a_loss_with_other_parameters_is_left_to_the_user(tmp_path):
    assert not any(fix.verified for fix in serious(traced(tmp_path, OWN_LOSS.format("y, y_pred")))[0].fixes)


def test_a_loop_over_the_samples_is_told(tmp_path):
    call = ["out = []", "for i in range(ops.shape(x)[0]):", "    out.append(x[i] / ops.max(x[i]))", "return ops.stack(out)"]
    (finding,) = serious(traced(tmp_path, own(call)))
    assert (finding.rule, finding.fact.asked) == ("value-asked", "rows")
    assert "range" in finding.location.text


GAN = """
class Gan(keras.Model):
    def __init__(self, one, other):
        super().__init__()
        self.one = one
        self.other = other
        self.built = True
    def call(self, x):
        return self.one(x)
    def loss_of(self, tv, x, noise):
        n = len(self.other.trainable_variables)
        other, one = tv[:n], tv[n:]
        made, _ = self.other.stateless_call(other, [], noise)
        judged, _ = self.one.stateless_call(one, [], made + x)
        return ops.mean(ops.square(judged))
    def train_step(self, state, data):
        tv, ntv, ov, mv = state
        noise = ops.ones((data.shape[0], 3))
        loss, grads = jax.value_and_grad(self.loss_of)(tv, data, noise)
        tv, ov = self.optimizer.stateless_apply(ov, grads, tv)
        return {"loss": loss}, (tv, ntv, ov, mv)
def build():
    one = keras.Sequential([keras.Input((8,)), layers.Dense(5), layers.Dense(1)])
    other = keras.Sequential([keras.Input((3,)), layers.Dense(8)])
    gan = Gan(one, other)
    gan.compile("adam")
    return gan
def data():
    return np.ones((64, 8), "float32"),
"""


def test_a_list_of_variables_is_split_in_the_order_of_the_layers(tmp_path):
    patch, _ = repaired(tmp_path, GAN, "step-without-state")
    assert "other, one = tv[-n:], tv[:-n]" in patch


@pytest.mark.parametrize(
    ("drawn", "line"),
    [
        ("keras.random.normal((data.shape[0], 3), seed=3)", "keras.random.normal((data.shape[0], 3), seed=self.seed_generator)"),
        ("keras.random.normal((data.shape[0], 3))", "keras.random.normal((data.shape[0], 3), seed=self.seed_generator)"),
        ("jax.random.normal(jax.random.PRNGKey(0), (data.shape[0], 3))", "self.seed_generator.next(), (data.shape[0], 3))"),
        ("np.random.normal(size=(data.shape[0], 3))", "keras.random.normal((data.shape[0], 3), seed=self.seed_generator)"),
    ],
)
def test_a_step_gives_the_state_of_its_seed_back(tmp_path, drawn, line):
    code = GAN.replace("tv[:n], tv[n:]", "tv[-n:], tv[:-n]").replace("ops.ones((data.shape[0], 3))", drawn)
    patch, _ = repaired(tmp_path, code, "unseeded-random" if drawn.endswith("3))") and drawn.startswith("keras") else "fixed-random")
    assert line in patch
    assert "ntv = [scope.get_current_value(one) for one in self.non_trainable_variables]" in patch


def test_an_optimizer_beside_the_state_is_told(tmp_path):
    code = GAN.replace("tv[:n], tv[n:]", "tv[-n:], tv[:-n]").replace("self.built = True", "self.second = keras.optimizers.Adam()")
    code = code.replace("tv, ov = self.optimizer.stateless_apply(ov,", "tv, _ = self.second.stateless_apply(self.second.variables,")
    code = code.replace('    gan.compile("adam")', '    gan.built = True\n    gan.second.build(gan.trainable_variables)\n    gan.compile("adam")')
    (finding,) = serious(traced(tmp_path, code))
    assert (finding.rule, finding.severity, finding.fact.attribute) == ("step-without-state", "silent", "second")


def test_a_call_without_training_accepts_it_and_the_next_fault_is_mended_too(tmp_path):
    code = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.out = layers.Dense(1)
    def call(self, x):
        return self.out(x)
    def loss_of(self, tv, ntv, x, y):
        y_pred, ntv = self.stateless_call(tv, ntv, x, training=True)
        return ops.mean(ops.square(y - y_pred)), ntv
    def train_step(self, state, data):
        tv, ntv, ov, mv = state
        (loss, ntv), grads = jax.value_and_grad(self.loss_of, has_aux=True)(tv, ntv, *data)
        tv, ov = self.optimizer.stateless_apply(ov, grads, tv)
        return {"loss": loss}, (tv, ntv, ov)
def build():
    model = Net()
    model.out.build((None, 8))
    model.compile("sgd", "mse")
    return model
def data():
    return np.random.rand(64, 8).astype("float32"), np.random.rand(64, 1).astype("float32")
"""
    patch, _ = repaired(tmp_path, code, "code-raises")
    assert "+    def call(self, x, training=None):" in patch and "(tv, ntv, ov, mv)" in patch
