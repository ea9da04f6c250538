"""Faults in numbers, strides, windows, grids and structure that stand in the program: the line that is wrong, and as it should be."""

from __future__ import annotations

from own_code import Own

_ROWS = "np.random.default_rng(0).random({}).astype('float32')"


def model_of(body: str, data: str, loss: str = "'mse'", head: str = "") -> str:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    return f"{head}\ndef build():\n{lines}\n    model.compile('sgd', {loss})\n    return model\n\n\ndef data():\n    return {data}\n"


def rows(*shape: int) -> str:
    return _ROWS.format(shape)


_IDS = "np.arange({}) % {}"

# The rule that finds each, and the program.
WRITTEN: dict[str, tuple[str, Own]] = {
    "the last width of a feed-forward block": ("merge-shapes", Own(model_of("""
i = keras.Input((12, 5))
f = L.Dense(64, activation='relu')(i)
f = L.Dense(64)(f)
x = L.Add()([i, f])
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(x)))
""", f"{rows(8, 12, 5)}, {rows(8, 1)}"), (("    f = L.Dense(64)(f)", "    f = L.Dense(5)(f)"),))),
    "how often a vector is repeated": ("merge-shapes", Own(model_of("""
i = keras.Input((6, 8))
h = L.Dense(24)(i)
a = L.Flatten()(L.Dense(1)(h))
a = L.Permute((2, 1))(L.RepeatVector(48)(a))
model = keras.Model(i, L.Dense(1)(L.Flatten()(L.Multiply()([h, a]))))
""", f"{rows(8, 6, 8)}, {rows(8, 1)}"), (("    a = L.Permute((2, 1))(L.RepeatVector(48)(a))", "    a = L.Permute((2, 1))(L.RepeatVector(24)(a))"),))),
    "steps of a decoder": ("output-size", Own(model_of("""
i = keras.Input((10, 3))
x = L.LSTM(8)(i)
x = L.RepeatVector(5)(x)
x = L.LSTM(8, return_sequences=True)(x)
model = keras.Model(i, L.TimeDistributed(L.Dense(1))(x))
""", f"{rows(8, 10, 3)}, {rows(8, 6)}"), (("    x = L.RepeatVector(5)(x)", "    x = L.RepeatVector(6)(x)"),))),
    "the stride of a shortcut": ("merge-shapes", Own(model_of("""
i = keras.Input((16, 16, 3))
y = L.Conv2D(8, 3, strides=2, padding='same')(i)
s = L.Conv2D(8, 1)(i)
x = L.Add()([s, y])
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""", f"{rows(4, 16, 16, 3)}, {rows(4, 1)}"), (("    s = L.Conv2D(8, 1)(i)", "    s = L.Conv2D(8, 1, strides=2)(i)"),))),
    "windows of three sizes": ("merge-shapes", Own(model_of("""
i = keras.Input((20, 4))
c = [L.Conv1D(6, k)(i) for k in (3, 4, 5)]
x = L.concatenate(c)
model = keras.Model(i, L.Dense(1)(L.GlobalMaxPooling1D()(x)))
""", f"{rows(4, 20, 4)}, {rows(4, 1)}"), (("    c = [L.Conv1D(6, k)(i) for k in (3, 4, 5)]", '    c = [L.Conv1D(6, k, padding="same")(i) for k in (3, 4, 5)]'),))),
    "a causal window": ("merge-shapes", Own(model_of("""
i = keras.Input((20, 4))
a = L.Conv1D(4, 3, padding='causal')(i)
b = L.Conv1D(4, 3, dilation_rate=4)(a)
model = keras.Model(i, L.Dense(1)(L.GlobalMaxPooling1D()(L.Add()([i, b]))))
""", f"{rows(4, 20, 4)}, {rows(4, 1)}"), (
        ("    b = L.Conv1D(4, 3, dilation_rate=4)(a)", '    b = L.Conv1D(4, 3, dilation_rate=4, padding="causal")(a)'),))),
    "the grid of a decoder": ("output-size", Own(model_of("""
i = keras.Input((16, 16, 1))
z = L.Dense(10)(L.Flatten()(i))
x = L.Dense(2 * 2 * 8)(z)
x = L.Reshape((2, 2, 8))(x)
x = L.Conv2DTranspose(4, 4, strides=2, padding='same')(x)
model = keras.Model(i, L.Conv2DTranspose(1, 4, strides=2, padding='same')(x))
""", f"{rows(4, 16, 16, 1)}, {rows(4, 16, 16, 1)}"), (
        ("    x = L.Dense(2 * 2 * 8)(z)", "    x = L.Dense(128)(z)"), ("    x = L.Reshape((2, 2, 8))(x)", "    x = L.Reshape((4, 4, 8))(x)")))),
    "a model of frames": ("layer-rank", Own(model_of("""
i = keras.Input((5, 12, 12, 3))
cnn = keras.Sequential([L.Conv2D(4, 3), L.Flatten()])
x = cnn(i)
model = keras.Model(i, L.Dense(1)(L.LSTM(4)(x)))
""", f"{rows(4, 5, 12, 12, 3)}, {rows(4, 1)}"), (("    x = cnn(i)", "    x = L.TimeDistributed(cnn)(i)"),))),
    "a sequence inside of TimeDistributed": ("merge-shapes", Own(model_of("""
w, c = keras.Input((7, 6)), keras.Input((7, 4, 3))
h = L.TimeDistributed(L.LSTM(5, return_sequences=True))(c)
x = L.concatenate([w, h])
model = keras.Model([w, c], L.Dense(1)(L.LSTM(4)(x)))
""", f"[{rows(4, 7, 6)}, {rows(4, 7, 4, 3)}], {rows(4, 1)}"), (
        ("    h = L.TimeDistributed(L.LSTM(5, return_sequences=True))(c)", "    h = L.TimeDistributed(L.LSTM(5, return_sequences=False))(c)"),))),
    "positions that a layer is made for": ("op-shapes", Own(model_of("""
i = keras.Input((9, 4))
x = Places(6, 4)(i)
model = keras.Model(i, L.Dense(1)(L.Flatten()(x)))
""", f"{rows(8, 9, 4)}, {rows(8, 1)}", head="""
class Places(L.Layer):
    def __init__(self, count, width):
        super().__init__()
        self.count = count
        self.table = L.Embedding(count, width)

    def call(self, x):
        return x + self.table(tf.range(self.count))

"""), (("    x = Places(6, 4)(i)", "    x = Places(9, 4)(i)"),))),
    "axes of size 1 that are alike": ("op-shapes", Own(model_of("""
i = keras.Input((6, 6, 1))
x = Mix()(i)
model = keras.Model(i, L.Dense(1)(L.Flatten()(x)))
""", f"{rows(8, 6, 6, 1)}, {rows(8, 1)}", head="""
class Mix(L.Layer):
    def call(self, x):
        share = tf.reduce_mean(x, axis=1, keepdims=True)[:, :, 0, :]
        return x * tf.reduce_mean(share, axis=1, keepdims=True)

"""), (
        ("        return x * tf.reduce_mean(share, axis=1, keepdims=True)", "        return x * tf.reduce_mean(share, axis=1, keepdims=True)[..., None]"),))),
    "classes of a library's model": ("output-units", Own(model_of("""
model = keras.applications.MobileNetV2(alpha=0.35, weights=None, input_shape=(32, 32, 3))
""", f"{rows(4, 32, 32, 3)}, np.eye(10, dtype='float32')[{_IDS.format(4, 10)}]", "'categorical_crossentropy'"), (
        ("    model = keras.applications.MobileNetV2(alpha=0.35, weights=None, input_shape=(32, 32, 3))",
         "    model = keras.applications.MobileNetV2(alpha=0.35, weights=None, input_shape=(32, 32, 3), classes=10)"),))),
    "class numbers and a loss of one's own": ("integer-labels", Own(model_of("""
i = keras.Input((6, 6, 3))
model = keras.Model(i, L.Conv2D(4, 1, activation='softmax')(i))
""", f"{rows(4, 6, 6, 3)}, ({_IDS.format(144, 4)}).reshape(4, 6, 6, 1)", "dice", head="""
def dice(y, p):
    y, p = tf.reshape(tf.cast(y, 'float32'), [-1]), tf.reshape(p, [-1])
    return 1 - 2 * tf.reduce_sum(y * p) / (tf.reduce_sum(y) + tf.reduce_sum(p))

"""), ())),
    "class numbers and a binary loss": ("integer-labels", Own(model_of("""
model = keras.Sequential([keras.Input((6,)), L.Dense(3, activation='softmax')])
""", f"{rows(8, 6)}, {_IDS.format(8, 3)}", "'binary_crossentropy'"), (
        ("    model.compile('sgd', 'binary_crossentropy')", "    model.compile('sgd', 'sparse_categorical_crossentropy')"),))),
    "states where one tensor is read": ("layer-raises", Own(model_of("""
i = keras.Input((6, 4))
x = L.LSTM(5, return_state=True)(i)
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 6, 4)}, {rows(8, 1)}"), (("    x = L.LSTM(5, return_state=True)(i)", "    x = L.LSTM(5, return_state=False)(i)"),))),
    "an attention of one tensor": ("attention-shapes", Own(model_of("""
i = keras.Input((6, 4))
x = L.Attention()([i])
model = keras.Model(i, L.Dense(1)(L.Flatten()(x)))
""", f"{rows(8, 6, 4)}, {rows(8, 1)}"), (("    x = L.Attention()([i])", "    x = L.Attention()([i, i])"),))),
    "a pooling behind a backbone": ("loss-broadcast", Own(model_of("""
base = keras.applications.MobileNet(include_top=False, weights=None, input_shape=(64, 64, 3))
x = L.Dense(16)(base.output)
model = keras.Model(base.input, L.Dense(1)(x))
""", f"{rows(4, 64, 64, 3)}, {rows(4)}"), (("    x = L.Dense(16)(base.output)", "    x = L.Dense(16)(L.Flatten()(base.output))"),))),
    "labels for all outputs": ("data-misfit", Own(model_of("""
i = keras.Input((6,))
model = keras.Model(i, [L.Dense(4, name='box')(i), L.Dense(3, activation='softmax', name='kind')(i)])
""", f"tf.data.Dataset.from_tensor_slices(({rows(8, 6)}, {_IDS.format(8, 3)}, {rows(8, 4)})).batch(4)",
        "{'box': 'mse', 'kind': 'sparse_categorical_crossentropy'}"), ())),
    "labels of the next step": ("output-size", Own(model_of("""
i = keras.Input((None,))
x = L.LSTM(4, return_sequences=True)(L.Embedding(9, 3)(i))
model = keras.Model(i, L.Dense(9)(x))
""", "TEXT[:, :-1], TEXT", "own", head="""
TEXT = np.arange(60).reshape(6, 10) % 9


def own(y, p):
    return keras.losses.sparse_categorical_crossentropy(y, p, from_logits=True)

"""), (("    return TEXT[:, :-1], TEXT", "    return TEXT[:, :-1], TEXT[:, 1:]"),))),
    "a gate without the picture's axes": ("op-shapes", Own(model_of("""
i = keras.Input((10, 12, 3))
x = L.Conv2D(8, 3, padding='same')(i)
s = L.Dense(8, activation='sigmoid')(L.GlobalAveragePooling2D()(x))
x = x * s
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""", f"{rows(8, 10, 12, 3)}, {rows(8, 1)}"), (("    x = x * s", "    x = x * s[:, None, None, :]"),))),
    "the axis that positions are counted on": ("op-shapes", Own(model_of("""
i = keras.Input((20,), dtype='int32')
x = L.Embedding(100, 6)(i)
x = Positions()(x)
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(x)))
""", f"({_IDS.format(160, 100)}).reshape(8, 20), {rows(8, 1)}", head="""
class Positions(L.Layer):
    def __init__(self):
        super().__init__()
        self.table = L.Embedding(50, 6)

    def call(self, x):
        return x + self.table(tf.range(tf.shape(x)[-1]))
"""), (("        return x + self.table(tf.range(tf.shape(x)[-1]))", "        return x + self.table(tf.range(tf.shape(x)[-2]))"),))),
    "a layer made from a tensor": ("layer-uncalled", Own(model_of("""
i = keras.Input((4, 4))
x = L.Flatten(i)
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 4, 4)}, {rows(8, 1)}"), (("    x = L.Flatten(i)", "    x = L.Flatten()(i)"),))),
    "a layer used as a tensor": ("layer-uncalled", Own(model_of("""
a, b = keras.Input((4,)), keras.Input((4,))
x = L.Concatenate([a, b])
model = keras.Model([a, b], L.Dense(1)(x))
""", f"[{rows(8, 4)}, {rows(8, 4)}], {rows(8, 1)}"), (("    x = L.Concatenate([a, b])", "    x = L.Concatenate()([a, b])"),))),
    "a window below the fork": ("merge-shapes", Own(model_of("""
i = keras.Input((29, 29, 3))
x = L.Conv2D(4, 3, strides=2)(i)
a = L.MaxPooling2D(3, strides=2, padding='same')(x)
b = L.Conv2D(4, 3, strides=2)(x)
x = L.Concatenate()([a, b])
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""", f"{rows(4, 29, 29, 3)}, {rows(4, 1)}"), (("    b = L.Conv2D(4, 3, strides=2)(x)", '    b = L.Conv2D(4, 3, strides=2, padding="same")(x)'),))),
    "rows that are asked for": ("rows-unknown", Own(model_of("""
model = keras.Sequential([keras.Input((6,)), L.Dense(3)])
""", f"{rows(40, 6)}, {rows(40, 3)}", loss="spread", head="""
def spread(y_true, y_pred):
    n, width = y_pred.shape
    return tf.reduce_mean(tf.square(tf.reshape(y_true - y_pred, (n, width, 1))))
"""), (("    n, width = y_pred.shape", "    n, width = tf.shape(y_pred)[0], y_pred.shape[1]"),))),
    "a normalization over a place": ("axis-unknown", Own(model_of("""
i = keras.Input((None, None, 3))
x = L.BatchNormalization(axis=1)(L.Conv2D(4, 3)(i))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""", f"{rows(4, 12, 10, 3)}, {rows(4, 1)}"), (("    x = L.BatchNormalization(axis=1)(L.Conv2D(4, 3)(i))", "    x = L.BatchNormalization(axis=-1)(L.Conv2D(4, 3)(i))"),))),
    "words that are coded": ("embedding-coded", Own(model_of("""
words = L.TextVectorization(max_tokens=20, output_mode='multi_hot')
words.adapt(TEXTS)
i = keras.Input((1,), dtype='string')
x = L.LSTM(4)(L.Embedding(20, 3)(words(i)))
model = keras.Model(i, L.Dense(1)(x))
""", f"tf.data.Dataset.from_tensor_slices((TEXTS[:, None], {rows(4, 1)})).batch(2)", head="TEXTS = np.array(['a good film', 'a bad film', 'so so', 'a bad story'])\n"), (
        ("    words = L.TextVectorization(max_tokens=20, output_mode='multi_hot')", '    words = L.TextVectorization(max_tokens=20, output_mode="int")'),))),
    "one random number a sample": ("batch-broadcast", Own("""
class Mixed(keras.Model):
    def __init__(self):
        super().__init__()
        self.net = keras.Sequential([keras.Input((6,)), L.Dense(1)])

    def call(self, x):
        alpha = tf.random.uniform([tf.shape(x)[0], 1, 1])
        mixed = x + alpha * (2.0 - x)
        return self.net(mixed)


def build():
    model = Mixed()
    model.compile("sgd", "mse")
    return model


def data():
    return """ + f"{rows(8, 6)}, {rows(8, 1)}\n", ((
        "        alpha = tf.random.uniform([tf.shape(x)[0], 1, 1])", "        alpha = tf.random.uniform((tf.shape(x)[0],) + (1,) * (len(x.shape) - 1))",
    ),))),
    "a padding mask for one row": ("attention-shapes", Own(model_of("""
ids, seen = keras.Input((6,), dtype='int32'), keras.Input((6,), dtype='bool')
x = L.Embedding(9, 8)(ids)
x = L.MultiHeadAttention(2, 4)(x, x, attention_mask=seen)
model = keras.Model([ids, seen], L.Dense(1)(L.GlobalAveragePooling1D()(x)))
""", f"[np.ones((8, 6), 'int32'), np.ones((8, 6), bool)], {rows(8, 1)}"), (
        ("    x = L.MultiHeadAttention(2, 4)(x, x, attention_mask=seen)",
         "    x = L.MultiHeadAttention(2, 4)(x, x, attention_mask=seen[:, None, :])"),))),
    "steps that stay steps": ("reshape-size", Own(model_of("""
i = keras.Input((6, 4, 2))
x = L.Reshape((6, 16))(i)
model = keras.Model(i, L.Dense(1)(L.LSTM(3)(x)))
""", f"{rows(4, 6, 4, 2)}, {rows(4, 1)}"), (("    x = L.Reshape((6, 16))(i)", "    x = L.Reshape((6, 8))(i)"),))),
    "tensors and settings in one pair of brackets": ("layer-uncalled", Own(model_of("""
a, b = keras.Input((4,)), keras.Input((4,))
x = L.Concatenate([a, b], axis=1)
model = keras.Model([a, b], L.Dense(1)(x))
""", f"[{rows(8, 4)}, {rows(8, 4)}], {rows(8, 1)}"), (("    x = L.Concatenate([a, b], axis=1)", "    x = L.Concatenate(axis=1)([a, b])"),))),
    "a mean that leaves one number a sample": ("op-shapes", Own("""
class Dueling(keras.Model):
    def __init__(self):
        super().__init__()
        self.value, self.gain = L.Dense(1), L.Dense(4)

    def call(self, x):
        gain = self.gain(x)
        return self.value(x) + (gain - tf.reduce_mean(gain, axis=1))


def build():
    model = Dueling()
    model.compile("sgd", "mse")
    return model


def data():
    return """ + f"{rows(8, 6)}, {rows(8, 4)}\n", (
        ("        return self.value(x) + (gain - tf.reduce_mean(gain, axis=1))",
         "        return self.value(x) + (gain - tf.reduce_mean(gain, axis=1, keepdims=True))"),))),
    "columns for several outputs": ("output-names", Own(model_of("""
i = keras.Input((4,))
model = keras.Model(i, [L.Dense(1, name='price')(i), L.Dense(1, name='size')(i)])
""", f"{rows(8, 4)}, {rows(8, 2)}", loss="['mse', 'mse']"), (
        (f"    return {rows(8, 4)}, {rows(8, 2)}", f"    return {rows(8, 4)}, list(np.moveaxis({rows(8, 2)}, 1, 0))"),))),
    "shapes of several inputs": ("layer-raises", Own("""
class Bilinear(L.Layer):
    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], 3))

    def call(self, inputs):
        return tf.matmul(inputs[0], self.w) * tf.matmul(inputs[1], self.w)


def build():
    a, b = keras.Input((4,)), keras.Input((4,))
    model = keras.Model([a, b], L.Dense(1)(Bilinear()([a, b])))
    model.compile("sgd", "mse")
    return model


def data():
    return """ + f"[{rows(8, 4)}, {rows(8, 4)}], {rows(8, 1)}\n", (("        self.w = self.add_weight(shape=(input_shape[-1], 3))", "        self.w = self.add_weight(shape=(input_shape[0][-1], 3))"),))),
    "an axis that is not said": ("code-raises", Own("""
class Both(keras.Model):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.end = L.Dense(2), L.Dense(3), L.Dense(1)

    def call(self, x):
        return self.end(tf.concat([self.a(x), self.b(x)]))


def build():
    model = Both()
    model.compile("sgd", "mse")
    return model


def data():
    return """ + f"{rows(8, 6)}, {rows(8, 1)}\n", (("        return self.end(tf.concat([self.a(x), self.b(x)]))", "        return self.end(tf.concat([self.a(x), self.b(x)], axis=-1))"),))),
    "equal parts of a row": ("loss-raises", Own(model_of("""
base = keras.Sequential([keras.Input((6,)), L.Dense(4)])
a, p, n = (keras.Input((6,)) for _ in range(3))
model = keras.Model([a, p, n], L.Concatenate()([base(a), base(p), base(n)]))
""", f"[{rows(8, 6)}, {rows(8, 6)}, {rows(8, 6)}], {rows(8, 1)}", loss="triplet", head="""
def triplet(y_true, y_pred):
    a, p, n = y_pred[:, 0:8], y_pred[:, 8:16], y_pred[:, 16:24]
    return tf.reduce_mean(tf.nn.relu(tf.reduce_sum((a - p) ** 2, 1) - tf.reduce_sum((a - n) ** 2, 1) + 0.2))
"""), (("    a, p, n = y_pred[:, 0:8], y_pred[:, 8:16], y_pred[:, 16:24]", "    a, p, n = y_pred[:, 0:4], y_pred[:, 4:8], y_pred[:, 8:12]"),))),
    "a sequence for code of one's own": ("layer-rank", Own("""
class Focus(L.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], 1))
        self.b = self.add_weight(shape=(shape[1], 1))

    def call(self, x):
        scores = tf.squeeze(tf.tanh(tf.matmul(x, self.w) + self.b), -1)
        return tf.reduce_sum(x * tf.nn.softmax(scores)[..., None], axis=1)


def build():
    model = keras.Sequential([keras.Input((5, 3)), L.LSTM(4), Focus(), L.Dense(1)])
    model.compile("sgd", "mse")
    return model


def data():
    return """ + f"{rows(8, 5, 3)}, {rows(8, 1)}\n", (
        ("    model = keras.Sequential([keras.Input((5, 3)), L.LSTM(4), Focus(), L.Dense(1)])",
         "    model = keras.Sequential([keras.Input((5, 3)), L.LSTM(4, return_sequences=True), Focus(), L.Dense(1)])"),))),
    "one row for each position": ("embedding-range", Own("""
class Positions(L.Layer):
    def __init__(self, length):
        super().__init__()
        self.words, self.places = L.Embedding(9, 4), L.Embedding(length, 4)

    def call(self, x):
        return self.words(x) + self.places(tf.range(tf.shape(x)[-1]))


def build():
    model = keras.Sequential([keras.Input((None,), dtype="int32"), Positions(5), L.GlobalAveragePooling1D(), L.Dense(1)])
    model.compile("sgd", "mse")
    return model


def data():
    return """ + f"np.ones((8, 7), 'int32'), {rows(8, 1)}\n", (
        ('    model = keras.Sequential([keras.Input((None,), dtype="int32"), Positions(5), L.GlobalAveragePooling1D(), L.Dense(1)])',
         '    model = keras.Sequential([keras.Input((None,), dtype="int32"), Positions(7), L.GlobalAveragePooling1D(), L.Dense(1)])'),))),
    "a patch that stays a patch": ("op-shapes", Own("""
class Patches(L.Layer):
    def call(self, x):
        p = tf.reshape(x, (-1, 2, 2, 12))
        return tf.reshape(p, (tf.shape(x)[0], -1, 24))


def build():
    i = keras.Input((4, 12))
    x = L.Dense(3)(Patches()(i)) + L.Embedding(4, 3)(tf.range(4))
    model = keras.Model(i, L.Dense(1)(L.Flatten()(x)))
    model.compile("sgd", "mse")
    return model


def data():
    return """ + f"{rows(8, 4, 12)}, {rows(8, 1)}\n", (
        ("        return tf.reshape(p, (tf.shape(x)[0], -1, 24))", "        return tf.reshape(p, (tf.shape(x)[0], -1, p.shape[-1]))"),))),
    "who asks and who is looked at": ("merge-shapes", Own(model_of("""
a, b = keras.Input((7, 4)), keras.Input((5, 4))
att = L.Attention()([a, b])
x = L.Concatenate()([b, att])
model = keras.Model([a, b], L.Dense(1)(L.GlobalAveragePooling1D()(x)))
""", f"[{rows(8, 7, 4)}, {rows(8, 5, 4)}], {rows(8, 1)}"), (("    att = L.Attention()([a, b])", "    att = L.Attention()([b, a])"),))),
    "steps that a Flatten folds": ("label-rank", Own(model_of("""
i = keras.Input((6, 3))
x = L.TimeDistributed(L.Dense(4))(i)
x = L.Flatten()(x)
model = keras.Model(i, L.Dense(2)(x))
""", f"{rows(8, 6, 3)}, {rows(8, 6, 2)}"), (("    x = L.Flatten()(x)", "    x = L.Identity()(x)"),))),
    "channels that are dealt out": ("op-shapes", Own(model_of("""
i = keras.Input((4, 4, 3))
x = L.Conv2D(6, 3, padding='same')(i)
model = keras.Model(i, Deal()(x))
""", f"{rows(4, 4, 4, 3)}, {rows(4, 8, 8, 3)}", head="""
class Deal(L.Layer):
    def call(self, x):
        return tf.nn.depth_to_space(x, 2)
"""), (("    x = L.Conv2D(6, 3, padding='same')(i)", "    x = L.Conv2D(12, 3, padding='same')(i)"),))),
    "a product the other way round": ("op-shapes", Own("""
class Spread(L.Layer):
    def call(self, inputs):
        x, links = inputs
        return tf.matmul(x, links)


def build():
    a, b = keras.Input((5, 3)), keras.Input((5, 5))
    model = keras.Model([a, b], L.Dense(1)(L.GlobalAveragePooling1D()(Spread()([a, b]))))
    model.compile("sgd", "mse")
    return model


def data():
    return """ + f"[{rows(8, 5, 3)}, {rows(8, 5, 5)}], {rows(8, 1)}\n", (("        return tf.matmul(x, links)", "        return tf.matmul(links, x)"),))),
    "a column where a row is meant": ("op-shapes", Own("""
class Noisy(keras.Model):
    def __init__(self):
        super().__init__()
        self.mean = L.Dense(2)
        self.scale = self.add_weight(name="scale", shape=(2, 1), initializer="ones")

    def call(self, x):
        mean = self.mean(x)
        return mean + mean * self.scale


def build():
    model = Noisy()
    model.compile("sgd", "mse")
    return model


def data():
    return """ + f"{rows(8, 6)}, {rows(8, 2)}\n", (("        return mean + mean * self.scale", "        return mean + mean * keras.ops.reshape(self.scale, (-1,))"),))),
    "skips at each other's level": ("merge-shapes", Own(model_of("""
i = keras.Input((16, 16, 1))
a = L.Conv2D(2, 3, padding='same')(i)
b = L.Conv2D(4, 3, padding='same')(L.MaxPooling2D()(a))
x = L.Conv2D(8, 3, padding='same')(L.MaxPooling2D()(b))
x = L.Conv2DTranspose(4, 2, strides=2)(x)
x = L.concatenate([x, a])
x = L.Conv2DTranspose(2, 2, strides=2)(x)
x = L.concatenate([x, b])
model = keras.Model(i, L.Conv2D(1, 1)(x))
""", f"{rows(4, 16, 16, 1)}, {rows(4, 16, 16, 1)}"), (("    x = L.concatenate([x, a])", "    x = L.concatenate([x, b])"), ("    x = L.concatenate([x, b])", "    x = L.concatenate([x, a])")))),
    "strides without padding": ("output-size", Own(model_of("""
i = keras.Input((28, 28, 1))
x = L.Conv2D(4, 3, strides=2)(i)
x = L.Conv2DTranspose(4, 3, strides=2)(x)
model = keras.Model(i, L.Conv2D(1, 3, padding='same')(x))
""", f"{rows(4, 28, 28, 1)}, {rows(4, 28, 28, 1)}"), (("    x = L.Conv2D(4, 3, strides=2)(i)", '    x = L.Conv2D(4, 3, strides=2, padding="same")(i)'),))),
    "the channels of a shortcut": ("merge-shapes", Own(model_of("""
i = keras.Input((8, 8, 4))
y = L.Conv2D(4, 3, padding='same')(i)
y = L.Conv2D(16, 1)(y)
x = L.Add()([i, y])
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""", f"{rows(4, 8, 8, 4)}, {rows(4, 1)}"), (("    x = L.Add()([i, y])", "    x = L.Add()([L.Conv2D(16, kernel_size=(1, 1))(i), y])"),))),
    "rows of several lengths": ("data-misfit", Own(model_of("""
model = keras.Sequential([keras.Input((6,)), L.Embedding(9, 3), L.GlobalAveragePooling1D(), L.Dense(1)])
""", f"np.array([[1] * n for n in (3, 8, 5, 4)], dtype=object), {rows(4, 1)}"), (
        (f"    return np.array([[1] * n for n in (3, 8, 5, 4)], dtype=object), {rows(4, 1)}",
         f"    return np.array([([0] * 6 + list(row))[-6:] for row in np.array([[1] * n for n in (3, 8, 5, 4)], dtype=object)]), {rows(4, 1)}"),))),
}  # fmt: skip
