"""Programs whose samples lie in columns or behind one another, and sequences that gain, lose or repeat steps."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_SCORES = """
class Scores(L.Layer):
    def __init__(self):
        super().__init__()
        self.w1, self.w2, self.v = L.Dense(16), L.Dense(16), L.Dense(1)

    def call(self, query, values):
        query = tf.expand_dims(query, 2)
        scores = self.v(tf.tanh(self.w1(query) + self.w2(values)))
        return tf.reduce_sum(tf.nn.softmax(scores, axis=1) * values, axis=1)
"""
_HEADS = """
class Heads(L.Layer):
    def __init__(self, width, heads):
        super().__init__()
        self.wide = L.Dense(width)
        self.heads = heads
        self.depth = width

    def call(self, x):
        rows, steps = tf.shape(x)[0], x.shape[1]
        x = tf.transpose(tf.reshape(self.wide(x), (rows, steps, self.heads, self.depth)), (0, 2, 1, 3))
        x = tf.matmul(tf.nn.softmax(tf.matmul(x, x, transpose_b=True)), x)
        return tf.reshape(tf.transpose(x, (0, 2, 1, 3)), (rows, steps, self.heads * self.depth))
"""
_DECODER = """
class Decoder(L.Layer):
    def __init__(self):
        super().__init__()
        self.cell = L.GRUCell(8)

    def call(self, x_all):
        h, steps = [tf.zeros((tf.shape(x_all)[0], 8))], []
        for t in range(x_all.shape[1]):
            x = x_all[:, t : t + 1]
            y, h = self.cell(x, h)
            steps.append(y)
        return tf.stack(steps, 1)
"""
_BRANCH = """
def branch(n):
    return keras.Sequential([keras.Input((6,)), L.Dense(8, activation="relu"), L.Dense(n, activation="softmax")])
"""
_QUANTILES = """
QUANTILES = np.array([[0.1, 0.9]], "float32")
def loss(y, p):
    e = y - p
    return tf.reduce_mean(tf.maximum(QUANTILES * e, (QUANTILES - 1) * e))
"""
_REMEMBERS = """
class Remembers(keras.Model):
    def __init__(self):
        super().__init__()
        self.reads, self.wide, self.scores, self.last = L.Dense(4), L.Dense(4), L.Dense(1), L.Dense(1)

    def begin(self, n):
        return tf.zeros((n, 4))

    def call(self, x):
        state = self.begin(64)
        scores = self.scores(tf.tanh(self.reads(x) + self.wide(state)[:, None]))
        return self.last(tf.reduce_sum(tf.nn.softmax(scores, axis=1) * x, axis=1))
