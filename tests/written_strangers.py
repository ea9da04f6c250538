"""Programs as strangers posted them: an embedding of measurements, channels ahead of positions, samples listed one by one, branches of other widths."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_IRIS = "np.linspace(0.1, 7.9, 32).reshape(8, 4), np.eye(3)[np.arange(8) % 3]"
_HEAD = """
i = keras.Input((8, 6, 1))
x = L.Conv2D(3, 1)(i)
{}
model = keras.Model(i, L.Softmax()(x))
"""
_PIXELS = f"{rows(8, 8, 6, 1)}, np.eye(3)[np.arange(384).reshape(8, 48) % 3]"
_OTHER = """
class Flat(L.Layer):
    def call(self, x):
        return keras.ops.transpose(keras.ops.reshape(x, (-1, 3, 48)), (0, 2, 1))
"""
_PAIRS = """
def pairs():
    for _ in range(4):
        images, labels = [], []
        for i in range(6):
            images.append([np.ones((4, 4), 'float32'), np.ones((3,), 'float32')])
            labels.append(i % 2)
        yield images, labels
"""
_TWO = """
a, b = keras.Input((4, 4)), keras.Input((3,))
model = keras.Model([a, b], L.Dense(1, activation='sigmoid')(L.Concatenate()([L.Flatten()(a), b])))
"""
_CAPTION = """
image, words = keras.Input((20,)), keras.Input((5,))
first = L.RepeatVector(1)(L.Dense(12)(image))
rest = {}
x = L.Concatenate(axis=1)([first, rest])
model = keras.Model([image, words], L.Dense(9, activation='softmax')(L.LSTM(4, return_sequences=True)(x)))
"""
_SPARSE = "'sparse_categorical_crossentropy'"
_TOLD = f"[{rows(8, 20)}, np.arange(40).reshape(8, 5) % 9], np.arange(48).reshape(8, 6) % 9"

_WEIGHTED = """
def weighted():
    y = np.eye(4, dtype='float32')[np.arange(8) % 4]
    return np.ones((8, 5), 'float32'), y, y * np.array([1.0, 2.0, 5.0, 1.5], 'float32')
"""
_GAN = """
class Gan(keras.Model):
    def __init__(self):
        super().__init__()
        self.make = keras.Sequential([
            keras.Input((5,)),
            L.Dense(4 * 4 * 6),
            L.BatchNormalization(),
            L.Reshape((4, 4, 6)),
            L.Conv2DTranspose(1, 3, strides=2, padding='same'),
        ])
        self.judge = keras.Sequential([keras.Input((6, 6, 1)), L.Flatten(), L.Dense(1)])
    def train_step(self, real):
        real = real[0] if isinstance(real, tuple) else real
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(self.judge(real)) + tf.reduce_mean(self.judge(self.make(tf.random.normal((tf.shape(real)[0], 5)))))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {'loss': loss}
"""
_PADDED = """
def padded():
    def each():
        for n in (3, 5, 4, 6):
            yield np.arange(n), n & 1
    ds = tf.data.Dataset.from_generator(each, output_signature=(tf.TensorSpec((None,), tf.int32), tf.TensorSpec((), tf.int32)))
    return ds.padded_batch(2, padded_shapes=%s)
"""
_ROWS_OF_IDS = """
model = keras.Sequential([L.Embedding(9, 4), L.GlobalAveragePooling1D(), L.Dense(1)])
"""
_POOLED = """
class Pyramid(L.Layer):
    def __init__(self):
        super().__init__(dtype='mixed_bfloat16')
        self.ways = [L.Conv2D(3, 3, dilation_rate=r, padding='same', dtype='mixed_bfloat16') for r in (1, 2)]
    def call(self, x):
        pooled = tf.image.resize(tf.reduce_mean(x, [1, 2], keepdims=True), (8, 8))
        return tf.concat([pooled] + [way(x) for way in self.ways], axis=-1)
"""
_TURNED = """
C, S = 3, 6
def read():
    raw = np.random.default_rng(0).random((8, C * S * S))
    return raw.reshape(-1, C, S, S), np.arange(8) % 2
def pictures():
    x, y = read()
    x = x.reshape(len(x), S, S, C).astype('float32') / 2
    return x, y
"""
_ENTRIES = """
def entries():
    rows = {'image': np.ones((8, 4, 4, 1), 'float32'), 'digit': np.arange(8) % 3}
    return tf.data.Dataset.from_tensor_slices(rows).map(lambda d: (d['image'] / 2, d)).batch(4)
"""
_DICE = """
def dice(t, p):
    both = tf.reduce_sum(t * p, axis=[1, 2, 3])
    return 1 - tf.reduce_mean((2 * both + 1) / (tf.reduce_sum(t) + tf.reduce_sum(p, axis=[1, 2, 3]) + 1))
