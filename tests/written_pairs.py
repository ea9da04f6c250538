"""Samples that meet every other one, and what takes them one by one: the line, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_TOWERS = """
class Towers(keras.Model):
    def __init__(self):
        super().__init__()
        self.one, self.other = L.Dense(4), L.Dense(4)
    def call(self, inputs):
        user, movie = self.one(inputs[0]), self.other(inputs[1])
        scores = {scores}
        return {returned}
"""
_FED = f"[{rows(8, 5)}, {rows(8, 3)}], {{}}"
_HEADS = """
class Heads(keras.Model):
    def __init__(self):
        super().__init__()
        self.kind = L.Dense(3, name="kind_head")
        self.size = L.Dense(1, name="size_head")
    def call(self, x):
        return {"kind": self.kind(x), "size": self.size(x)}
"""
_RIGHT = """
class Right(keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="right")
        self.total = self.add_weight(name="total", initializer="zeros")
    def update_state(self, y, p, sample_weight=None):
        found = tf.argmax(p, axis=-1) == 2
        true = tf.cast(y, tf.int64) == 2
        self.total.assign_add(tf.reduce_sum(tf.cast(tf.logical_and(true, found), "float32")))
        self.total.assign_add(tf.reduce_sum(tf.cast(tf.logical_or(true, found), "float32")))
    def result(self):
        return self.total
"""
_CELL = """
class Cell(L.Layer):
    def __init__(self, units):
        super().__init__()
        self.units, self.state_size = units, [units, units]
    def build(self, shape):
        self.gates = self.add_weight(shape=(shape[-1] + self.units, 2 * self.units))
    def call(self, x, states):
        h, c = states
        gate, new = keras.ops.split(keras.ops.matmul(keras.ops.concatenate([x, h], axis=-1), self.gates), 2, axis=-1)
        c = c + keras.ops.sigmoid(gate) * keras.ops.tanh(new)
        h = keras.ops.tanh(c)
        return h, [h]
"""

PAIRS: dict[str, tuple[str, Own]] = {
    "scores of all pairs in a silent loss": ("loss-broadcast", Own(
        model_of("model = Towers()", _FED.format(rows(8, 1)), head=_TOWERS.format(scores="keras.ops.matmul(user, keras.ops.transpose(movie))", returned="scores")),
        (("        scores = keras.ops.matmul(user, keras.ops.transpose(movie))", "        scores = keras.ops.sum(user * movie, axis=-1, keepdims=True)"),))),
    "scores of all pairs in a loss that raises": ("loss-broadcast", Own(
        model_of("model = Towers()", _FED.format("np.arange(8.0).reshape(8, 1) % 2"), "'binary_crossentropy'",
                 head=_TOWERS.format(scores="user @ keras.ops.transpose(movie)", returned="keras.ops.sigmoid(scores)")),
        (("        scores = user @ keras.ops.transpose(movie)", "        scores = keras.ops.sum(user * movie, axis=-1, keepdims=True)"),))),
    "outputs by the names of their layers": ("output-names", Own(
        model_of("model = Heads()", f"{rows(8, 5)}, {{'kind_head': np.arange(8) % 3, 'size_head': {rows(8, 1)}}}",
                 "{'kind_head': 'sparse_categorical_crossentropy', 'size_head': 'mse'}, metrics={'size_head': ['mae']}", head=_HEADS),
        (('        return {"kind": self.kind(x), "size": self.size(x)}', "        return {'kind_head': self.kind(x), 'size_head': self.size(x)}"),))),
    "classes of all samples in a metric": ("batch-broadcast", Own(
        model_of("model = keras.Sequential([keras.Input((5,)), L.Dense(3, activation='softmax')])", f"{rows(8, 5)}, (np.arange(8) % 3).reshape(8, 1)",
                 "'sparse_categorical_crossentropy', metrics=[Right()]", head=_RIGHT),
        (("    return np.random.default_rng(0).random((8, 5)).astype('float32'), (np.arange(8) % 3).reshape(8, 1)",
          "    return np.random.default_rng(0).random((8, 5)).astype('float32'), np.squeeze((np.arange(8) % 3).reshape(8, 1), 1)"),))),
    "a cell that returns one of two states": ("rnn-states", Own(
        model_of("model = keras.Sequential([keras.Input((6, 3)), L.RNN(Cell(4)), L.Dense(1)])", f"{rows(8, 6, 3)}, {rows(8, 1)}", head=_CELL),
        (("        return h, [h]", "        return h, [h, c]"),))),
    "one number a sample for a normalization": ("layer-rank", Own(
        model_of("""
i, j = keras.Input((5,)), keras.Input((5,))
x = keras.ops.sum(keras.ops.square(i - j), axis=1)
x = L.BatchNormalization()(x)
model = keras.Model([i, j], L.Dense(1)(x))
""", f"[{rows(8, 5)}, {rows(8, 5)}], {rows(8, 1)}"),
        (("    x = L.BatchNormalization()(x)", "    x = L.BatchNormalization()(L.Reshape((1,))(x))"),))),
    "the next token of a masked decoder": ("output-size", Own(
        model_of("""
i, j = keras.Input((9,), dtype="int32"), keras.Input((None,), dtype="int32")
x = L.GRU(8, return_sequences=True)(L.Embedding(20, 8, mask_zero=True)(i))
y = L.GRU(8, return_sequences=True)(L.Embedding(20, 8, mask_zero=True)(j))
y = L.Concatenate()([y, L.Attention()([y, x])])
model = keras.Model([i, j], L.Dense(20, activation="softmax")(y))
""", "[WORDS[:, :9], WORDS[:, :-1]], WORDS", "'sparse_categorical_crossentropy'", head="WORDS = np.random.default_rng(0).integers(1, 20, (16, 12))\n"),
        (("    return [WORDS[:, :9], WORDS[:, :-1]], WORDS", "    return [WORDS[:, :9], WORDS[:, :-1]], WORDS[:, 1:]"),))),
}  # fmt: skip
