"""Programs whose table of positions counts the samples, that join tensors along an axis on which they agree, or that end in a hidden layer's dropout."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_IDS = f"np.arange(16 * 12).reshape(16, 12) % 30, {rows(16, 1)}"
_PLACES = """
class Places(L.Layer):
    def __init__(self):
        super().__init__()
        self.words, self.places = L.Embedding(30, 8), L.Embedding(40, 8)

    def call(self, x):
{lines}
"""
_WORDS = """
i = keras.Input((12,), dtype="int32")
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Places()(i))))
"""
_JOIN = """
class Join(L.Layer):
    def __init__(self):
        super().__init__()
        self.wide = L.Dense(7)

    def call(self, x):
        return {joined}
"""
_JOINED = """
i = keras.Input((5, 3))
model = keras.Model(i, L.Dense(1)(Join()(i)))
"""
_STEPS = f"{rows(16, 5, 3)}, {rows(16, 5, 1)}"


def _places(lines: str) -> str:
    inner = "\n".join(f"        {line}" for line in lines.strip("\n").splitlines())
    return model_of(_WORDS, _IDS, head=_PLACES.format(lines=inner))


def _joined(joined: str) -> str:
    return model_of(_JOINED, _STEPS, head=_JOIN.format(joined=joined))


COUNTED: dict[str, tuple[str, Own]] = {
    "positions for each sample": ("op-shapes", Own(_places("""
steps = tf.shape(x)[0]
places = tf.range(start=0, limit=steps, delta=1)
places = self.places(places)
x = self.words(x)
return x + places
"""), (("        steps = tf.shape(x)[0]", "        steps = tf.shape(x)[1]"),))),
    "positions for each sample, counted in the range": ("op-shapes", Own(_places("""
return self.words(x) + self.places(tf.range(tf.shape(x)[0]))
"""), (("        return self.words(x) + self.places(tf.range(tf.shape(x)[0]))", "        return self.words(x) + self.places(tf.range(tf.shape(x)[1]))"),))),
    "positions for each sample, the shape by name": ("op-shapes", Own(_places("""
sizes = tf.shape(x)
steps = sizes[0]
places = tf.range(0, steps, 1)[tf.newaxis, :]
return self.words(x) + self.places(places)
"""), (("        steps = sizes[0]", "        steps = sizes[1]"),))),
    "as many rows of a table as samples": ("op-shapes", Own(_places("""
table = tf.ones((40, 8))
length = tf.shape(x)[0]
return self.words(x) + table[tf.newaxis, :length, :]
"""), (("        length = tf.shape(x)[0]", "        length = tf.shape(x)[1]"),))),
    "a value picked for each sample": ("op-shapes", Own(_places("""
v = tf.cast(x, "float32")
rows = tf.range(tf.shape(v)[0])
first = tf.gather_nd(v, tf.stack([rows, tf.zeros_like(rows)], axis=1))
v = v - first
return self.words(x) * v[..., None]
"""), (("        v = v - first", "        v = v - first[..., None]"),))),
    "features joined along the steps": ("op-shapes", Own(_joined("tf.concat([self.wide(x), x], axis=1)"),
        (("        return tf.concat([self.wide(x), x], axis=1)", "        return tf.concat([self.wide(x), x], axis=-1)"),))),
    "features joined along the samples": ("op-shapes", Own(_joined("tf.concat([self.wide(x), x], 0)"),
        (("        return tf.concat([self.wide(x), x], 0)", "        return tf.concat([self.wide(x), x], -1)"),))),
    "dropout at the end of a classifier": ("output-units", Own(model_of("""
i = keras.Input((6,))
x = L.Dense(20, activation="relu")(i)
x = L.Dropout(0.5)(x)
model = keras.Model(i, x)
""", f"{rows(16, 6)}, np.arange(16).reshape(16, 1) % 2", "'binary_crossentropy'"),
        (("    x = L.Dropout(0.5)(x)", '    x = L.Dense(1, activation="sigmoid")(L.Dropout(0.5)(x))'),))),
    "clips with their frames last": ("swapped-axes", Own(model_of("""
model = keras.Sequential([keras.Input((5, 6, 6, 1)), L.TimeDistributed(L.Conv2D(2, 3)), L.TimeDistributed(L.GlobalMaxPooling2D()), L.LSTM(4), L.Dense(1)])
""", f"{rows(8, 6, 6, 5)}, {rows(8, 1)}"), (
        ("    return np.random.default_rng(0).random((8, 6, 6, 5)).astype('float32'), np.random.default_rng(0).random((8, 1)).astype('float32')",
         "    return np.transpose(np.random.default_rng(0).random((8, 6, 6, 5)).astype('float32'), (0, 3, 1, 2)), np.random.default_rng(0).random((8, 1)).astype('float32')"),
    ))),
    "a mean and a variance of one unit": ("loss-raises", Own(model_of("""
model = keras.Sequential([keras.Input((6,)), L.Dense(3)])
""", f"{rows(8, 6)}, {rows(8, 2)}", "likelihood", head="""
def likelihood(y, p):
    mean, log = tf.split(p, 2, axis=-1)
    return tf.reduce_mean(log + tf.square(y - mean) / tf.exp(log))
"""), (("    model = keras.Sequential([keras.Input((6,)), L.Dense(3)])", "    model = keras.Sequential([keras.Input((6,)), L.Dense(4)])"),))),
    "a shortcut without the stride of its block": ("merge-shapes", Own(model_of("""
i = keras.Input((8, 8, 3))
x = block(block(i, 3), 4, True)
model = keras.Model(i, L.Dense(1)(L.GlobalMaxPooling2D()(x)))
""", f"{rows(8, 8, 8, 3)}, {rows(8, 1)}", head="""
def block(x, filters, down=False):
    y = L.Conv2D(filters, 3, strides=2 if down else 1, padding='same')(x)
    if down:
        x = L.Conv2D(filters, 1, padding='same')(x)
    return L.Add()([x, y])
"""), (("        x = L.Conv2D(filters, 1, padding='same')(x)", "        x = L.Conv2D(filters, 1, padding='same', strides=2)(x)"),))),
}  # fmt: skip