"""
_BASE = """
def network():
    i = keras.Input((8, 8, 3))
    x = L.Conv2D(4, 3, name='last')(i)
    return keras.Model(i, L.GlobalAveragePooling2D()(x))
"""
_NEIGHBORS = """
class Neighbors(L.Layer):
    def __init__(self):
        super().__init__()
        self.k = L.Dense(4)
    def call(self, both):
        x, a = both
        return tf.matmul(self.k(x), a)
"""
_ENCODER = """
def network():
    i = keras.Input((8, 8, 3))
    return keras.Model(i, L.Flatten()(L.Conv2D(4, 3, strides=2, padding='same')(i)))
"""

STRANGERS: dict[str, tuple[str, Own]] = {
    "measurements in an embedding before an LSTM": ("embedding-range", Own(model_of("""
model = keras.Sequential([
    keras.Input((4,)),
    L.Embedding(4, 16),
    L.LSTM(8),
    L.Dense(3, activation='softmax'),
])
""", _IRIS, "'categorical_crossentropy'"), (("        L.Embedding(4, 16),", "        L.Reshape((4, 1)),"),))),
    "measurements in an embedding that is flattened": ("embedding-range", Own(model_of("""
model = keras.Sequential([
    keras.Input((4,)),
    L.Embedding(10, 16),
    L.Flatten(),
    L.Dense(3, activation='softmax'),
])
""", _IRIS, "'categorical_crossentropy'"), ())),
    "channels ahead of positions that are exchanged again": ("reshape-interleaves", Own(model_of(
        _HEAD.format("x = L.Reshape((3, 48))(x)\nx = L.Permute((2, 1))(x)"), _PIXELS, "'categorical_crossentropy'",
    ), (("    x = L.Reshape((3, 48))(x)", "    x = L.Reshape((48, 3))(x)"),))),
    "channels ahead of positions in the program's own layer": ("reshape-interleaves", Own(model_of(
        _HEAD.format("x = Flat()(x)"), _PIXELS, "'categorical_crossentropy'", _OTHER,
    ), ((
        "        return keras.ops.transpose(keras.ops.reshape(x, (-1, 3, 48)), (0, 2, 1))",
        "        return keras.ops.transpose(keras.ops.reshape(keras.ops.transpose(x, (0, 3, 1, 2)), (-1, 3, 48)), (0, 2, 1))",
    ),))),
    "a batch that lists its samples": ("input-structure", Own(model_of(_TWO, "pairs()", "'binary_crossentropy'", _PAIRS), ((
        "        yield images, labels",
        "        yield (np.array([sample[0] for sample in images]), np.array([sample[1] for sample in images])), np.array(labels)",
    ),))),
    "words narrower than the image that they are joined with": ("merge-shapes", Own(model_of(
        _CAPTION.format("L.Embedding(9, 1)(words)"), _TOLD, _SPARSE,
    ), (("    rest = L.Embedding(9, 1)(words)", "    rest = L.Embedding(9, 12)(words)"),))),
    "steps narrower than the image that they are joined with": ("merge-shapes", Own(model_of(
        _CAPTION.format("L.LSTM(8, return_sequences=True)(L.Embedding(9, 4)(words))"), _TOLD, _SPARSE,
    ), ((
        "    rest = L.LSTM(8, return_sequences=True)(L.Embedding(9, 4)(words))",
        "    rest = L.LSTM(12, return_sequences=True)(L.Embedding(9, 4)(words))",
    ),))),
    "masks with a row for each pixel": ("data-misfit", Own(model_of("""
i = keras.Input((8, 6, 1))
model = keras.Model(i, L.Conv2D(3, 1, activation='softmax')(i))
""", f"{rows(8, 8, 6, 1)}, np.eye(3)[np.arange(384) % 3]", "'categorical_crossentropy'"), ())),
    "one value for a label of several steps": ("loss-broadcast", Own(model_of("""
model = keras.Sequential([
    keras.Input((9, 1)),
    L.LSTM(8),
    L.Dense(1),
])
""", f"{rows(8, 9, 1)}, {rows(8, 5, 1)}"), (("        L.Dense(1),", "        L.Dense(5),"),))),
    "three classes under a sigmoid of its own": ("label-scale", Own(model_of("""
