"""Positions that a program counts out, losses of one class's unit, metrics across samples, outputs without labels: the line, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_COUNTED = """
class Places(L.Layer):
    def __init__(self, number, width):
        super().__init__()
        self.number = number
        self.table = L.Embedding(number, width)
    def call(self, x):
        places = keras.ops.expand_dims(keras.ops.arange(0, self.number, 1), 0)
        return x + self.table(places)
"""
_LONGER = _COUNTED.replace("self.number, 1)", "keras.ops.shape(x)[1], 1)")
_FOCAL = """
def focal(y, p):
    y, p = tf.cast(y, 'float32'), tf.clip_by_value(p, 1e-7, 1 - 1e-7)
    return tf.reduce_mean(tf.reduce_sum(-y * tf.math.log(p) * tf.square(1 - p), axis=1))
"""
_HITS = """
class Hits(keras.metrics.Metric):
    def __init__(self):
        super().__init__(name='hits')
        self.total = self.add_weight(name='total', initializer='zeros')
    def update_state(self, y, p, sample_weight=None):
        right = keras.ops.equal(keras.ops.cast(y, 'int64'), keras.ops.cast(keras.ops.argmax(p, axis=-1), 'int64'))
        self.total.assign_add(keras.ops.sum(keras.ops.cast(right, 'float32')))
    def result(self):
        return self.total
"""
_TAGS = """
from keras.utils import pad_sequences
STEPS = 12
def tagged():
    words = [list(range(1, n)) for n in (4, 9, 6, 8, 5, 7, 9, 3)]
    x = pad_sequences(words, maxlen=STEPS, padding='post')
    y = pad_sequences([[word % 3 for word in one] for one in words])
    return x, y
"""
_WEIGHTED = """
class Weighted(L.Layer):
    def __init__(self):
        super().__init__()
        self.score = L.Dense(1)
    def call(self, x):
        w = tf.nn.softmax(tf.nn.tanh(self.score(x)))
        return tf.reduce_sum(w * x, axis=1)
"""
_PERCEIVED = """
eye = keras.Sequential([keras.Input((8, 8, 3)), L.Conv2D(4, 3), L.Conv2D(4, 3)])
def perceived(y, p):
    return tf.reduce_mean(tf.square(eye(y) - eye(p)))
"""
_CLASSES = "np.arange(16) % 6"

OUTPUTS = {
    "positions up to a written number, by steps of one": ("op-shapes", Own(model_of("""
i = keras.Input((9, 4))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Places(6, 4)(i))))
""", f"{rows(8, 9, 4)}, {rows(8, 1)}", head=_COUNTED), (
        ("    model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Places(6, 4)(i))))", "    model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Places(9, 4)(i))))"),
    ), keras=True)),
    "positions beyond the table": ("embedding-range", Own(model_of("""
i = keras.Input((9, 4))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Places(6, 4)(i))))
""", f"{rows(8, 9, 4)}, {rows(8, 1)}", head=_LONGER), (
        (
            "    model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Places(6, 4)(i))))",
            "    model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Places(9, 4)(i))))",
        ),
    ), keras=True)),
    "a focal loss on class numbers": ("integer-labels", Own(model_of("""
model = keras.Sequential([keras.Input((5,)), L.Dense(6, activation='softmax')])
""", f"{rows(16, 5)}, {_CLASSES}", "focal", head=_FOCAL), (
        (f"    return {rows(16, 5)}, {_CLASSES}", f'    return {rows(16, 5)}, np.eye(6, dtype="float32")[{_CLASSES}]'),
    ))),
    "a metric that compares every sample with every other": ("batch-broadcast", Own(model_of("""
model = keras.Sequential([keras.Input((5,)), L.Dense(6, activation='softmax')])
""", f"{rows(16, 5)}, ({_CLASSES})[:, None]", "'sparse_categorical_crossentropy', metrics=[Hits()]", head=_HITS), (
        (f"    return {rows(16, 5)}, ({_CLASSES})[:, None]", f"    return {rows(16, 5)}, np.squeeze(({_CLASSES})[:, None], 1)"),
    ), keras=True)),
    "attention scores beside the classes": ("output-names", Own(model_of("""
i = keras.Input((7, 4))
x, scores = L.MultiHeadAttention(2, 4)(i, i, return_attention_scores=True)
model = keras.Model(i, [L.Dense(6, activation='softmax')(L.GlobalAveragePooling1D()(x)), scores])
""", f"{rows(16, 7, 4)}, {_CLASSES}", "'sparse_categorical_crossentropy', metrics=['accuracy']"), (
        (
            "    model.compile('sgd', 'sparse_categorical_crossentropy', metrics=['accuracy'])",
            "    model.compile('sgd', ['sparse_categorical_crossentropy', None], metrics=[['accuracy'], None])",
        ),
    ))),
    "one-hot classes for the one output that has a loss": ("one-hot-labels", Own(model_of("""
