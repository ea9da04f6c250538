"""Programs that run and train something else than meant, and their like that raise: the line that is wrong, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_STEP = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.drop = L.Dense(8), L.BatchNormalization(), L.Dropout(0.2)
        self.last = L.Dense(1, activation="sigmoid")
        self.score = keras.losses.BinaryCrossentropy()

    def call(self, x, training=None):
        return self.last(self.drop(self.norm(self.first(x), training=training), training=training))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            p = {call}
            loss = {loss}
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {{"score": loss}}

def build():
    model = Net()
    model.compile("sgd")
    return model

def data():
    return {data}
"""
_LABELLED = f"{rows(8, 6)}, np.array([0.0, 1.0] * 4, 'float32').reshape(8, 1)"


def _step(call: str = "self(x, training=True)", loss: str = "self.score(y, p)") -> str:
    return _STEP.format(call=call, loss=loss, data=_LABELLED)


_PAIRS = """
def contrast(labels, features):
    labels = tf.reshape(labels, {shape})
    same = tf.cast(tf.equal(labels, tf.transpose(labels)), tf.float32)
    table = tf.matmul(features, features, transpose_b=True)
    shares = table - tf.math.log(tf.reduce_sum(tf.exp(table), axis=1{keep}))
    return -tf.reduce_mean(tf.reduce_sum(same * shares, axis=1))
"""
_READ = """
class Read(L.Layer):
    def __init__(self):
        super().__init__()
        self.rows, self.attend = L.Embedding(9, 8), L.MultiHeadAttention(2, 4)

    def call(self, ids):
        x = self.rows(ids)
        n = tf.shape(ids)[1]
        {mask}
        return self.attend(x, x, attention_mask=mask)
"""
_IDS = "(np.arange(48) % 9).reshape(8, 6).astype('int32'), np.zeros((8, 6, 8), 'float32')"


def _read(mask: str) -> str:
    body = 'i = keras.Input((6,), dtype="int32")\nmodel = keras.Model(i, Read()(i))'
    return model_of(body, _IDS, head=_READ.format(mask=mask))


_PICTURES = """
i = keras.Input((8, 8, 3))
x = L.Rescaling(1 / 255)(i)
x = L.Flatten()(L.Conv2D(4, 3)(x))
model = keras.Model(i, L.Dense(1)(x))
"""
_MASKED = """
class Masked(L.Layer):
    def call(self, x):
        keep = x > 0.5
        {lines}
"""
_CELL = """
class Cell(L.Layer):
    def __init__(self, units):
        super().__init__()
        self.units, self.state_size = units, units

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.units), name="w")
        self.u = self.add_weight(shape=(self.units, self.units), name="u")

    def call(self, inputs, states):
        h = tf.tanh(tf.matmul(inputs, self.w) + tf.matmul(states[0], self.u))
        return h
"""
_RESIZED = """
def load(x, y):
    x = tf.image.resize(x, (8, 8))
    y = tf.image.resize(y, (8, 8))
    return x, tf.cast(y, tf.int32)
"""
_CLASSES = "np.random.default_rng(0).integers(0, 3, (8, 16, 16, 1)).astype('uint8')"
_CODER = """
a, b = keras.Input((5, 3)), keras.Input((4, 3))
{encoder}
y = L.LSTM(8)(b, initial_state={states})
model = keras.Model([a, b], L.Dense(1)(y))
"""
_SEQUENCES = f"tf.data.Dataset.from_tensor_slices((({rows(8, 5, 3)}, {rows(8, 4, 3)}), {rows(8, 1)})).batch(4)"

