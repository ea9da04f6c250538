"""Programs in which parts are apart: layers that the model does not hold, steps in opposite orders, states, one array for all samples."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_ROW = f"{rows(8, 6)}, {rows(8, 1)}"
_STEPS = f"{rows(8, 7, 6)}, {rows(8, 7, 1)}"
_CELL = """
class Cell(L.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = self.state_size = units
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1] + self.units, self.units), name="w")
        self.built = True
    def call(self, x, states):
        joined = tf.concat([x, states[0]], axis=-1)
        out = tf.tanh(tf.matmul(joined, self.w))
        return out, [joined]
"""

APART: dict[str, tuple[str, Own]] = {
    "layers that the function of a Lambda calls": ("weights-outside", Own(model_of("""
i = keras.Input((6,))
x = L.Lambda(gated(), output_shape=(5,))(i)
model = keras.Model(i, L.Dense(1)(x))
""", _ROW, head="""
def gated():
    inner, gate = L.Dense(5), L.Dense(5, activation="sigmoid")
    inner.build((None, 6))
    gate.build((None, 6))
    return lambda t: inner(t) * gate(t)
"""), (("    x = L.Lambda(gated(), output_shape=(5,))(i)", "    x = gated()(i)"),))),
    "both directions by hand": ("steps-reversed", Own(model_of("""
i = keras.Input((7, 6))
f = L.GRU(4, return_sequences=True)(i)
b = L.GRU(4, return_sequences=True, go_backwards=True)(i)
model = keras.Model(i, L.Dense(1)(L.Concatenate()([f, b])))
""", _STEPS), (("    b = L.GRU(4, return_sequences=True, go_backwards=True)(i)", "    b = L.GRU(4, return_sequences=True, go_backwards=True)(i)[:, ::-1]"),))),
    "a backward layer with a shortcut": ("steps-reversed", Own(model_of("""
i = keras.Input((7, 6))
x = L.Dense(4)(i)
h = L.LayerNormalization()(x)
h = L.LSTM(4, return_sequences=True, go_backwards=True)(h)
model = keras.Model(i, L.Dense(1)(L.Add()([x, h])))
""", _STEPS), (("    h = L.LSTM(4, return_sequences=True, go_backwards=True)(h)", "    h = L.LSTM(4, return_sequences=True, go_backwards=True)(h)[:, ::-1]"),))),
    "one slope for each pixel of pictures of any size": ("axis-unknown", Own(model_of("""
i = keras.Input((None, None, 3))
x = L.PReLU()(L.Conv2D(4, 3, padding="same")(i))
model = keras.Model(i, L.Conv2D(3, 3, padding="same")(x))
""", f"{rows(8, 6, 6, 3)}, {rows(8, 6, 6, 3)}"), (('    x = L.PReLU()(L.Conv2D(4, 3, padding="same")(i))', '    x = L.PReLU(shared_axes=(1, 2))(L.Conv2D(4, 3, padding="same")(i))'),))),
    "two directions for a layer that reads one tensor": ("layer-raises", Own(model_of("""
i = keras.Input((7, 6))
x = L.Bidirectional(L.LSTM(4, return_sequences=True), merge_mode=None)(i)
x = L.Dropout(0.2)(x)
model = keras.Model(i, L.TimeDistributed(L.Dense(1))(x))
""", _STEPS), (("    x = L.Bidirectional(L.LSTM(4, return_sequences=True), merge_mode=None)(i)", '    x = L.Bidirectional(L.LSTM(4, return_sequences=True), merge_mode="concat")(i)'),), keras=True)),
    "a layer that is adapted to the labels as well": ("weights-apart", Own("""
table = np.arange(72, dtype="float32").reshape(12, 6)

def build():
    scale = L.Normalization()
    scale.adapt(table)
    model = keras.Sequential([scale, L.Dense(1)])
    model.compile("sgd", "mse")
    return model


def data():
    return table[:, :-1], table[:, -1]
""", (("    scale.adapt(table)", "    scale.adapt(table[:, :-1])"),))),
    "one adjacency matrix beside the samples": ("data-misfit", Own("""
def build():
    x, a = keras.Input((5, 3)), keras.Input((5, 5))
    model = keras.Model([x, a], L.Dense(1)(L.Dot(axes=(2, 1))([a, x])))
    model.compile("sgd", "mse")
    return model


def data():
    x, a = np.ones((8, 5, 3), "float32"), np.eye(5, dtype="float32")
    return [x, a], np.ones((8, 5, 1), "float32")
""", (('    return [x, a], np.ones((8, 5, 1), "float32")', '    return [x, np.repeat(a[None], len(x), axis=0)], np.ones((8, 5, 1), "float32")'),))),
    "one pair of states for two cells": ("rnn-states", Own(model_of("""
a, b = keras.Input((9, 4)), keras.Input((5, 3))
_, h, c = L.LSTM(6, return_state=True)(a)
y = L.RNN([L.LSTMCell(6), L.LSTMCell(6)], return_sequences=True)(b, initial_state=[h, c])
model = keras.Model([a, b], L.Dense(3)(y))
""", f"[{rows(8, 9, 4)}, {rows(8, 5, 3)}], {rows(8, 5, 3)}"), (("    y = L.RNN([L.LSTMCell(6), L.LSTMCell(6)], return_sequences=True)(b, initial_state=[h, c])",
        "    y = L.RNN([L.LSTMCell(6), L.LSTMCell(6)], return_sequences=True)(b, initial_state=[[h, c], [h, c]])"),))),
    "a state that is wider than its size": ("rnn-states", Own(model_of("""
model = keras.Sequential([keras.Input((7, 6)), L.RNN(Cell(4)), L.Dense(1)])
""", f"{rows(8, 7, 6)}, {rows(8, 1)}", head=_CELL), (("        return out, [joined]", "        return out, [out]"),))),
}  # fmt: skip
