"""Programs that reduce over the batch, subtract a table of vectors, cut rows, or carry an axis of size 1 too many."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_DISTANCE = """
class Distance(L.Layer):
    def call(self, a, b):
        return tf.sqrt(tf.reduce_sum(tf.square(a - b)))
"""
_CENTERS = """
class Centers(L.Layer):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def build(self, shape):
        self.centers = self.add_weight(shape={shape}, initializer="uniform", name="centers")

    def call(self, x):
        apart = x - self.centers
        return tf.exp(-tf.reduce_sum(tf.square(apart), axis={axis}))
"""
_RESIDUALS = """
class Residuals(L.Layer):
    def __init__(self, count):
        super().__init__()
        self.count, self.share = count, L.Dense(count, activation="softmax")

    def build(self, shape):
        self.centers = self.add_weight(shape=(self.count, shape[-1]), initializer="uniform", name="centers")

    def call(self, x):
        apart = x - self.centers
        return tf.reduce_sum(self.share(x)[..., None] * apart, axis=(1, 2))
"""
_DICE = """
def dice(y, p):
    y = tf.one_hot(tf.cast(y, tf.int32), 4)
    both = tf.reduce_sum(y * p, axis=(1, 2))
    return 1 - tf.reduce_mean((2 * both + 1) / (tf.reduce_sum(y, axis=(1, 2)) + tf.reduce_sum(p, axis=(1, 2)) + 1))
"""
_HINGE = """
def hinge(y, p):
    y = tf.one_hot(tf.cast(y, tf.int32), 5)
    true = tf.reduce_sum(y * p, axis=-1)
    return tf.reduce_sum(tf.nn.relu(1.0 + p - true), axis=-1)
"""
_TRIPLET = """
WIDTH = 8
def triplet(y, p):
    a, b, c = p[:, :WIDTH], p[:, WIDTH:2 * WIDTH], p[:, 2 * WIDTH:3 * WIDTH]
    near, far = tf.reduce_sum(tf.square(a - b), -1), tf.reduce_sum(tf.square(a - c), -1)
    return tf.maximum(near - far + 0.2, 0.0)
"""
_FOCAL = """
CLASSES = 10
def focal(y, p):
    y = tf.one_hot(tf.cast(tf.reshape(y, [-1]), tf.int32), CLASSES)
    return tf.reduce_sum(-y * tf.math.log(p + 1e-7) * (1 - p) ** 2, axis=-1)
"""
_ROW = f"{rows(8, 6)}, {rows(8, 1)}"
_SHARE = """
class Share(keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="share")
        self.hits = self.add_weight({hits})
        self.total = self.add_weight({total})

    def update_state(self, y, p, sample_weight=None):
        self.hits.assign_add(tf.reduce_sum(p))
        self.total.assign_add(tf.cast(tf.size(p), tf.float32))

    def result(self):
        return self.hits / self.total
"""
_CUT = """
def by_position(y, p):
    y = tf.reshape(tf.cast(y, tf.int32), (-1,))
    p = tf.reshape(p, (-1, 9))
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=p))
"""
_CENTERED = "model = keras.Sequential([keras.Input((4,)), Centers(6), L.Dense(1)])"
_PAIR = f"({rows(8, 6)}, {rows(8, 6)}), {rows(8, 1)}"
_WIDE = "SIZE = 9\n"


def _centered(shape: str, axis: int) -> str:
    return model_of(_CENTERED, f"{rows(8, 4)}, {rows(8, 1)}", head=_CENTERS.format(shape=shape, axis=axis))


def _measured(hits: str, total: str) -> str:
    made = model_of("model = keras.Sequential([keras.Input((4,)), L.Dense(1)])", f"{rows(8, 4)}, {rows(8, 1)}", "'mse', [Share()]")
    return (_SHARE.format(hits=hits, total=total) + made).replace("'mse', [", "'mse', metrics=[")


VECTORS: dict[str, tuple[str, Own]] = {
    "a distance over everything in a Lambda": ("layer-rank", Own(model_of("""
