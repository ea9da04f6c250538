"""Results of layers that nothing uses: found where the trace and the text agree, and nowhere else."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tf_keras
from hypothesis import given
from hypothesis import strategies as st
from own_code import Own
from shells import cells
from written_unused import UNUSED

import jupyter_tpushape as tpushape
from jupyter_tpushape.examine.dead_names import unread
from jupyter_tpushape.flow.syntax import parse

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
HEAD = "import numpy as np\nimport tensorflow as tf\nimport {lib} as keras\nfrom {lib} import layers as L\n"
NET = """
class Score(L.Layer):
    def build(self, shape):
        self.center = self.add_weight(shape=(1, shape[-1]), initializer="zeros")
    def call(self, x):
        self.add_loss(tf.reduce_mean((x - self.center) ** 2))
        return x

class Pair(L.Layer):
    def __init__(self):
        super().__init__()
        self.one, self.two = L.Dense(4), L.Dense(4)
    def call(self, x):
        return self.one(x), self.two(x)

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.head, self.score, self.pair = L.Dense(8), L.Dense(8), L.Dense(1), Score(), Pair()
        self.relu = L.ReLU()
        self.again, self.still = False, L.Dense(8, trainable=False)
    def call(self, inputs):
        {lines}

def build():
    model = Net()
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((8, 6), "float32"), np.zeros((8, 1), "float32")
"""
# All of these compute a result that no end depends on, and mean to.
MEANT = {
    "it adds a loss": "h = self.first(inputs)\n        self.score(h)\n        return self.head(h)",
    "it has a name and no weights": "h = self.first(inputs)\n        more = self.relu(h)\n        return self.head(h)",
    "it is kept": "h = self.first(inputs)\n        self.shown = self.second(inputs)\n        return self.head(h)",
    "a branch that is switched off returns it": (
        "h = self.first(inputs)\n        more = self.second(inputs)\n        if self.again:\n            return self.head(more)\n        return self.head(h)"
    ),
    "one of two results is used": "one, two = self.pair(inputs)\n        return self.head(one)",
    "it is not trained": "h = self.first(inputs)\n        more = self.still(inputs)\n        return self.head(h)",
    "the name says so": "_ = self.second(inputs)\n        return self.head(self.first(inputs))",
    "another call of it is used": "h = self.first(inputs)\n        h = self.first(inputs * 2)\n        return self.head(h)",
    "a function inside reads it": (
        "h = self.first(inputs)\n        def end():\n            return self.head(h)\n        h = self.second(inputs)\n        return end()"
    ),
}


def run(tmp_path, lib, source):
    path = tmp_path / "program.py"
    path.write_text(HEAD.format(lib=lib.__name__) + source, encoding="utf-8")
    scope = {"__name__": "program", "__file__": str(path)}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
    return tpushape.trace(scope["build"], scope["data"], tpu=None)


@BOTH
@pytest.mark.parametrize("case", MEANT)
def test_what_is_meant_is_not_reported(tmp_path, lib, case):
    assert not [one for one in run(tmp_path, lib, NET.format(lines=MEANT[case])).findings if one.rule == "unused-result"]


@BOTH
@pytest.mark.parametrize("case", UNUSED)
def test_the_lost_layers_are_those_that_fit_leaves_as_they_were(tmp_path, lib, case):
    own: Own = UNUSED[case][1]
    report = run(tmp_path, lib, own.source)
    found = next(one for one in report.findings if one.rule == "unused-result")
    assert found.severity == "silent"
    if not found.fact.inside or not found.fact.trained:
        return  # a functional model does not have the layer at all
    scope: dict = {}
    exec(HEAD.format(lib=lib.__name__) + own.source, scope)
    model = scope["build"]()
    x, y = scope["data"]()
    model.fit(x, y + np.arange(8, dtype="float32")[:, None], epochs=1, verbose=0)
    before = [one.numpy() for one in model.trainable_variables]
    model.fit(x, y + np.arange(8, dtype="float32")[:, None], epochs=2, verbose=0)
    changed = [bool((one.numpy() != old).any()) for one, old in zip(model.trainable_variables, before, strict=True)]
    assert not all(changed)


@BOTH
def test_several_models_on_one_graph_use_what_each_of_them_leaves_out(tmp_path, lib):
    source = """
def build():
    i = keras.Input((6,))
    code = L.Dense(2)(i)
    label = L.Dense(3)(code)
    classifier = keras.Model(i, label)
    model = keras.Model(i, L.Dense(6)(code))
    model.compile("sgd", "mse")
    return model
def data():
    return np.zeros((8, 6), "float32"), np.zeros((8, 6), "float32")
"""
    assert not run(tmp_path, lib, source).findings


@pytest.mark.parametrize("lib", ["keras", "tf_keras"])
def test_a_model_of_cells_is_looked_at_as_it_lies(lib):
    model = """
i = keras.Input((6,))
x = L.Dense(8)(i)
x = L.Dense(4)({})
model = keras.Model(i, L.Dense(1)(x))
model.compile("sgd", "mse")
data = np.zeros((8, 6), "float32"), np.zeros((8, 1), "float32")"""
    for given_to, expected in (("i", ["unused-result"]), ("x", [])):
        with cells() as run_cell:
            run_cell(HEAD.format(lib=lib))
            run_cell(model.format(given_to))
            names = run_cell.shell.user_ns
            report = tpushape.trace(names["model"], names["data"], tpu=None)
        assert [one.rule for one in report.findings] == expected


def test_a_name_at_the_end_of_a_file_may_be_read_by_another():
    assert unread(parse("y = layer(x)\n"), 1) is None
    assert unread(parse("def f(x):\n    y = layer(x)\n    return x\n"), 2).how == "unread"


NAMES = st.sampled_from("abc")


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=8), NAMES)
def test_a_name_is_unread_exactly_if_the_function_returns_the_same_without_its_statement(steps, end):
    """A chain of assignments: what the last line returns tells by itself which of them took part."""
    lines = [f"    {target} = layer({source})" for target, source in steps]
    tree = parse("def f(a, b, c):\n" + "\n".join(lines) + f"\n    return {end}\n")
    parts: dict[str, frozenset[int]] = {name: frozenset() for name in "abc"}
    for at, (target, source) in enumerate(steps):
        parts[target] = parts[source] | {at}
    for at in range(len(steps)):
        assert (unread(tree, at + 2) is None) == (at in parts[end])


# Each has two places that could take the result, or none: only a person knows which.
OPEN = {
    "a projection beside a sum": ("side = self.second(inputs)\n        h = self.first(inputs)\n        return self.head(h + tf.pad(inputs, [[0, 0], [0, 2]]))"),
    "an embedding of places that is not added": "more = self.first(tf.ones((1, 6)))\n        return self.head(self.second(inputs))",
}


@BOTH
@pytest.mark.parametrize("case", OPEN)
def test_no_place_is_chosen_where_there_are_several_or_none(tmp_path, lib, case):
    (found,) = [one for one in run(tmp_path, lib, NET.format(lines=OPEN[case])).findings if one.rule == "unused-result"]
    assert not any(fix.verified for fix in found.fixes)
