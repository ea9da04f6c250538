"""Programs along the axis that is meant, beside the same along another one: the first are right, and the second are told of."""

from __future__ import annotations

import pytest
from broken import HEAD, load
from told_silently import told
from written_axes import AXES

import jupyter_tpushape as tpushape

SILENT = [name for name, (rule, _) in AXES.items() if rule in ("samples-in-order", "several-classes", "one-unit-softmax", "same-steps")]
_STEPS_FIRST = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.walk, self.head = L.GRU(4, time_major=True, return_sequences=True), L.Dense(1)

    def call(self, x):
        return self.head(self.walk({steps})[{last}])


def build():
    model = Net()
    model.compile("sgd", "mse")
    return model


def data():
    return np.random.default_rng(0).random((8, 7, 3)).astype("float32"), np.zeros((8, 1), "float32")
"""
# What mixes samples on purpose, and positions that have no labels of their own.
_RIGHT = {
    "a mix of samples": """
class Mixed(L.Layer):
    def call(self, x):
        share = tf.random.uniform((tf.shape(x)[0], 1, 1))
        return share * x + (1 - share) * tf.roll(x, shift=1, axis=0)


def build():
    model = keras.Sequential([keras.Input((7, 3)), Mixed(), L.LSTM(4), L.Dense(1)])
    model.compile("sgd", "mse")
    return model


def data():
    return np.random.default_rng(0).random((8, 7, 3)).astype("float32"), np.random.default_rng(1).random((8, 1))
""",
    "class numbers that a margin reads": """
class Margin(L.Layer):
    def build(self, shapes):
        self.w = self.add_weight(shape=(shapes[0][-1], 10))

    def call(self, both):
        x, y = both
        cosines = tf.nn.l2_normalize(x, axis=1) @ tf.nn.l2_normalize(self.w, axis=0)
        return tf.nn.softmax(30 * (cosines - 0.35 * tf.one_hot(tf.cast(tf.reshape(y, [-1]), "int32"), 10)))


def build():
    x, y = keras.Input((40,)), keras.Input((1,), dtype="int32")
    model = keras.Model([x, y], Margin()([L.Dense(32)(x), y]))
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, (64, 1))
    return [rng.random((64, 40)).astype("float32"), y], y
""",
    "several classes of each step": """
def build():
    model = keras.Sequential([keras.Input((5, 3)), L.Dense(5, activation="sigmoid")])
    model.compile("sgd", "binary_crossentropy")
    return model


def data():
    rng = np.random.default_rng(0)
    return rng.random((16, 5, 3)).astype("float32"), np.moveaxis(np.eye(5, dtype="float32")[rng.integers(0, 5, (16, 5))], -1, 1)
""",
    "labels that a table does not have": """
def build():
    model = keras.Sequential([keras.Input((4,)), L.Dense(1)])
    model.compile("sgd", "mse")
    return model


def data():
    table = np.random.default_rng(0).integers(0, 2, (64, 4)).astype("float32")
    return table, (table.sum(1) > 2).astype("float32")
""",
}


def written(tmp_path, source, framework="keras"):
    path = tmp_path / f"axes_{abs(hash(source))}.py"
    path.write_text(HEAD.format(framework=framework) + source.lstrip("\n"))
    return path


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
@pytest.mark.parametrize("name", SILENT)
def test_another_axis_is_told_and_mended(name, framework, tmp_path):
    rule, own = AXES[name]
    told(written(tmp_path, own.source, framework), rule, True)


@pytest.mark.parametrize("name", _RIGHT)
def test_what_is_meant_so_is_left_alone(name, tmp_path):
    module = load(written(tmp_path, _RIGHT[name]))
    assert tpushape.trace(module.build, module.data, tpu=None, fixes=False).ok


def test_a_layer_that_takes_the_steps_first(tmp_path):
    told(written(tmp_path, _STEPS_FIRST.format(steps="x", last=":, -1"), "tf_keras"), "samples-in-order", True)
    module = load(written(tmp_path, _STEPS_FIRST.format(steps="tf.transpose(x, (1, 0, 2))", last="-1"), "tf_keras"))
    assert tpushape.trace(module.build, module.data, tpu=None, fixes=False).ok


def test_a_head_for_each_position_is_not_averaged(tmp_path):
    source = """
def build():
    i = keras.Input((8, 8, 3))
    x = L.Conv2D(4, 3, padding="same")(i)
    score, place = (L.Reshape((64, n), name=name)(L.Conv2D(n, 1)(x)) for n, name in ((1, "score"), (4, "place")))
    model = keras.Model(i, {"score": score, "place": place})
    model.compile("sgd", {"score": keras.losses.BinaryCrossentropy(from_logits=True), "place": "mse"})
    return model


def data():
    rng = np.random.default_rng(0)
    return rng.random((8, 8, 8, 3)).astype("float32"), {"score": rng.integers(0, 2, (8, 1)), "place": rng.random((8, 64, 4))}
"""
    module = load(written(tmp_path, source))
    finding = next(one for one in tpushape.trace(module.build, module.data, tpu=None).findings if one.serious)
    assert not any(fix.verified for fix in finding.fixes)


def test_a_generator_of_larger_pictures_in_a_model_that_checks_no_size(tmp_path):
    path = written(tmp_path, AXES["a generator of larger pictures"][1].source, "tf_keras")
    module = load(path)
    finding = next(one for one in tpushape.trace(module.build, module.data, tpu=None).findings if one.serious)
    assert (finding.rule, finding.fixes[0].proof) == ("input-axis", "source")
    assert "strides=1" in finding.fixes[0].patch


def test_a_batch_that_a_function_leaves_unknown(tmp_path):
    source = """
def build():
    model = keras.Sequential([keras.Input((4,)), L.Dense(1)])
    model.compile("sgd", "mse")
    return model



def data():
    x = np.random.default_rng(0).random((64, 4)).astype("float32")
    ds = tf.data.Dataset.from_tensor_slices((x, x.sum(1))).batch(16, drop_remainder=True)
    return ds.map(lambda x, y: (tf.boolean_mask(x, tf.ones_like(y, "bool")), y))
"""
    module = load(written(tmp_path, source))
    finding = next(one for one in tpushape.trace(module.build, module.data, tpu="v5e-8").findings if one.rule == "dynamic-batch")
    assert finding.fact.source == "mapped"


def test_pictures_that_nothing_batches_in_a_step_of_the_users_own(tmp_path):
    source = """
class Judge(keras.Model):
    def __init__(self):
        super().__init__()
        self.net = keras.Sequential([keras.Input((8, 8, 1)), L.Conv2D(2, 3), L.Flatten(), L.Dense(1)])

    def train_step(self, real):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.net(tf.random.normal((4, 8, 8, 1)))) - tf.reduce_mean(self.net(real))
        weights = self.net.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}


def build():
    model = Judge()
    model.compile(optimizer="sgd")
    return model


def data():
    return tf.data.Dataset.from_tensor_slices(np.zeros((64, 8, 8, 1), "float32")).shuffle(64)BATCH
"""
    path = written(tmp_path, source.replace("BATCH", ""))
    module = load(path)
    finding = next(one for one in tpushape.trace(module.build, module.data, tpu=None).findings if one.serious)
    assert (finding.rule, finding.fact.shape, finding.fixes[0].proof) == ("missing-batch-axis", (8, 8, 1), "source")
    assert ".batch(32" in finding.fixes[0].patch
    module = load(written(tmp_path, source.replace("BATCH", ".batch(16)")))
    assert tpushape.trace(module.build, module.data, tpu=None, fixes=False).ok