a, b = keras.Input((6,)), keras.Input((6,))
d = L.Lambda(lambda v: tf.reduce_sum(tf.abs(v[0] - v[1])))([L.Dense(4)(a), L.Dense(4)(b)])
model = keras.Model([a, b], L.Dense(1)(d))
""", _PAIR), ((
        "    d = L.Lambda(lambda v: tf.reduce_sum(tf.abs(v[0] - v[1])))([L.Dense(4)(a), L.Dense(4)(b)])",
        "    d = L.Lambda(lambda v: tf.reduce_sum(tf.abs(v[0] - v[1]), axis=-1, keepdims=True))([L.Dense(4)(a), L.Dense(4)(b)])"),))),
    "a distance over everything in a layer": ("layer-rank", Own(model_of("""
a, b = keras.Input((6,)), keras.Input((6,))
model = keras.Model([a, b], L.Dense(1)(Distance()(a, b)))
""", _PAIR, head=_DISTANCE), (
        ("        return tf.sqrt(tf.reduce_sum(tf.square(a - b)))", "        return tf.sqrt(tf.reduce_sum(tf.square(a - b), axis=-1, keepdims=True))"),))),
    "a mean over everything": ("layer-rank", Own(model_of("""
i = keras.Input((12, 6))
x = keras.ops.mean(L.Dense(8)(i))
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 12, 6)}, {rows(8, 1)}"), (("    x = keras.ops.mean(L.Dense(8)(i))", "    x = keras.ops.mean(L.Dense(8)(i), axis=1)"),), keras=True)),
    "a product over everything that is joined": ("merge-shapes", Own(model_of("""
a, b = keras.Input((6,)), keras.Input((6,))
p, q = L.Dense(4)(a), L.Dense(4)(b)
s = L.Lambda(lambda v: tf.reduce_sum(v[0] * v[1]))([p, q])
model = keras.Model([a, b], L.Dense(1)(L.Concatenate()([p, q, s])))
""", _PAIR), ((
        "    s = L.Lambda(lambda v: tf.reduce_sum(v[0] * v[1]))([p, q])",
        "    s = L.Lambda(lambda v: tf.reduce_sum(v[0] * v[1], axis=-1, keepdims=True))([p, q])"),))),
    "a margin between the true class and all": ("loss-raises", Own(model_of("""
model = keras.Sequential([keras.Input((6,)), L.Dense(5)])
""", f"{rows(8, 6)}, np.arange(8) % 5", "hinge", _HINGE), (
        ("    return tf.reduce_sum(tf.nn.relu(1.0 + p - true), axis=-1)", "    return tf.reduce_sum(tf.nn.relu(1.0 + p - true[..., None]), axis=-1)"),))),
    "weights without an axis in a Lambda": ("op-shapes", Own(model_of("""
i = keras.Input((10, 6))
h = L.LSTM(4, return_sequences=True)(i)
w = L.Softmax()(L.Flatten()(L.Dense(1)(h)))
c = L.Lambda(lambda t: keras.ops.sum(t[0] * t[1], axis=1))([h, w])
model = keras.Model(i, L.Dense(1)(c))
""", f"{rows(8, 10, 6)}, {rows(8, 1)}"), (
        ("    c = L.Lambda(lambda t: keras.ops.sum(t[0] * t[1], axis=1))([h, w])",
         "    c = L.Lambda(lambda t: keras.ops.sum(t[0] * t[1][..., None], axis=1))([h, w])"),), keras=True)),
    "branches of other widths in a Lambda": ("op-shapes", Own(model_of("""
a, b = keras.Input((6,)), keras.Input((6,))
x = L.Dense(12)(a)
y = L.Dense(16)(b)
d = L.Lambda(lambda t: t[0] + t[1])([x, y])
model = keras.Model([a, b], L.Dense(1)(d))
""", _PAIR), (("    y = L.Dense(16)(b)", "    y = L.Dense(12)(b)"),), keras=True)),
    "a product in a Lambda": ("op-shapes", Own(model_of("""
a, b = keras.Input((9, 4)), keras.Input((7, 4))
c = L.Lambda(lambda t: keras.ops.matmul(t[0], t[1]))([a, b])
model = keras.Model([a, b], L.Dense(1)(L.Flatten()(c)))
""", f"[{rows(8, 9, 4)}, {rows(8, 7, 4)}], {rows(8, 1)}"), (
        ("    c = L.Lambda(lambda t: keras.ops.matmul(t[0], t[1]))([a, b])",
         "    c = L.Lambda(lambda t: keras.ops.matmul(t[0], keras.ops.transpose(t[1], (0, 2, 1))))([a, b])"),), keras=True)),
    "a width of the module that a loss slices by": ("loss-raises", Own(_TRIPLET + model_of("""
model = keras.Sequential([keras.Input((6,)), L.Dense(12)])
""", _ROW, "triplet"), (("WIDTH = 8", "WIDTH = 4"),))),
    "a number of classes of the module that a loss encodes by": ("loss-raises", Own(_FOCAL + model_of("""
model = keras.Sequential([keras.Input((6,)), L.Dense(12, activation="softmax")])
""", f"{rows(24, 6)}, np.arange(24) % 12", "focal"), (("CLASSES = 10", "CLASSES = 12"),))),
    "centers as columns of a weight": ("op-shapes", Own(_centered("(shape[-1], self.count)", 1), (
        ("        apart = x - self.centers", "        apart = x[..., None] - self.centers"),))),
    "centers for each position": ("op-shapes", Own(model_of("""
model = keras.Sequential([keras.Input((10, 6)), Residuals(4), L.Dense(1)])
""", f"{rows(8, 10, 6)}, {rows(8, 1)}", head=_RESIDUALS), (("        apart = x - self.centers", "        apart = x[..., None, :] - self.centers"),))),
    "classes of masks that keep an axis": ("loss-raises", Own(model_of("""
model = keras.Sequential([keras.Input((12, 10, 3)), L.Conv2D(4, 1, activation="softmax")])
""", f"{rows(8, 12, 10, 3)}, np.arange(960).reshape(8, 12, 10, 1) % 4", "dice", _DICE), (
        ("    y = tf.one_hot(tf.cast(y, tf.int32), 4)", "    y = tf.squeeze(tf.one_hot(tf.cast(y, tf.int32), 4), 3)"),))),
    "weights of a metric without a start": ("code-raises", Own(_measured('name="hits"', 'name="total"'), (
        ('        self.hits = self.add_weight(name="hits")', '        self.hits = self.add_weight(name="hits", initializer="zeros")'),
        ('        self.total = self.add_weight(name="total")', '        self.total = self.add_weight(name="total", initializer="zeros")')), keras=True)),
    "weights of a metric by place and without a start": ("code-raises", Own(_measured('"hits", ()', '"total"'), (
        ('        self.hits = self.add_weight("hits", ())', '        self.hits = self.add_weight(name="hits", shape=(), initializer="zeros")'),
        ('        self.total = self.add_weight("total")', '        self.total = self.add_weight(name="total", initializer="zeros")')), keras=True)),
    "a constant for the inputs and the labels": ("input-axis", Own(_WIDE + model_of("""
model = keras.Sequential([keras.Input((SIZE,)), L.Dense(4), L.Dense(SIZE)])
""", f"{rows(8, 7)}, {rows(8, 7)}"), (("SIZE = 9", "SIZE = 7"),))),
    "rows of classes that a loss cuts": ("loss-raises", Own(model_of("""
model = keras.Sequential([keras.Input((12, 4)), L.Dense(12)])
""", f"{rows(8, 12, 4)}, np.arange(96).reshape(8, 12) % 12", "by_position", _CUT), (
        ("    p = tf.reshape(p, (-1, 9))", "    p = tf.reshape(p, (-1, p.shape[-1]))"),))),
    "halves of an odd width": ("op-shapes", Own(model_of("""
i = keras.Input((6, 4))
a, b = keras.ops.split(L.LSTM(5)(i), 2, axis=-1)
model = keras.Model(i, L.Dense(1)(a * b))
""", f"{rows(8, 6, 4)}, {rows(8, 1)}"), (
        ("    a, b = keras.ops.split(L.LSTM(5)(i), 2, axis=-1)", "    a, b = keras.ops.split(L.LSTM(10)(i), 2, axis=-1)"),), keras=True)),
    "a row that merges the channels with an axis of another size": ("reshape-size", Own(model_of("""
i = keras.Input((20, 9, 1))
x = L.Conv2D(4, 3)(i)
x = L.Reshape((-1, 4 * 8))(x)
model = keras.Model(i, L.Dense(1)(L.GRU(4)(x)))
""", f"{rows(8, 20, 9, 1)}, {rows(8, 1)}"), (("    x = L.Reshape((-1, 4 * 8))(x)", "    x = L.Reshape((18, 28))(x)"),))),
    "steps that are declared in groups": ("input-rank", Own(model_of("""
model = keras.Sequential([keras.Input((None, 5, 4)), L.TimeDistributed(L.Conv1D(4, 3)), L.TimeDistributed(L.Flatten()), L.LSTM(4), L.Dense(1)])
""", f"{rows(8, 20, 4)}, {rows(8, 1)}"), (
        (f"    return {rows(8, 20, 4)}, {rows(8, 1)}", f"    return np.reshape({rows(8, 20, 4)}, (-1, 4, 5, 4)), {rows(8, 1)}"),))),
    "all inputs in the columns of one array": ("input-structure", Own(model_of("""
a, b = keras.Input((6,)), keras.Input((3,))
model = keras.Model([a, b], L.Dense(1)(L.Concatenate()([L.Dense(4)(a), b])))
""", f"{rows(8, 9)}, {rows(8, 1)}"), (
        (f"    return {rows(8, 9)}, {rows(8, 1)}", f"    return np.split({rows(8, 9)}, [6], axis=-1), {rows(8, 1)}"),))),
    "an array of arrays of one shape": ("data-misfit", Own("""
def build():
    model = keras.Sequential([keras.Input((6, 6, 3)), L.GlobalAveragePooling2D(), L.Dense(1)])
    model.compile('sgd', 'mse')
    return model
def data():
    x = np.empty(8, dtype=object)
    for n in range(8):
        x[n] = np.ones((6, 6, 3))
    return x, np.ones((8, 1))
""", (("    return x, np.ones((8, 1))", "    return np.stack(x), np.ones((8, 1))"),))),
    "words of another width than a reshape splits": ("reshape-size", Own(model_of("""
i = keras.Input((10,))
x = L.Reshape((10, 6, 1))(L.Embedding(20, 4)(i))
x = L.Conv2D(4, (3, 6))(x)
model = keras.Model(i, L.Dense(1)(L.Flatten()(x)))
""", f"np.arange(80).reshape(8, 10) % 20, {rows(8, 1)}"), (
        ("    x = L.Reshape((10, 6, 1))(L.Embedding(20, 4)(i))", "    x = L.Reshape((10, 6, 1))(L.Embedding(20, 6)(i))"),))),
    "the states of one direction for both": ("rnn-states", Own(model_of("""
a, b = keras.Input((6, 4)), keras.Input((9, 4))
_, h, c = L.LSTM(8, return_state=True)(a)
x = L.Bidirectional(L.LSTM(8))(b, initial_state=[h, c])
model = keras.Model([a, b], L.Dense(1)(x))
""", f"({rows(8, 6, 4)}, {rows(8, 9, 4)}), {rows(8, 1)}"), (
        ("    x = L.Bidirectional(L.LSTM(8))(b, initial_state=[h, c])", "    x = L.Bidirectional(L.LSTM(8))(b, initial_state=[h, c] * 2)"),))),
    "the forward states, where the backward ones are there": ("rnn-states", Own(model_of("""
a, b = keras.Input((6, 4)), keras.Input((9, 4))
_, h, c, back_h, back_c = L.Bidirectional(L.LSTM(8, return_state=True))(a)
x = L.Bidirectional(L.LSTM(8))(b, initial_state=[h, c])
model = keras.Model([a, b], L.Dense(1)(x))
""", f"({rows(8, 6, 4)}, {rows(8, 9, 4)}), {rows(8, 1)}"), ((
        "    x = L.Bidirectional(L.LSTM(8))(b, initial_state=[h, c])",
        "    x = L.Bidirectional(L.LSTM(8))(b, initial_state=[h, c, back_h, back_c])"),))),
    "data and labels in columns": ("data-misfit", Own(model_of("""
model = keras.Sequential([keras.Input((6,)), L.Dense(1)])
""", f"{rows(6, 20)}, {rows(1, 20)}"), (
        (f"    return {rows(6, 20)}, {rows(1, 20)}", f"    return np.transpose({rows(6, 20)}, (1, 0)), np.transpose({rows(1, 20)}, (1, 0))"),))),
    "flat images for a model that declares none": ("layer-rank", Own(model_of("""
model = keras.Sequential([L.Conv2D(4, 3), L.Flatten(), L.Dense(1)])
""", f"{rows(8, 64)}, {rows(8, 1)}"), (
        (f"    return {rows(8, 64)}, {rows(8, 1)}", f"    return np.reshape({rows(8, 64)}, (-1, 8, 8, 1)), {rows(8, 1)}"),))),
    "positions of a map in one row": ("layer-rank", Own(model_of("""
i = keras.Input((6,))
x = L.Reshape((49, 2))(L.Dense(98)(i))
model = keras.Model(i, L.Conv2DTranspose(1, 3, strides=2, padding="same")(x))
""", f"{rows(8, 6)}, {rows(8, 14, 14, 1)}"), (
        ("    x = L.Reshape((49, 2))(L.Dense(98)(i))", "    x = L.Reshape((7, 7, 2))(L.Dense(98)(i))"),))),
    "frames flattened with their steps": ("layer-rank", Own(model_of("""
i = keras.Input((5, 6, 6, 3))
x = L.Flatten()(L.TimeDistributed(L.Conv2D(2, 3))(i))
model = keras.Model(i, L.Dense(1)(L.LSTM(4)(x)))
""", f"{rows(8, 5, 6, 6, 3)}, {rows(8, 1)}"), (
        ("    x = L.Flatten()(L.TimeDistributed(L.Conv2D(2, 3))(i))", "    x = L.TimeDistributed(L.Flatten())(L.TimeDistributed(L.Conv2D(2, 3))(i))"),))),
    "a query of another width": ("attention-shapes", Own(model_of("""
a, b = keras.Input((6, 4)), keras.Input((9, 8))
x = L.Attention()([a, b])
model = keras.Model([a, b], L.Dense(1)(L.GlobalAveragePooling1D()(x)))
""", f"({rows(8, 6, 4)}, {rows(8, 9, 8)}), {rows(8, 1)}"), (
        ("    x = L.Attention()([a, b])", "    x = L.Attention()([L.Dense(8)(a), b])"),))),
    "classes of maps whose odd size is padded": ("merge-shapes", Own(model_of("""
i = keras.Input((33, 33, 3))
a = L.Conv2D(4, 3, strides=2, padding="same")(i)
b = L.UpSampling2D(2)(L.MaxPooling2D(2)(a))
x = L.UpSampling2D(2)(L.Concatenate()([a, b]))
model = keras.Model(i, L.Conv2D(2, 1, activation="softmax")(x))
""", f"{rows(8, 33, 33, 3)}, np.arange(8 * 33 * 33).reshape(8, 33, 33) % 2", "'sparse_categorical_crossentropy'"), ((
        '    model = keras.Model(i, L.Conv2D(2, 1, activation="softmax")(x))',
        '    model = keras.Model(i, L.Cropping2D(((1, 2), (1, 2)))(L.Conv2D(2, 1, activation="softmax")(x)))'),))),
}  # fmt: skip
