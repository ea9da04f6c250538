"""Windows at the end of a series that are shorter than those in their batch, and noise that all samples of a batch share."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
PROGRAM = """
import keras
import numpy as np
import tensorflow as tf

def build():
    model = keras.Sequential([keras.Input((None, 2)), keras.layers.GRU(4), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

def data():
    series = tf.data.Dataset.from_tensor_slices(np.zeros((50, 2), "float32"))
    return series{stages}
"""
PAIR = ".map(lambda w: (w, w[-1, :1]))"
SHORT = {
    "in the last batch": ".window(10, shift=1).flat_map(lambda w: w.batch(10))" + PAIR + ".batch(8)",
    "in the first batch": ".window(10, 6, 2, False).flat_map(lambda w: w.batch(10)).map(lambda w: (w[1:-1] * 2.0, w[0, :1])).batch(16)",
    "shuffled": ".window(10, shift=3).flat_map(lambda w: w.batch(10)).shuffle(99)" + PAIR + ".batch(4).prefetch(1)",
}
WHOLE = {
    "none is short": ".window(10, shift=10).flat_map(lambda w: w.batch(10))" + PAIR + ".batch(2)",
    "dropped by window": ".window(10, shift=3, drop_remainder=True).flat_map(lambda w: w.batch(10))" + PAIR + ".batch(4)",
    "dropped by batch": ".window(10, shift=3).flat_map(lambda w: w.batch(10, drop_remainder=True))" + PAIR + ".batch(4)",
    "the last step alone": ".window(10, shift=3).flat_map(lambda w: w.batch(10)).map(lambda w: (w[-1:], w[-1, :1])).batch(4)",
    "padded": ".window(10, shift=3).flat_map(lambda w: w.batch(10))" + PAIR + ".padded_batch(4)",
    "taken": ".window(10, shift=1).flat_map(lambda w: w.batch(10)).take(40)" + PAIR + ".batch(4)",
    "one by one": ".window(10, shift=3).flat_map(lambda w: w.batch(10))" + PAIR + ".batch(1)",
}


def _program(tmp_path, stages):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.replace("{stages}", stages))
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names["build"], names["data"]


@pytest.mark.parametrize("stages", SHORT.values(), ids=SHORT)
def test_short_windows_cannot_be_batched(tmp_path, stages):
    build, data = _program(tmp_path, stages)
    with pytest.raises(tf.errors.InvalidArgumentError):
        build().fit(data(), verbose=0)
    (finding,) = [one for one in tpushape.trace(build, data, tpu=None).findings if one.severity == "error"]
    assert (finding.rule, finding.fact.size) == ("data-raises", 10)
    fix = finding.fixes[0]
    assert fix.verified
    model, rows = fix.rebuild()
    model.fit(rows, verbose=0)


@pytest.mark.parametrize("stages", WHOLE.values(), ids=WHOLE)
def test_windows_of_one_length_in_each_batch(tmp_path, stages):
    build, data = _program(tmp_path, stages)
    build().fit(data(), verbose=0)
    assert tpushape.trace(build, data, tpu=None).ok


def _sampled(lib, shape, scaled=True):
    class Sampling(lib.layers.Layer):
        def call(self, x):
            mean, deviation = x[:, :3], x[:, 3:]
            noise = tf.random.normal(shape(mean), stddev=0.5)
            return mean + tf.exp(deviation) * noise if scaled else mean + noise

    model = lib.Sequential([lib.layers.Input((6,)), Sampling(), lib.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


@BOTH
@pytest.mark.parametrize("shape", [(3,), (1, 3)])
def test_noise_that_all_samples_share(lib, shape):
    report = tpushape.trace(_sampled(lib, lambda _: shape), (np.zeros((8, 6), "float32"), np.zeros((8, 1), "float32")), tpu=None)
    (finding,) = [one for one in report.findings if one.rule == "noise-shared"]
    assert (finding.fact.drawn, finding.fact.each) == (shape, (8, 3))


@BOTH
@pytest.mark.parametrize(("shape", "scaled"), [(tf.shape, True), (lambda _: (1, 1), True), (lambda _: (), True), (lambda _: (3,), False)])
def test_noise_of_each_sample(lib, shape, scaled):
    data = np.zeros((8, 6), "float32"), np.zeros((8, 1), "float32")
    assert tpushape.trace(_sampled(lib, shape, scaled), data, tpu=None).ok
