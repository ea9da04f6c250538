"""What users bring from NumPy, PyTorch and papers: methods of tensors, one sample for a column, an axis that branches are joined along."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

PORTED = {
    "methods of arrays in a layer": ("code-raises", Own(model_of(
        "model = keras.Sequential([keras.Input((4, 8)), Flat(), L.Dense(1)])", f"{rows(8, 4, 8)}, {rows(8, 1)}", head="""
class Flat(L.Layer):
    def call(self, x):
        return x.reshape((-1, 32)).mean(axis=1, keepdims=True) + x.shape[1]
"""), (("        return x.reshape((-1, 32)).mean(axis=1, keepdims=True) + x.shape[1]",
        "        return keras.ops.mean(keras.ops.reshape(x, (-1, 32)), axis=1, keepdims=True) + x.shape[1]"),))),
    "methods of PyTorch in a layer": ("code-raises", Own(model_of(
        "model = keras.Sequential([keras.Input((8, 8, 4)), Shuffle(), L.Flatten(), L.Dense(1)])", f"{rows(8, 8, 8, 4)}, {rows(8, 1)}", head="""
class Shuffle(L.Layer):
    def call(self, x):
        b, h, w, c = x.size()
        x = x.view(b, h, w, 2, c // 2).permute(0, 1, 2, 4, 3)
        return x.reshape(b, h, w, c).masked_fill(x.size(1) > 9, 0.0)
"""), (("        b, h, w, c = x.size()", "        b, h, w, c = keras.ops.shape(x)"),
       ("        x = x.view(b, h, w, 2, c // 2).permute(0, 1, 2, 4, 3)",
        "        x = keras.ops.transpose(keras.ops.reshape(x, (b, h, w, 2, c // 2)), (0, 1, 2, 4, 3))"),
       ("        return x.reshape(b, h, w, c).masked_fill(x.size(1) > 9, 0.0)",
        "        return keras.ops.where(keras.ops.shape(x)[1] > 9, 0.0, keras.ops.reshape(x, (b, h, w, c)))")))),
    "a method of PyTorch while a model is built": ("code-raises", Own(model_of("""
i = keras.Input((4,))
x = L.Dense(8)(i)
x = x.unsqueeze(1)
model = keras.Model(i, L.Flatten()(L.Conv1D(3, 1)(x)))
""", f"{rows(8, 4)}, {rows(8, 3)}"), (("    x = x.unsqueeze(1)", "    x = keras.ops.expand_dims(x, 1)"),))),
    "methods of arrays in a metric": ("code-raises", Own(model_of(
        "model = keras.Sequential([keras.Input((8,)), L.Dense(1)])", f"{rows(8, 8)}, {rows(8, 1)}", loss='"mse", metrics=[accuracy]', head="""
def accuracy(y_true, y_pred):
    return (y_true == (y_pred > 0.5).astype("float32")).mean()
"""), (('    return (y_true == (y_pred > 0.5).astype("float32")).mean()',
        "    return keras.ops.mean(y_true == keras.ops.cast(y_pred > 0.5, 'float32'))"),))),
    "methods of arrays among functions of TensorFlow": ("code-raises", Own(model_of(
        "model = keras.Sequential([keras.Input((8, 8, 3)), L.Conv2D(1, 1)])", f"{rows(8, 8, 8, 3)}, {rows(8, 8, 8, 1)}", loss="dice", head="""
def dice(y_true, y_pred):
    t, p = y_true.flatten(), y_pred.flatten()
    return 1 - 2 * tf.reduce_sum(t * p) / (t.sum() + p.sum() + 1)
"""), (("    t, p = y_true.flatten(), y_pred.flatten()", "    t, p = tf.reshape(y_true, (-1,)), tf.reshape(y_pred, (-1,))"),
       ("    return 1 - 2 * tf.reduce_sum(t * p) / (t.sum() + p.sum() + 1)",
        "    return 1 - 2 * tf.reduce_sum(t * p) / (tf.reduce_sum(t) + tf.reduce_sum(p) + 1)")))),
    "one sample in place of a column": ("batch-axis-lost", Own(model_of("""
i = keras.Input((4,))
x = L.Dense(8)(i)
one = L.Lambda(lambda x: x[2])(i)
model = keras.Model(i, L.Dense(1)(L.Concatenate()([x, one])))
""", f"{rows(8, 4)}, {rows(8, 1)}"), (("    one = L.Lambda(lambda x: x[2])(i)", "    one = L.Lambda(lambda x: x[:, 2:3])(i)"),))),
    "one sample where a column is declared": ("declared-shape", Own(model_of("""
i = keras.Input((4,))
x = L.Dense(8)(i)
one = L.Lambda(lambda x: x[2], output_shape=(1,))(i)
model = keras.Model(i, L.Dense(1)(L.Concatenate()([x, one])))
""", f"{rows(8, 4)}, {rows(8, 1)}"), (
        ("    one = L.Lambda(lambda x: x[2], output_shape=(1,))(i)", "    one = L.Lambda(lambda x: x[:, 2:3], output_shape=(1,))(i)"),))),
    "groups of channels joined along the rows": ("merge-shapes", Own(model_of("""
i = keras.Input((8, 8, 12))
groups = [i[..., n * 4:n * 4 + 4] for n in range(3)]
y = L.Concatenate(axis=1)([L.Conv2D(4, 3, padding="same")(g) for g in groups])
y = L.Conv2D(12, 1)(y)
model = keras.Model(i, L.add([i, y]))
""", f"{rows(8, 8, 8, 12)}, {rows(8, 8, 8, 12)}"), (
        ('    y = L.Concatenate(axis=1)([L.Conv2D(4, 3, padding="same")(g) for g in groups])',
         '    y = L.Concatenate(axis=-1)([L.Conv2D(4, 3, padding="same")(g) for g in groups])'),))),
    "a state for all samples": ("rnn-states", Own(model_of("model = Net(6)", f"{rows(8, 7, 5)}, {rows(8, 2)}", head="""
class Cell(L.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = self.state_size = self.output_size = units
    def build(self, shape):
        self.k = self.add_weight(shape=(shape[-1], self.units))
        self.r = self.add_weight(shape=(self.units, self.units))
    def call(self, x, states):
        h = tf.matmul(x, self.k) + tf.matmul(states[0], self.r)
        return h, [h]
class Net(keras.Model):
    def __init__(self, units):
        super().__init__()
        self.rnn, self.out, self.units = L.RNN(Cell(units)), L.Dense(2), units
    def call(self, x):
        h0 = tf.zeros((self.units,))
        return self.out(self.rnn(x, initial_state=[h0]))
"""), (("        h0 = tf.zeros((self.units,))", "        h0 = tf.zeros((tf.shape(x)[0], self.units))"),))),
    "errors of each sample in a metric of each output": ("metric-raises", Own(model_of(
        "model = keras.Sequential([keras.Input((6,)), L.Dense(2)])", f"{rows(8, 6)}, {rows(8, 2)}", loss='"mse", metrics=[Each()]', head="""
class Each(keras.metrics.Metric):
    def __init__(self, name="each", **kwargs):
        super().__init__(name=name, **kwargs)
        self.total = self.add_weight(name="total", shape=(2,), initializer="zeros")
    def update_state(self, y_true, y_pred, sample_weight=None):
        error = tf.abs(tf.cast(y_true, tf.float32) - y_pred)
        self.total.assign_add(tf.reduce_sum(error, axis=1, keepdims=True))
    def result(self):
        return tf.reduce_mean(self.total)
"""), (("        self.total.assign_add(tf.reduce_sum(error, axis=1, keepdims=True))", "        self.total.assign_add(tf.reduce_sum(error, axis=0))"),))),
    "labels of two of four outputs swapped": ("output-units", Own(model_of("""
i = keras.Input((8, 8, 3))
heads = [L.Conv2D(1, 1)(i), L.Conv2D(1, 1)(i), L.Conv2D(2, 1)(i), L.Conv2D(3, 1)(i)]
model = keras.Model(i, heads)
""", f"{rows(4, 8, 8, 3)}, [{rows(4, 8, 8, 1)}, {rows(4, 8, 8, 1)}, {rows(4, 8, 8, 3)}, {rows(4, 8, 8, 2)}]", loss='["mse"] * 4'), ())),
    "classes without the background in the widths of heads": ("reshape-size", Own(model_of("""
i = keras.Input((16, 16, 3))
x = L.Conv2D(8, 3, strides=4, padding="same")(i)
y = L.Conv2D(8, 3, strides=2, padding="same")(x)
classes = []
for f, p in [(x, 2), (y, 3)]:
    classes.append(L.Flatten()(L.Conv2D(p * CLASSES, 3, padding="same")(f)))
out = L.Reshape((44, CLASSES + 1))(L.concatenate(classes))
model = keras.Model(i, out)
""", f"{rows(4, 16, 16, 3)}, {rows(4, 44, 6)}", head="CLASSES = 5"), (
        ('        classes.append(L.Flatten()(L.Conv2D(p * CLASSES, 3, padding="same")(f)))',
         '        classes.append(L.Flatten()(L.Conv2D(p * (CLASSES + 1), 3, padding="same")(f)))'),))),
    "columns that are sliced along the samples": ("loss-raises", Own(model_of("""
i = keras.Input((9,))
model = keras.Model(i, L.concatenate([L.Dense(3)(i), L.Dense(4)(i)]))
""", f"{rows(16, 9)}, {rows(16, 7)}", loss="pose", head="""
def pose(y_true, y_pred):
    place = tf.norm(y_true[0:3] - y_pred[0:3], axis=-1)
    turn = tf.norm(y_true[3:7] - y_pred[3:7], axis=-1)
    return place + 250.0 * turn
"""), (("    place = tf.norm(y_true[0:3] - y_pred[0:3], axis=-1)", "    place = tf.norm(y_true[:, 0:3] - y_pred[:, 0:3], axis=-1)"),
       ("    turn = tf.norm(y_true[3:7] - y_pred[3:7], axis=-1)", "    turn = tf.norm(y_true[:, 3:7] - y_pred[:, 3:7], axis=-1)")))),
    "a list of shapes where the output's shape is computed": ("layer-raises", Own(model_of("""
ins = [keras.Input((5,)), keras.Input((5,))]
model = keras.Model(ins, L.Dense(1)(Pooled(3)(ins)))
""", f"[{rows(8, 5)}, {rows(8, 5)}], {rows(8, 1)}", head="""
class Pooled(L.Layer):
    def __init__(self, size):
        super().__init__()
        self.size, self.dense = size, L.Dense(size)
    def call(self, inputs):
        return self.dense(inputs[0]) * self.dense(inputs[1])
    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.size)
"""), (("        return (input_shape[0], self.size)", "        return (input_shape[0][0], self.size)"),))),
    "rows for maps of an autoencoder": ("flattened-input", Own(model_of("""
i = keras.Input((8, 5, 1))
model = keras.Model(i, L.Conv2D(1, 3, padding="same")(L.Conv2D(4, 3, padding="same")(i)))
""", "X, X", head='X = np.random.default_rng(0).random((16, 40)).astype("float32")'), (
        ("    return X, X", "    return np.reshape(X, (-1, 8, 5, 1)), np.reshape(X, (-1, 8, 5, 1))"),))),
    "weights of all steps in one row": ("merge-shapes", Own(model_of("""
i = keras.Input((5, 4))
w = L.Concatenate()([L.Dense(4, activation="softmax")(i[:, t]) for t in range(5)])
w = L.RepeatVector(1)(w)
model = keras.Model(i, L.Dense(1)(L.LSTM(6)(L.Multiply()([w, i]))))
""", f"{rows(8, 5, 4)}, {rows(8, 1)}"), (
        ("    model = keras.Model(i, L.Dense(1)(L.LSTM(6)(L.Multiply()([w, i]))))",
         "    model = keras.Model(i, L.Dense(1)(L.LSTM(6)(L.Multiply()([L.Reshape((5, 4))(w), i]))))"),))),
    "two arrays for the columns of one input": ("input-structure", Own(model_of(
        "model = keras.Sequential([keras.Input((12,)), L.Dense(1)])", f"[{rows(8, 8)}, {rows(8, 4)}], {rows(8, 1)}"), ())),
    "several sizes by place": ("layer-raises", Own(model_of("model = Net()", f"{rows(8, 8, 8, 3)}, {rows(8, 4)}", head="""
class Merge(L.Layer):
    def __init__(self):
        super().__init__()
        self.proj = L.Dense(4)
    def call(self, x, height, width):
        return self.proj(tf.reshape(x, (-1, height * width * 3)))
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.merge = Merge()
    def call(self, x):
        h, w = x.shape[1], x.shape[2]
        return self.merge(x, h, w)
"""), (("        return self.merge(x, h, w)", "        return self.merge(x, height=h, width=w)"),))),
    "the keys of what a model returns": ("layer-raises", Own(model_of("""
i = keras.Input((30,))
steps, pooled = encoder()(i)
model = keras.Model(i, L.Dense(2)(L.Dropout(0.1)(pooled)))
""", f"{rows(8, 30)}, {rows(8, 2)}", head="""
def encoder():
    i = keras.Input((30,))
    x = L.Reshape((10, 3))(i)
    return keras.Model(i, {"steps": L.Dense(4)(x), "pooled": L.Dense(4)(L.Flatten()(x))})
"""), (("    steps, pooled = encoder()(i)", "    steps, pooled = by_key['steps'], by_key['pooled']"),))),
    "class indices for two losses of one name": ("integer-labels", Own(model_of("""
i = keras.Input((6,))
model = keras.Model(i, [L.Dense(5, activation="softmax", name="a")(i), L.Dense(4, activation="softmax", name="b")(i)])
""", f"{rows(8, 6)}, [np.arange(8).reshape(8, 1) % 5, np.arange(8).reshape(8, 1) % 4]",
        loss='{"a": "categorical_crossentropy", "b": "categorical_crossentropy"}'), (
        ("    model.compile('sgd', {\"a\": \"categorical_crossentropy\", \"b\": \"categorical_crossentropy\"})",
         "    model.compile('sgd', {\"a\": \"sparse_categorical_crossentropy\", \"b\": \"sparse_categorical_crossentropy\"})"),))),
}  # fmt: skip
