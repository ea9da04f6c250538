"""Operands and results of single operations that are taken for something else: the line, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_CLASSES = "np.arange(32) % 4"
_HOT = f"np.eye(4, dtype='float32')[{_CLASSES}]"
_ATTEND = """
class Decoder(L.Layer):
    def __init__(self):
        super().__init__()
        self.cross = L.MultiHeadAttention(2, 4)
    def call(self, x, memory):
        return x + self.cross(memory, x)
"""
_PLACES = """
class Places(L.Layer):
    def __init__(self, width, longest=5):
        super().__init__()
        self.table = tf.ones((longest, width))
    def call(self, x):
        return x + self.table
"""
_CENTERS = """
CENTERS = tf.reshape(tf.range(24.0), (4, 6))
def loss(y, p):
    centers = tf.gather(CENTERS, tf.cast(y, tf.int32))
    return tf.reduce_sum((p - centers) ** 2, axis=-1)
"""
_FOCAL = """
def loss(y, p):
    return tf.reduce_sum(-tf.cast(y, tf.float32) * tf.math.log(p + 1e-6), axis=-1)
"""
_SPECTRUM = """
class Spectrum(L.Layer):
    def call(self, x):
        s = tf.signal.stft(x, 16, 8)
        return s[..., None]
"""

OPERATIONS: dict[str, tuple[str, Own]] = {
    "a gate that meets the width by chance": ("batch-broadcast", Own(model_of("""
i = keras.Input((8, 8, 3))
s = L.Dense(3)(L.GlobalAveragePooling2D()(i))
x = i * s
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""", f"{rows(8, 8, 8, 3)}, {rows(8, 1)}"), (("    x = i * s", "    x = i * s[:, None, None, :]"),))),
    "two vectors multiplied over an axis of one": ("loss-broadcast", Own(model_of("""
i, j = keras.Input((1,), dtype='int32'), keras.Input((1,), dtype='int32')
a = L.Embedding(9, 4)(i)
b = L.Embedding(9, 4)(j)
model = keras.Model([i, j], L.Dense(1)(L.Dot(axes=1)([a, b])))
""", f"[np.arange(8).reshape(8, 1)] * 2, {rows(8)}"), (("    a = L.Embedding(9, 4)(i)", "    a = L.Flatten()(L.Embedding(9, 4)(i))"),))),
    "the memory as the query": ("op-shapes", Own(model_of("""
i, j = keras.Input((6, 8)), keras.Input((9, 8))
x = Decoder()(i, j)
model = keras.Model([i, j], L.Dense(1)(L.Flatten()(x)))
""", f"[{rows(8, 6, 8)}, {rows(8, 9, 8)}], {rows(8, 1)}", head=_ATTEND), (
        ("        return x + self.cross(memory, x)", "        return x + self.cross(x, memory)"),))),
    "a length that is a default": ("op-shapes", Own(model_of("""
i = keras.Input((7, 4))
x = Places(4)(i)
model = keras.Model(i, L.Dense(1)(L.Flatten()(x)))
""", f"{rows(8, 7, 4)}, {rows(8, 1)}", head=_PLACES), (("    x = Places(4)(i)", "    x = Places(4, longest=7)(i)"),))),
    "one-hot labels as indices": ("one-hot-labels", Own(model_of("""
model = keras.Sequential([keras.Input((3,)), L.Dense(6)])
""", f"{rows(32, 3)}, {_HOT}", "loss", head=_CENTERS), (
        ("    centers = tf.gather(CENTERS, tf.cast(y, tf.int32))", "    centers = tf.gather(CENTERS, tf.argmax(tf.cast(y, tf.int32), -1))"),))),
    "class indices as factors": ("integer-labels", Own(model_of("""
model = keras.Sequential([keras.Input((3,)), L.Dense(4, activation='softmax')])
""", f"{rows(32, 3)}, ({_CLASSES})[:, None]", "loss", head=_FOCAL), ())),
    "a spectrum of complex values": ("dtype-mix", Own(model_of("""
