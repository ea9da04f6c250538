"""Contracts beyond shapes: each program breaks one, its twin does not, and the fact says which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from programs import example

import jupyter_tpushape as tpushape
from jupyter_tpushape.rules.facts import calls, compiled, contracts, layers, mixing, reasons, states

BOTH = ("keras", "tf_keras")


@dataclass(frozen=True)
class Case:
    """A program with a place to fill in; what breaks it and what does not; the fact and some of its fields."""

    name: str
    program: str
    bad: str
    good: str
    fact: type[Any]
    fields: dict[str, Any]
    frameworks: tuple[str, ...] = BOTH


_INSIDE = """
def data():
    return np.zeros((8, 6), "float32"), np.zeros((8, 1), "float32")
def build():
    i = keras.Input((6,)); h = L.Dense(2)(i); m = keras.Model(i, L.Dense(1)(h))
    def loss(y, p):
        return tf.reduce_mean(tf.square(y - p) + tf.square(%s))
    m.compile("sgd", loss); return m
"""
_SEQUENCES = """
def data():
    return [np.zeros((8, 6, 8), "float32"), np.zeros((8, 4, 8), "float32")], np.zeros((8, 4, 3), "float32")
def build():
    e, d = keras.Input((6, 8)), keras.Input((4, 8))
    %s
    m = keras.Model([e, d], L.Dense(3)(y)); m.compile("sgd", "mse"); return m
"""
_ROWS = """
%s
def data():
    return np.zeros((8, 6), "float32"), np.zeros((8, 1), "float32")
"""
_TWO = """
def build():
    i = keras.Input((6,)); m = keras.Model(i, [L.Dense(1, name="age")(i), L.Dense(2, name="size")(i)]); m.compile("sgd", %s); return m
def data():
    return np.zeros((8, 6), "float32"), %s
"""
_CLASSES = """
def build():
    m = keras.Sequential([keras.Input((6,)), L.Dense(4, activation="softmax")])
    m.compile("sgd", "sparse_categorical_crossentropy", metrics=[%s]); return m
def data():
    return np.zeros((8, 6), "float32"), np.zeros((8,), "int32")
"""
_LAYER = """
class Own(L.Layer):
%s
def build():
    m = keras.Sequential([keras.Input((6,)), Own(), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 6), "float32"), np.zeros((8, 1), "float32")
"""
_GRAPH = """
class Neighbours(L.Layer):
    def __init__(self):
        super().__init__(); self.inner = L.Dense(4)
    def call(self, inputs):
        x, a = inputs
        return tf.matmul(a, self.inner(x))
def build():
    x, a = keras.Input((6,)), keras.Input((50,)); m = keras.Model([x, a], L.Dense(1)(Neighbours()([x, a]))); m.compile("sgd", "mse"); return m
def data():
    x, y = [np.zeros((50, 6), "float32"), np.eye(50, dtype="float32")], np.zeros((50, 1), "float32")
    return %s
