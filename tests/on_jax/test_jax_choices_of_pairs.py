"""A choice between two values by a condition of another rank, which combines every sample with every other."""

from __future__ import annotations

import pytest
from strangers import serious, traced

MODEL = """
def margin(y_true, cos):
    target = ops.one_hot(ops.cast({labels}, "int32"), 6)
    logits = 8.0 * {chosen}
    return -ops.mean(ops.sum(target * ops.log_softmax(logits, axis=-1), axis=-1))

def build():
    model = keras.Sequential([keras.Input((5,)), layers.Dense(6, activation="tanh")])
    model.compile("adam", margin)
    return model

def data():
    return np.zeros((64, 5), "float32"), np.arange(64).reshape(64, 1) % 6
"""
CHOSEN = ["ops.where(target > 0, cos - 0.3, cos)", "jnp.where(target > 0, jnp.cos(cos), cos)"]


@pytest.mark.parametrize("chosen", CHOSEN)
def test_one_hot_rows_of_labels_with_an_axis_of_size_one_are_told(tmp_path, chosen):
    (finding,) = serious(traced(tmp_path, MODEL.format(labels="y_true", chosen=chosen)))
    assert finding.rule == "batch-broadcast"
    assert finding.fixes[0].proof == "source"


@pytest.mark.parametrize("chosen", CHOSEN)
def test_rows_of_labels_without_it_are_clean(tmp_path, chosen):
    assert not serious(traced(tmp_path, MODEL.format(labels="y_true[:, 0]", chosen=chosen)))
