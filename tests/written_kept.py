"""Samples that a reshape or a sum does not keep apart, steps that a pooling does not keep, widths that a function computes."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_UNFOLD = """
class Unfold(L.Layer):
    def __init__(self, *sizes):
        super().__init__()
        self.sizes = sizes
    def call(self, x):
        return tf.reshape(x, self.sizes)
"""
_BOXES = """
def boxes(t, p):
    a = tf.reshape(p, (4, 4, 5))
    b = tf.reshape(t, (4, 4, 5))
    return tf.reduce_mean(tf.square(a[..., 4] - b[..., 4])) + tf.reduce_mean(tf.square(a[..., :4] - b[..., :4]))
"""
_GATED = """
def gated(x, ratio=4):
    width = x.shape[-1]
    gate = L.Dense(width // ratio, activation="relu")(L.GlobalAveragePooling2D()(x))
    gate = L.Dense(width // ratio, activation="sigmoid")(gate)
    gate = L.Reshape((1, 1, width // ratio))(gate)
    return L.Multiply()([x, gate])
"""
_LATENT = """
class Latent(keras.Model):
    def __init__(self):
        super().__init__()
        self.mean, self.spread, self.back = L.Dense(32), L.Dense(32), L.Dense(6)
    def call(self, x):
        m, s = self.mean(x), self.spread(x)
        y = self.back(m)
        lost = tf.reduce_sum(tf.square(x - y), axis=1)
        self.add_loss(tf.reduce_mean(lost + tf.reduce_sum(tf.exp(s) - s + m * m, axis=0)))
        return y
"""

KEPT: dict[str, tuple[str, Own]] = {
    "a shape of one sample in a layer": ("layer-rank", Own(model_of(
        "model = keras.Sequential([keras.Input((48,)), Unfold(4, 4, 3), L.Conv2D(2, 3), L.Flatten(), L.Dense(1)])",
        f"{rows(8, 48)}, {rows(8, 1)}", head=_UNFOLD), (("        return tf.reshape(x, self.sizes)", "        return tf.reshape(x, (-1, *self.sizes))"),))),
    "a shape of one sample that a name has": ("reshape-size", Own(model_of(
        "model = keras.Sequential([keras.Input((48,)), Unfold(4, 4, 3), L.Flatten(), L.Dense(1)])",
        f"{rows(8, 48)}, {rows(8, 1)}", head=_UNFOLD.replace("tf.reshape", "keras.ops.reshape").replace("return ", "x = ") + "        return keras.ops.mean(x, -1)\n"),
        (("        x = keras.ops.reshape(x, self.sizes)", "        x = keras.ops.reshape(x, (-1, *self.sizes))"),))),
    "a shape of one sample in a loss": ("loss-raises", Own(model_of(
        "model = keras.Sequential([keras.Input((6,)), L.Dense(80)])", f"{rows(8, 6)}, {rows(8, 80)}", loss="boxes", head=_BOXES),
        (("    a = tf.reshape(p, (4, 4, 5))", "    a = tf.reshape(p, (-1, 4, 4, 5))"), ("    b = tf.reshape(t, (4, 4, 5))", "    b = tf.reshape(t, (-1, 4, 4, 5))")))),
    "a width of two calls": ("merge-shapes", Own(model_of("""
i = keras.Input((6, 6, 3))
x = gated(L.Conv2D(8, 1)(i))
x = gated(L.Conv2D(12, 1)(x))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""", f"{rows(8, 6, 6, 3)}, {rows(8, 1)}", head=_GATED), (
        ('    gate = L.Dense(width // ratio, activation="sigmoid")(gate)', '    gate = L.Dense(width, activation="sigmoid")(gate)'),
        ("    gate = L.Reshape((1, 1, width // ratio))(gate)", "    gate = L.Reshape((1, 1, width))(gate)")))),
    "steps that are pooled before a recurrent layer": ("layer-rank", Own(model_of(
        "model = keras.Sequential([keras.Input((12, 4)), L.Conv1D(6, 3), L.GlobalMaxPooling1D(), L.Bidirectional(L.LSTM(4)), L.Dense(1)])",
        f"{rows(8, 12, 4)}, {rows(8, 1)}"), ((
        "    model = keras.Sequential([keras.Input((12, 4)), L.Conv1D(6, 3), L.GlobalMaxPooling1D(), L.Bidirectional(L.LSTM(4)), L.Dense(1)])",
        "    model = keras.Sequential([keras.Input((12, 4)), L.Conv1D(6, 3), L.MaxPooling1D(2), L.Bidirectional(L.LSTM(4)), L.Dense(1)])"),))),
    "a sum over as many samples as there are values": ("samples-summed", Own(model_of(
        "model = Latent()", f"{rows(40, 6)}, {rows(40, 6)}", head=_LATENT), (
        ("        self.add_loss(tf.reduce_mean(lost + tf.reduce_sum(tf.exp(s) - s + m * m, axis=0)))",
         "        self.add_loss(tf.reduce_mean(lost + tf.reduce_sum(tf.exp(s) - s + m * m, axis=-1)))"),))),
    "values on another axis of a map": ("merge-shapes", Own(model_of("""
i, j = keras.Input((6, 6, 8)), keras.Input((1,))
t = L.Reshape((8, 1, 1))(L.Dense(8)(j))
model = keras.Model([i, j], L.Dense(1)(L.GlobalAveragePooling2D()(L.Add()([i, t]))))
""", f"({rows(8, 6, 6, 8)}, {rows(8, 1)}), {rows(8, 1)}"), (("    t = L.Reshape((8, 1, 1))(L.Dense(8)(j))", "    t = L.Reshape((1, 1, 8))(L.Dense(8)(j))"),))),
    "steps that are pooled before an attention": ("attention-shapes", Own(model_of("""
i, j = keras.Input((5, 8)), keras.Input((7, 8))
e = L.GlobalAveragePooling1D()(j)
model = keras.Model([i, j], L.Dense(1)(L.Flatten()(L.MultiHeadAttention(2, 4)(i, e))))
""", f"({rows(8, 5, 8)}, {rows(8, 7, 8)}), {rows(8, 1)}"), (("    e = L.GlobalAveragePooling1D()(j)", "    e = j"),))),
    "a width that is split in two": ("op-shapes", Own(model_of(
        "model = keras.Sequential([keras.Input((8,)), Coupled(8), L.Dense(1)])", f"{rows(8, 8)}, {rows(8, 1)}", head="""
class Coupled(L.Layer):
    def __init__(self, width):
        super().__init__()
        self.both = L.Dense(2 * width)
    def call(self, x):
        a, b = tf.split(x, 2, axis=-1)
        s, t = tf.split(self.both(a), 2, axis=-1)
        return tf.concat([b * tf.exp(s) + t, a], -1)
"""), (("        self.both = L.Dense(2 * width)", "        self.both = L.Dense(width)"),))),
    "an input whose name is given away": ("input-axis", Own(model_of("""
x = keras.Input((6,))
x = L.Dense(4)(x)
y = L.Dense(1)(x)
model = keras.Model(x, y)
""", f"{rows(8, 6)}, {rows(8, 1)}"), (("    x = keras.Input((6,))", "    inputs = x = keras.Input((6,))"), ("    model = keras.Model(x, y)", "    model = keras.Model(inputs, y)")))),
    "which layers of a loop return their steps": ("layer-rank", Own(model_of("""
model = keras.Sequential([keras.Input((5, 4))])
for k in range(3):
    model.add(L.LSTM(4, return_sequences=k == 2))
model.add(L.Dense(1))
""", f"{rows(8, 5, 4)}, {rows(8, 1)}"), (("        model.add(L.LSTM(4, return_sequences=k == 2))", "        model.add(L.LSTM(4, return_sequences=k != 2))"),))),
    "features of several windows that are joined": ("op-shapes", Own(model_of(
        "model = keras.Sequential([keras.Input((9, 4)), Windows(), L.Dense(1)])", f"{rows(8, 9, 4)}, {rows(8, 1)}", head="""
class Windows(L.Layer):
    def __init__(self):
        super().__init__()
        self.ways = [L.Conv1D(3, size) for size in (2, 3)]
    def call(self, x):
        return tf.reduce_max(tf.concat([way(x) for way in self.ways], axis=-1), axis=1)
"""), (("        self.ways = [L.Conv1D(3, size) for size in (2, 3)]", '        self.ways = [L.Conv1D(3, size, padding="same") for size in (2, 3)]'),))),
    "a weight for each step beside features": ("op-shapes", Own(model_of(
        "model = keras.Sequential([keras.Input((9, 4)), Weighted(9), L.Flatten(), L.Dense(1)])", f"{rows(8, 9, 4)}, {rows(8, 1)}", head="""
class Weighted(L.Layer):
    def __init__(self, steps):
        super().__init__()
        self.steps = self.add_weight(shape=(steps,), name="steps")
    def call(self, x):
        return x * self.steps
"""), (("        return x * self.steps", "        return x * self.steps[:, None]"),))),
    "a score for each pair of nodes": ("op-shapes", Own(model_of(
        "model = keras.Sequential([keras.Input((9, 4)), Paired(6), L.Flatten(), L.Dense(1)])", f"{rows(8, 9, 4)}, {rows(8, 1)}", head="""
class Paired(L.Layer):
    def __init__(self, width):
        super().__init__()
        self.way, self.mine, self.other = L.Dense(width), L.Dense(1), L.Dense(1)
    def call(self, x):
        h = self.way(x)
        e = self.mine(h) + self.other(h)
        return keras.ops.matmul(keras.ops.softmax(keras.ops.leaky_relu(e), axis=-1), h)
"""), (("        e = self.mine(h) + self.other(h)", "        e = self.mine(h) + keras.ops.swapaxes(self.other(h), 1, 2)"),))),
    "rows of another branch": ("merge-shapes", Own(model_of("""
i = keras.Input((6, 6, 3))
x = L.Reshape((-1, 4))(L.Conv2D(8, 1)(i))
y = L.Reshape((-1, 4))(L.Conv2D(6, 1)(i))
model = keras.Model(i, L.Concatenate()([x, y]))
""", f"{rows(8, 6, 6, 3)}, {rows(8, 72, 7)}"), (("    y = L.Reshape((-1, 4))(L.Conv2D(6, 1)(i))", "    y = L.Reshape((-1, 3))(L.Conv2D(6, 1)(i))"),))),
}  # fmt: skip
