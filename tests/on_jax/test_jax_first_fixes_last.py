"""The first fix for whole programs of strangers on JAX: indices among the samples, layers that attend, numbers of a tensor in several lines."""

from __future__ import annotations

import pytest
from strangers import first, serious, traced

METRIC = """
class Hits(keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="hits")
        self.total = self.add_weight(name="total", initializer="zeros")
    def update_state(self, y_true, y_pred, sample_weight=None):
        {lines}
        self.total.assign_add(ops.sum(ops.cast(hit, "float32")))
    def result(self):
        return self.total

def build():
    model = keras.Sequential([keras.Input((9,)), layers.Dense(4, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=[Hits()])
    return model

def data():
    return np.zeros((64, 9), "float32"), np.arange(64) % 4
"""


@pytest.mark.parametrize(("lines", "fixed"), [
    ("hit = ops.equal(ops.cast(y_true, 'int32'), ops.argmax(y_pred, axis=0))", "ops.argmax(y_pred, axis=-1))"),
    ("best = jnp.argmax(y_pred, axis=0)\n        hit = ops.cast(y_true, 'int32') == best", "best = jnp.argmax(y_pred, axis=-1)"),
])  # fmt: skip
def test_an_index_is_picked_within_a_sample_and_the_classes_do_not_become_as_many_as_the_samples(tmp_path, lines, fixed):
    (finding,) = serious(traced(tmp_path, METRIC.format(lines=lines)))
    assert (finding.rule, "over axis 0, the samples" in finding.why) == ("metric-raises", True)
    assert fixed in finding.fixes[0].patch
    assert not any("Dense" in fix.patch for fix in finding.fixes)


DOTS = """
def build():
    q_in, d_in = keras.Input((12, 32)), keras.Input((30, 32))
    q, d = layers.Dense(16)(q_in), layers.Dense(16)(d_in)
    weights = layers.Softmax(axis={axis})(layers.Dot(axes=(2, 2))([q, d]))
    x = layers.Concatenate()([q, layers.Dot(axes=(2, 1))([weights, d])])
    model = keras.Model([q_in, d_in], layers.Dense(1)(layers.GlobalMaxPooling1D()(x)))
    model.compile("sgd", "mse")
    return model

def data():
    return [np.zeros((16, 12, 32), "float32"), np.zeros((16, 30, 32), "float32")], np.zeros((16, 1), "float32")
"""


def test_layers_that_attend_sum_along_what_their_softmax_ran_along(tmp_path):
    assert "layers.Softmax(axis=-1)" in first(tmp_path, DOTS.format(axis=1), "softmax-axis")
    assert not serious(traced(tmp_path, DOTS.format(axis=2)))


TEMPERATURE = """
class Tempered(layers.Layer):
    def build(self, shape):
        self.log_t = self.add_weight(shape=(), initializer="zeros")
    def call(self, x):
        t = float(self.log_t)
        return x / max(np.exp(t), 0.05)

def build():
    model = keras.Sequential([keras.Input((10,)), layers.Dense(5), Tempered()])
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((40, 10), "float32"), np.zeros((40, 5), "float32")
"""


def test_a_weight_stays_a_tensor_through_all_lines_that_compute_with_it(tmp_path):
    patch = first(tmp_path, TEMPERATURE, "value-asked")
    assert "+        t = self.log_t" in patch and "+        return x / ops.maximum(ops.exp(t), 0.05)" in patch


STATES = """
def build():
    encoded, decoded = keras.Input((9,), dtype="int32"), keras.Input((7,), dtype="int32")
    embed = layers.Embedding(80, 16)
    _, *states = layers.Bidirectional(layers.LSTM(12, return_state=True))(embed(encoded))
    y = layers.LSTM({units}, return_sequences=True)(embed(decoded), initial_state=states)
    model = keras.Model([encoded, decoded], layers.Dense(1)(y))
    model.compile("sgd", "mse")
    return model

def data():
    return [np.arange(144).reshape(16, 9) % 80, np.arange(112).reshape(16, 7) % 80], np.zeros((16, 7, 1), "float32")
"""


@pytest.mark.parametrize("units", [12, 24])
def test_the_states_of_both_directions_are_joined_where_they_have_one_name(tmp_path, units):
    patch = first(tmp_path, STATES.format(units=units), "rnn-states")
    assert "Concatenate()([states[0], states[2]])" in patch and "layers.LSTM(24, return_sequences=True)" in patch
