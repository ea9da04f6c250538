"""The metric of the mean loss in a training step of one's own on JAX."""

from __future__ import annotations

import jupyter_tpushape as tpushape

STEP = """
import jax
import keras
import numpy as np
from keras import layers
class Own(keras.Model):
    def loss_of(self, tv, ntv, x, y):
        p, ntv = self.stateless_call(tv, ntv, x, training=True)
        return self.compute_loss(x, y, p), (p, ntv)
    def train_step(self, state, data):
        tv, ntv, ov, mv = state
        x, y = data
        (loss, (p, ntv)), grads = jax.value_and_grad(self.loss_of, has_aux=True)(tv, ntv, x, y)
        tv, ov = self.optimizer.stateless_apply(ov, grads, tv)
        kept, logs = [], {}
        for metric in self.metrics:
            now = mv[len(kept) : len(kept) + len(metric.variables)]
            now = metric.stateless_update_state(now, y, p)
            logs[metric.name] = metric.stateless_result(now)
            kept += now
        return logs, (tv, ntv, ov, kept)
def build():
    i = keras.Input((4,))
    model = Own(i, layers.Dense(1)(i))
    model.compile("sgd", "mse", metrics=["mae"])
    return model
def data():
    return np.ones((16, 4), "float32"), np.full((16, 1), 7, "float32")
"""


def test_labels_and_predictions_for_the_metric_of_the_loss_are_found_and_mended(tmp_path):
    path = tmp_path / "stepped.py"
    path.write_text(STEP)
    scope = {"__name__": "stepped", "__file__": str(path)}
    exec(compile(STEP, str(path), "exec"), scope)
    (finding,) = [one for one in tpushape.trace(scope["build"], scope["data"], tpu=None).findings if one.serious]
    assert (finding.rule, finding.fixes[0].proof) == ("loss-tracker", "source")
    assert 'now = metric.stateless_update_state(now, loss) if metric.name == "loss" else metric.stateless_update_state(now, y, p)' in finding.fixes[0].patch
