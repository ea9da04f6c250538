"""Mutants of published programs: losses of one's own, lists of skips, generators, contrastive steps."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

PUBLISHED: dict[str, tuple[str, Own]] = {
    "the labels in the place of the predictions": ("no-gradient", Own(model_of("""
i = keras.Input((8, 8, 3))
model = keras.Model(i, L.Conv2D(3, 3, padding="same")(i))
""", f"{rows(8, 8, 8, 3)}, {rows(8, 8, 8, 3)}", loss="style", head="""
features = keras.Sequential([keras.Input((8, 8, 3)), L.Conv2D(4, 3)])
features.trainable = False

def style(y_true, y_pred):
    made = features(y_true)
    wanted = features(y_true)
    return tf.reduce_mean(tf.square(made - wanted), axis=[1, 2, 3])
"""), (("    wanted = features(y_true)", "    wanted = features(y_pred)"),))),
    "a matrix of candidates that is not transposed": ("samples-summed", Own(model_of("""
model = Towers()
""", f"{rows(8, 3)}, {rows(8, 5)}", head="""
class Towers(keras.Model):
    def __init__(self):
        super().__init__()
        self.query, self.candidate = L.Dense(8), L.Dense(8)
        self.ce = keras.losses.CategoricalCrossentropy(from_logits=True)
    def call(self, x):
        return self.query(x)
    def train_step(self, batch):
        x, c = batch
        with tf.GradientTape() as tape:
            q, made = self.query(x), self.candidate(c)
            scores = tf.matmul(q, made)
            loss = self.ce(tf.eye(tf.shape(scores)[0]), scores)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {"loss": loss}
"""), (("            scores = tf.matmul(q, made)", "            scores = tf.matmul(q, tf.transpose(made))"),))),
    "a window that would see the next step": ("output-size", Own(model_of("""
i = keras.Input((9, 4))
x = L.Conv1D(6, 2, padding="causal", activation="relu")(i)
skip = L.Conv1D(6, 2)(x)
model = keras.Model(i, L.Dense(3)(skip))
""", f"{rows(8, 9, 4)}, {rows(8, 9, 3)}"), (("    skip = L.Conv1D(6, 2)(x)", '    skip = L.Conv1D(6, 2, padding="causal")(x)'),))),
    "skips in the order in which they were made": ("merge-shapes", Own(model_of("""
i = keras.Input((16, 16, 3))
x, skips = i, []
for width in (4, 8):
    x = L.Conv2D(width, 3, strides=2, padding="same")(x)
    skips.append(x)
x = L.Conv2D(16, 3, strides=2, padding="same")(x)
for width, skip in zip((8, 4), skips):
    x = L.Conv2DTranspose(width, 3, strides=2, padding="same")(x)
    x = L.Concatenate()([x, skip])
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""", f"{rows(8, 16, 16, 3)}, {rows(8, 1)}"), (
        ("    for width, skip in zip((8, 4), skips):", "    for width, skip in zip((8, 4), reversed(skips)):"),))),
    "the skip of another level": ("merge-shapes", Own(model_of("""
i = keras.Input((16, 16, 3))
x, skips = i, []
for d in range(2):
    x = L.Conv2D(4 * 2**d, 3, padding="same")(x)
    skips.append(x)
    x = L.MaxPooling2D(2)(x)
for d in reversed(range(2)):
    x = L.Conv2DTranspose(4 * 2**d, 2, strides=2, padding="same")(x)
    x = L.concatenate([x, skips[d - 1]])
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""", f"{rows(8, 16, 16, 3)}, {rows(8, 1)}"), (
        ("        x = L.concatenate([x, skips[d - 1]])", "        x = L.concatenate([x, skips[d]])"),))),
    "a generator whose images are too large for the discriminator": ("input-axis", Own(model_of("""
model = Gan()
""", f"{rows(8, 12, 12, 1)}, {rows(8, 1)}", head="""
class Gan(keras.Model):
    def __init__(self):
        super().__init__()
        self.g = keras.Sequential([
            keras.Input((5,)),
            L.Dense(3 * 3 * 4),
            L.Reshape((3, 3, 4)),
            L.Conv2DTranspose(4, 5, strides=2),
            L.Conv2DTranspose(1, 5, strides=2, padding="same"),
        ])
        self.d = keras.Sequential([keras.Input((12, 12, 1)), L.Conv2D(4, 3), L.Flatten(), L.Dense(1)])
    def call(self, x):
        return self.d(x)
    def train_step(self, batch):
        x, _ = batch
        with tf.GradientTape() as tape:
            made = self.g(tf.random.normal((tf.shape(x)[0], 5)))
            loss = tf.reduce_mean(tf.square(self.d(x))) + tf.reduce_mean(tf.square(self.d(made) - 1.0))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {"loss": loss}