"""
CASES = [
    Case("states of both directions for a layer of one", _SEQUENCES, "_, *s = L.Bidirectional(L.LSTM(4, return_state=True))(e); y = L.LSTM(8, return_sequences=True)(d, initial_state=s)",
         "_, f, c, b, k = L.Bidirectional(L.LSTM(4, return_state=True))(e); y = L.LSTM(8, return_sequences=True)(d, initial_state=[L.Concatenate()([f, b]), L.Concatenate()([c, k])])",
         states.States, {"keeps": (8, 8), "joined": True}, ("keras",)),
    Case("states of one direction for both", _SEQUENCES, "_, *s = L.LSTM(4, return_state=True)(e); y = L.Bidirectional(L.LSTM(4, return_sequences=True))(d, initial_state=s)",
         "_, *s = L.LSTM(4, return_state=True)(e); y = L.Bidirectional(L.LSTM(4, return_sequences=True))(d, initial_state=s + s)",
         states.States, {"keeps": (4, 4, 4, 4), "both": True}, ("keras",)),
    Case("narrow states", _SEQUENCES, "_, s = L.GRU(4, return_state=True)(e); y = L.GRU(8, return_sequences=True)(d, initial_state=s)",
         "_, s = L.GRU(8, return_state=True)(e); y = L.GRU(8, return_sequences=True)(d, initial_state=s)", states.States, {"keeps": (8,)}),
    Case("what a layer returns", _SEQUENCES, "x, h = L.LSTM(4, return_state=True)(e); y = L.LSTM(4, return_sequences=True)(d, initial_state=[x, h])",
         "x, h, c = L.LSTM(4, return_state=True)(e); y = L.LSTM(4, return_sequences=True)(d, initial_state=[h, c])", contracts.Unpacked, {"wanted": 2}),
    Case("an undeclared batch", _ROWS, "def build():\n    m = keras.Sequential([keras.Input((6,)), L.Reshape((6, 1)), L.LSTM(4, stateful=True), L.Dense(1)]); m.compile('sgd', 'mse'); return m",
         "def build():\n    m = keras.Sequential([keras.Input((6,)), L.Reshape((6, 1)), L.LSTM(4), L.Dense(1)]); m.compile('sgd', 'mse'); return m",
         states.StatefulRows, {"rows": None}),
    Case("another Input", _ROWS, "def build():\n    i = keras.Input((6,)); x = L.Dense(1)(i); m = keras.Model(keras.Input((6,)), x); m.compile('sgd', 'mse'); return m",
         "def build():\n    i = keras.Input((6,)); x = L.Dense(1)(i); m = keras.Model(i, x); m.compile('sgd', 'mse'); return m", contracts.Disconnected, {}),
    Case("a function of TensorFlow", _ROWS, "def build():\n    i = keras.Input((6,)); x = L.Dense(1)(i); x = tf.reduce_max(x, axis=-1, keepdims=True); m = keras.Model(i, x); m.compile('sgd', 'mse'); return m",
         "def build():\n    i = keras.Input((6,)); x = L.Dense(1)(i); x = keras.ops.max(x, axis=-1, keepdims=True); m = keras.Model(i, x); m.compile('sgd', 'mse'); return m",
         contracts.SymbolicFunction, {"function": "tf.reduce_max", "instead": "keras.ops.max"}, ("keras",)),
    Case("a loss of what is inside", _INSIDE, "h", "p", contracts.Enclosed, {"loss": "loss", "name": "h"}),
    Case("a truth", _ROWS, "def build():\n    i = keras.Input((6,)); x = L.Dense(1)(i); x = x if x > 0 else -x; m = keras.Model(i, x); m.compile('sgd', 'mse'); return m",
         "def build():\n    i = keras.Input((6,)); x = L.Dense(1)(i); m = keras.Model(i, x); m.compile('sgd', 'mse'); return m", contracts.SymbolicQuestion, {"of": "truth"}, ("keras",)),
    Case("a table of other words", _ROWS, "def build():\n    d = L.Dense(1); d.build((None, 6)); d.set_weights([np.zeros((7, 1)), np.zeros(1)]); m = keras.Sequential([d]); m.compile('sgd', 'mse'); return m",
         "def build():\n    d = L.Dense(1); d.build((None, 6)); d.set_weights([np.zeros((6, 1)), np.zeros(1)]); m = keras.Sequential([d]); m.compile('sgd', 'mse'); return m",
         contracts.WeightApart, {"wanted": (6, 1), "given": (7, 1)}),
    Case("a layer without weights", _ROWS, "def build():\n    d = L.Dense(1); d.set_weights([np.zeros((6, 1)), np.zeros(1)]); m = keras.Sequential([d]); m.compile('sgd', 'mse'); return m",
         "def build():\n    d = L.Dense(1); m = keras.Sequential([d]); m.compile('sgd', 'mse'); return m", contracts.WeightCount, {"wanted": 0, "given": 2}),
    Case("names of a loss dict", _TWO % ("{'age': 'mse', %s: 'mse'}", "{'age': np.zeros((8, 1), 'float32'), 'size': np.zeros((8, 2), 'float32')}"), "'height'", "'size'",
         compiled.UnknownOutputs, {"what": "loss", "unknown": ("height",)}, ("keras",)),
    Case("names of labels", _TWO % ("{'age': 'mse', 'size': 'mse'}", "{'age': np.zeros((8, 1), 'float32'), %s: np.zeros((8, 2), 'float32')}"), "'height'", "'size'",
         compiled.UnknownOutputs, {"what": "labels", "unknown": ("height",)}, ("keras",)),
    Case("weights of one output", _TWO % ("['mse', 'mse']", "[np.zeros((8, 1), 'float32'), np.zeros((8, 2), 'float32')], [np.ones(8, 'float32')%s]"), "", ", np.ones(8, 'float32')",
         compiled.WrongNumber, {"what": "weights", "given": 1}, ("keras",)),
    Case("a metric of rows", _CLASSES, "keras.metrics.Recall()", "'accuracy'", compiled.MetricReads, {"classes": False}),
    Case("a metric of classes", _CLASSES, "keras.metrics.MeanIoU(num_classes=4)", "keras.metrics.MeanIoU(num_classes=4, sparse_y_pred=False)", compiled.MetricReads, {"classes": True}, ("keras",)),
    Case("a range of whole numbers", _LAYER, "    def call(self, x):\n        return x * tf.range(6)", "    def call(self, x):\n        return x * tf.cast(tf.range(6), x.dtype)",
         contracts.DtypesApart, {"first": "float32", "second": "int32"}),
    Case("a layer made in call", _LAYER, "    def call(self, x):\n        return L.Dense(4)(x)", "    def call(self, x):\n        return L.Activation('relu')(x)",
         calls.MadeAnew, {"cls": "Dense", "where": "call"}),
    Case("a layer kept by the first call", _LAYER, "    def call(self, x):\n        return L.Dense(4)(x)",
         "    inner = None\n    def call(self, x):\n        if self.inner is None:\n            Own.inner = L.Dense(4, trainable=False)\n        return self.inner(x)", calls.MadeAnew, {}),
    Case("a loss of rows", _LAYER, "    def call(self, x):\n        self.add_loss(tf.reduce_mean(tf.square(x), axis=1))\n        return x",
         "    def call(self, x):\n        self.add_loss(tf.reduce_mean(tf.square(x)))\n        return x", calls.VectorLoss, {"shape": (8,)}),
    Case("all nodes of a graph", _GRAPH, "x, y", "tf.data.Dataset.from_tensors(((x[0], x[1]), y))", layers.OperationRaised, {"reason": reasons.WholeOnly(50, 32)}),
]  # fmt: skip


@pytest.mark.parametrize(("case", "framework"), [pytest.param(case, name, id=f"{case.name}-{name}") for case in CASES for name in case.frameworks])
def test_the_contract_is_named_and_the_twin_has_none(case, framework):
    program = example(case.program.replace("%s", case.bad), framework)
    findings = [one for one in tpushape.trace(program["build"], program["data"], tpu=None, fixes=False).findings if one.serious]
    assert [type(one.fact) for one in findings] == [case.fact], [one.message for one in findings]
    fact = findings[0].fact
    assert {key: getattr(fact, key) for key in case.fields} == case.fields
    twin = example(case.program.replace("%s", case.good), framework)
    assert tpushape.trace(twin["build"], twin["data"], tpu=None, fixes=False).ok


def test_what_breaks_inside_a_layer_of_ones_own_is_named_on_its_line():
    text = """