i = keras.Input((7, 4))
x, scores = L.MultiHeadAttention(2, 4)(i, i, return_attention_scores=True)
model = keras.Model(i, [L.Dense(6, activation='softmax')(L.GlobalAveragePooling1D()(x)), scores])
""", f"{rows(16, 7, 4)}, np.eye(6, dtype='float32')[{_CLASSES}]", "['sparse_categorical_crossentropy', None]"), (
        (
            "    model.compile('sgd', ['sparse_categorical_crossentropy', None])",
            "    model.compile('sgd', ['categorical_crossentropy', None])",
        ),
    ))),
    "tags padded to their own longest": ("output-size", Own(model_of("""
i = keras.Input((STEPS,))
x = L.LSTM(4, return_sequences=True)(L.Embedding(9, 4, mask_zero=True)(i))
model = keras.Model(i, L.Dense(3, activation='softmax')(x))
""", "tagged()", "'sparse_categorical_crossentropy'", head=_TAGS), (
        ("    y = pad_sequences([[word % 3 for word in one] for one in words])", "    y = pad_sequences([[word % 3 for word in one] for one in words], maxlen=STEPS, padding='post')"),
    ))),
    "gray pictures in a network for color": ("loss-raises", Own(model_of("""
model = keras.Sequential([keras.Input((8, 8, 1)), L.Conv2D(1, 3, padding='same')])
""", f"{rows(8, 8, 8, 1)}, {rows(8, 8, 8, 1)}", "perceived", head=_PERCEIVED), (
        (
            "    return tf.reduce_mean(tf.square(eye(y) - eye(p)))",
            "    return tf.reduce_mean(tf.square(eye(tf.repeat(y, 3, axis=-1)) - eye(tf.repeat(p, 3, axis=-1))))",
        ),
    ))),
    "weights of one value for each position": ("one-unit-softmax", Own(model_of("""
i = keras.Input((9, 4))
w = L.Softmax(axis=-1)(L.Dense(1, activation='tanh')(i))
model = keras.Model(i, L.Dense(1)(L.Flatten()(L.Multiply()([i, w]))))
""", f"{rows(8, 9, 4)}, {rows(8, 1)}"), (
        ("    w = L.Softmax(axis=-1)(L.Dense(1, activation='tanh')(i))", "    w = L.Softmax(axis=1)(L.Dense(1, activation='tanh')(i))"),
    ))),
    "weights of one value in the program's own layer": ("one-unit-softmax", Own(model_of("""
i = keras.Input((9, 4))
model = keras.Model(i, L.Dense(1)(Weighted()(i)))
""", f"{rows(8, 9, 4)}, {rows(8, 1)}", head=_WEIGHTED), (
        ("        w = tf.nn.softmax(tf.nn.tanh(self.score(x)))", "        w = tf.nn.softmax(tf.nn.tanh(self.score(x)), axis=1)"),
    ))),
    "an upsampling too many": ("output-size", Own(model_of("""
i = keras.Input((16, 3))
x = L.Conv1D(4, 3, strides=2, padding='same')(i)
x = L.Conv1DTranspose(4, 3, strides=2, padding='same')(x)
model = keras.Model(i, L.Conv1DTranspose(3, 3, strides=2, padding='same')(x))
""", f"{rows(8, 16, 3)}, {rows(8, 16, 3)}"), (
        ("    model = keras.Model(i, L.Conv1DTranspose(3, 3, strides=2, padding='same')(x))", "    model = keras.Model(i, L.Conv1DTranspose(3, 3, strides=1, padding='same')(x))"),
    ))),
    "one sigmoid for three classes": ("label-range", Own(model_of("""
i = keras.Input((8, 8, 3))
model = keras.Model(i, L.Conv2D(1, 1, activation='sigmoid')(i))
""", f"{rows(8, 8, 8, 3)}, np.arange(512).reshape(8, 8, 8, 1) % 3", "'sparse_categorical_crossentropy'"), (
        ("    model = keras.Model(i, L.Conv2D(1, 1, activation='sigmoid')(i))", '    model = keras.Model(i, L.Conv2D(3, 1, activation="softmax")(i))'),
    ))),
    "a label for each step of the data, whose axes were swapped": ("output-size", Own(model_of("""
