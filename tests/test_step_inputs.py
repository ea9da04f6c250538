"""What a training step gives to the networks it calls: the tensor that does not fit is named, and no other."""

from __future__ import annotations

import linecache

import pytest
from broken import HEAD, fit, load

import jupyter_tpushape as tpushape

PROGRAM = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        noise, kind = L.Input((6,)), L.Input((2,))
        self.inner = keras.Model([noise, kind], L.Dense(1)(L.Concatenate()([noise, kind])))

    def train_step(self, data):
        kind, y = data
        n = tf.shape(kind)[0]
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.inner([%s]) - y) ** 2)
        grads = tape.gradient(loss, self.inner.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.inner.trainable_variables))
        return {"loss": loss}

def build():
    model = Net()
    model.compile("sgd")
    return model

def data():
    x, y = np.zeros((8, 2), "float32"), np.zeros((8, 1), "float32")
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(4, drop_remainder=True)
"""


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
@pytest.mark.parametrize(("given", "shape"), [("tf.random.normal((n, 7)), kind", (4, 7)), ("tf.random.normal((n, 6)), tf.concat([kind, kind], -1)", (4, 4))])
def test_of_several_inputs_the_refused_one_is_named(given, shape, framework, tmp_path):
    path = tmp_path / "step_inputs.py"
    path.write_text(HEAD.format(framework=framework) + (PROGRAM % given).lstrip("\n"))
    linecache.checkcache(str(path))
    module = load(path)
    with pytest.raises(Exception):  # noqa: B017, PT011
        fit(module.build(), module.data())
    finding = next(finding for finding in tpushape.trace(module.build, module.data, tpu=None).findings if finding.serious)
    assert (finding.rule, finding.fact.shape) == ("input-axis", shape), finding.message
    assert "x" not in finding.fact.givers, finding.message


CONTRASTIVE = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner = L.Dense(6)

    def train_step(self, data):
        one, two = data
        with tf.GradientTape() as tape:
            pairs = tf.matmul(self.inner(one), self.inner(two)%s)
            own = tf.range(tf.shape(one)[0])
            loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(own, pairs, from_logits=True))
        grads = tape.gradient(loss, self.inner.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.inner.trainable_variables))
        return {"loss": loss}

def build():
    model = Net()
    model.compile("sgd")
    return model

def data():
    x = np.zeros((8, 3), "float32")
    return tf.data.Dataset.from_tensor_slices((x, x)).batch(4, drop_remainder=True)
"""


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
@pytest.mark.parametrize("given", ["", ", transpose_b=False"])
def test_every_sample_with_every_other_needs_the_second_one_transposed(given, framework, tmp_path):
    path = tmp_path / "step_pairs.py"
    path.write_text(HEAD.format(framework=framework) + (CONTRASTIVE % given).lstrip("\n"))
    linecache.checkcache(str(path))
    module = load(path)
    finding = next(finding for finding in tpushape.trace(module.build, module.data, tpu=None).findings if finding.serious)
    assert finding.rule == "op-shapes" and "is transposed" not in finding.why
    assert finding.fixes[0].verified
    tpushape.apply(finding.fixes[0], path)
    assert "self.inner(two), transpose_b=True)" in path.read_text()
    linecache.checkcache(str(path))
    again = load(path)
    fit(again.build(), again.data())


def test_a_window_is_no_size_of_an_axis(tmp_path):
    """Four samples, and a window of four: a window of the whole image would broadcast, and compare with one value."""
    path = tmp_path / "window.py"
    path.write_text(
        HEAD.format(framework="keras")
        + """
class Coarse(keras.losses.Loss):
    def call(self, y, p):
        small = tf.nn.avg_pool2d(p, ksize=4, strides=4, padding="VALID")
        return tf.reduce_mean((y - small) ** 2)

def build():
    model = keras.Sequential([keras.Input((16, 16, 3)), L.Conv2D(3, 3, padding="same")])
    model.compile("sgd", Coarse())
    return model

def data():
    x = np.zeros((8, 16, 16, 3), "float32")
    return tf.data.Dataset.from_tensor_slices((x, x)).batch(4, drop_remainder=True)
"""
    )
    linecache.checkcache(str(path))
    module = load(path)
    with pytest.raises(Exception):  # noqa: B017, PT011
        fit(module.build(), module.data())
    finding = next(finding for finding in tpushape.trace(module.build, module.data, tpu=None).findings if finding.serious)
    assert not any(fix.verified and "Replace 4" in fix.title for fix in finding.fixes), [fix.title for fix in finding.fixes]


IN_PARTS = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner = keras.Sequential([L.Input((6,)), L.Dense(4)])

    def train_step(self, data):
        with tf.GradientTape() as tape:
            anchor, near, far = (self.inner(part) for part in data)
            loss = tf.reduce_mean((anchor - near) ** 2) - tf.reduce_mean((anchor - far) ** 2)
        grads = tape.gradient(loss, self.inner.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.inner.trainable_variables))
        return {"loss": loss}

def build():
    model = Net()
    model.compile("sgd")
    return model

def data():
    parts = tuple(np.ones((8, 6), "float32") for _ in range(3))
    return tf.data.Dataset.from_tensor_slices(parts).batch(4)
"""


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_a_step_may_loop_over_the_parts_of_its_batch(framework, tmp_path):
    path = tmp_path / "in_parts.py"
    path.write_text(HEAD.format(framework=framework) + IN_PARTS.lstrip("\n"))
    linecache.checkcache(str(path))
    module = load(path)
    fit(module.build(), module.data())
    report = tpushape.trace(module.build, module.data, tpu=None)
    assert report.ok, [finding.message for finding in report.findings]
