"""Arguments of layers and operations that name an axis, or have an entry for each: what there is, and what was asked for."""

from __future__ import annotations

import pytest
from broken import HEAD, load

import jupyter_tpushape as tpushape

BUILD = """
class Own(L.Layer):
    def call(self, x):
        return {call}
def build():
    i = keras.Input({row})
    x = {layer}
    model = keras.Model(i, L.Dense(1)(L.Flatten()(x)))
    model.compile("sgd", "mse")
    return model
def data():
    return np.zeros((8, *{row}), "float32"), np.zeros((8, 1), "float32")
"""


def traced(tmp_path, layer="Own()(i)", call="x", row="(5, 6)"):
    path = tmp_path / "axes.py"
    path.write_text(HEAD.format(framework="keras") + BUILD.format(layer=layer, call=call, row=row))
    module = load(path)
    return next(finding for finding in tpushape.trace(module.build, module.data, tpu=None).findings if finding.serious)


@pytest.mark.parametrize(
    ("layer", "axis"),
    [
        ("L.BatchNormalization(axis=4)(i)", 4),
        ("L.LayerNormalization(axis=3)(i)", 3),
        ("L.Softmax(axis=3)(i)", 3),
        ("L.Concatenate(axis=3)([i, i])", 3),
        ("L.PReLU(shared_axes=[3])(i)", 3),
    ],
)
def test_a_layer_along_an_axis_that_is_not_there_takes_the_last_one(layer, axis, tmp_path):
    finding = traced(tmp_path, layer)
    assert (type(finding.fact).__name__, finding.fact.axis, finding.fact.shape[1:]) == ("AxisBeyond", axis, (5, 6))
    first = finding.fixes[0]
    assert first.verified and ("axis=-1" in first.patch or "shared_axes=[2]" in first.title)


@pytest.mark.parametrize(
    ("call", "reason", "said"),
    [
        ("tf.pad(x, [[1, 1], [0, 0]])", "Multiples", {"count": 2}),
        ("tf.slice(x, [0, 0], [-1, 3])", "Multiples", {"count": 2}),
        ("tf.transpose(x, [0, 2, 1, 3])", "Multiples", {"count": 4}),
        ("tf.tile(x, [1, 2])", "Multiples", {"count": 2}),
        ("tf.squeeze(x, 1)", "Unsqueezed", {"axis": 1}),
        ("tf.expand_dims(x, 5)", "NoAxis", {"axis": 5, "new": True}),
        ("tf.gather(x, [0], axis=3)", "NoAxis", {"axis": 3, "new": False}),
        ("tf.einsum('bd,btd->bt', x, x)", "Letters", {"letters": "bd"}),
    ],
)
def test_an_operation_says_how_many_axes_there_are(call, reason, said, tmp_path):
    found = traced(tmp_path, call=call).fact.reason
    assert type(found).__name__ == reason and found.shape[1:] == (5, 6)
    assert {key: getattr(found, key) for key in said} == said


def test_a_padding_without_the_batch_gets_a_pair_for_it(tmp_path):
    fix = traced(tmp_path, call="tf.pad(x, [[1, 1], [0, 0]])").fixes[0]
    assert fix.verified and "tf.pad(x, [[0, 0], [1, 1], [0, 0]])" in fix.patch


def test_an_einsum_layer_is_not_taken_at_its_declared_shape(tmp_path):
    assert traced(tmp_path, 'L.EinsumDense("ab,bc->ac", output_shape=4)(i)').severity == "error"


def test_code_that_takes_an_axis_away_is_named(tmp_path):
    fact = traced(tmp_path, "L.Dense(2)(L.Lambda(lambda x: tf.reduce_mean(x, (1, 2)), output_shape=())(i))").fact
    assert (fact.before[1:], fact.shape[1:]) == ((5, 6), ())


TWO = """
class Pads(L.Layer):
    def call(self, x):
        return tf.pad(x, [[1, 1], [0, 0]])
class Drops(L.Layer):
    def call(self, x):
        return tf.squeeze(x, 1) * 2.0
def build():
    i = keras.Input((5, 1))
    model = keras.Model(i, L.Dense(1)(Drops()(Pads()(i))))
    model.compile("sgd", "mse")
    return model
def data():
    return np.zeros((8, 5, 1), "float32"), np.zeros((8, 1), "float32")
"""


def test_a_fix_in_steps_names_each_of_them(tmp_path):
    """The second step is written into the text that has the first one: tried alone, it is the user's text that it changes."""
    path = tmp_path / "two.py"
    path.write_text(HEAD.format(framework="keras") + TWO)
    module = load(path)
    fix = tpushape.trace(module.build, module.data, tpu=None).findings[0].fixes[0]
    assert fix.verified and len(fix.edits) > 1
    assert fix.title.startswith("Pad by [[0, 0], [1, 1], [0, 0]]") and "; " in fix.title


def test_tensors_of_other_ranks_are_what_a_merge_is_about(tmp_path):
    fact = traced(tmp_path, "L.Concatenate(axis=2)([L.GlobalMaxPooling1D()(i), i])").fact
    assert type(fact).__name__ != "AxisBeyond"