i = keras.Input((40, 8))
x = L.Permute((2, 1))(L.Conv1D(32, 3, padding="same")(i))
model = keras.Model(i, L.Dense(6)(L.GRU(5, return_sequences=True)(x)))
""", f"{rows(8, 40, 8)}, {rows(8, 40, 6)}"), (
        ('    x = L.Permute((2, 1))(L.Conv1D(32, 3, padding="same")(i))', '    x = L.Conv1D(32, 3, padding="same")(i)'),))),
    "a code that a decoder reads at each step": ("layer-rank", Own(model_of("""
i = keras.Input((10, 3))
z = L.Dense(4)(L.LSTM(16)(i))
d = L.LSTM(16, return_sequences=True)(z)
model = keras.Model(i, L.Dense(3)(d))
""", f"{rows(8, 10, 3)}, {rows(8, 10, 3)}"), (
        ("    d = L.LSTM(16, return_sequences=True)(z)", "    d = L.LSTM(16, return_sequences=True)(L.RepeatVector(10)(z))"),))),
    "flattened positions that are pooled": ("layer-rank", Own(model_of("""
i = keras.Input((20, 3))
x = L.Flatten()(L.Conv1D(8, 3)(i))
model = keras.Model(i, L.Dense(1)(L.GlobalMaxPooling1D()(x)))
""", f"{rows(8, 20, 3)}, {rows(8, 1)}"), (("    x = L.Flatten()(L.Conv1D(8, 3)(i))", "    x = L.Conv1D(8, 3)(i)"),))),
    "a mask as long as the other sequence": ("attention-shapes", Own(model_of("""
s, t = keras.Input((9, 8)), keras.Input((6, 8))
model = keras.Model([s, t], L.Dense(3)(Decoder()(t, s)))
""", f"({rows(8, 9, 8)}, {rows(8, 6, 8)}), {rows(8, 6, 3)}", head="""
class Decoder(L.Layer):
    def __init__(self):
        super().__init__()
        self.itself, self.cross = L.MultiHeadAttention(2, 4), L.MultiHeadAttention(2, 4)
    def call(self, x, memory):
        n = tf.shape(memory)[1]
        mask = tf.linalg.band_part(tf.ones((n, n)), -1, 0)[None]
        return self.cross(self.itself(x, x, attention_mask=mask), memory)
"""), (("        n = tf.shape(memory)[1]", "        n = tf.shape(x)[1]"),))),
    "steps of labels as wide as the predictions of one": ("last-step-only", Own(model_of("""
i = keras.Input((7, 5))
x, _, _ = L.LSTM(16, return_state=True)(i)
model = keras.Model(i, L.Dense(14)(x))
""", f"{rows(8, 7, 5)}, {rows(8, 7, 14)}"), (
        ("    x, _, _ = L.LSTM(16, return_state=True)(i)", "    x, _, _ = L.LSTM(16, return_state=True, return_sequences=True)(i)"),))),
    "weights of the pixels with an axis for channels": ("loss-raises", Own(model_of("""
i = keras.Input((6, 6, 1))
model = keras.Model(i, L.Conv2D(1, 3, padding="same", activation="sigmoid")(i))
""", f"{rows(8, 6, 6, 1)}, np.ones((8, 6, 6, 1))", "weighted", head="""
EDGES = np.ones((6, 6, 1), 'float32')
def weighted(y, p):
    each = keras.losses.binary_crossentropy(y, p)
    return tf.reduce_mean(each * EDGES)
"""), (("    return tf.reduce_mean(each * EDGES)", "    return tf.reduce_mean(each * EDGES[..., 0])"),))),
    "channels in front, declared by the first layer that is added": ("window-too-large", Own(model_of("""
model = keras.Sequential()
model.add(L.Conv2D(4, 5, input_shape=(3, 12, 12)))
model.add(L.Flatten())
model.add(L.Dense(2))
""", f"{rows(8, 3, 12, 12)}, {rows(8, 2)}"), (
        ("    model.add(L.Conv2D(4, 5, input_shape=(3, 12, 12)))", "    model.add(L.Conv2D(4, 5, input_shape=(12, 12, 3)))"),))),
    "heads that are added up": ("output-units", Own(model_of("""
i = keras.Input((12,))
a = L.Dense(24)(L.Dense(8)(i))
b = L.Dense(24)(i)
model = keras.Model(i, L.Add()([a, b]))
""", f"{rows(8, 12)}, {rows(8, 6)}"), (
        ("    a = L.Dense(24)(L.Dense(8)(i))", "    a = L.Dense(6)(L.Dense(8)(i))"),
        ("    b = L.Dense(24)(i)", "    b = L.Dense(6)(i)")))),
}  # fmt: skip
