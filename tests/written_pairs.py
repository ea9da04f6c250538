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
}  # fmt: skip