"""), (("            L.Conv2DTranspose(4, 5, strides=2),", '            L.Conv2DTranspose(4, 5, strides=2, padding="same"),'),))),
    "one-hot rows for a loss of class indices": ("loss-raises", Own(model_of("""
model = Pairs()
""", f"{rows(8, 5)}, {rows(8, 1)}", head="""
class Pairs(keras.Model):
    def __init__(self):
        super().__init__()
        self.net = L.Dense(4)
    def call(self, x):
        return self.net(x)
    def train_step(self, batch):
        x, _ = batch
        with tf.GradientTape() as tape:
            one, two = self.net(x), self.net(-x)
            scores = tf.matmul(one, two, transpose_b=True)
            rows = tf.eye(tf.shape(x)[0])
            loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(rows, scores, from_logits=True))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {"loss": loss}
"""), ((
        "            loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(rows, scores, from_logits=True))",
        "            loss = tf.reduce_mean(keras.losses.categorical_crossentropy(rows, scores, from_logits=True))"),))),
    "an axis that the function gives another tensor too": ("loss-raises", Own(model_of("""
i = keras.Input((6,))
model = keras.Model(i, L.Reshape((2, 2, 4))(L.Dense(16)(i)))
""", f"{rows(8, 6)}, {rows(8, 2, 4)}", loss="boxes", head="""
def boxes(y_true, y_pred):
    center, size = y_true[..., :2], y_true[..., 2:]
    near = tf.reduce_sum(tf.square(y_pred[..., :2] - center), axis=-1)
    near += tf.reduce_sum(tf.square(y_pred[..., 2:] - size[..., None, :]), axis=-1)
    return tf.reduce_mean(near, axis=[1, 2])
"""), ((
        "    near = tf.reduce_sum(tf.square(y_pred[..., :2] - center), axis=-1)",
        "    near = tf.reduce_sum(tf.square(y_pred[..., :2] - center[:, :, None, :]), axis=-1)"),))),
    "labels that a function of the pipeline drops": ("no-labels", Own(model_of("""
model = keras.Sequential([keras.Input((5,)), L.Dense(1)])
""", f"tf.data.Dataset.from_tensor_slices(({rows(16, 5)}, {rows(16, 1)})).map(louder).batch(8)", head="""
def louder(x, y):
    x = x * 2.0
    return x
"""), (("    return x", "    return x, y"),))),
    "a softmax for labels of several classes": ("several-classes", Own(model_of("""
model = keras.Sequential([keras.Input((5,)), L.Dense(4, activation="softmax")])
""", f"{rows(8, 5)}, np.tri(8, 4, dtype='float32')", loss="'binary_crossentropy'"), (
        ('    model = keras.Sequential([keras.Input((5,)), L.Dense(4, activation="softmax")])',
         '    model = keras.Sequential([keras.Input((5,)), L.Dense(4, activation="sigmoid")])'),))),
    "the gradient by a part of what the model is called on": ("code-raises", Own(model_of("""
model = Slope()
""", f"{rows(8, 3)}, {rows(8, 1)}", head="""
class Slope(keras.Model):
    def __init__(self):
        super().__init__()
        self.net = L.Dense(1)
    def call(self, x):
        return self.net(x)
    def train_step(self, batch):
        x, y = batch
        t = x[:, :1]
        with tf.GradientTape() as tape:
            with tf.GradientTape() as inner:
                inner.watch(t)
                made = self(x)
            slope = inner.gradient(made, t)
            loss = tf.reduce_mean(tf.square(made - y)) + tf.reduce_mean(tf.square(slope))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {"loss": loss}
"""), (("                inner.watch(t)", "                inner.watch(x)"),
       ("            slope = inner.gradient(made, t)", "            slope = inner.gradient(made, x)[:, :1]")))),
    "a part of what is written for the width": ("op-shapes", Own(model_of("""