TRAINED: dict[str, tuple[str, Own]] = {
    "a step that calls its model as for a prediction": ("training-mode", Own(
        _step(call="self(x)"), (("            p = self(x)", "            p = self(x, training=True)"),))),
    "a loss that gets the prediction first": ("loss-arguments", Own(
        _step(loss="self.score(p, y)"), (("            loss = self.score(p, y)", "            loss = self.score(y, p)"),))),
    "a loss that gets ones of the prediction's shape second": ("loss-arguments", Own(
        _step(loss="self.score(p, tf.ones_like(p))"),
        (("            loss = self.score(p, tf.ones_like(p))", "            loss = self.score(tf.ones_like(p), p)"),))),
    "labels with one axis against their transpose": ("vector-transposed", Own(model_of(
        "i = keras.Input((6,))\nmodel = keras.Model(i, L.Dense(4)(i))", f"{rows(8, 6)}, np.arange(8) % 3",
        "contrast", _PAIRS.format(shape="[-1]", keep=", keepdims=True")),
        (("    same = tf.cast(tf.equal(labels, tf.transpose(labels)), tf.float32)",
          "    same = tf.cast(tf.equal(labels[:, None], labels[None, :]), tf.float32)"),))),
    "sums of rows that are taken from columns": ("rows-against-columns", Own(model_of(
        "i = keras.Input((6,))\nmodel = keras.Model(i, L.Dense(4)(i))", f"{rows(8, 6)}, np.arange(8) % 3",
        "contrast", _PAIRS.format(shape="[-1, 1]", keep="")),
        (("    shares = table - tf.math.log(tf.reduce_sum(tf.exp(table), axis=1))",
          "    shares = table - tf.math.log(tf.reduce_sum(tf.exp(table), axis=1, keepdims=True))"),))),
    "a mask of the padding for an attention": ("mask-inverted", Own(
        _read("mask = tf.equal(ids, 0)[:, None, :]"),
        (("        mask = tf.equal(ids, 0)[:, None, :]", "        mask = tf.not_equal(ids, 0)[:, None, :]"),))),
    "a comparison that is cast and joined with a causal mask": ("mask-inverted", Own(
        _read("mask = tf.logical_and((tf.range(n)[:, None] >= tf.range(n))[None], (ids == 0)[:, None, :])"),
        (("        mask = tf.logical_and((tf.range(n)[:, None] >= tf.range(n))[None], (ids == 0)[:, None, :])",
          "        mask = tf.logical_and((tf.range(n)[:, None] >= tf.range(n))[None], (ids != 0)[:, None, :])"),))),
    "a triangle of what follows": ("mask-inverted", Own(
        _read("mask = tf.linalg.band_part(tf.ones((n, n)), 0, -1)"),
        (("        mask = tf.linalg.band_part(tf.ones((n, n)), 0, -1)", "        mask = tf.linalg.band_part(tf.ones((n, n)), -1, 0)"),))),
    "a mask of what is hidden": ("mask-inverted", Own(
        _read("mask = 1 - tf.linalg.band_part(tf.ones((n, n)), -1, 0)"),
        (("        return self.attend(x, x, attention_mask=mask)",
          '        return self.attend(x, x, attention_mask=tf.cast(mask, "int32") == 0)'),))),
    "pictures that are scaled in the data and in the model": ("scaled-twice", Own(
        model_of(_PICTURES, f"{rows(8, 8, 8, 3)}, {rows(8, 1)}"), (("    x = L.Rescaling(1 / 255)(i)", "    x = i"),))),
    "pictures in 0 to 1 for a layer that centers pixels": ("scaled-twice", Own(
        model_of(_PICTURES.replace("1 / 255", "1 / 127.5, offset=-1"), f"{rows(8, 8, 8, 3)}, {rows(8, 1)}"),
        (("    x = L.Rescaling(1 / 127.5, offset=-1)(i)", "    x = L.Rescaling(2.0, offset=-1)(i)"),))),
    "categories that are counted from one": ("embedding-range", Own(model_of("""
i = keras.Input((1,), dtype="int32")
x = L.CategoryEncoding(7, output_mode="one_hot")(i)
model = keras.Model(i, L.Dense(1)(x))
""", f"(np.arange(14) % 7 + 1).reshape(14, 1).astype('int32'), {rows(14, 1)}"),
        (('    x = L.CategoryEncoding(7, output_mode="one_hot")(i)', '    x = L.CategoryEncoding(8, output_mode="one_hot")(i)'),))),
    "a product with a comparison": ("product-logical", Own(model_of(
        "i = keras.Input((6,))\nmodel = keras.Model(i, L.Dense(1)(Masked()(i)))", f"{rows(8, 6)}, {rows(8, 1)}",
        head=_MASKED.format(lines="return tf.cast(x * keep, tf.float32)")),
        (("        return tf.cast(x * keep, tf.float32)", '        return tf.cast(x * tf.cast(keep, "float32"), tf.float32)'),))),
    "a sum of a product with a comparison": ("dtype-mix", Own(model_of(
        "i = keras.Input((6,))\nmodel = keras.Model(i, L.Dense(1)(Masked()(i)))", f"{rows(8, 6)}, {rows(8, 1)}",
        head=_MASKED.format(lines="return tf.reduce_sum(keep * x, axis=-1, keepdims=True)")),
        (("        return tf.reduce_sum(keep * x, axis=-1, keepdims=True)",
          '        return tf.reduce_sum(tf.cast(keep, "float32") * x, axis=-1, keepdims=True)'),))),
    "one minus a comparison": ("dtype-mix", Own(model_of(
        "i = keras.Input((6,))\nmodel = keras.Model(i, L.Dense(1)(Masked()(i)))", f"{rows(8, 6)}, {rows(8, 1)}",
        head=_MASKED.format(lines="return x * (1 - keep)")),
        (("        return x * (1 - keep)", '        return x * (1 - keras.ops.cast(keep, "float32"))'),))),
    "a cell that returns its state alone": ("rnn-states", Own(model_of(
        "i = keras.Input((7, 3))\nmodel = keras.Model(i, L.Dense(1)(L.RNN(Cell(4))(i)))", f"{rows(8, 7, 3)}, {rows(8, 1)}", head=_CELL),
        (("        return h", "        return h, [h]"),))),
    "one mask for an attention that takes two": ("attention-shapes", Own(model_of("""
q, p = keras.Input((5,), dtype="int32"), keras.Input((7,), dtype="int32")
rows = L.Embedding(9, 4)
keep = L.Lambda(lambda ids: tf.not_equal(ids, 0), output_shape=(7,), dtype="bool")(p)
x = L.Attention()([rows(q), rows(p)], mask=keep)
model = keras.Model([q, p], x)
""", "[np.arange(40).reshape(8, 5) % 9, np.arange(56).reshape(8, 7) % 9], np.zeros((8, 5, 4), 'float32')"),
        (("    x = L.Attention()([rows(q), rows(p)], mask=keep)", "    x = L.Attention()([rows(q), rows(p)], mask=[None, keep])"),), keras=True)),
    "a model that its first call builds": ("input-axis", Own(model_of("""
i = keras.Input((16, 16, 3))
head = keras.Sequential([L.Conv2D(4, 3, padding="same"), L.GlobalAveragePooling2D()])
half = L.MaxPooling2D()(i)
model = keras.Model(i, L.Dense(1)(L.Concatenate()([head(i), head(half)])))
""", f"{rows(8, 16, 16, 3)}, {rows(8, 1)}"),
        (('    head = keras.Sequential([L.Conv2D(4, 3, padding="same"), L.GlobalAveragePooling2D()])',
          '    head = keras.Sequential([keras.Input((None, None, 3)), L.Conv2D(4, 3, padding="same"), L.GlobalAveragePooling2D()])'),), keras=True)),
    "a size of an axis that the windows do not have": ("code-raises", Own(model_of("""
model = keras.Sequential([keras.Input((windows.shape[1], windows.shape[2])), L.LSTM(4), L.Dense(1)])
""", f"windows, {rows(8, 1)}", head=f"windows = {rows(8, 7)}\n"),
        (("    model = keras.Sequential([keras.Input((windows.shape[1], windows.shape[2])), L.LSTM(4), L.Dense(1)])",
          "    model = keras.Sequential([keras.Input((windows.shape[1], 1)), L.LSTM(4), L.Dense(1)])"),
         (f"    return windows, {rows(8, 1)}", f"    return np.expand_dims(windows, 2), {rows(8, 1)}")))),
    "states of an LSTM in each other's place": ("states-exchanged", Own(model_of(
        _CODER.format(encoder="out, h, c = L.LSTM(8, return_state=True)(a)", states="[c, h]"), _SEQUENCES),
        (("    y = L.LSTM(8)(b, initial_state=[c, h])", "    y = L.LSTM(8)(b, initial_state=[h, c])"),))),
    "states of both directions in another order": ("states-exchanged", Own(model_of(_CODER.format(
        encoder="out, fh, bh, fc, bc = L.Bidirectional(L.LSTM(4, return_state=True))(a)",
        states="[L.concatenate([fh, bh]), L.concatenate([fc, bc])]"), _SEQUENCES),
        (("    out, fh, bh, fc, bc = L.Bidirectional(L.LSTM(4, return_state=True))(a)",
          "    out, fh, fc, bh, bc = L.Bidirectional(L.LSTM(4, return_state=True))(a)"),))),
    "classes that are resized by interpolation": ("labels-interpolated", Own(model_of("""
i = keras.Input((8, 8, 3))
model = keras.Model(i, L.Conv2D(3, 1, activation="softmax")(i))
""", f"tf.data.Dataset.from_tensor_slices(({rows(8, 16, 16, 3)}, {_CLASSES})).map(load).batch(4)",
        "'sparse_categorical_crossentropy'", _RESIZED),
        (("    y = tf.image.resize(y, (8, 8))", '    y = tf.image.resize(y, (8, 8), method="nearest")'),))),
}  # fmt: skip
