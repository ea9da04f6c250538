"""Numbers that no size can be, None and floats: told where they are made, however far above the line that needs them."""

from __future__ import annotations

import pytest
from broken import HEAD, fit, load

import jupyter_tpushape as tpushape

_LAYER = """
class Own(L.Layer):
    def build(self, shape):
        self.batch = shape[0]
        self.w = self.add_weight(name="w", shape=(1, 4, 3))

    def folded(self, x, rows):
        return tf.reshape(x, [rows, 12])

    def call(self, x):
        {read}
        return {use}


def build():
    i = keras.Input((4, 3))
    model = keras.Model(i, L.Dense(2)(Own()(i)))
    model.compile("sgd", "mse")
    return model


def data():
    return np.ones((10, 4, 3), "float32"), np.ones((10, 2), "float32")
"""
_FLAT = "tf.reshape(x + {}, (-1, 12))"
# How the size is read, and what needs it.
LAYERS = {
    "a shape": ("n = x.shape[0]", _FLAT.format("tf.zeros((n, 4, 3))")),
    "a list": ("n = x.shape.as_list()[0]", _FLAT.format("tf.tile(self.w, [n, 1, 1])")),
    "get_shape": ("n = x.get_shape()[0]", _FLAT.format("tf.repeat(self.w, n, axis=0)")),
    "unpacked": ("n, t, d = x.shape", _FLAT.format("tf.broadcast_to(self.w, (n, t, d))")),
    "unpacked from a list": ("n, t, d = x.get_shape().as_list()", _FLAT.format("tf.random.normal((n, t, d))")),
    "a name for the shape": ("s = x.shape\n        n = s[0]", _FLAT.format("tf.fill((n, 4, 3), 1.0)")),
    "a name that is given anew": ("s = x.get_shape()\n        s = s.as_list()\n        n = s[0]", _FLAT.format("tf.fill((n, 4, 3), 1.0)")),
    "in the caller": ("n = x.shape[0]", "self.folded(x, n)"),
    "the whole shape": ("", _FLAT.format("tf.random.normal(x.shape)")),
    "in build": ("", _FLAT.format("tf.tile(self.w, (self.batch, 1, 1))")),
    "a reshape that counts": ("n = x.shape[0]", "tf.reshape(x, (n, -1))"),
    "a quotient": ("n = x.shape[0]", "tf.reshape(x, (-1, 12)) / tf.cast(n, 'float32')"),
}
_STEP = """
class Pair(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner = keras.Sequential([keras.Input((4,)), L.Dense(1)])

    def call(self, x):
        return self.inner(x)

    def train_step(self, x):
        rows = {read}
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.inner(x) - tf.ones((rows, 1))) ** 2)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {{"loss": loss}}


def build():
    model = Pair()
    model.compile("sgd")
    return model


def data():
    return np.ones((10, 4), "float32")
"""


def mended(source: str, rule: str, framework: str, path) -> str:
    """The text after the first fix, which is verified and then really trains."""
    path.write_text(HEAD.format(framework=framework) + source)
    module = load(path)
    finding = next(one for one in tpushape.trace(module.build, module.data, tpu=None).findings if one.serious)
    fix = finding.fixes[0]
    assert (finding.rule, fix.verified, fix.proof) == (rule, True, "source"), fix.title
    tpushape.apply(fix, path)
    again = load(path)
    assert tpushape.trace(again.build, again.data, tpu=None, fixes=False).ok
    given = again.data()
    fit(again.build(), given if isinstance(given, tuple) else (given,))
    return path.read_text()


@pytest.mark.parametrize(
    ("name", "framework"), [*((name, "keras") for name in LAYERS), *((name, "tf_keras") for name in ("unpacked from a list", "in the caller", "in build"))]
)
def test_a_layer_measures_the_batch_when_it_runs(name, framework, tmp_path):
    read, use = LAYERS[name]
    path = tmp_path / f"static_{framework}_{'_'.join(name.split())}.py"
    after = mended(_LAYER.format(read=read, use=use), "axis-unknown", framework, path)
    assert "shape(x)" in after or "(-1, 12)" in after


