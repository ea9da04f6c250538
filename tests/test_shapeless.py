"""What a Python function returns has no shape: a layer, a loss or a metric that needs one is told where to set it."""

from __future__ import annotations

import pytest
from broken import HEAD, load

import jupyter_tpushape as tpushape

# A layer, a loss and a metric of Keras 3; {set} is around the call.
PROGRAMS = {
    "a layer": ("layer-raises", "", "(None, 4)", """
class Summed(L.Layer):
    def call(self, x):
        return {set}tf.numpy_function(lambda a: np.cumsum(a, 1).astype("float32"), [x], tf.float32){shape}
def build():
    i = keras.Input((4,))
    model = keras.Model(i, L.Dense(1)(Summed()(i)))
    model.compile("sgd", "mse")
    return model
"""),
    "a loss": ("loss-raises", "tf.py_function", "(None,)", """
def loss(t, p):
    return tf.reduce_mean((t - p) ** 2, -1) + {set}tf.py_function(lambda a, b: tf.reduce_mean(a - b, -1), [t, p], tf.float32){shape}
def build():
    model = keras.Sequential([keras.Input((4,)), L.Dense(1)])
    model.compile("sgd", loss)
    return model
"""),
    "a metric": ("metric-raises", "tf.numpy_function", "()", """
def far(t, p):
    return {set}tf.numpy_function(lambda a, b: np.float32(np.abs(a - b).max()), [t, p], tf.float32){shape}
def build():
    model = keras.Sequential([keras.Input((4,)), L.Dense(1)])
    model.compile("sgd", "mse", metrics=[far])
    return model
"""),
}  # fmt: skip
_DATA = """
def data():
    return np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")
"""


def _traced(tmp_path, name, source):
    path = tmp_path / f"{name.replace(' ', '_')}_{len(source)}.py"
    path.write_text(HEAD.format(framework="keras") + source.lstrip("\n") + _DATA)
    module = load(path)
    return tpushape.trace(module.build, module.data, tpu=None)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_function_that_loses_the_shape_is_named(name, tmp_path):
    rule, called, _, source = PROGRAMS[name]
    report = _traced(tmp_path, name, source.format(set="", shape=""))
    finding = next(item for item in report.findings if item.serious)
    assert (finding.rule, type(finding.fact).__name__, finding.fact.called) == (rule, "ShapeLost", called)
    assert not any(fix.verified for fix in finding.fixes)


@pytest.mark.parametrize("name", PROGRAMS)
def test_with_its_shape_set_it_is_left_alone(name, tmp_path):
    _, _, shape, source = PROGRAMS[name]
    assert _traced(tmp_path, name, source.format(set="tf.ensure_shape(", shape=f", {shape})")).ok
