"""Batches of which each replica gets one row: what one row hides is told as it is for the whole batch."""

from __future__ import annotations

import pytest
from broken import HEAD, load

import jupyter_tpushape as tpushape

PAIRED = """
class Pairs(L.Layer):
    def __init__(self):
        super().__init__()
        self.mine, self.other = L.Dense(1), L.Dense(1)
    def call(self, inputs):
        x, links = inputs
        scores = self.mine(x) + tf.transpose(self.other(x))
        return tf.matmul(tf.nn.softmax(tf.where(links > 0, scores, -1e9)), x)
def build():
    x, links = keras.Input((6, 3)), keras.Input((6, 6))
    model = keras.Model([x, links], L.Dense(1)(L.Flatten()(Pairs()([x, links]))))
    model.compile("sgd", "mse")
    return model
def data():
    return tf.data.Dataset.from_tensor_slices(((np.zeros((16, 6, 3), "float32"), np.ones((16, 6, 6), "float32")), np.zeros((16, 1), "float32"))).batch(8, drop_remainder=True)
"""
METRIC = """
def dice(y_true, y_pred):
    t = tf.reshape(y_true, (-1,))
    p = tf.reshape(y_pred, (tf.shape(y_pred)[0], -1))
    return tf.reduce_sum(t * p)
def build():
    model = keras.Sequential([keras.Input((6, 6, 3)), L.Conv2D(1, 1, activation="sigmoid")])
    model.compile("sgd", "binary_crossentropy", metrics=[dice])
    return model
def data():
    return tf.data.Dataset.from_tensor_slices((np.zeros((16, 6, 6, 3), "float32"), np.zeros((16, 6, 6, 1), "float32"))).batch(8, drop_remainder=True)
"""


@pytest.mark.parametrize(("source", "fixed"), [(PAIRED, "swapaxes(self.other(x), -1, -2)"), (METRIC, "tf.reshape(p, (-1,))")])
def test_a_fault_that_one_row_hides_is_no_hard_coded_batch(source, fixed, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(HEAD.format(framework="keras") + source)
    module = load(path)
    whole, each = (tpushape.trace(module.build, module.data, tpu=tpu).findings[0] for tpu in (None, "v5e-8"))
    assert each.rule == whole.rule != "fixed-batch"
    assert each.fixes[0].verified
    assert fixed in each.fixes[0].patch


def test_a_batch_that_is_written_as_one_row_is_told_as_before(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(HEAD.format(framework="keras") + METRIC.replace("t * p", "tf.reshape(t, (1, 36))"))
    module = load(path)
    assert [finding.rule for finding in tpushape.trace(module.build, module.data, tpu="v5e-8").findings if finding.serious] == ["metric-raises"]


WEIGHTED = """
def build():
    x = keras.Input((6,))
    model = keras.Model(x, {"kind": L.Dense(3, activation="softmax", name="kind")(x), "size": L.Dense(1, name="size")(x)})
    model.compile("sgd", {"kind": "sparse_categorical_crossentropy", "size": "mse"})
    return model
def data():
    labels = {"kind": np.arange(16) %% 3, "size": np.zeros((16, 1), "float32")}
    weights = {"kind": np.ones(%s, "float32"), "size": np.ones(16, "float32")}
    return tf.data.Dataset.from_tensor_slices((np.zeros((16, 6), "float32"), labels, weights)).batch(8, drop_remainder=True)
"""


@pytest.mark.parametrize("tpu", [None, "v5e-8"])
def test_weights_of_one_of_several_outputs_are_compared_with_its_own_loss(tpu, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(HEAD.format(framework="keras") + WEIGHTED % "(16, 3)")
    module = load(path)
    (found,) = [one for one in tpushape.trace(module.build, module.data, tpu=tpu).findings if one.serious]
    assert (found.rule, found.fact.path, found.fact.weights) == ("sample-weights", ("weight", "kind"), (8, 3))
    assert found.fixes[0].verified
    path.write_text(HEAD.format(framework="keras") + WEIGHTED % "16")
    again = load(path)
    assert tpushape.trace(again.build, again.data, tpu=tpu).ok


CHUNKS = """
class Chunks(L.Layer):
    def __init__(self, size):
        super().__init__()
        self.size, self.way = size, L.MultiHeadAttention(1, 4)
    def call(self, x):
        parts = keras.ops.reshape(x, (-1, self.size, x.shape[2]))
        return keras.ops.reshape(self.way(parts, parts), (-1, x.shape[1], x.shape[2]))
def build():
    model = keras.Sequential([keras.Input((10, 3)), Chunks(%s), L.Flatten(), L.Dense(1)])
    model.compile("sgd", "mse")
    return model
def data():
    return np.zeros((16, 10, 3), "float32"), np.zeros((16, 1), "float32")
"""


@pytest.mark.parametrize("tpu", [None, "v5e-8"])
def test_rows_that_cross_from_one_sample_to_the_next_are_told_for_any_number_of_replicas(tpu, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(HEAD.format(framework="keras") + CHUNKS % 4)
    module = load(path)
    found = [one for one in tpushape.trace(module.build, module.data, tpu=tpu, batch_size=8).findings if one.serious]
    assert [one.rule for one in found] == ["reshape-interleaves"]
    assert (found[0].fact.sample, found[0].fact.block) == (30, 12)
    path.write_text(HEAD.format(framework="keras") + CHUNKS % 5)
    again = load(path)
    assert tpushape.trace(again.build, again.data, tpu=tpu, batch_size=8).ok


MOMENTS = """
class Scaled(L.Layer):
    def build(self, shape):
        self.factor = self.add_weight(shape=(5, shape[0][-1]), name="factor")
    def call(self, inputs):
        x, kind = inputs
        mean, variance = tf.nn.moments(x, [1, 2])
        return (x - mean) * tf.math.rsqrt(variance + 1e-5) * tf.gather(self.factor, kind)
def build():
    x, kind = keras.Input((6, 6, 3)), keras.Input((), dtype="int32")
    model = keras.Model([x, kind], L.Conv2D(1, 1)(Scaled()([x, kind])))
    model.compile("sgd", "mse")
    return model
def data():
    return [np.zeros((16, 6, 6, 3), "float32"), np.zeros(16, "int32")], np.zeros((16, 6, 6, 1), "float32")
"""


def test_all_operands_of_a_line_get_their_axes_together(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(HEAD.format(framework="keras") + MOMENTS)
    module = load(path)
    (found,) = [one for one in tpushape.trace(module.build, module.data, tpu="v5e-8", batch_size=8).findings if one.serious]
    assert found.rule == "batch-broadcast"
    assert found.fixes[0].verified
    assert found.fixes[0].patch.count("[:, None, None, :]") == 3
