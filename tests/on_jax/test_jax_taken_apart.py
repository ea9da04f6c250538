"""Results of stateless_call, value_and_grad and stateless_apply that a training step takes apart in the wrong order."""

from __future__ import annotations

import pytest
from strangers import serious, traced

STEP = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.a, self.n, self.b = layers.Dense(32), layers.BatchNormalization(), layers.Dense(3, activation="softmax")
    def call(self, x, training=False):
        return self.b(self.n(self.a(x), training=training))
    def loss_of(self, tv, ntv, x, y):
        y_pred, ntv = self.stateless_call(tv, ntv, x, training=True)
        return self.compute_loss(x, y, y_pred), (y_pred, ntv)
    def train_step(self, state, data):
        tv, ntv, ov, mv = state
        x, y = data
        grad_fn = jax.value_and_grad(self.loss_of, has_aux=True)
        (loss, (y_pred, ntv)), grads = grad_fn(tv, ntv, x, y)
        tv, ov = self.optimizer.stateless_apply(ov, grads, tv)
        return {"loss": loss}, (tv, ntv, ov, mv)
def build():
    model = Net()
    model.compile("adam", "sparse_categorical_crossentropy")
    return model
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(64, 8)).astype("float32"), rng.integers(0, 3, 64)
"""
LINES = {
    "predictions": ("y_pred, ntv = self.stateless_call", "ntv, y_pred = self.stateless_call", "code-raises"),
    "the value": ("(loss, (y_pred, ntv)), grads = grad_fn", "grads, (loss, (y_pred, ntv)) = grad_fn", "code-raises"),
    "what is beside the loss": ("(loss, (y_pred, ntv)), grads = grad_fn", "(loss, (ntv, y_pred)), grads = grad_fn", "step-without-state"),
    "weights": ("tv, ov = self.optimizer", "ov, tv = self.optimizer", "step-without-state"),
}


@pytest.mark.parametrize(("right", "wrong", "rule"), LINES.values(), ids=LINES)
def test_names_in_the_order_of_the_results(tmp_path, right, wrong, rule):
    (finding,) = serious(traced(tmp_path, STEP.replace(right, wrong)))
    assert finding.rule == rule
    fix = finding.fixes[0]
    assert fix.verified
    assert fix.proof == "source"
    assert f"+        {right}" in fix.patch


def test_a_value_alone_is_told_from_the_gradients(tmp_path):
    alone = STEP.replace(", (y_pred, ntv)\n", "\n").replace(", has_aux=True", "")
    (finding,) = serious(traced(tmp_path, alone.replace("(loss, (y_pred, ntv)), grads", "grads, loss")))
    assert finding.fact.function == "value_and_grad"
    # Without has_aux no new statistics leave the loss, and the step would throw them away: the fix returns them as well.
    assert "has_aux=True" in finding.fixes[0].patch and "+        (loss, ntv), grads = grad_fn" in finding.fixes[0].patch


@pytest.mark.parametrize("names", ["loss, (y_pred, ntv), grads", "loss, ntv, grads"])
def test_more_names_than_results_are_put_together(tmp_path, names):
    program = STEP.replace("(loss, (y_pred, ntv)), grads = grad_fn", f"{names} = grad_fn")
    program = program if "y_pred" in names else program.replace("y_pred), (y_pred, ntv)", "y_pred), ntv")
    (finding,) = serious(traced(tmp_path, program))
    assert finding.fact.names == 3
    first, _, last = names.rpartition(", ")
    assert f"+        ({first}), {last} = grad_fn" in finding.fixes[0].patch


def _unlabeled(line):
    """The step for inputs alone, with a loss of its own."""
    program = STEP.replace("x, y = data", line).replace("self.compute_loss(x, y, y_pred)", "ops.mean(ops.square(y_pred - x[:, :3]))")
    program = program.replace("ntv, x, y)", "ntv, x)").replace(", rng.integers(0, 3, 64)", "")
    return program.replace('"adam", "sparse_categorical_crossentropy"', '"adam"')


ASKED = {
    "an expression": "x = data[0] if isinstance(data, tuple) else data",
    "a statement": "if isinstance(data, (tuple, list)):\n            x = data[0]\n        else:\n            x = data",
    "made a tuple": "data = keras.utils.unpack_x_y_sample_weight(data)\n        x = data[0]",
}


@pytest.mark.parametrize("line", ASKED.values(), ids=ASKED)
def test_a_step_that_asks_what_it_got_does_not_read_the_first_row(tmp_path, line):
    assert not serious(traced(tmp_path, _unlabeled(line)))


@pytest.mark.parametrize("line", ASKED.values(), ids=ASKED)
def test_another_error_of_such_a_step_is_the_one_reported(tmp_path, line):
    program = _unlabeled(line)
    (finding,) = serious(traced(tmp_path, program.replace("(loss, (y_pred, ntv)), grads = grad_fn", "loss, (y_pred, ntv), grads = grad_fn")))
    assert type(finding.fact).__name__ == "ResultsExchanged"


def test_the_step_as_it_should_be_is_ok(tmp_path):
    assert not serious(traced(tmp_path, STEP))