"""
_STACKED = """
class Pairs(keras.utils.PyDataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        left, right = np.ones((8, 5)), np.ones((8, 5))
        return np.array([left, right]), np.ones((8, 1))
"""
_GATED = """
i = keras.Input((24, 4))
t = L.Conv1D(4, {size}, activation="tanh")(i)
model = keras.Model(i, L.Conv1D(4, 1)(L.Add()([i, t])))
"""
_WAVE = "np.arange(8 * 25 * 4, dtype='float32').reshape(8, 25, 4)"
_CAPTIONS = """
i, w = keras.Input((6,)), keras.Input((12,))
x = L.concatenate([L.RepeatVector(1)(L.Dense(8)(i)), L.Embedding(30, 8)(w)], axis=1)
x = L.LSTM(8, return_sequences=True)(x)
x = L.Dense(30, activation="softmax")(x)
model = keras.Model([i, w], x)
"""

_PICTURE, _NUMBER = "tf.TensorSpec((None, None, 3), tf.float32)", "tf.TensorSpec((), tf.int64)"


def _gated(size: int, data: str) -> str:
    return model_of(_GATED.format(size=size), data)


# The next step of each is the label, so a padding on both sides would read it.
STEPS: dict[str, tuple[str, Own]] = {
    "labels in columns": ("data-misfit", Own(model_of("""
model = keras.Sequential([keras.Input((6,)), L.Dense(3, activation="sigmoid")])
""", f"{rows(20, 6)}, np.array([np.arange(20) % n == 0 for n in (2, 3, 4)], 'float32')", "'binary_crossentropy'"), ((
        f"    return {rows(20, 6)}, np.array([np.arange(20) % n == 0 for n in (2, 3, 4)], 'float32')",
        f"    return {rows(20, 6)}, np.transpose(np.array([np.arange(20) % n == 0 for n in (2, 3, 4)], 'float32'), (1, 0))"),))),
    "data in columns, labels in a column": ("data-misfit", Own(model_of("""
model = keras.Sequential([keras.Input((6,)), L.Dense(1)])
""", f"{rows(6, 20)}, {rows(20, 1)}"), ((f"    return {rows(6, 20)}, {rows(20, 1)}", f"    return np.transpose({rows(6, 20)}, (1, 0)), {rows(20, 1)}"),))),
    "both inputs of a batch in one array": ("input-structure", Own(f"""
{_STACKED}
def build():
    a, b = keras.Input((5,)), keras.Input((5,))
    model = keras.Model([a, b], L.Dense(1)(L.Subtract()([a, b])))
    model.compile('sgd', 'mse')
    return model
def data():
    return Pairs()
""", (("        return np.array([left, right]), np.ones((8, 1))", "        return tuple(np.array([left, right])), np.ones((8, 1))"),), keras=True)),
    "an even window over steps whose next one is the label": ("merge-shapes", Own(_gated(2, f"{_WAVE}[:, :-1], {_WAVE}[:, 1:]"), (
        ('    t = L.Conv1D(4, 2, activation="tanh")(i)', '    t = L.Conv1D(4, 2, activation="tanh", padding="causal")(i)'),))),
    "an odd window over steps whose next one is the label": ("merge-shapes", Own(_gated(3, f"{_WAVE}[:, :-1], {_WAVE}[:, 1:]"), (
        ('    t = L.Conv1D(4, 3, activation="tanh")(i)', '    t = L.Conv1D(4, 3, activation="tanh", padding="causal")(i)'),))),
    "a window over steps that are no labels": ("merge-shapes", Own(_gated(3, f"{_WAVE}[:, :-1], {_WAVE}[:, :-1] ** 2"), (
        ('    t = L.Conv1D(4, 3, activation="tanh")(i)', '    t = L.Conv1D(4, 3, activation="tanh", padding="same")(i)'),))),
    "a code repeated for other steps": ("output-size", Own(model_of("""
model = keras.Sequential([keras.Input((30, 6)), L.LSTM(8), L.RepeatVector(10), L.LSTM(8, return_sequences=True), L.LSTM(8, return_sequences=True), L.Dense(6)])
""", f"{rows(8, 30, 6)}, {rows(8, 30, 6)}"), ((
        "    model = keras.Sequential([keras.Input((30, 6)), L.LSTM(8), L.RepeatVector(10), L.LSTM(8, return_sequences=True), L.LSTM(8, return_sequences=True), L.Dense(6)])",
        "    model = keras.Sequential([keras.Input((30, 6)), L.LSTM(8), L.RepeatVector(30), L.LSTM(8, return_sequences=True), L.LSTM(8, return_sequences=True), L.Dense(6)])"),))),
    "an image before the words of its caption": ("output-size", Own(model_of(_CAPTIONS, f"({rows(8, 6)}, np.arange(96).reshape(8, 12) % 30), np.ones((8, 12), int)", "'sparse_categorical_crossentropy'"), (
        ('    x = L.Dense(30, activation="softmax")(x)', '    x = L.Cropping1D((1, 0))(L.Dense(30, activation="softmax")(x))'),))),
    "a vector whose values are taken for positions": ("op-shapes", Own(model_of("""
i = keras.Input((12, 8))
y, h = L.GRU(16, return_sequences=True, return_state=True)(i)
model = keras.Model(i, L.Dense(1)(Scores()(h, y)))
""", f"{rows(8, 12, 8)}, {rows(8, 1)}", head=_SCORES), (("        query = tf.expand_dims(query, 2)", "        query = tf.expand_dims(query, 1)"),))),
    "pictures of several sizes in a batch": ("data-raises", Own(f"""
def pictures():
    for n in range(8):
        yield np.ones((20 + n % 3, 24, 3), "float32"), n % 2
def build():
    model = keras.Sequential([keras.Input((24, 24, 3)), L.GlobalAveragePooling2D(), L.Dense(1)])
    model.compile('sgd', 'mse')
    return model
def data():
    ds = tf.data.Dataset.from_generator(pictures, output_signature=({_PICTURE}, {_NUMBER}))
    return ds.shuffle(4).batch(4)
""", (("    return ds.shuffle(4).batch(4)", "    return ds.shuffle(4).map(lambda x, y: (tf.image.resize(x, (24, 24)), y)).batch(4)"),))),
    "words of several lengths in a batch": ("data-raises", Own(f"""
def words():
    for n in range(8):
        yield np.arange(1, 4 + n % 3), n % 2
def build():
    model = keras.Sequential([keras.Input((None,)), L.Embedding(9, 4, mask_zero=True), L.LSTM(4), L.Dense(1)])
    model.compile('sgd', 'mse')
    return model
def data():
    ds = tf.data.Dataset.from_generator(words, output_signature=(tf.TensorSpec((None,), tf.int64), {_NUMBER}))
    ds = ds.batch(4)
    return ds.prefetch(1)
""", (("    ds = ds.batch(4)", "    ds = ds.padded_batch(4)"),))),
    "the forward states alone": ("rnn-states", Own(model_of("""
i = keras.Input((9, 4))
o, h, c, back_h, back_c = L.Bidirectional(L.LSTM(8, return_sequences=True, return_state=True))(i)
x = L.LSTM(16)(o, initial_state=[h, c])
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 9, 4)}, {rows(8, 1)}"), ((
        "    x = L.LSTM(16)(o, initial_state=[h, c])",
        "    x = L.LSTM(16)(o, initial_state=[L.Concatenate()([h, back_h]), L.Concatenate()([c, back_c])])"),))),
    "two steps in a row of a reshape": ("output-size", Own(model_of("""
i = keras.Input((50, 16, 4))
x = L.Conv2D(4, 3, padding="same", strides=(1, 2))(i)
x = L.Reshape((-1, 16 * 4))(x)
x = L.GRU(4, return_sequences=True)(x)
model = keras.Model(i, L.Dense(3, activation="softmax")(x))
""", f"{rows(8, 50, 16, 4)}, np.arange(400).reshape(8, 50) % 3", "'sparse_categorical_crossentropy'"), (
        ("    x = L.Reshape((-1, 16 * 4))(x)", "    x = L.Reshape((-1, 32))(x)"),))),
    "a loop that ends the sequence one layer early": ("layer-rank", Own(model_of("""
model = keras.Sequential([keras.Input((12, 3))])
widths = [8, 8, 8]
for k, width in enumerate(widths):
    model.add(L.GRU(width, return_sequences=k < len(widths) - 2))
model.add(L.Dense(1))
""", f"{rows(8, 12, 3)}, {rows(8, 1)}"), ((
        "        model.add(L.GRU(width, return_sequences=k < len(widths) - 2))",
        "        model.add(L.GRU(width, return_sequences=k < len(widths) - 1))"),))),
    "a width that is not divided among the heads": ("op-shapes", Own(model_of("""
i = keras.Input((10, 16))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Heads(16, 4)(i))))
""", f"{rows(8, 10, 16)}, {rows(8, 1)}", head=_HEADS), (("        self.depth = width", "        self.depth = width // heads"),))),
    "a cell that gets a time axis": ("rnn-states", Own(model_of("""
i = keras.Input((5, 6))
model = keras.Model(i, L.Dense(1)(Decoder()(i)))
""", f"{rows(8, 5, 6)}, {rows(8, 5, 1)}", head=_DECODER), (
        ("            y, h = self.cell(x, h)", "            y, h = self.cell(x[:, 0], h)"),), keras=True)),
    "maps of several items, one label for each item": ("missing-flatten", Own(model_of("""
i = keras.Input((10, 4, 4, 3))
x = L.TimeDistributed(L.Conv2D(4, 3, padding="same"))(i)
x = L.Dense(8, activation="relu")(x)
model = keras.Model(i, L.Dense(2)(x))
""", f"{rows(8, 10, 4, 4, 3)}, {rows(8, 10, 2)}"), ((
        '    x = L.Dense(8, activation="relu")(x)', '    x = L.Dense(8, activation="relu")(L.Reshape((10, 64))(x))'),))),
    "one of three branches made by a function": ("merge-shapes", Own(model_of("""
i = keras.Input((6,))
model = keras.Model(i, L.Average()([branch(4)(i), branch(4)(i), branch(5)(i)]))
""", f"{rows(8, 6)}, np.arange(8) % 4", "'sparse_categorical_crossentropy'", head=_BRANCH), ((
        "    model = keras.Model(i, L.Average()([branch(4)(i), branch(4)(i), branch(5)(i)]))",
        "    model = keras.Model(i, L.Average()([branch(4)(i), branch(4)(i), branch(4)(i)]))"),))),
    "units for a row of quantiles": ("loss-raises", Own(model_of("""
model = keras.Sequential([keras.Input((6,)), L.Dense(8), L.Dense(3)])
""", f"{rows(8, 6)}, {rows(8, 1)}", "loss", head=_QUANTILES), ((
        "    model = keras.Sequential([keras.Input((6,)), L.Dense(8), L.Dense(3)])",
        "    model = keras.Sequential([keras.Input((6,)), L.Dense(8), L.Dense(2)])"),))),
    "rows that are written for a state of its own": ("op-shapes", Own(f"""
{_REMEMBERS}
def build():
    model = Remembers()
    model.compile("sgd", "mse")
    return model
def data():
    return {rows(8, 5, 6)}, {rows(8, 1)}
""", (("        state = self.begin(64)", "        state = self.begin(tf.shape(x)[0])"),), keras=True)),
}  # fmt: skip
