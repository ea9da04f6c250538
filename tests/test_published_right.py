"""What published programs do on purpose, and where their own training steps go wrong."""

from __future__ import annotations

import contextlib
import linecache

import pytest
from broken import HEAD, load

import jupyter_tpushape as tpushape
from jupyter_tpushape.rules.facts.calls import VectorLoss


def program(tmp_path, source, framework="keras"):
    path = tmp_path / "published.py"
    linecache.clearcache()
    path.write_text(HEAD.format(framework=framework) + source)
    return load(path)


def findings(module):
    return tpushape.trace(module.build, module.data, tpu=None, fixes=False).findings


CTC = """
class Ctc(L.Layer):
    def call(self, y, x):
        self.add_loss(tf.reduce_sum(tf.square(x - y), -1, keepdims=True))
        return x


def build():
    i, y = keras.Input((6,)), keras.Input((3,))
    model = keras.Model([i, y], Ctc()(y, L.Dense(3)(i)))
    model.compile("adam"LOSS)
    return model


def data():
    x = (np.ones((8, 6), "float32"), np.ones((8, 3), "float32"))
    return tf.data.Dataset.from_tensors((x, MORE))
"""


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_a_loss_of_each_sample_outweighs_only_another_loss(framework, tmp_path):
    alone = program(tmp_path, CTC.replace("LOSS", "").replace("(x, MORE)", "(x,)"), framework)
    (one,) = [finding for finding in findings(alone) if isinstance(finding.fact, VectorLoss)]
    assert (one.severity, one.fact.alone) == ("note", True)
    beside = program(tmp_path, CTC.replace("LOSS", ", 'mse'").replace("MORE", "x[1]"), framework)
    (one,) = [finding for finding in findings(beside) if isinstance(finding.fact, VectorLoss)]
    assert (one.severity, one.fact.alone) == ("silent" if framework == "keras" else "error", False)


GRAPH = """
NODES = 30
rng = np.random.default_rng(0)
table = rng.random((NODES, 4)).astype("float32")


def build():
    i = keras.Input((), dtype="int32")
    x = L.Embedding(NODES, 4)(i)
    model = keras.Model(i, L.Dense(3)(x))
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def data():
    DATA
    return tf.data.Dataset.from_tensor_slices((indices, labels)).batch(8)
"""


@pytest.mark.parametrize("count", ["NODES", "count", "size"])
def test_a_permutation_of_a_number_is_data(count, tmp_path):
    lines = "count = len(table)\n    size = table.shape[0]\n    indices = rng.permutation(COUNT)\n    labels = rng.integers(0, 3, NODES)"
    assert not [finding.rule for finding in findings(program(tmp_path, GRAPH.replace("DATA", lines.replace("COUNT", count)))) if finding.serious]


GENERATED = """
def build():
    return Both()


class Both(keras.Model):
    def __init__(self):
        super().__init__()
        noise = keras.Input((5,))
        self.generator = keras.Model(noise, L.Dense(4)(noise))
        self.compile("sgd")

    def train_step(self, images):
        noise = keras.random.normal((tf.shape(images)[0], SIZE))
        with tf.GradientTape() as tape:
            made = self.generator(noise)
            loss = tf.reduce_mean(tf.square(images - made))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.generator.trainable_variables), self.generator.trainable_variables))
        return {"loss": loss}


def data():
    return tf.data.Dataset.from_tensors(np.ones((8, 4), "float32"))
"""


def test_a_model_that_refuses_its_input_stands_at_its_call(tmp_path):
    module = program(tmp_path, GENERATED.replace("SIZE", "7"))
    (finding,) = [one for one in findings(module) if one.serious]
    assert linecache.getline(module.__file__, finding.location.line).strip() == "made = self.generator(noise)"


def test_a_report_after_a_step_that_failed(tmp_path):
    from keras.src.backend.common import global_state

    module = program(tmp_path, GENERATED.replace("SIZE", "7"))
    held = global_state.get_global_attribute("global_seed_generator")
    global_state.set_global_attribute("global_seed_generator", None)
    try:
        with contextlib.suppress(Exception):
            module.build().fit(module.data(), verbose=0)
        assert len([one for one in findings(module) if one.serious]) == 1
    finally:
        global_state.set_global_attribute("global_seed_generator", held)
