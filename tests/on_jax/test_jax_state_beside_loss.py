"""What stateless_compute_loss returns beside the loss: three groups, of which a step takes one."""

from __future__ import annotations

import pytest
from strangers import first, serious, traced

MODEL = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden, self.norm, self.out = layers.Dense(8), layers.BatchNormalization(), layers.Dense(1)
    def call(self, x, training=None):
        return self.out(self.norm(self.hidden(x), training=training))
    def losses_of(self, tv, ntv, mv, x, y):
        y_pred, ntv = self.stateless_call(tv, ntv, x, training=True)
        loss, {state} = self.stateless_compute_loss(tv, ntv, mv, x=x, y=y, y_pred=y_pred, training=True)
        return loss, ntv
    def train_step(self, state, data):
        tv, ntv, ov, mv = state
        x, y = data
        (loss, ntv), grads = jax.value_and_grad(self.losses_of, has_aux=True)(tv, ntv, mv, x, y)
        tv, ov = self.optimizer.stateless_apply(ov, grads, tv)
        return {{"total": loss}}, (tv, ntv, ov, mv)

def build():
    model = Net()
    model.compile("adam", "mse")
    return model

def data():
    return np.zeros((64, 5), "float32"), np.zeros((64, 1), "float32")
"""


def test_the_group_of_that_name_is_taken(tmp_path):
    assert "loss, (_, ntv, _) = self.stateless_compute_loss" in first(tmp_path, MODEL.format(state="ntv"), "step-without-state")


@pytest.mark.parametrize("state", ["(_, ntv, _)", "(tv, ntv, mv)"])
def test_the_three_groups_are_clean(tmp_path, state):
    assert not serious(traced(tmp_path, MODEL.format(state=state)))