model = keras.Sequential([
    keras.Input((9,)),
    L.Dense(1),
    L.Activation('sigmoid'),
])
""", f"{rows(9, 9)}, np.arange(9) % 3", "'binary_crossentropy'"), (
        ("        L.Dense(1),", "        L.Dense(3),"), ("        L.Activation('sigmoid'),", '        L.Activation("softmax"),'),
    ))),
    "attended words beside a number": ("merge-shapes", Own(model_of(
        "a, b = keras.Input((6,)), keras.Input((1,))\nwords = L.Embedding(9, 4)(a)\nwords = L.MultiHeadAttention(2, 4)(words, words)\n"
        "model = keras.Model([a, b], L.Dense(1)(L.Concatenate()([words, b])))",
        f"(np.ones((8, 6)), {rows(8, 1)}), {rows(8, 1)}"),
        (("    model = keras.Model([a, b], L.Dense(1)(L.Concatenate()([words, b])))",
          "    model = keras.Model([a, b], L.Dense(1)(L.Concatenate()([L.GlobalAveragePooling1D()(words), b])))"),))),
    "a decoder that lacks its upsampling, joined by a function with an axis": ("merge-shapes", Own(model_of("""
i = keras.Input((8, 8, 1))
x, skips = i, []
for n in range(2):
    x = L.Conv2D(4, 3, padding='same')(x)
    skips.append(x)
    x = L.MaxPooling2D()(x)
for n in (1, 0):
    x = L.concatenate([skips[n], x], axis=3)
    x = L.Conv2D(4, 3, padding='same')(x)
model = keras.Model(i, L.Conv2D(1, 1)(x))
""", f"{rows(8, 8, 8, 1)}, {rows(8, 8, 8, 1)}"), (
        ("        x = L.concatenate([skips[n], x], axis=3)", "        x = L.concatenate([skips[n], L.UpSampling2D((2, 2))(x)], axis=3)"),
    ))),
    "a pooling among branches that keep their size": ("merge-shapes", Own(model_of("""
i = keras.Input((8, 8, 1))
a, b = L.Conv2D(4, 1, padding='same')(i), L.Conv2D(4, 3, padding='same')(i)
c = L.Conv2D(4, 1)(L.MaxPooling2D(3, padding='same')(i))
x = L.concatenate([a, b, c], axis=-1)
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""", f"{rows(8, 8, 8, 1)}, {rows(8, 1)}"), (
        ("    c = L.Conv2D(4, 1)(L.MaxPooling2D(3, padding='same')(i))",
         '    c = L.Conv2D(4, 1)(L.MaxPooling2D(3, padding="same", strides=1)(i))'),
    ))),
    "a residual around layers in a list, the last of which is too wide": ("merge-shapes", Own(model_of("""
i = keras.Input((6,))
e = L.Embedding(9, 4)(i)
ffn = keras.Sequential([L.Dense(8, activation='relu'), L.Dense(8)])
x = L.LayerNormalization()(L.Add()([e, ffn(e)]))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(x)))
""", f"np.ones((8, 6)), {rows(8, 1)}"), (
        ("    ffn = keras.Sequential([L.Dense(8, activation='relu'), L.Dense(8)])",
         "    ffn = keras.Sequential([L.Dense(8, activation='relu'), L.Dense(4)])"),
    ))),
    "one-hot labels times the weights of their classes": ("sample-weights", Own(model_of("""
model = keras.Sequential([keras.Input((5,)), L.Dense(4, activation='softmax')])
""", "weighted()", "'categorical_crossentropy'", head=_WEIGHTED), (
        ("    return weighted()", "    return x, y, w.sum(axis=-1)"),
    ))),
    "the first grid of a generator, behind a normalization": ("input-axis", Own(_GAN + """
def build():
    model = Gan()
    model.compile('sgd')
    return model


def data():
    return tf.data.Dataset.from_tensor_slices(np.ones((8, 6, 6, 1), 'float32')).batch(4)
""", (("            L.Dense(4 * 4 * 6),", "            L.Dense(54),"), ("            L.Reshape((4, 4, 6)),", "            L.Reshape((3, 3, 6)),")))),
    "labels padded like sentences": ("data-raises", Own(model_of(_ROWS_OF_IDS, "padded()", head=_PADDED % "([None], [None])"), (
        ("    return ds.padded_batch(2, padded_shapes=([None], [None]))", "    return ds.padded_batch(2, padded_shapes=([None], []))"),
    ))),
    "sentences padded as if they had no length": ("data-raises", Own(model_of(_ROWS_OF_IDS, "padded()", head=_PADDED % "([], [])"), (
        ("    return ds.padded_batch(2, padded_shapes=([], []))", "    return ds.padded_batch(2, padded_shapes=([None], []))"),
    ))),
    "padded shapes in a list": ("data-raises", Own(model_of(_ROWS_OF_IDS, "padded()", head=_PADDED % "[[None], []]"), (
        ("    return ds.padded_batch(2, padded_shapes=[[None], []])", "    return ds.padded_batch(2, padded_shapes=([None], []))"),
    ))),
    "sentences longer than what they are padded to": ("data-raises", Own(model_of(_ROWS_OF_IDS, "padded()", head=_PADDED % "([4], [])"), (
        ("    return ds.padded_batch(2, padded_shapes=([4], []))", "    return ds.padded_batch(2, padded_shapes=([None], []))"),
    ))),
    "what a resize returns beside a list of half precision": ("dtype-mix", Own(model_of("""