class Block(L.Layer):
    def __init__(self):
        super().__init__(); self.att = L.MultiHeadAttention(2, 4)
    def call(self, x, ids):
        return self.att(x, x, attention_mask=tf.not_equal(ids, 0))
def build():
    i = keras.Input((12,), dtype="int32"); m = keras.Model(i, L.Dense(1)(L.Flatten()(Block()(L.Embedding(9, 8)(i), i)))); m.compile("sgd", "mse"); return m
def data():
    return np.ones((8, 12), "int32"), np.zeros((8, 1), "float32")
"""
    program = example(text, "keras")
    finding = tpushape.trace(program["build"], program["data"], tpu=None, fixes=False).findings[0]
    assert isinstance(finding.fact, layers.WrongMask)
    assert (finding.fact.shape, finding.fact.wanted) == ((8, 12), (8, 12, 12))


@pytest.mark.parametrize(("made", "rule"), [("L.Dense(3, units=3)(i)", "code-raises"), ("L.Dense(3, i, units=4)", "layer-uncalled")])
def test_a_layer_counts_as_made_from_a_tensor_where_it_is_given_one(made, rule):
    text = f"""
def build():
    i = keras.Input((6,)); return keras.Model(i, {made})
def data():
    return np.zeros((8, 6), "float32"), np.zeros((8, 1), "float32")
