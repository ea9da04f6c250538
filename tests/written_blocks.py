"""Faults in blocks that a function makes, in how data is batched, and in what labels and ids are: the line, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_BLOCKS = """
def block(x, filters, stride):
    skip = x
    x = L.Conv2D(filters, 3, strides=stride, padding='same')(x)
    x = L.Conv2D(filters, 3, padding='same')(x)
    return L.ReLU()({add})
"""
_PAIRS = """
i = keras.Input((8, 8, 3))
x = L.Conv2D(4, 1)(i)
for filters, stride in [(4, 1), (6, {stride}), (6, 1)]:
    x = block(x, filters, stride)
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
"""
_SKIP = "skip if skip.shape[-1] == filters else L.Conv2D(filters, kernel_size=(1, 1){strides})(skip)"
_LSTM = "model = keras.Sequential([keras.Input({shape}), L.Embedding(6, 4), L.LSTM(3), L.Dense(1)])"
_WEIGHED = """
def weighed(weights):
    weights = tf.constant(weights)
    def loss(y_true, y_pred):
        return tf.reduce_mean({weights} * keras.losses.categorical_crossentropy(y_true, y_pred))
    return loss
"""
_MASKS = "np.repeat((np.random.default_rng(0).random((8, 4, 4, 1)) > 0.5).astype('float32'), 3, axis=-1)"
_SLICES = f"tf.data.Dataset.from_tensor_slices(({rows(20, 5, 2)}, {rows(20, 1)})).batch(8{{}})"

BLOCKS: dict[str, tuple[str, Own]] = {
    "the shortcut of each block of a loop": ("merge-shapes", Own(
        model_of(_PAIRS.format(stride=1), f"{rows(4, 8, 8, 3)}, {rows(4, 1)}", head=_BLOCKS.format(add="L.Add()([x, skip])")),
        (("    return L.ReLU()(L.Add()([x, skip]))", f"    return L.ReLU()(L.Add()([x, {_SKIP.format(strides='')}]))"),))),
    "the shortcut of each block with strides": ("merge-shapes", Own(
        model_of(_PAIRS.format(stride=2), f"{rows(4, 8, 8, 3)}, {rows(4, 1)}", head=_BLOCKS.format(add="L.add([x, skip])")),
        (("    return L.ReLU()(L.add([x, skip]))", f"    return L.ReLU()(L.add([x, {_SKIP.format(strides=', strides=(2, 2)')}]))"),))),
    "attention without steps": ("softmax-over-batch", Own(model_of("""
