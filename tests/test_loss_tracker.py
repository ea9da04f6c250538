"""The metric of the mean loss in a training step of one's own: what fit would report, and the line as it should be."""

from __future__ import annotations

import pytest

import jupyter_tpushape as tpushape

HEAD = """
import keras
import numpy as np
import tensorflow as tf
from keras import layers
class Own(keras.Model):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            p = self(x, training=True)
            loss = self.compute_loss(y=y, y_pred=p)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        for metric in self.metrics:
            {update}
        return {{metric.name: metric.result() for metric in self.metrics}}
def build():
    i = keras.Input((4,))
    model = Own(i, layers.Dense({units})(i))
    model.compile("sgd", {loss!r}, metrics=[{metric!r}])
    return model
def data():
    return np.ones((16, 4), "float32"), {labels}
"""
VALUES = {"units": 1, "loss": "mse", "metric": "mae", "labels": 'np.full((16, 1), 7, "float32")'}
CLASSES = {"units": 3, "loss": "sparse_categorical_crossentropy", "metric": "accuracy", "labels": "np.arange(16) % 3"}
FED = "metric.update_state(y, p)"


def program(tmp_path, update, options):
    path = tmp_path / "stepped.py"
    path.write_text(HEAD.format(update=update, **options))
    return path


def loaded(path):
    scope = {"__name__": "stepped", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope["build"], scope["data"]


@pytest.mark.parametrize(("options", "severity"), [(VALUES, "silent"), (CLASSES, "error")], ids=["values", "classes"])
def test_labels_and_predictions_for_the_metric_of_the_loss_are_found_and_mended(tmp_path, options, severity):
    path = program(tmp_path, FED, options)
    (finding,) = [one for one in tpushape.trace(*loaded(path), tpu=None).findings if one.serious]
    assert (finding.rule, finding.severity, finding.fixes[0].verified) == ("loss-tracker", severity, True)
    tpushape.apply(finding.fixes[0], path)
    assert 'if metric.name == "loss":\n                metric.update_state(loss)\n' in path.read_text()
    build, data = loaded(path)
    model, (x, y) = build(), data()
    expected = float(model.compute_loss(y=y, y_pred=model(x)))
    assert model.fit(x, y, batch_size=16, verbose=0).history["loss"][0] == pytest.approx(expected, rel=1e-5)
    assert tpushape.trace(build, data, tpu=None, fixes=False).ok


def test_what_fit_reports_is_the_mean_of_the_labels_indeed(tmp_path):
    build, data = loaded(program(tmp_path, FED, VALUES))
    assert build().fit(*data(), batch_size=16, verbose=0).history["loss"][0] == pytest.approx(7.0)


@pytest.mark.parametrize(
    "update",
    [
        'metric.update_state(loss) if metric.name == "loss" else metric.update_state(y, p)',
        'metric.update_state(loss, sample_weight=16) if metric.name == "loss" else metric.update_state(y, p)',
        'metric.update_state(tf.square(y - p)) if metric.name == "loss" else metric.update_state(y, p)',
    ],
)
def test_a_loss_for_it_is_right(tmp_path, update):
    assert tpushape.trace(*loaded(program(tmp_path, update, VALUES)), tpu=None, fixes=False).ok


def test_the_trace_leaves_the_metric_as_it_was(tmp_path):
    build, data = loaded(program(tmp_path, FED, VALUES))
    model = build()
    before = dict(vars(model._loss_tracker))
    tpushape.trace(model, data(), tpu=None)
    assert vars(model._loss_tracker) == before
    assert float(model._loss_tracker.result()) == 0.0