"""
    program = example(text, "keras")
    assert [one.rule for one in tpushape.trace(program["build"], program["data"], tpu=None, fixes=False).findings] == [rule]


def test_tensors_joined_inside_a_layer_without_an_axis_get_one():
    text = """
class Twice(L.Layer):
    def call(self, x):
        return tf.concat([x, x])
def build():
    i = keras.Input((6,)); m = keras.Model(i, L.Dense(1)(Twice()(i))); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 6), "float32"), np.zeros((8, 1), "float32")
"""
    program = example(text, "keras")
    finding = tpushape.trace(program["build"], program["data"], tpu=None).findings[0]
    assert (finding.rule, finding.fact.missing, finding.fixes[0].verified) == ("layer-raises", ("axis",), True)


def test_names_that_hold_keys_on_purpose_are_no_dict_taken_apart():
    text = """
def build():
    first, second = "user", "item"
    inputs = {first: keras.Input((4,), name=first), second: keras.Input((5,), name=second)}
    x = L.Add()([inputs[first], inputs[second]])
    m = keras.Model(inputs, L.Dense(1)(x)); m.compile("sgd", "mse"); return m
def data():
    return {"user": np.zeros((8, 4), "float32"), "item": np.zeros((8, 5), "float32")}, np.zeros((8, 1), "float32")
"""
    program = example(text, "keras")
    findings = tpushape.trace(program["build"], program["data"], tpu=None, fixes=False).findings
    assert [finding.rule for finding in findings if finding.serious] == ["merge-shapes"]


def test_the_relative_shift_of_an_attention_is_meant():
    text = """
class Shift(L.Layer):
    def call(self, x):
        y = tf.pad(x, [[0, 0], [0, 0], [1, 0]])
        return tf.reshape(tf.reshape(y, (-1, 7, 6))[:, 1:], (-1, 6, 6))
def build():
    i = keras.Input((6, 6)); m = keras.Model(i, L.Dense(1)(L.Flatten()(Shift()(i)))); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 6, 6), "float32"), np.zeros((8, 1), "float32")
"""
    program = example(text, "keras")
    assert tpushape.trace(program["build"], program["data"], tpu=None, fixes=False).ok


HEADS = """
class Heads(L.Layer):
    def call(self, x):
        y = tf.reshape(x, (tf.shape(x)[0], -1, 4, {depth}))
        return tf.reshape(y, (tf.shape(x)[0], -1, {width}))
def build():
    i = keras.Input((12, {width})); m = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Heads()(i)))); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 12, {width}), "float32"), np.zeros((8, 1), "float32")
"""


@pytest.mark.parametrize(("width", "depth", "found"), [(10, 2, [mixing.Straddling]), (10, 3, [mixing.Straddling]), (12, 3, []), (12, 6, [])])
def test_heads_are_cut_out_of_whole_rows(width, depth, found):
    program = example(HEADS.format(width=width, depth=depth), "keras")
    findings = tpushape.trace(program["build"], program["data"], tpu=None, fixes=False).findings
    assert [type(finding.fact) for finding in findings if finding.serious] == found


def test_a_product_with_a_number_is_no_sparse_output():
    text = """
def build():
    i = keras.Input((6,)); m = keras.Model(i, L.Dense(1)(i) * 2); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 6), "float32"), np.zeros((8, 1), "float32")