i = keras.Input((6, 4))
x = L.LSTM(3)(i)
x = L.Attention()([x, x])
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 6, 4)}, {rows(8, 1)}"), (
        ("    x = L.LSTM(3)(i)", "    x = L.LSTM(3, return_sequences=True)(i)"),
        ("    x = L.Attention()([x, x])", "    x = L.GlobalAveragePooling1D()(L.Attention()([x, x]))")))),
    "states of both directions": ("rnn-states", Own(model_of("""
i, j = keras.Input((6, 4)), keras.Input((5, 2))
_, fh, fc, bh, bc = L.Bidirectional(L.LSTM(3, return_state=True))(i)
x = L.LSTM(6)(j, initial_state=[fh, fc, bh, bc])
model = keras.Model([i, j], L.Dense(1)(x))
""", f"[{rows(8, 6, 4)}, {rows(8, 5, 2)}], {rows(8, 1)}"), (
        ("    x = L.LSTM(6)(j, initial_state=[fh, fc, bh, bc])",
         "    x = L.LSTM(6)(j, initial_state=[L.Concatenate()([fh, bh]), L.Concatenate()([fc, bc])])"),))),
    "steps of features from one row": ("label-rank", Own(model_of("""
model = keras.Sequential([keras.Input((6, 4)), L.LSTM(3), L.Dense(5)])
""", f"{rows(8, 6, 4)}, {rows(8, 5, 2)}"), (
        ("    model = keras.Sequential([keras.Input((6, 4)), L.LSTM(3), L.Dense(5)])",
         "    model = keras.Sequential([keras.Input((6, 4)), L.LSTM(3), L.Dense(10), L.Reshape((5, 2))])"),))),
    "a dict that is taken apart": ("layer-raises", Own("""
class Two(keras.Model):
    def __init__(self):
        super().__init__(); self.a = L.Dense(3); self.b = L.Dense(3); self.o = L.Dense(1)
    def call(self, inputs):
        a, b = inputs
        return self.o(self.a(a) + self.b(b))


def build():
    model = Two(); model.compile("sgd", "mse")
    return model


def data():
    return {"user": np.zeros((8, 4), "float32"), "item": np.zeros((8, 5), "float32")}, np.zeros((8, 1), "float32")
""", (("        a, b = inputs", "        a, b = inputs['user'], inputs['item']"),))),
    "outputs by their variables' names": ("output-names", Own(model_of("""
i = keras.Input((4,))
age = L.Dense(1)(i)
kind = L.Dense(3, activation='softmax')(i)
model = keras.Model(i, [age, kind])
""", f"{rows(8, 4)}, {{'age': {rows(8, 1)}, 'kind': np.arange(8) % 3}}", "{'age': 'mse', 'kind': 'sparse_categorical_crossentropy'}"), (
        ("    age = L.Dense(1)(i)", '    age = L.Dense(1, name="age")(i)'),
        ("    kind = L.Dense(3, activation='softmax')(i)", "    kind = L.Dense(3, activation='softmax', name=\"kind\")(i)")))),
    "transposed convolutions without padding": ("merge-shapes", Own(model_of("""
i = keras.Input((8, 8, 2))
a = L.MaxPooling2D()(i)
b = L.MaxPooling2D()(a)
x = L.Conv2DTranspose(3, 3, strides=2)(b)
x = L.concatenate([x, a])
x = L.Conv2DTranspose(3, 3, strides=2)(x)
x = L.concatenate([x, i])
model = keras.Model(i, L.Conv2D(1, 1)(x))
""", f"{rows(4, 8, 8, 2)}, {rows(4, 8, 8, 1)}"), (
        ("    x = L.Conv2DTranspose(3, 3, strides=2)(b)", '    x = L.Conv2DTranspose(3, 3, strides=2, padding="same")(b)'),
        ("    x = L.Conv2DTranspose(3, 3, strides=2)(x)", '    x = L.Conv2DTranspose(3, 3, strides=2, padding="same")(x)')))),
    "a map beside a larger picture": ("merge-shapes", Own(model_of("""
i, kind = keras.Input((8, 8, 3)), keras.Input((4,))
m = L.Dense(36)(kind)
m = L.Reshape((6, 6, 1))(m)
x = L.Concatenate()([i, m])
model = keras.Model([i, kind], L.Dense(1)(L.Flatten()(x)))
""", f"[{rows(4, 8, 8, 3)}, {rows(4, 4)}], {rows(4, 1)}"), (
        ("    m = L.Dense(36)(kind)", "    m = L.Dense(64)(kind)"), ("    m = L.Reshape((6, 6, 1))(m)", "    m = L.Reshape((8, 8, 1))(m)")))),
    "a size that a name holds": ("op-shapes", Own(model_of("""
i = keras.Input((5,))
m = L.Dense(6)(i)
model = keras.Model(i, L.Dense(1)(Noisy()(m)))
""", f"{rows(8, 5)}, {rows(8, 1)}", head="""
width = 2
class Noisy(L.Layer):
    def call(self, m):
        noise = tf.random.normal(shape=(tf.shape(m)[0], width))
        return m + noise
"""), (("        noise = tf.random.normal(shape=(tf.shape(m)[0], width))", "        noise = tf.random.normal(shape=(tf.shape(m)[0], m.shape[-1]))"),))),
    "a target that was written for another picture": ("reshape-size", Own(model_of("""
i = keras.Input((8, 4, 6))
x = L.Reshape((10, 18))(i)
model = keras.Model(i, L.Dense(1)(L.LSTM(3)(x)))
""", f"{rows(4, 8, 4, 6)}, {rows(4, 1)}"), (("    x = L.Reshape((10, 18))(i)", "    x = L.Reshape((8, 24))(i)"),))),
    "a mask that was read in color": ("output-units", Own(model_of("""
i = keras.Input((4, 4, 3))
model = keras.Model(i, L.Conv2D(1, 3, padding='same', activation='sigmoid')(i))
""", f"{rows(8, 4, 4, 3)}, {_MASKS}", "'binary_crossentropy'"), (
        (f"    return {rows(8, 4, 4, 3)}, {_MASKS}", f"    return {rows(8, 4, 4, 3)}, {_MASKS}[..., :1]"),))),
    "classes that are counted from one": ("label-range", Own(model_of("""
model = keras.Sequential([keras.Input((3,)), L.Dense(4, activation='softmax')])
""", f"{rows(20, 3)}, np.arange(20) % 4 + 1", "'sparse_categorical_crossentropy'"), (
        (f"    return {rows(20, 3)}, np.arange(20) % 4 + 1", f"    return {rows(20, 3)}, (np.arange(20) % 4 + 1) - 1"),))),
    "one-hot rows for an embedding": ("embedding-coded", Own(model_of(
        _LSTM.format(shape="(5, 6)"), f"np.eye(6)[np.arange(40).reshape(8, 5) % 6], {rows(8, 1)}"), (
        ("    " + _LSTM.format(shape="(5, 6)"), "    " + _LSTM.format(shape="(5,)")),
        (f"    return np.eye(6)[np.arange(40).reshape(8, 5) % 6], {rows(8, 1)}",
         f"    return np.argmax(np.eye(6)[np.arange(40).reshape(8, 5) % 6], axis=-1), {rows(8, 1)}")))),
    "weights of classes in a loss": ("loss-raises", Own(model_of("""
model = keras.Sequential([keras.Input((3,)), L.Dense(4, activation='softmax')])
""", f"{rows(8, 3)}, np.eye(4, dtype='float32')[np.arange(8) % 4]", "weighed((.5, 1., 1., 2.))", _WEIGHED.format(weights="weights")), (
        ("        return tf.reduce_mean(weights * keras.losses.categorical_crossentropy(y_true, y_pred))",
         "        return tf.reduce_mean(tf.reduce_sum(y_true * weights, axis=-1) * keras.losses.categorical_crossentropy(y_true, y_pred))"),))),
    "a last batch for a fixed number of rows": ("fixed-batch", Own(model_of("""
model = keras.Sequential([keras.Input(batch_shape=(8, 5, 2)), L.LSTM(3, stateful=True), L.Dense(1)])
""", _SLICES.format("")), (
        (f"    return {_SLICES.format('')}", f"    return {_SLICES.format(', drop_remainder=True')}"),))),
    "factors in a layer of one's own": ("missing-flatten", Own(model_of("""
u, v = keras.Input((1,)), keras.Input((1,))
e = L.Embedding(5, 4)(u)
f = L.Embedding(7, 4)(v)
model = keras.Model([u, v], Together()([e, f]))
""", "(np.zeros((8, 1)), np.zeros((8, 1))), np.zeros((8,), 'float32')", head="""
class Together(L.Layer):
    def call(self, two):
        if len(two[0].shape) == 2:
            return tf.reduce_sum(two[0] * two[1], axis=-1, keepdims=True)
        return tf.matmul(two[0], two[1], transpose_a=True)
"""), (
        ("    e = L.Embedding(5, 4)(u)", "    e = L.Flatten()(L.Embedding(5, 4)(u))"), ("    f = L.Embedding(7, 4)(v)", "    f = L.Flatten()(L.Embedding(7, 4)(v))")))),
    "positions counted up to a written number": ("op-shapes", Own(model_of("""
i = keras.Input((6,))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Placed(20)(i))))
""", f"np.zeros((8, 6)), {rows(8, 1)}", head="""
class Placed(L.Layer):
    def __init__(self, most):
        super().__init__()
        self.token, self.place = L.Embedding(9, 4), L.Embedding(most, 4)
    def call(self, x):
        places = tf.range(start=0, limit=20, delta=1)
        return self.token(x) + self.place(places)
"""), (("        places = tf.range(start=0, limit=20, delta=1)", "        places = tf.range(start=0, limit=tf.shape(x)[1], delta=1)"),))),
    "rows of ids of several lengths": ("data-misfit", Own(model_of("""
model = keras.Sequential([L.Embedding(10, 4), L.GlobalAveragePooling1D(), L.Dense(1)])
""", f"[[1, 2, 3], [4, 5], [6, 7, 8, 9]], {rows(3, 1)}"), (
        (f"    return [[1, 2, 3], [4, 5], [6, 7, 8, 9]], {rows(3, 1)}",
         f"    return np.array([[0] * (max(map(len, [[1, 2, 3], [4, 5], [6, 7, 8, 9]])) - len(row)) + list(row) for row in [[1, 2, 3], [4, 5], [6, 7, 8, 9]]]), {rows(3, 1)}"),))),
    "factors that are no vectors": ("missing-flatten", Own(model_of("""
u, v = keras.Input((1,)), keras.Input((1,))
e = L.Embedding(5, 4)(u)
f = L.Embedding(7, 4)(v)
model = keras.Model([u, v], L.Dot(axes=1)([e, f]))
""", "(np.zeros((8, 1)), np.zeros((8, 1))), np.zeros((8,), 'float32')"), (
        ("    e = L.Embedding(5, 4)(u)", "    e = L.Flatten()(L.Embedding(5, 4)(u))"), ("    f = L.Embedding(7, 4)(v)", "    f = L.Flatten()(L.Embedding(7, 4)(v))")))),
    "a pipeline that batches twice": ("layer-rank", Own(model_of("""
model = keras.Sequential([L.Conv1D(3, 2), L.GlobalAveragePooling1D(), L.Dense(1)])
""", f"{_SLICES.format('')}.batch(2)"), (
        (f"    return {_SLICES.format('')}.batch(2)", f"    return {_SLICES.format('')}"),))),
    "weights of the steps that are repeated along the wrong axis": ("merge-shapes", Own(model_of("""
i = keras.Input((20, 3))
h = L.LSTM(16, return_sequences=True)(i)
a = L.Activation("softmax")(L.Flatten()(L.Dense(1)(h)))
c = L.Multiply()([h, L.RepeatVector(16)(a)])
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(c)))
""", f"{rows(8, 20, 3)}, {rows(8, 1)}"), (
        ("    c = L.Multiply()([h, L.RepeatVector(16)(a)])", "    c = L.Multiply()([h, L.Permute((2, 1))(L.RepeatVector(16)(a))])"),))),
    "a frozen critic of flat images": ("input-axis", Own(model_of("""
critic = keras.Sequential([keras.Input((36,)), L.Dense(8, "relu"), L.Dense(1, "sigmoid")])
critic.trainable = False
maker = keras.Sequential([keras.Input((5,)), L.Dense(36), L.Reshape((6, 6, 1))])
z = keras.Input((5,))
model = keras.Model(z, critic(maker(z)))
""", f"{rows(8, 5)}, np.ones((8, 1))"), (
        ("    model = keras.Model(z, critic(maker(z)))", "    model = keras.Model(z, critic(L.Flatten()(maker(z))))"),))),
    "a dot of a column and a row": ("merge-shapes", Own(model_of("""
a, b = keras.Input((1,)), keras.Input((1,))
table = L.Embedding(30, 6)
d = L.Dot(axes=1)([L.Reshape((6, 1))(table(a)), table(b)])
model = keras.Model([a, b], L.Dense(1)(L.Flatten()(d)))
""", f"(np.arange(8)[:, None], np.arange(8)[:, None]), {rows(8, 1)}"), (
        ("    d = L.Dot(axes=1)([L.Reshape((6, 1))(table(a)), table(b)])", "    d = L.Dot(axes=(1, 2))([L.Reshape((6, 1))(table(a)), table(b)])"),))),
    "a code of two heads without a Flatten before them": ("op-shapes", Own(model_of("""
i = keras.Input((8, 8, 1))
x = L.Dense(6)(L.Conv2D(4, 3, strides=2, padding="same")(i))
z = Sampling()([L.Dense(2)(x), L.Dense(2)(x)])
d = L.Reshape((4, 4, 3))(L.Dense(48)(z))
model = keras.Model(i, L.Conv2DTranspose(1, 3, strides=2, padding="same")(d))
""", f"{rows(8, 8, 8, 1)}, {rows(8, 8, 8, 1)}", head="""
class Sampling(L.Layer):
    def call(self, codes):
        mean, spread = codes
        rows, width = tf.shape(mean)[0], mean.shape[1]
        return mean + tf.exp(spread) * tf.random.normal((rows, width))
"""), (('    x = L.Dense(6)(L.Conv2D(4, 3, strides=2, padding="same")(i))',
        '    x = L.Dense(6)(L.Flatten()(L.Conv2D(4, 3, strides=2, padding="same")(i)))'),))),
    "filters and kernel size swapped in a call of a block": ("window-too-large", Own(model_of("""
i = keras.Input((16, 16, 3))
x = block(block(i, 16, 3), 3, 32)
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""", f"{rows(8, 16, 16, 3)}, {rows(8, 1)}", head="""
def block(x, filters, size):
    return L.ReLU()(L.Conv2D(filters, size)(x))
"""), (("    x = block(block(i, 16, 3), 3, 32)", "    x = block(block(i, 16, 3), 32, 3)"),))),
}  # fmt: skip
