"""Tables added to every sample, steps without room, and layers created for another size: the line, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_SCORED = """
class Scored(L.Layer):
    def build(self, shape):
        self.v = self.add_weight(shape=(shape[-1], 12), name="v")
        self.w = self.add_weight(shape=(1, 12), name="w")
    def call(self, x):
        return tf.tensordot(tf.tanh(tf.tensordot(x, self.v, axes=1)), self.w, axes=1)
"""
_LINEAR = """
class Linear(L.Layer):
    def __init__(self, wide, units, table):
        super().__init__()
        self.wide, self.units, self.table = wide, units, table
        self.kernel = self.add_weight(shape=(wide, units), name="kernel")
    def call(self, x):
        return tf.matmul(x, self.kernel) + self.table
class Block(L.Layer):
    def __init__(self, wide, units):
        super().__init__()
        self.inner = Linear(wide, units, np.zeros((units,), "float32"))
        self.out = L.Dense(3)
    def call(self, x):
        return self.out(self.inner(x))
"""
_LAST = """
class Last(keras.Model):
    def __init__(self):
        super().__init__()
        self.steps = L.LSTM(6, return_sequences=True)
        self.out = L.Dense(3)
    def call(self, x):
        state = self.steps(x)
        return self.out(tf.reshape(state, (tf.shape(x)[0], 6)))
"""

_STACKED = """
class Columns(keras.Model):
    def __init__(self):
        super().__init__()
        self.one, self.other = L.Dense(8), L.Dense(8)
        self.columns = self.add_weight(shape=(2, 8), name="columns")
        self.out = L.Dense(1)
    def call(self, x):
        parts = tf.stack([self.one(x), self.other(x)])
        return self.out(tf.reduce_mean(parts + self.columns, axis=1))
"""
_UPSCALED = """
class Upscaled(L.Layer):
    def call(self, x):
        _, height, width, depth = x.shape
        x = tf.reshape(x, (-1, height, width, 2, 2, depth // 4))
        x = tf.transpose(x, (0, 1, 3, 2, 4, 5))
        return tf.reshape(x, (-1, height * 2, width * 2, depth // 4))
"""
_FED = """
NOISE, CLASSES = 6, 3
WIDE, OTHER = NOISE, CLASSES
class Fed(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner = keras.Sequential([
            keras.Input((WIDE,)),
            L.Dense(4),
        ])
    def call(self, x):
        return self.inner(tf.concat([x, tf.one_hot(tf.zeros(tf.shape(x)[0], "int32"), CLASSES)], axis=-1))
"""

TABLES = {
    "columns stacked before the batch": ("op-shapes", Own(model_of("""
model = Columns()
""", f"{rows(8, 5)}, {rows(8, 1)}", head=_STACKED), ((
        "        parts = tf.stack([self.one(x), self.other(x)])", "        parts = tf.stack([self.one(x), self.other(x)], axis=1)",
    ),))),
    "a vector for each position, as wide as the tokens": ("merge-shapes", Own(model_of("""
i = keras.Input((5, 4))
x = L.Dense(8)(i)
positions = L.Embedding(5, 6)(np.arange(5))
x = L.GlobalAveragePooling1D()(x + positions)
model = keras.Model(i, L.Dense(2)(x))
""", f"{rows(8, 5, 4)}, {rows(8, 2)}"), (("    positions = L.Embedding(5, 6)(np.arange(5))", "    positions = L.Embedding(5, 8)(np.arange(5))"),))),
    "a kernel turned, which only the merge behind it shows": ("merge-shapes", Own(model_of("""
i = keras.Input((5,))
x = L.Dense(7)(i)
model = keras.Model(i, L.Dense(2)(L.multiply([Scored()(x), x])))
""", f"{rows(8, 5)}, {rows(8, 2)}", head=_SCORED), ((
        '        self.w = self.add_weight(shape=(1, 12), name="w")', '        self.w = self.add_weight(shape=(12, 1), name="w")',
    ),))),
    "the last step, which a reshape has room for": ("op-shapes", Own(model_of("""
model = Last()
""", f"{rows(8, 5, 4)}, {rows(8, 3)}", head=_LAST), ((
        "        self.steps = L.LSTM(6, return_sequences=True)", "        self.steps = L.LSTM(6, return_sequences=False)",
    ),))),
    "an inner layer without a config, created for a size": ("op-shapes", Own(model_of("""
model = keras.Sequential([keras.Input((4,)), Block(9, 6)])
""", f"{rows(8, 4)}, {rows(8, 3)}", head=_LINEAR), (("    model = keras.Sequential([keras.Input((4,)), Block(9, 6)])", "    model = keras.Sequential([keras.Input((4,)), Block(4, 6)])"),))),
    "padding before own code that doubles the map": ("output-size", Own(model_of("""
i = keras.Input((12, 12, 1))
x = L.Conv2D(8, 5)(i)
x = L.Conv2D(4, 3)(x)
model = keras.Model(i, Upscaled()(x))
""", f"{rows(8, 12, 12, 1)}, {rows(8, 24, 24, 1)}", head=_UPSCALED), (
        ("    x = L.Conv2D(8, 5)(i)", '    x = L.Conv2D(8, 5, padding="same")(i)'),
        ("    x = L.Conv2D(4, 3)(x)", '    x = L.Conv2D(4, 3, padding="same")(x)'),
    ))),
    "channels fewer than a block has values": ("reshape-size", Own(model_of("""
i = keras.Input((6, 6, 1))
x = L.Conv2D(2, 3, padding="same")(i)
model = keras.Model(i, Upscaled()(x))
""", f"{rows(8, 6, 6, 1)}, {rows(8, 12, 12, 1)}", head=_UPSCALED), ((
        '    x = L.Conv2D(2, 3, padding="same")(i)', '    x = L.Conv2D(4, 3, padding="same")(i)',
    ),))),
    "a model's own input, behind names that are given together": ("input-axis", Own(model_of("""
model = Fed()
""", f"{rows(8, 6)}, {rows(8, 4)}", head=_FED), (("            keras.Input((WIDE,)),", "            keras.Input((WIDE + 3,)),"),))),
    "a map that stays as high as wide": ("reshape-size", Own(model_of("""
i = keras.Input((10,))
x = L.Dense(7 * 7 * 4)(i)
x = L.Reshape((8, 8, 4))(x)
model = keras.Model(i, L.Dense(2)(L.Flatten()(x)))
""", f"{rows(8, 10)}, {rows(8, 2)}"), (("    x = L.Reshape((8, 8, 4))(x)", "    x = L.Reshape((7, 7, 4))(x)"),))),
}  # fmt: skip
