"""A batch size that is written into a loss, and a cell that returns another state than it keeps."""

from __future__ import annotations

import pytest
from strangers import serious, traced
from test_jax_steps import repaired

CONTRASTIVE = """
class Contrastive(keras.Model):
    def __init__(self, batch_size=256):
        super().__init__()
        self.batch_size = batch_size
        self.encoder = keras.Sequential([layers.Dense(32, activation="relu"), layers.Dense(16)])
    def call(self, x):
        return ops.stack([self.encoder(x), self.encoder(2.0 * x)], axis=1)
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        similarity = ops.matmul(y_pred[:, 0], ops.transpose(y_pred[:, 1]))
        labels = {labels}
        return ops.mean(keras.losses.{loss}(labels, similarity, from_logits=True))
def build():
    model = Contrastive()
    model.compile("adam")
    return model
def data():
    return (np.random.rand(64, 20).astype("float32"),)
"""
WRITTEN = {
    "one-hot labels": ("ops.eye(self.batch_size)", "categorical_crossentropy", "ops.eye(ops.shape(y_pred)[0])"),
    "class indices": ("ops.arange(self.batch_size)", "sparse_categorical_crossentropy", "ops.arange(ops.shape(y_pred)[0])"),
}


@pytest.mark.parametrize(("labels", "loss", "new"), WRITTEN.values(), ids=WRITTEN)
def test_a_batch_size_in_a_loss_is_counted(tmp_path, labels, loss, new):
    code = CONTRASTIVE.format(labels=labels, loss=loss)
    (finding,) = serious(traced(tmp_path, code))
    assert finding.location is not None and finding.location.text.startswith("return ops.mean(")
    assert (finding.rule, finding.fixes[0].proof) == ("loss-raises", "source")
    assert f"+        labels = {new}" in finding.fixes[0].patch


def test_the_rows_of_the_batch_are_ok(tmp_path):
    assert traced(tmp_path, CONTRASTIVE.format(labels="ops.eye(ops.shape(y_pred)[0])", loss="categorical_crossentropy")).ok


def test_the_output_of_a_cell_is_its_state(tmp_path):
    code = """
class Cell(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = self.state_size = self.output_size = units
        self.mix = layers.Dense(units)
    def build(self, shape):
        self.mix.build((shape[0], shape[-1] + self.units))
        self.built = True
    def call(self, x, states):
        joined = ops.concatenate([x, states[0]], axis=-1)
        out = ops.tanh(self.mix(joined))
        return out, [joined]
def build():
    model = keras.Sequential([keras.Input((9, 6)), layers.RNN(Cell(12)), layers.Dense(1)])
    model.compile("adam", "mse")
    return model
def data():
    return np.random.rand(64, 9, 6).astype("float32"), np.random.rand(64, 1).astype("float32")
"""
    patch, _ = repaired(tmp_path, code, "rnn-states")
    assert "+        return out, [out]" in patch