i = keras.Input((6, 6, 8))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(Gate()(i))))
""", f"{rows(8, 6, 6, 8)}, {rows(8, 1)}", head="""
class Gate(L.Layer):
    def __init__(self, ratio=4):
        super().__init__()
        self.ratio = ratio
    def build(self, shape):
        c = shape[-1]
        self.first = L.Dense(c // self.ratio, activation="relu")
        self.last = L.Dense(c // self.ratio, activation="sigmoid")
    def call(self, x):
        s = self.last(self.first(tf.reduce_mean(x, axis=[1, 2])))
        return x * s[:, None, None, :]
"""), (('        self.last = L.Dense(c // self.ratio, activation="sigmoid")', '        self.last = L.Dense(c, activation="sigmoid")'),))),
    "a number that a block was created with": ("merge-shapes", Own(model_of("""
i = keras.Input((12,))
back, fore = Block(16, 12)(i)
rest = L.Subtract()([i, back])
model = keras.Model(i, L.Dense(1)(L.Concatenate()([rest, fore])))
""", f"{rows(8, 12)}, {rows(8, 1)}", head="""
class Block(L.Layer):
    def __init__(self, units, theta):
        super().__init__()
        self.hidden, self.last = L.Dense(units), L.Dense(theta)
    def call(self, x):
        t = self.last(self.hidden(x))
        return t[:, :-3], t[:, -3:]
"""), (("    back, fore = Block(16, 12)(i)", "    back, fore = Block(16, 15)(i)"),))),
    "a map that is folded as it was written": ("reshape-size", Own(model_of("""
i = keras.Input((8, 8, 6))
x = L.Reshape((64, 12))(i)
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(x)))
""", f"{rows(8, 8, 8, 6)}, {rows(8, 1)}"), (("    x = L.Reshape((64, 12))(i)", "    x = L.Reshape((64, 6))(i)"),))),
    "one feature of each step": ("layer-rank", Own(model_of("""
i = keras.Input((9, 3))
first = L.LSTM(4)(L.Lambda(lambda t: t[:, 0])(i))
rest = L.LSTM(4)(L.Lambda(lambda t: t[:, :, 1:])(i))
model = keras.Model(i, L.Dense(1)(L.concatenate([first, rest])))
""", f"{rows(8, 9, 3)}, {rows(8, 1)}"), (
        ("    first = L.LSTM(4)(L.Lambda(lambda t: t[:, 0])(i))", "    first = L.LSTM(4)(L.Lambda(lambda t: t[:, :, 0:1])(i))"),))),
    "a metric for vectors in a training step that receives class indices": ("metric-labels", Own(model_of("""
model = Stepped()
""", f"{rows(16, 6)}, (np.arange(16) % 3)[:, None]", head="""
class Stepped(keras.Model):
    def __init__(self):
        super().__init__()
        self.head = L.Dense(3, activation="softmax")
        self.criterion = keras.losses.SparseCategoricalCrossentropy()
        self.hits = keras.metrics.CategoricalAccuracy(name="hits")
    @property
    def metrics(self):
        return [self.hits]
    def call(self, x):
        return self.head(x)
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.criterion(y, y_pred)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        self.hits.update_state(y, y_pred)
        return {"loss": loss, "hits": self.hits.result()}
"""), ((
        '        self.hits = keras.metrics.CategoricalAccuracy(name="hits")',
        '        self.hits = keras.metrics.SparseCategoricalAccuracy(name="hits")',
    ),))),
    "a gate of channels with its axes of size 1 behind them": ("op-shapes", Own(model_of("""
i = keras.Input((10, 10, 3))
x = Gate()(L.Conv2D(6, 3)(i))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""", f"{rows(8, 10, 10, 3)}, {rows(8, 1)}", head="""
class Gate(L.Layer):
    def build(self, shape):
        self.up = L.Dense(shape[-1], activation="sigmoid")
        self.up.build((None, shape[-1]))
    def call(self, x):
        gate = self.up(tf.reduce_mean(x, axis=(1, 2)))
        return x * tf.reshape(gate, (-1, 6, 1, 1))
"""), (("        return x * tf.reshape(gate, (-1, 6, 1, 1))", "        return x * tf.reshape(gate, (-1, 1, 1, 6))"),))),
    "predictions that Keras squeezes before a loss that expands the labels": ("loss-raises", Own(model_of("""
i = keras.Input((10, 12, 3))
model = keras.Model(i, L.Conv2D(1, 1, activation="sigmoid")(i))
""", f"{rows(8, 10, 12, 3)}, {rows(8, 10, 12)}", "dice", head="""
def dice(y_true, y_pred):
    y_true = tf.expand_dims(y_true, -1)
    both = tf.reduce_sum(y_true * y_pred, axis=(1, 2, 3))
    return 1 - 2 * both / (tf.reduce_sum(y_true, axis=(1, 2, 3)) + tf.reduce_sum(y_pred, axis=(1, 2, 3)) + 1)
