"""New state that a training step throws away, and logs that fit does not read."""

from __future__ import annotations

import pytest
from strangers import serious, traced

STEP = """
class Net(keras.Model):
    def loss_of(self, trainable, rest, x, y):
        y_pred, rest = self.stateless_call(trainable, rest, x, training=True)
        return self.compute_loss(x, y, y_pred), (y_pred, rest)
    def train_step(self, state, data):
        trainable, rest, slots, metrics = state
        (loss, (y_pred, {new})), grads = jax.value_and_grad(self.loss_of, has_aux=True)(trainable, rest, *data)
        trainable, slots = self.optimizer.stateless_apply(slots, grads, trainable)
        return {{"{name}": loss}}, (trainable, {back}, slots, metrics)
def build():
    inputs = keras.Input((8,))
    model = Net(inputs, layers.Dense(3)({layer}(inputs)))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model
def data():
    return np.zeros((64, 8), "float32"), np.zeros((64,), "int32")
"""


def step(new="rest", back="rest", layer="layers.BatchNormalization()", name="value"):
    return STEP.format(new=new, back=back, layer=layer, name=name)


@pytest.mark.parametrize(("new", "patch"), [("_", "(y_pred, rest))"), ("fresh", "(trainable, fresh, slots, metrics)")])
def test_new_state_that_a_step_throws_away_is_returned(tmp_path, new, patch):
    (finding,) = serious(traced(tmp_path, step(new)))
    assert (finding.severity, type(finding.fact).__name__) == ("silent", "StateDropped")
    assert any("moving_mean" in name for name in finding.fact.variables)
    assert finding.fixes[0].proof == "source"
    assert patch in finding.fixes[0].patch


def test_the_seed_of_a_dropout_is_state(tmp_path):
    (finding,) = serious(traced(tmp_path, step("_", layer="layers.Dropout(0.2)")))
    assert type(finding.fact).__name__ == "StateDropped"


@pytest.mark.parametrize("code", [step(), step("fresh", "fresh"), step("_", layer="layers.Dense(4)")], ids=["kept", "renamed", "no state"])
def test_state_that_is_kept_or_never_changes_is_not_reported(tmp_path, code):
    assert traced(tmp_path, code).ok


def test_logs_with_the_names_of_metrics_that_a_step_never_updates_are_a_note(tmp_path):
    found = [one for one in traced(tmp_path, step(name="loss")).findings if type(one.fact).__name__ == "LogsUnread"]
    assert [(one.severity, one.fact.names) for one in found] == [("note", ("loss",))]
    assert not [one for one in traced(tmp_path, step()).findings if type(one.fact).__name__ == "LogsUnread"]


OUTPUTS = """
def build():
    inputs = keras.Input((12,))
    one, two = layers.Dense(10, name="digit")(inputs), layers.Dense(4, name="box")(inputs)
    model = keras.Model(inputs, {outputs})
    model.compile("adam", {losses})
    return model
def data():
    box, digit = np.zeros((32, 4), "float32"), {digit}
    return np.zeros((32, 12), "float32"), {labels}
"""
ORDERS = {
    "a tuple": ("[one, two]", '["categorical_crossentropy", "mse"]', 'np.eye(10, dtype="float32")[np.arange(32) % 10]', "(box, digit)"),
    "classes": ("[one, two]", '["sparse_categorical_crossentropy", "mse"]', "np.arange(32) % 10", "(box, digit)"),
    "a dict": ('{"digit": one, "box": two}', '{"digit": "mse", "box": "mse"}', 'np.ones((32, 10), "float32")', '{"digit": box, "box": digit}'),
}


@pytest.mark.parametrize(("outputs", "losses", "digit", "labels"), ORDERS.values(), ids=ORDERS)
def test_labels_in_another_order_than_the_outputs_are_reordered(tmp_path, outputs, losses, digit, labels):
    (finding,) = serious(traced(tmp_path, OUTPUTS.format(outputs=outputs, losses=losses, digit=digit, labels=labels)))
    assert finding.fixes[0].proof == "source"
    assert finding.fixes[0].title in ("Swap the labels of digit and box", "Swap the labels of box and digit")


def test_labels_that_fit_in_no_order_stay(tmp_path):
    code = OUTPUTS.format(outputs="[one, two]", losses='"mse"', digit='np.zeros((32, 9), "float32")', labels="(digit, box)")
    assert not any("labels of" in fix.title for finding in traced(tmp_path, code).findings for fix in finding.fixes)
