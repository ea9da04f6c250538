"""Samples, inputs, outputs and tables that are taken for one another: the line, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_IDS = "np.random.default_rng(0).integers(0, 6, (8, 5))"
_MASKS = "np.eye(3, dtype='float32')[np.arange(8 * 36).reshape(8, 6, 6) % 3]"
_FROM_ONE = "np.eye(4, dtype='float32')[np.arange(24) % 3 + 1]"
_OBJECTS = "np.array([[1, '2', 0.5]] * 8, dtype=object)"

SAMPLES: dict[str, tuple[str, Own]] = {
    "values of a sample by its row": ("samples-picked", Own(model_of("""
model = keras.Sequential([keras.Input((3,)), L.Dense(4)])
""", f"{rows(8, 3)}, {rows(8, 4)}", "loss", head="""
def loss(y, p):
    return (y[1] - p[1]) ** 2 + (y[2] - p[2]) ** 2
"""), (("    return (y[1] - p[1]) ** 2 + (y[2] - p[2]) ** 2", "    return (y[:, 1] - p[:, 1]) ** 2 + (y[:, 2] - p[:, 2]) ** 2"),))),
    "the last step by the last sample": ("batch-axis-merged", Own(model_of("""
i = keras.Input((6, 4))
x = L.GRU(3, return_sequences=True)(i)
x = L.Lambda(lambda t: t[-1])(x)
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 6, 4)}, {rows(8, 1)}"), (("    x = L.Lambda(lambda t: t[-1])(x)", "    x = L.Lambda(lambda t: t[:, -1])(x)"),))),
    "a length over the samples": ("samples-summed", Own(model_of("""
i = keras.Input((4,))
x = L.Lambda(lambda t: tf.math.l2_normalize(t, axis=0))(L.Dense(3)(i))
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 4)}, {rows(8, 1)}"), (
        ("    x = L.Lambda(lambda t: tf.math.l2_normalize(t, axis=0))(L.Dense(3)(i))", "    x = L.Lambda(lambda t: tf.math.l2_normalize(t, axis=-1))(L.Dense(3)(i))"),))),
    "one softmax for all samples": ("softmax-over-batch", Own(model_of("""
i = keras.Input((4,))
x = L.Lambda(lambda t: tf.nn.softmax(t, axis=0))(L.Dense(3)(i))
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 4)}, {rows(8, 1)}"), (
        ("    x = L.Lambda(lambda t: tf.nn.softmax(t, axis=0))(L.Dense(3)(i))", "    x = L.Lambda(lambda t: tf.nn.softmax(t, axis=1))(L.Dense(3)(i))"),))),
    "two inputs in one array": ("input-structure", Own(model_of("""
i, j = keras.Input((3,)), keras.Input((3,))
model = keras.Model([i, j], L.Dense(1)(L.Concatenate()([i, j])))
""", f"np.array([{rows(8, 3)}, {rows(8, 3)}]), {rows(8, 1)}"), (
        (f"    return np.array([{rows(8, 3)}, {rows(8, 3)}]), {rows(8, 1)}", f"    return list(np.array([{rows(8, 3)}, {rows(8, 3)}])), {rows(8, 1)}"),))),
    "the labels of two outputs": ("label-range", Own(model_of("""
i = keras.Input((3,))
model = keras.Model(i, [L.Dense(2, activation='softmax')(i), L.Dense(1)(i)])
""", f"{rows(8, 3)}, [np.linspace(1, 9, 8), np.arange(8) % 2]", "['sparse_categorical_crossentropy', 'mse']"), (
        (f"    return {rows(8, 3)}, [np.linspace(1, 9, 8), np.arange(8) % 2]", f"    return {rows(8, 3)}, [np.arange(8) % 2, np.linspace(1, 9, 8)]"),))),
    "masks with the classes first": ("output-size", Own(model_of("""
model = keras.Sequential([keras.Input((6, 6, 3)), L.Conv2D(3, 1, activation='softmax')])
""", f"{rows(8, 6, 6, 3)}, {_MASKS}.transpose(0, 3, 1, 2)", "'categorical_crossentropy'"), (
        (f"    return {rows(8, 6, 6, 3)}, {_MASKS}.transpose(0, 3, 1, 2)",
         f"    return {rows(8, 6, 6, 3)}, np.transpose({_MASKS}.transpose(0, 3, 1, 2), (0, 2, 3, 1))"),))),
    "classes that count from one": ("output-units", Own(model_of("""
model = keras.Sequential([keras.Input((3,)), L.Dense(3, activation='softmax')])
""", f"{rows(24, 3)}, {_FROM_ONE}", "'categorical_crossentropy'"), (
        (f"    return {rows(24, 3)}, {_FROM_ONE}", f"    return {rows(24, 3)}, {_FROM_ONE}[..., 1:]"),))),
    "numbers written as text": ("data-misfit", Own(model_of("""
model = keras.Sequential([keras.Input((3,)), L.Dense(1)])
""", f"{_OBJECTS}, {rows(8, 1)}"), ((f"    return {_OBJECTS}, {rows(8, 1)}", f'    return np.asarray({_OBJECTS}, "float32"), {rows(8, 1)}'),))),
    "images of unknown rank": ("data-raises", Own(model_of("""
model = keras.Sequential([keras.Input((4, 4, 3)), L.Flatten(), L.Dense(1)])
""", "tf.data.Dataset.from_tensor_slices(([PNG] * 8, np.zeros((8, 1), 'float32'))).map(parse).batch(4)", head="""
PNG = tf.io.encode_png(tf.zeros((6, 6, 3), tf.uint8)).numpy()
def parse(text, label):
    image = tf.cast(tf.io.decode_image(text), tf.float32)
    return tf.image.resize(image, (4, 4)), label
"""), (("    image = tf.cast(tf.io.decode_image(text), tf.float32)", "    image = tf.cast(tf.io.decode_image(text, channels=3, expand_animations=False), tf.float32)"),))),
    "the axes of a product": ("merge-shapes", Own(model_of("""
i, j = keras.Input((4,)), keras.Input((5, 4))
x = L.Dot(axes=(1, 1))([i, j])
model = keras.Model([i, j], L.Dense(1)(x))
""", f"({rows(8, 4)}, {rows(8, 5, 4)}), {rows(8, 1)}"), (("    x = L.Dot(axes=(1, 1))([i, j])", "    x = L.Dot(axes=(1, 2))([i, j])"),))),
    "a table of another width": ("weights-apart", Own(model_of("""
i = keras.Input((5,), dtype="int32")
x = L.Embedding(6, 3, weights=[np.ones((6, 4))])(i)
model = keras.Model(i, L.Dense(1)(L.Flatten()(x)))
""", f"{_IDS}, {rows(8, 1)}"), (
        ("    x = L.Embedding(6, 3, weights=[np.ones((6, 4))])(i)", "    x = L.Embedding(6, 4, weights=[np.ones((6, 4))])(i)"),))),
    "a table of fewer rows": ("weights-apart", Own(model_of("""
i = keras.Input((5,), dtype="int32")
x = L.Embedding(7, 4, embeddings_initializer=keras.initializers.Constant(np.ones((6, 4))))(i)
model = keras.Model(i, L.Dense(1)(L.Flatten()(x)))
""", f"{_IDS}, {rows(8, 1)}"), (
        ("    x = L.Embedding(7, 4, embeddings_initializer=keras.initializers.Constant(np.ones((6, 4))))(i)",
         "    x = L.Embedding(6, 4, embeddings_initializer=keras.initializers.Constant(np.ones((6, 4))))(i)"),))),
    "an input that the model leaves out": ("graph-disconnected", Own(model_of("""
i, j = keras.Input((3,)), keras.Input((4,))
x = L.Concatenate()([L.Dense(2)(i), L.Dense(2)(j)])
model = keras.Model(i, L.Dense(1)(x))
""", f"({rows(8, 3)}, {rows(8, 4)}), {rows(8, 1)}"), (("    model = keras.Model(i, L.Dense(1)(x))", "    model = keras.Model([i, j], L.Dense(1)(x))"),))),
    "a metric of all samples": ("metric-raises", Own(model_of("""
model = keras.Sequential([keras.Input((3,)), L.Dense(4)])
""", f"{rows(8, 3)}, {rows(8, 4)}", "'mse', metrics=[Far()]", head="""
class Far(keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="far")
        self.total = self.add_weight(name="total", shape=(), initializer="zeros")
    def update_state(self, y, p, sample_weight=None):
        self.total.assign_add(tf.reduce_max(tf.abs(y - p), axis=-1))
    def result(self):
        return self.total
"""), (("        self.total.assign_add(tf.reduce_max(tf.abs(y - p), axis=-1))", "        self.total.assign_add(tf.reduce_sum(tf.reduce_max(tf.abs(y - p), axis=-1)))"),))),
    "weights by value": ("op-shapes", Own(model_of("""
model = keras.Sequential([keras.Input((3,)), Linear(4), L.Dense(1)])
""", f"{rows(8, 3)}, {rows(8, 1)}", head="""
class Linear(L.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.units))
    def call(self, x):
        return x * self.w
"""), (("        return x * self.w", "        return keras.ops.matmul(x, self.w)"),))),
    "noise for a written batch": ("fixed-batch", Own(model_of("""
model = keras.Sequential([keras.Input((3,)), Noise(), L.Dense(1)])
""", f"{rows(40, 3)}, {rows(40, 1)}", head="""
class Noise(L.Layer):
    def call(self, x): noise = tf.random.normal((32, 3)); return x + noise
"""), (("    def call(self, x): noise = tf.random.normal((32, 3)); return x + noise",
        "    def call(self, x): noise = tf.random.normal((tf.shape(x)[0], 3)); return x + noise"),))),
    "noise for a written batch beside unpacked inputs": ("fixed-batch", Own(model_of("""
i = keras.Input((3,))
model = keras.Model(i, L.Dense(1)(Noise()([L.Dense(2)(i), L.Dense(2)(i)])))
""", f"({rows(40, 3)}, {rows(40, 1)})", head="""
class Noise(L.Layer):
    def call(self, inputs):
        mean, deviation = inputs; return mean + deviation * tf.random.normal((32, 2))
"""), ((f"    return ({rows(40, 3)}, {rows(40, 1)})",
        f"    return tf.data.Dataset.from_tensor_slices(({rows(40, 3)}, {rows(40, 1)})).batch(32, drop_remainder=True)"),))),
    "a loss that stacks where it should join": ("loss-raises", Own(model_of("""
model = keras.Sequential([keras.Input((3,)), L.Dense(1)])
""", f"{rows(12, 3)}, np.eye(3, dtype='float32')[np.arange(12) % 3]", "loss", head="""
def loss(y, p):
    each = tf.stack((p, 1 - p, p * 0), axis=1)
    return -tf.reduce_sum(y * each)
"""), (("    return -tf.reduce_sum(y * each)", "    return -tf.reduce_sum(y[..., None] * each)"),))),
    "weights of classes for each pixel": ("loss-raises", Own(model_of("""
model = keras.Sequential([keras.Input((6, 6, 2)), L.Conv2D(3, 1, activation='softmax')])
""", f"{rows(8, 6, 6, 2)}, {_MASKS}", "loss", head="""
WEIGHTS = np.array([0.2, 1, 2], "float32")
def loss(y, p):
    each = keras.losses.categorical_crossentropy(y, p)
    return tf.reduce_mean(each * WEIGHTS)
"""), (("    return tf.reduce_mean(each * WEIGHTS)", "    return tf.reduce_mean(each * tf.reduce_sum(y * WEIGHTS, axis=-1))"),))),
    "weights of the classes of pixels": ("loss-raises", Own(model_of("""
model = keras.Sequential([keras.Input((6, 6, 2)), L.Conv2D(3, 1, activation='softmax')])
""", f"{rows(8, 6, 6, 2)}, np.argmax({_MASKS}, -1)", "loss", head="""
WEIGHTS = np.array([0.2, 1, 2], "float32")
def loss(y, p):
    each = keras.losses.sparse_categorical_crossentropy(y, p)
    return tf.reduce_mean(each * WEIGHTS)
"""), (("    return tf.reduce_mean(each * WEIGHTS)", '    return tf.reduce_mean(each * tf.gather(WEIGHTS, tf.cast(y, "int32")))'),))),
    "the shape that a Lambda declares": ("declared-shape", Own(model_of("""
i, j = keras.Input((4,)), keras.Input((4,))
far = L.Lambda(lambda t: keras.ops.sum(keras.ops.abs(t[0] - t[1]), axis=1, keepdims=True), output_shape=lambda t: t[0])([i, j])
model = keras.Model([i, j], L.Dense(1)(far))
""", f"[{rows(8, 4)}, {rows(8, 4)}], {rows(8, 1)}"), ((
        "    far = L.Lambda(lambda t: keras.ops.sum(keras.ops.abs(t[0] - t[1]), axis=1, keepdims=True), output_shape=lambda t: t[0])([i, j])",
        "    far = L.Lambda(lambda t: keras.ops.sum(keras.ops.abs(t[0] - t[1]), axis=1, keepdims=True), output_shape=(1,))([i, j])"),))),
    "the shape that a layer declares": ("declared-shape", Own(model_of("""
i = keras.Input((4,))
model = keras.Model(i, L.Dense(1)(Twice()(i)))
""", f"{rows(8, 4)}, {rows(8, 1)}", head="""
class Twice(L.Layer):
    def compute_output_shape(self, shape): return shape

    def call(self, x): return keras.ops.concatenate([x, x], axis=-1)
"""), (("    def compute_output_shape(self, shape): return shape", "class Twice(L.Layer):"),))),
    "a sum of all samples behind a declared shape": ("declared-shape", Own(model_of("""
i = keras.Input((4,))
total = L.Lambda(lambda t: keras.ops.sum(t * t), output_shape=(1,))(i)
model = keras.Model(i, L.Activation('sigmoid')(total))
""", f"{rows(8, 4)}, {rows(8, 1)}", "'binary_crossentropy'"), ((
        "    total = L.Lambda(lambda t: keras.ops.sum(t * t), output_shape=(1,))(i)",
        "    total = L.Lambda(lambda t: keras.ops.sum(t * t, axis=-1, keepdims=True), output_shape=(1,))(i)"),))),
    "a mean of all samples": ("batch-axis-lost", Own(model_of("""
i = keras.Input((3, 4))
model = keras.Model(i, L.Activation('sigmoid')(Twice()(i)))
""", f"{rows(8, 3, 4)}, {rows(8)}", "'binary_crossentropy'", head="""
class Twice(L.Layer):
    def call(self, x):
        return keras.ops.mean(2 * x)
"""), (("        return keras.ops.mean(2 * x)", "        return keras.ops.mean(2 * x, axis=(1, 2))"),))),
    "one channel in front": ("window-too-large", Own(model_of("""
model = keras.Sequential([
    keras.Input((1, 30)),
    L.Conv1D(4, 5), L.Flatten(), L.Dense(1)])
""", f"{rows(8, 1, 30)}, {rows(8, 1)}"), (("        L.Conv1D(4, 5), L.Flatten(), L.Dense(1)])", "        L.Permute((2, 1)),"),))),
    "one number in two axes": ("loss-broadcast", Own(model_of("""
i, j = keras.Input((1, 4)), keras.Input((1, 4))
near = L.Dot(axes=2)([i, j])
model = keras.Model([i, j], near)
""", f"[{rows(8, 1, 4)}, {rows(8, 1, 4)}], {rows(8)}"), (("    near = L.Dot(axes=2)([i, j])", "    near = L.Flatten()(L.Dot(axes=2)([i, j]))"),))),
    "masks of another size": ("output-size", Own(model_of("""
model = keras.Sequential([keras.Input((6, 6, 2)), L.Conv2D(1, 1, activation='sigmoid')])
""", f"tf.data.Dataset.from_tensor_slices(({rows(8, 9, 9, 2)}, np.arange(8 * 81).reshape(8, 9, 9, 1) % 2)).map(prepare).batch(4)",
        "'binary_crossentropy'", head="""
def prepare(image, mask):
    image = tf.image.resize(image, (6, 6))
    mask = tf.image.resize(mask, (12, 12), method="nearest")
    return image, mask
"""), (('    mask = tf.image.resize(mask, (12, 12), method="nearest")', '    mask = tf.image.resize(mask, (6, 6), method="nearest")'),))),
    "a side that is mistyped": ("input-axis", Own(model_of("""
model = keras.Sequential([keras.Input((9, 9, 2)), L.Flatten(), L.Dense(1)])
""", f"tf.data.Dataset.from_tensor_slices(({rows(8, 12, 12, 2)}, {rows(8, 1)})).map(prepare).batch(4)", head="""
SIDE = 9
def prepare(image, label):
    return tf.image.resize(image, (SIDE, 6)), label
"""), (("    return tf.image.resize(image, (SIDE, 6)), label", "    return tf.image.resize(image, (SIDE, 9)), label"),))),
    "a summary for other steps": ("merge-shapes", Own(model_of("""
i, j = keras.Input((9, 2)), keras.Input((4, 3))
h = L.LSTM(5, return_sequences=True)(i)
model = keras.Model([i, j], L.Dense(1)(L.GRU(3, return_sequences=True)(L.Concatenate()([h, j]))))
""", f"[{rows(8, 9, 2)}, {rows(8, 4, 3)}], {rows(8, 4, 1)}"), (
        ("    h = L.LSTM(5, return_sequences=True)(i)", "    h = L.RepeatVector(4)(L.LSTM(5, return_sequences=False)(i))"),))),
    "as many steps as the labels": ("output-size", Own(model_of("""
i = keras.Input((9, 2))
h = L.LSTM(5, return_sequences=True)(i)
h = L.LSTM(5, return_sequences=True)(h)
model = keras.Model(i, L.Dense(1)(h))
""", f"{rows(8, 9, 2)}, {rows(8, 4, 1)}"), (
        ("    h = L.LSTM(5, return_sequences=True)(i)", "    h = L.RepeatVector(4)(L.LSTM(5, return_sequences=False)(i))"),))),
    "all classes of all steps in one vector": ("last-step-only", Own(model_of("""
i = keras.Input((6, 2))
h = L.LSTM(5)(i)
model = keras.Model(i, L.Dense(6 * 3, activation='softmax')(h))
""", f"{rows(8, 6, 2)}, np.arange(48).reshape(8, 6) % 3", "'sparse_categorical_crossentropy'"), (
        ("    h = L.LSTM(5)(i)", "    h = L.LSTM(5, return_sequences=True)(i)"),
        ("    model = keras.Model(i, L.Dense(6 * 3, activation='softmax')(h))", "    model = keras.Model(i, L.Dense(3, activation='softmax')(h))")))),
    "columns of a map as steps": ("reshape-size", Own(model_of("""
i = keras.Input((4, 6, 3))
x = L.Reshape((6, 8))(i)
model = keras.Model(i, L.Dense(2)(L.LSTM(5, return_sequences=True)(x)))
""", f"{rows(8, 4, 6, 3)}, {rows(8, 6, 2)}"), (("    x = L.Reshape((6, 8))(i)", "    x = L.Reshape((6, 12))(L.Permute((2, 1, 3))(i))"),))),
    "a window and an odd size": ("output-size", Own(model_of("""
i = keras.Input((10, 10, 1))
x = L.MaxPooling2D(2, padding='same')(L.MaxPooling2D(2, padding='same')(i))
x = L.UpSampling2D(2)(x)
x = L.Conv2D(4, 3)(x)
x = L.UpSampling2D(2)(x)
x = L.Conv2D(1, 1, activation='sigmoid')(x)
model = keras.Model(i, x)
""", f"{rows(8, 10, 10, 1)}, {rows(8, 10, 10, 1)}", "'binary_crossentropy'"), (
        ("    x = L.Conv2D(4, 3)(x)", '    x = L.Conv2D(4, 3, padding="same")(x)'),
        ("    x = L.Conv2D(1, 1, activation='sigmoid')(x)", "    x = L.Cropping2D(((1, 1), (1, 1)))(L.Conv2D(1, 1, activation='sigmoid')(x))")))),
    "a vector as long as a map": ("merge-shapes", Own(model_of("""
i, j = keras.Input((3, 4, 2)), keras.Input((5,))
v = L.Dense(12)(j)
x = L.Concatenate()([i, v])
model = keras.Model([i, j], L.Dense(1)(L.Flatten()(x)))
""", f"[{rows(8, 3, 4, 2)}, {rows(8, 5)}], {rows(8, 1)}"), (("    x = L.Concatenate()([i, v])", "    x = L.Concatenate()([i, L.Reshape((3, 4, 1))(v)])"),))),
    "a product of the right size by chance": ("op-shapes", Own("""
class Rank(keras.Model):
    def __init__(self):
        super().__init__()
        self.one, self.two = L.Embedding(9, 8), L.Embedding(9, 6)
        self.head = L.Dense(1)

    def call(self, inputs):
        return self.head(self.one(inputs[:, 0]) * self.two(inputs[:, 1]))


def build():
    model = Rank()
    model.compile("sgd", "mse")
    return model


def data():
    return np.arange(16).reshape(8, 2) % 9, np.ones((8, 1), "float32")
""", (("        self.one, self.two = L.Embedding(9, 8), L.Embedding(9, 6)", "        self.one, self.two = L.Embedding(9, 8), L.Embedding(9, 8)"),))),
}  # fmt: skip