i = keras.Input((8, 8, 3))
model = keras.Model(i, L.Dense(1)(L.Flatten()(Pyramid()(i))))
""", f"{rows(4, 8, 8, 3)}, {rows(4, 1)}", head=_POOLED), (
        ("        return tf.concat([pooled] + [way(x) for way in self.ways], axis=-1)",
         "        return tf.concat([tf.cast(pooled, x.dtype)] + [way(x) for way in self.ways], axis=-1)"),
    ))),
    "channels of pictures moved by a reshape": ("data-axes-mixed", Own(model_of("""
model = keras.Sequential([keras.Input((6, 6, 3)), L.Flatten(), L.Dense(2, activation='softmax')])
""", "pictures()", _SPARSE, head=_TURNED), (
        ("    x = x.reshape(len(x), S, S, C).astype('float32') / 2", "    x = np.transpose(x, (0, 2, 3, 1)).astype('float32') / 2"),
    ))),
    "a whole row of a table as its label": ("output-names", Own(model_of("""
model = keras.Sequential([keras.Input((4, 4, 1)), L.Flatten(), L.Dense(3, activation='softmax')])
""", "entries()", _SPARSE, head=_ENTRIES), ())),
    "a Dice loss with one sum over the batch": ("samples-summed", Own(model_of("""
model = keras.Sequential([keras.Input((4, 4, 1)), L.Conv2D(1, 1, activation='sigmoid')])
""", f"{rows(6, 4, 4, 1)}, {rows(6, 4, 4, 1)}", "dice", head=_DICE), (
        ("    return 1 - tf.reduce_mean((2 * both + 1) / (tf.reduce_sum(t) + tf.reduce_sum(p, axis=[1, 2, 3]) + 1))",
         "    return 1 - tf.reduce_mean((2 * both + 1) / (tf.reduce_sum(t, axis=(1, 2, 3)) + tf.reduce_sum(p, axis=[1, 2, 3]) + 1))"),
    ))),
    "the inner map of a network that is called": ("graph-disconnected", Own(model_of("""
base = network()
inputs = keras.Input((8, 8, 3))
whole = keras.Model(inputs, L.Dense(1)(base(inputs)))
model = keras.Model([whole.inputs], [base.get_layer('last').output, whole.output])
""", f"{rows(4, 8, 8, 3)}, [{rows(4, 6, 6, 4)}, {rows(4, 1)}]", "['mse', 'mse']", head=_BASE), (
        ("    whole = keras.Model(inputs, L.Dense(1)(base(inputs)))", "    whole = keras.Model(base.input, L.Dense(1)(base.output))"),
    ))),
    "a network that declares pictures of other proportions": ("input-axis", Own(model_of("""
i = keras.Input((6, 10, 3))
model = keras.Model(i, L.Dense(1)(network()(i)))
""", f"{rows(4, 6, 10, 3)}, {rows(4, 1)}", head=_ENCODER), (("    i = keras.Input((8, 8, 3))", "    i = keras.Input((6, 10, 3))"),))),
    "features times neighbors in the wrong order": ("op-shapes", Own(model_of("""
x, a = keras.Input((5, 6)), keras.Input((5, 5))
model = keras.Model([x, a], L.Dense(1)(L.GlobalAveragePooling1D()(Neighbors()([x, a]))))
""", f"[{rows(8, 5, 6)}, {rows(8, 5, 5)}], {rows(8, 1)}", head=_NEIGHBORS), (
        ("        return tf.matmul(self.k(x), a)", "        return tf.matmul(a, self.k(x))"),
    ))),
    "queries and values of other widths": ("merge-shapes", Own(model_of("""
q, v = keras.Input((5, 8)), keras.Input((7, 6))
w = L.Softmax()(L.Dot(axes=(2, 2))([q, v]))
model = keras.Model([q, v], L.Dense(1)(L.Flatten()(L.Dot(axes=(2, 1))([w, v]))))
""", f"[{rows(4, 5, 8)}, {rows(4, 7, 6)}], {rows(4, 1)}"), (
        ("    w = L.Softmax()(L.Dot(axes=(2, 2))([q, v]))", "    w = L.Softmax()(L.Dot(axes=(2, 2))([q, L.Dense(8)(v)]))"),
    ))),
}  # fmt: skip