@pytest.mark.parametrize(("read", "rule"), [("x.shape[0]", "rows-unknown"), ("len(x)", "axis-unknown")])
def test_a_training_step_measures_the_batch_when_it_runs(read, rule, tmp_path):
    assert "rows = tf.shape(x)[0]" in mended(_STEP.format(read=read), rule, "keras", tmp_path / f"static_step_{rule[:4]}.py")


_FLOATS = """
WIDTH = 16
HALF = WIDTH / 2


class Gate(L.Layer):
    def __init__(self, units):
        super().__init__()
        self.half = units / 2

    def call(self, x):
        return {inside}


class Table(L.Layer):
    def __init__(self, parts):
        super().__init__()
        self.parts = parts

    def build(self, shape):
        self.table = self.add_weight(shape=(shape[-1] / self.parts, self.parts), name="table")

    def call(self, x):
        return x * tf.reshape(self.table, (-1,))


def build():
    i = keras.Input((WIDTH,))
    {line}
    model = keras.Model(i, L.Dense(2)(L.Flatten()(x)))
    model.compile("sgd", "mse")
    return model


def data():
    return np.ones((10, 16), "float32"), np.ones((10, 2), "float32")
"""
# What the layer computes, the line of the builder, and what the first fix writes.
FLOATS = {
    "in a slice": ("x", "x = L.Lambda(lambda t: t[:, : WIDTH / 2])(i)", "WIDTH // 2]"),
    "in the module": ("x", "x = L.Lambda(lambda t: t[:, :HALF], output_shape=(8,))(i)", "HALF = WIDTH // 2"),
    "in the function around": ("x", "n = WIDTH / 2\n    x = L.Lambda(lambda t: t[:, :n], output_shape=(8,))(i)", "n = WIDTH // 2"),
    "of a layer": ("x", "x = L.Dense(WIDTH / 4)(i)", "L.Dense(WIDTH // 4)"),
    "of a layer that is built later": ("x", "wide = L.Conv1D(WIDTH / 4, 3)\n    x = wide(L.Reshape((16, 1))(i))", "L.Conv1D(WIDTH // 4, 3)"),
    "of a reshape": ("x", "x = L.Reshape((2, WIDTH / 2))(i)", "L.Reshape((2, WIDTH // 2))"),
    "kept by a layer": ("x[:, : self.half] * tf.sigmoid(x[:, self.half :])", "x = Gate(16)(i)", "self.half = units // 2"),
    "of a shape": ("x[:, : x.shape[-1] / 2]", "x = Gate(16)(i)", "x.shape[-1] // 2]"),
    "of the shape that build receives": ("x", "x = Table(2)(i)", "(shape[-1] // self.parts, self.parts)"),
    "of a range": ("x", "x = i\n    for _ in range(WIDTH / 8):\n        x = L.Dense(4)(x)", "range(WIDTH // 8)"),
}


@pytest.mark.parametrize("name", FLOATS)
def test_a_division_of_sizes_stays_an_integer(name, tmp_path):
    inside, line, wanted = FLOATS[name]
    path = tmp_path / f"float_{'_'.join(name.split())}.py"
    assert wanted in mended(_FLOATS.format(inside=inside, line=line), "float-size", "keras", path)


def test_a_division_that_is_not_even_is_not_told_as_one(tmp_path):
    path = tmp_path / "float_odd.py"
    path.write_text(HEAD.format(framework="keras") + _FLOATS.format(inside="x", line="x = L.Dense(WIDTH / 5)(i)"))
    module = load(path)
    assert [one.rule for one in tpushape.trace(module.build, module.data, tpu=None).findings if one.serious] == ["code-raises"]