"""), (("    y_true = tf.expand_dims(y_true, -1)", "    y_pred = y_pred[..., None]"),))),
    "the width of the heads together": ("op-shapes", Own(model_of("""
model = Heads(6, 4)
""", f"{rows(8, 5)}, {rows(8, 1)}", head="""
class Heads(keras.Model):
    def __init__(self, units, heads):
        super().__init__()
        self.first = L.Dense(units, activation="relu")
        self.heads = [L.Dense(units) for _ in range(heads)]
        self.last = L.Dense(1)
    def call(self, x):
        x = self.first(x)
        x = tf.concat([head(x) for head in self.heads], axis=-1) + x
        return self.last(x)
"""), (('        self.first = L.Dense(units, activation="relu")', '        self.first = L.Dense(4 * units, activation="relu")'),))),
    "the axis of the points in a Dot": ("merge-shapes", Own(model_of("""
i = keras.Input((40, 3))
t = L.Reshape((3, 3))(L.Dense(9)(L.GlobalMaxPooling1D()(L.Dense(8)(i))))
x = L.Dot(axes=(1, 1))([i, t])
model = keras.Model(i, L.Dense(1)(L.GlobalMaxPooling1D()(x)))
""", f"{rows(8, 40, 3)}, {rows(8, 1)}"), (("    x = L.Dot(axes=(1, 1))([i, t])", "    x = L.Dot(axes=(2, 1))([i, t])"),))),
    "steps for a layer that turns them": ("op-shapes", Own(model_of("""
i = keras.Input((12, 6))
x = L.Dense(8)(L.LSTM(8)(i))
model = keras.Model(i, L.Dense(1)(Turned()(x)))
""", f"{rows(8, 12, 6)}, {rows(8, 1)}", head="""
class Turned(L.Layer):
    def call(self, x):
        return tf.reduce_mean(tf.transpose(x, [1, 0, 2]), 0)
"""), (("    x = L.Dense(8)(L.LSTM(8)(i))", "    x = L.Dense(8)(L.LSTM(8, return_sequences=True)(i))"),))),
    "steps for a layer that compares them": ("op-shapes", Own(model_of("""
i = keras.Input((12, 6))
x = L.Bidirectional(L.GRU(4))(i)
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Compared()(x))))
""", f"{rows(8, 12, 6)}, {rows(8, 1)}", head="""
class Compared(L.Layer):
    def call(self, x):
        return tf.einsum("btd,bsd->bts", x, x)
"""), (("    x = L.Bidirectional(L.GRU(4))(i)", "    x = L.Bidirectional(L.GRU(4, return_sequences=True))(i)"),))),
    "an embedding of one value in a list of vectors": ("op-shapes", Own(model_of("""
n, c = keras.Input((1,), name="n"), keras.Input((1,), name="c")
parts = [L.Dense(8)(n), L.Dense(8)(n)]
parts.append(L.Embedding(6, 8)(c))
model = keras.Model({"n": n, "c": c}, L.Dense(1)(Selected()(parts)))
""", '{"n": np.ones((8, 1), "float32"), "c": np.arange(8).reshape(8, 1) % 6}, ' + rows(8, 1), head="""
class Selected(L.Layer):
    def __init__(self):
        super().__init__()
        self.weigh, self.whole = L.Dense(3, activation="softmax"), L.Dense(8)
    def call(self, parts):
        v = self.weigh(self.whole(tf.concat(parts, -1)))[:, None]
        return tf.squeeze(tf.matmul(v, tf.stack(parts, 1)), 1)
"""), (("    parts.append(L.Embedding(6, 8)(c))", "    parts.append(L.Flatten()(L.Embedding(6, 8)(c)))"),))),
    "an attention vector for one of two parts": ("op-shapes", Own(model_of("""
i = keras.Input((6, 5))
model = keras.Model(i, L.Dense(1)(L.Flatten()(Pair(7)(i))))
""", f"{rows(8, 6, 5)}, {rows(8, 1)}", head="""
class Pair(L.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.units), name="w")
        self.a = self.add_weight(shape=(self.units, 1), name="a")
    def call(self, x):
        h = x @ self.w
        both = tf.concat([h, tf.reverse(h, [1])], -1)
        return h * tf.nn.softmax(both @ self.a, axis=1)
"""), (('        self.a = self.add_weight(shape=(self.units, 1), name="a")', '        self.a = self.add_weight(shape=(2 * self.units, 1), name="a")'),))),
}  # fmt: skip