i = keras.Input((64,))
x = Spectrum()(i)
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(L.Conv2D(2, 3)(x))))
""", f"{rows(8, 64)}, {rows(8, 1)}", head=_SPECTRUM), (("        s = tf.signal.stft(x, 16, 8)", "        s = tf.abs(tf.signal.stft(x, 16, 8))"),))),
    "states of both directions": ("code-raises", Own(model_of("""
i, j = keras.Input((5, 3)), keras.Input((4, 3))
x, h, c = L.Bidirectional(L.LSTM(3, return_state=True))(i)
y = L.LSTM(6)(j, initial_state=[h, c])
model = keras.Model([i, j], L.Dense(1)(L.Concatenate()([x, y])))
""", f"[{rows(8, 5, 3)}, {rows(8, 4, 3)}], {rows(8, 1)}"), (
        ("    x, h, c = L.Bidirectional(L.LSTM(3, return_state=True))(i)", "    x, h, c, h_backward, c_backward = L.Bidirectional(L.LSTM(3, return_state=True))(i)"),))),
    "a table of the module": ("loss-raises", Own(model_of("""
model = keras.Sequential([keras.Input((3,)), L.Dense(5)])
""", f"{rows(8, 3)}, {rows(8, 5)}", "loss", head="""
WEIGHTS = np.linspace(1, 2, 4).astype('float32')
def loss(y, p):
    return tf.reduce_mean(WEIGHTS * (y - p) ** 2, axis=-1)
"""), (("WEIGHTS = np.linspace(1, 2, 4).astype('float32')", "WEIGHTS = np.linspace(1, 2, 5).astype('float32')"),))),
    "embeddings of several widths in a loop": ("reshape-size", Own(model_of("""
i, j = keras.Input((1,), dtype='int32'), keras.Input((1,), dtype='int32')
parts = []
for x, width in ((i, 3), (j, 4)):
    e = L.Embedding(9, width)(x)
    parts.append(L.Reshape((6,))(e))
model = keras.Model([i, j], L.Dense(1)(L.Concatenate()(parts)))
""", f"[np.arange(8).reshape(8, 1)] * 2, {rows(8, 1)}"), (("        parts.append(L.Reshape((6,))(e))", "        parts.append(L.Reshape((-1,))(e))"),))),
    "a transposed convolution without a stride": ("merge-shapes", Own(model_of("""
i = keras.Input((8, 8, 3))
c = L.Conv2D(4, 3, padding='same')(i)
x = L.Conv2D(6, 3, padding='same')(L.MaxPooling2D()(c))
x = L.Conv2DTranspose(4, 2, padding='same')(x)
model = keras.Model(i, L.Conv2D(1, 1)(L.Concatenate()([x, c])))
""", f"{rows(8, 8, 8, 3)}, {rows(8, 8, 8, 1)}"), (
        ("    x = L.Conv2DTranspose(4, 2, padding='same')(x)", '    x = L.Conv2DTranspose(4, 2, padding="same", strides=2)(x)'),))),
    "channels for another number of values": ("reshape-size", Own(model_of("""
i = keras.Input((3, 3, 3))
b = L.Reshape((-1, 4))(L.Conv2D(8, 1)(i))
k = L.Conv2D(6, 1)(i)
k = L.Reshape((-1, 4))(k)
model = keras.Model(i, L.Concatenate()([b, k]))
""", f"{rows(8, 3, 3, 3)}, {rows(8, 18, 8)}"), (("    k = L.Conv2D(6, 1)(i)", "    k = L.Conv2D(8, 1)(i)"),))),
    "a list in another order": ("op-shapes", Own(model_of("""