"""
    program = example(text, "keras")
    assert tpushape.trace(program["build"], program["data"], tpu=None).ok


def test_a_fault_behind_the_first_is_told_as_then():
    text = """
def build():
    i, j = keras.Input((6,)), keras.Input((1,), dtype="int32")
    x = L.Concatenate()([i, L.Embedding(9, 4)(j)])
    m = keras.Model([i, j], L.Dense(3, activation="softmax")(x)); m.compile("sgd", "categorical_crossentropy"); return m
def data():
    return [np.zeros((8, 6), "float32"), np.zeros((8, 1), "int32")], np.arange(8) % 3
"""
    program = example(text, "keras")
    first, then = [one for one in tpushape.trace(program["build"], program["data"], tpu=None, fixes=False).findings if one.serious]
    assert first.rule == "merge-shapes"
    assert then.rule == "integer-labels"
    assert (then.fact.mended, type(then.fact.fact).__name__) == (first.fact.layer.name, "SingleValues")
    assert then.fact.fact.message() in then.message


def test_the_sequence_is_not_at_fault_where_the_states_are():
    built = """
def build():
    e, d = keras.Input((6, 8)), keras.Input((4, 8)); _, h, c = L.LSTM(16, return_state=True)(e)
    return keras.Model([e, d], L.LSTM(32)(d, initial_state=[h, c]))
def data():
    return [np.zeros((8, 6, 8), "float32"), np.zeros((8, 4, 8), "float32")], None
"""
    program = example(built, "keras")
    report = tpushape.trace(program["build"], program["data"], tpu=None, fixes=False)
    found = report.findings[0]
    assert (found.rule, found.expected.text) == ("rnn-states", "(batch, 32) each")
    by_id = {edge.id: edge for edge in report.flow.edges}
    assert [by_id[edge].spec.shape for edge in found.edges] == [(8, 16), (8, 16)]


def test_a_loss_that_a_step_calls_is_told_by_what_it_compares():
    built = """
class Contrast(keras.Model):
    def __init__(self):
        super().__init__(); self.encoder = L.Dense(4)
    def call(self, x):
        return self.encoder(x)
    def train_step(self, data):
        z = tf.concat([self.encoder(data[0]), self.encoder(data[0] + 1.0)], axis=0)
        n = tf.shape(data[0])[0]
        loss = keras.losses.categorical_crossentropy(tf.one_hot(tf.range(n), 2 * n), tf.matmul(z, z, transpose_b=True), from_logits=True)
        return {"loss": tf.reduce_mean(loss)}
def build():
    m = Contrast(); m.compile("sgd"); return m
def data():
    return np.zeros((8, 6), "float32"), np.zeros((8, 1), "float32")
"""
    program = example(built, "keras")
    found = tpushape.trace(program["build"], program["data"], tpu=None, fixes=False).findings[0]
    assert (found.rule, type(found.fact).__name__) == ("loss-raises", "LossCalled")
    assert (found.fact.labels, found.fact.predictions, found.fact.apart) == ((8, 16), (16, 16), (0,))


_HALVES = """
class Merged(L.Layer):
    def call(self, x):
        return tf.concat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], axis=-1)
def build():
    return keras.Sequential([keras.Input((SIZE, SIZE, 3)), Merged(), L.Dense(1)])
def data():
    return np.zeros((2, SIZE, SIZE, 3), "float32"), None
"""


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
@pytest.mark.parametrize(("size", "fact"), [(8, None), (9, reasons.Halves(9))])
def test_every_second_position_of_an_odd_axis_is_explained(framework, size, fact):
    program = example(_HALVES.replace("SIZE", str(size)), framework)
    found = [finding for finding in tpushape.trace(program["build"], program["data"], tpu=None).findings if finding.serious]
    assert [finding.fact.reason for finding in found] == ([fact] if fact else [])
    if fact:
        assert found[0].why.startswith("9 is odd: every second position from 0 on gives 5, from 1 on 4.")
