"""A function that returns nothing is told only where something is read of it."""

from __future__ import annotations

import pytest
from broken import HEAD, load
from written_returns import RETURNS

import jupyter_tpushape as tpushape

_ADDED = """
class Penalty(L.Layer):
    def call(self, x):
        y = tf.reduce_mean(tf.square(x))
        self.add_loss(y)
"""
RIGHT = {
    "a layer for its loss alone beside an open shape": _ADDED + """
def build():
    i = keras.Input((None, 5))
    h = L.Dense(8)(i)
    Penalty()(h)
    model = keras.Model(i, L.Dense(1)(L.Flatten()(h)))
    model.compile("sgd", "mse")
    return model


def data():
    return np.zeros((8, 7, 5), "float32"), np.zeros((8, 1), "float32")
""",
    "a layer that raises by itself": """
class Half(L.Layer):
    def call(self, x):
        y = keras.ops.reshape(x, (7, 7))


def build():
    model = keras.Sequential([keras.Input((5,)), Half(), L.Dense(1)])
    model.compile("sgd", "mse")
    return model


def data():
    return np.zeros((8, 5), "float32"), np.zeros((8, 1), "float32")
""",
    "a method of a class on an object that the line makes": """
class Quarter(L.Layer):
    def call(self, x):
        return L.Dense.call(L.Dense(2), x) / 4


def build():
    model = keras.Sequential([keras.Input((5,)), Quarter(), L.Dense(1)])
    model.compile("sgd", "mse")
    return model


def data():
    return np.zeros((8, 5), "float32"), np.zeros((8, 1), "float32")
""",
    "a name behind the inputs and outputs": """
def build():
    i = keras.Input((5,))
    model = keras.Model(i, L.Dense(1)(i), "net")
    model.compile("sgd", "mse")
    return model


def data():
    return np.zeros((8, 5), "float32"), np.zeros((8, 1), "float32")
""",
}  # fmt: skip
WRONG = ("returns nothing", "which is the class", "as separate arguments")


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
@pytest.mark.parametrize("name", RIGHT)
def test_no_other_fault_is_told_as_one_of_these(name, framework, tmp_path):
    path = tmp_path / f"returns_{framework}_{'_'.join(name.split())}.py"
    text = RIGHT[name].replace("keras.ops", "tf") if framework == "tf_keras" else RIGHT[name]
    path.write_text(HEAD.format(framework=framework) + text.lstrip("\n"))
    module = load(path)
    findings = tpushape.trace(module.build, module.data, tpu=None, fixes=False).findings
    assert any(finding.serious for finding in findings)
    assert not any(wrong in finding.message for finding in findings for wrong in WRONG)


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_a_layer_for_its_loss_alone_is_no_error(framework, tmp_path):
    path = tmp_path / f"alone_{framework}.py"
    path.write_text(HEAD.format(framework=framework) + next(iter(RIGHT.values())).lstrip("\n").replace("(None, 5)", "(7, 5)"))
    module = load(path)
    assert not [finding for finding in tpushape.trace(module.build, module.data, tpu=None, fixes=False).findings if finding.severity == "error"]


# tf_keras has no keras.ops, and gives training to every call.
OTHERS = ("a table that is longer than the sequences", "what a layer of a row is not given")


@pytest.mark.parametrize("name", [name for name in RETURNS if name not in OTHERS])
def test_the_first_fix_is_the_same_in_tf_keras(name, tmp_path):
    own = RETURNS[name][1]
    path = tmp_path / f"same_{'_'.join(name.replace(chr(39), '').split())}.py"
    path.write_text(HEAD.format(framework="tf_keras") + own.source.lstrip("\n"))
    module = load(path)
    finding = next(finding for finding in tpushape.trace(module.build, module.data, tpu=None).findings if finding.serious)
    assert finding.fixes[0].proof == "source"
    tpushape.apply(finding.fixes[0], path)
    assert all(new in path.read_text().splitlines() for _, new in own.lines)