i, j = keras.Input((6, 3)), keras.Input((6, 6))
h = Graph(4)([i, j])
h = Graph(4)([j, h])
model = keras.Model([i, j], L.Dense(1)(L.Flatten()(h)))
""", f"[{rows(8, 6, 3)}, {rows(8, 6, 6)}], {rows(8, 1)}", head="""
class Graph(L.Layer):
    def __init__(self, units):
        super().__init__()
        self.dense = L.Dense(units)
    def call(self, inputs):
        x, a = inputs
        return tf.matmul(a, self.dense(x))
"""), (("    h = Graph(4)([j, h])", "    h = Graph(4)([h, j])"),))),
    "a sum that repeats one branch": ("output-units", Own(model_of("""
i = keras.Input((6,))
d = L.Dense(4)(i)
model = keras.Model(i, L.Add()([L.Dense(1)(i), d]))
""", f"{rows(8, 6)}, {rows(8, 1)}", "'binary_crossentropy'"), (("    d = L.Dense(4)(i)", "    d = L.Dense(1)(i)"),))),
    "the first axis of the first of two shapes": ("op-shapes", Own(model_of("""
i, j = keras.Input((5, 5, 3)), keras.Input((2,))
model = keras.Model([i, j], L.Dense(1)(L.Flatten()(Scale()([i, j]))))
""", f"[{rows(8, 5, 5, 3)}, {rows(8, 2)}], {rows(8, 1)}", head="""
class Scale(L.Layer):
    def build(self, shapes):
        self.dense = L.Dense(shapes[0][1])
    def call(self, inputs):
        x, given = inputs
        return x * self.dense(given)[:, None, None, :]
"""), (("        self.dense = L.Dense(shapes[0][1])", "        self.dense = L.Dense(shapes[0][-1])"),))),
    "a width that is halved": ("op-shapes", Own(model_of("""
i = keras.Input((5, 6))
x = Turn(8)(i)
model = keras.Model(i, L.Dense(1)(L.Flatten()(x)))
""", f"{rows(8, 5, 6)}, {rows(8, 1)}", head="""
class Turn(L.Layer):
    def __init__(self, width):
        super().__init__()
        self.sin = tf.ones((5, width // 2))
    def call(self, x):
        return tf.concat([x[..., ::2] * self.sin, x[..., 1::2]], axis=-1)
"""), (("    x = Turn(8)(i)", "    x = Turn(6)(i)"),))),
    "a product that is transposed": ("op-shapes", Own(model_of("""
i = keras.Input((6,))
model = keras.Model(i, Cross()(i))
""", f"{rows(8, 6)}, {rows(8, 1)}", head="""
class Cross(L.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], 1))
    def call(self, x):
        return tf.matmul(x, self.w, transpose_a=True)
"""), (("        return tf.matmul(x, self.w, transpose_a=True)", "        return tf.matmul(x, self.w)"),))),
    "lengths along the wrong axis": ("output-units", Own(model_of("""
i = keras.Input((5, 3))
x = L.Dense(3)(i)
model = keras.Model(i, Length()(x))
""", f"{rows(8, 5, 3)}, {rows(8, 5)}", head="""
class Length(L.Layer):
    def call(self, x):
        return tf.sqrt(tf.reduce_sum(tf.square(x), axis=1) + 1e-6)
"""), (("        return tf.sqrt(tf.reduce_sum(tf.square(x), axis=1) + 1e-6)", "        return tf.sqrt(tf.reduce_sum(tf.square(x), axis=2) + 1e-6)"),))),
    "integers beside a number with a fraction": ("dtype-mix", Own(model_of("""
i = keras.Input((4,))
model = keras.Model(i, L.Dense(1)(Places()(i)))
""", f"{rows(8, 4)}, {rows(8, 1)}", head="""
RATIO = 32 / 16
class Places(L.Layer):
    def call(self, x):
        return x + tf.range(4) * RATIO
"""), (("        return x + tf.range(4) * RATIO", '        return x + tf.cast(tf.range(4), "float32") * RATIO'),))),
}  # fmt: skip
