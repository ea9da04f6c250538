"""Tensors that a program creates in the shape of others, and numbers that it has a name for: the line, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_ACTIVATED = """
def doubled(x):
    return tf.tanh(x) * 2
"""
_SAMPLING = """
class Sampling(L.Layer):
    def call(self, both):
        mean, spread = both
        noise = tf.random.normal(tf.shape(mean))
        return mean + tf.exp(0.5 * spread) * noise
"""
_AUTOENCODER = """
LATENT = 8
class Autoencoder(keras.Model):
    def __init__(self):
        super().__init__()
        self.mean = L.Dense(LATENT)
        self.spread = L.Dense(2 * LATENT)
        self.out = L.Dense(6)
    def call(self, x):
        mean, spread = self.mean(x), self.spread(x)
        noise = tf.random.normal(tf.shape(mean))
        return self.out(mean + tf.exp(spread / 2) * noise)
"""
_TRIPLETS = """
def triplets(t, p):
    anchor, near, far = p[:, :16], p[:, 16:32], p[:, 32:]
    return tf.maximum(tf.reduce_sum(tf.square(anchor - near), 1) - tf.reduce_sum(tf.square(anchor - far), 1) + 1.0, 0.0)
"""
_SHARES = """
class Shares(L.Layer):
    def __init__(self, score):
        super().__init__()
        self.score = score
    def call(self, parts):
        shares = tf.nn.softmax(tf.stack([self.score(part) for part in parts]))
        return [shares[number] for number in range(len(parts))]
"""
_POOLED = """
class Pooled(L.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], 1), name="w")
    def call(self, x):
        scores = tf.tanh(tf.matmul(x, self.w))
        shares = tf.nn.softmax(scores)
        return tf.reduce_sum(x * shares, axis=1)
"""
_VALUED = """
class Valued(keras.Model):
    def __init__(self, actions):
        super().__init__()
        self.actions = actions
        self.values = L.Dense(actions)
    def call(self, state):
        return self.values(state)
    def train_step(self, data):
        (state, action, reward, after, done), _ = data
        best = tf.reduce_max(self(after), axis=1)
        with tf.GradientTape() as tape:
            taken = tf.reduce_sum(self(state) * tf.one_hot(action, self.actions), axis=1)
            loss = tf.reduce_mean((reward + 0.9 * best * (1 - done) - taken) ** 2)
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}
"""
_MOVES = f"tf.data.Dataset.from_tensor_slices((({rows(8, 4)}, np.arange(8)[:, None] % 3, {rows(8, 1)}, {rows(8, 4)}, {rows(8, 1)}), {rows(8)})).batch(4)"
_TURNED = """
def turned(x, n):
    t = L.Dense(n * n)(L.GlobalMaxPooling1D()(L.Conv1D(6, 1)(x)))
    return L.Dot(axes=(2, 1))([x, L.Reshape((n, n))(t)])
"""
_SCALED = """
class Scaled(L.Layer):
    def __init__(self, steps):
        super().__init__()
        self.steps = steps
    def build(self, shape):
        self.w = self.add_weight(shape=(self.steps,), name="w")
        self.b = self.add_weight(shape=(self.steps,), name="b")
    def call(self, x):
        x = tf.reduce_mean(x[:, :, :2], axis=-1)
        return tf.expand_dims(self.w * x + self.b, -1)
"""
_CONTEXT = """
class Context(keras.Model):
    def __init__(self):
        super().__init__()
        self.ids, self.end, self.out = L.Embedding(9, 3), L.GRU(4), L.Dense(2)
    def call(self, x):
        x = self.ids(x)
        last = self.end(x)
        x = tf.concat([tf.expand_dims(last, 1), x], axis=-1)
        return self.out(x)
"""
_ROLLED = """
class Rolled(keras.Model):
    def __init__(self):
        super().__init__()
        self.cell, self.out = L.GRUCell(4), L.Dense(1)
    def call(self, x):
        state = tf.zeros((tf.shape(x)[0], 6))
        for step in range(x.shape[1]):
            y, [state] = self.cell(x[:, step], [state])
        return self.out(y)
"""

CREATED = {
    "one layer before a loop for pictures of several widths": ("layer-axis", Own(model_of("""
i = keras.Input((16, 16, 3))
x, widths = i, [4, 8]
conv = L.Conv2D(widths[0], 3, padding="same")
for width in widths:
    x = conv(x)
    x = L.MaxPooling2D()(x)
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""", f"{rows(8, 16, 16, 3)}, {rows(8, 1)}"), (("        x = conv(x)", '        x = L.Conv2D(width, 3, padding="same")(x)'),))),
    "one normalization for two convolutions": ("layer-axis", Own("""
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.second = L.Conv2D(4, 3), L.Conv2D(8, 3)
        self.norm = L.BatchNormalization()
        self.out = L.Dense(1)
    def call(self, x, training=False):
        x = self.norm(self.first(x), training=training)
        x = self.norm(self.second(x), training=training)
        return self.out(tf.reduce_mean(x, axis=[1, 2]))
""" + model_of("model = Net()", f"{rows(8, 9, 9, 3)}, {rows(8, 1)}"), (
        ("        self.norm = L.BatchNormalization()", "        self.norm_2 = L.BatchNormalization()"),
        ("        x = self.norm(self.second(x), training=training)", "        x = self.norm_2(self.second(x), training=training)"),
    ))),
    "one layer of its own before a loop": ("op-shapes", Own("""
class Mixed(L.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.units), name="w")
    def call(self, x):
        return tf.nn.relu(tf.matmul(x, self.w))
""" + model_of("""
i = keras.Input((5,))
x = i
mixed = Mixed(7)
for _ in range(3):
    x = mixed(x)
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 5)}, {rows(8, 1)}"), (("        x = mixed(x)", "        x = Mixed(7)(x)"),))),
    "an activation of its own in a layer that is copied": ("code-raises", Own(model_of("""
i = keras.Input((5, 3))
model = keras.Model(i, L.Dense(1)(L.Bidirectional(L.GRU(4, activation=doubled))(i)))
""", f"{rows(8, 5, 3)}, {rows(8, 1)}", head=_ACTIVATED), (("def doubled(x):", "@keras.saving.register_keras_serializable()"),))),
    "a model that is made again from its configuration": ("code-raises", Own(_ACTIVATED.replace("doubled", "twice") + """
def build():
    first = keras.Sequential([keras.Input((5,)), L.Dense(4, activation=twice), L.Dense(1)])
    model = keras.Sequential.from_config(first.get_config())
    model.compile("sgd", "mse")
    return model
def data():
    return """ + f"{rows(8, 5)}, {rows(8, 1)}\n", (("def twice(x):", "@keras.saving.register_keras_serializable()"),))),
    "noise in the shape of another layer's output": ("op-shapes", Own(model_of("""
i = keras.Input((6,))
x = L.Dense(5)(i)
mean = L.Dense(2, name="mean")(x)
spread = L.Dense(5, name="spread")(x)
model = keras.Model(i, L.Dense(6)(Sampling()([mean, spread])))
""", f"{rows(8, 6)}, {rows(8, 6)}", head=_SAMPLING), ((
        '    spread = L.Dense(5, name="spread")(x)', '    spread = L.Dense(2, name="spread")(x)',
    ),))),
    "a size that has a name": ("op-shapes", Own(model_of("""
model = Autoencoder()
""", f"{rows(8, 6)}, {rows(8, 6)}", head=_AUTOENCODER), ((
        "        self.spread = L.Dense(2 * LATENT)", "        self.spread = L.Dense(LATENT)",
    ),))),
    "slices of which the last is open": ("loss-raises", Own(model_of("""
net = keras.Sequential([keras.Input((4,)), L.Dense(8)])
ends = [keras.Input((4,)) for _ in range(3)]
model = keras.Model(ends, L.Concatenate()([net(end) for end in ends]))
""", f"({rows(8, 4)}, {rows(8, 4)}, {rows(8, 4)}), {rows(8)}", "triplets", head=_TRIPLETS), ((
        "    anchor, near, far = p[:, :16], p[:, 16:32], p[:, 32:]", "    anchor, near, far = p[:, :8], p[:, 8:16], p[:, 16:]",
    ),))),
    "a softmax over the one score that an operation computes": ("one-unit-softmax", Own(model_of("""
i = keras.Input((5, 4))
model = keras.Model(i, L.Dense(1)(Pooled()(i)))
""", f"{rows(8, 5, 4)}, {rows(8, 1)}", head=_POOLED), ((
        "        shares = tf.nn.softmax(scores)", "        shares = tf.nn.softmax(scores, axis=1)",
    ),))),
    "a softmax over the one score of each of several inputs": ("one-unit-softmax", Own(model_of("""
ends = [keras.Input((4,)) for _ in range(3)]
score = L.Dense(1)
shares = Shares(score)(ends)
model = keras.Model(ends, L.Dense(1)(L.Add()([L.Multiply()([end, share]) for end, share in zip(ends, shares)])))
""", f"({rows(8, 4)}, {rows(8, 4)}, {rows(8, 4)}), {rows(8, 1)}", head=_SHARES), ((
        "        shares = tf.nn.softmax(tf.stack([self.score(part) for part in parts]))",
        "        shares = tf.nn.softmax(tf.stack([self.score(part) for part in parts]), axis=0)",
    ),))),
    "columns that a step unpacks": ("batch-broadcast", Own(model_of("""
model = Valued(3)
""", _MOVES, head=_VALUED), ((
        "        best = tf.reduce_max(self(after), axis=1)",
        "        action, reward, done = action[:, 0], reward[:, 0], done[:, 0]",
    ),))),
    "a crop of too few": ("merge-shapes", Own(model_of("""
i = keras.Input((20, 20, 1))
fine = L.Conv2D(2, 3)(i)
coarse = L.Conv2D(4, 3)(L.MaxPooling2D()(fine))
up = L.Conv2DTranspose(2, 2, strides=2)(coarse)
side = L.Cropping2D(1)(fine)
model = keras.Model(i, L.Conv2D(1, 1)(L.Concatenate()([side, up])))
""", f"{rows(8, 20, 20, 1)}, {rows(8, 14, 14, 1)}"), (("    side = L.Cropping2D(1)(fine)", "    side = L.Cropping2D(2)(fine)"),))),
    "a size that a function is called with, for a product": ("merge-shapes", Own(model_of("""
i = keras.Input((12, 3))
x = turned(i, 3)
x = L.Conv1D(4, 1)(x)
x = turned(x, 8)
model = keras.Model(i, L.Dense(2)(L.GlobalMaxPooling1D()(x)))
""", f"{rows(8, 12, 3)}, {rows(8, 2)}", head=_TURNED), (("    x = turned(x, 8)", "    x = turned(x, 4)"),))),
    "channels for a target of the labels' shape": ("reshape-size", Own(model_of("""
i = keras.Input((8, 8, 3))
x = L.MaxPooling2D(4)(i)
x = L.Conv2D(ANCHORS * (4 + CLASSES), 1)(x)
model = keras.Model(i, L.Reshape((2, 2, ANCHORS, 5 + CLASSES))(x))
""", f"{rows(8, 8, 8, 3)}, {rows(8, 2, 2, 3, 9)}", head="ANCHORS, CLASSES = 3, 4\n"), ((
        "    x = L.Conv2D(ANCHORS * (4 + CLASSES), 1)(x)", "    x = L.Conv2D(ANCHORS * (5 + CLASSES), 1)(x)",
    ),))),
    "weights of as many steps as another program has": ("op-shapes", Own(model_of("""
i = keras.Input((6, 3))
t = Scaled(9)(i)
model = keras.Model(i, L.Dense(1)(L.LSTM(2)(L.Concatenate()([i, t]))))
""", f"{rows(8, 6, 3)}, {rows(8, 1)}", head=_SCALED), (("    t = Scaled(9)(i)", "    t = Scaled(6)(i)"),))),
    "a context for each step": ("op-shapes", Own(model_of("""
model = Context()
""", f"np.arange(40).reshape(8, 5) % 9, {rows(8, 5, 2)}", head=_CONTEXT), ((
        "        x = tf.concat([tf.expand_dims(last, 1), x], axis=-1)",
        "        x = tf.concat([tf.repeat(tf.expand_dims(last, 1), tf.shape(x)[1], axis=1), x], axis=-1)",
    ),))),
    "a context for each step, of layers": ("merge-shapes", Own(model_of("""
i = keras.Input((5, 3))
last = L.Reshape((1, 4))(L.GRU(4)(i))
x = L.Concatenate()([last, i])
model = keras.Model(i, L.Dense(2)(x))
""", f"{rows(8, 5, 3)}, {rows(8, 5, 2)}"), ((
        "    x = L.Concatenate()([last, i])", "    x = L.Concatenate()([L.UpSampling1D(5)(last), i])",
    ),))),
    "an Input that nothing comes from": ("graph-disconnected", Own(model_of("""
fed = keras.Input((4,))
other = keras.Input((4,))
model = keras.Model(other, L.Dense(2)(fed))
""", f"{rows(8, 4)}, {rows(8, 2)}"), (("    model = keras.Model(other, L.Dense(2)(fed))", "    model = keras.Model(fed, L.Dense(2)(fed))"),))),
    "labels of each value of the output": ("output-names", Own(model_of("""
model = keras.Sequential([keras.Input((4,)), L.Dense(2)])
""", f"tf.data.Dataset.from_tensor_slices(({rows(8, 4)}, ({rows(8)}, {rows(8)}))).batch(4)"), ((
        f"    return tf.data.Dataset.from_tensor_slices(({rows(8, 4)}, ({rows(8)}, {rows(8)}))).batch(4)",
        f"    return tf.data.Dataset.from_tensor_slices(({rows(8, 4)}, ({rows(8)}, {rows(8)}))).batch(4).map(lambda x, y: (x, tf.stack(y, axis=-1)))",
    ),))),
    "fewer steps to predict than are read": ("output-size", Own(model_of("""
i = keras.Input((9, 2))
x = L.LSTM(4, return_sequences=True)(i)
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 9, 2)}, {rows(8, 3, 1)}"), ((
        "    model = keras.Model(i, L.Dense(1)(x))", "    model = keras.Model(i, L.Reshape((3, 1))(L.Dense(3)(x)))",
    ),))),
    "a first state as wide as no cell": ("rnn-states", Own(model_of("""
model = Rolled()
""", f"{rows(8, 5, 3)}, {rows(8, 1)}", head=_ROLLED), ((
        "        state = tf.zeros((tf.shape(x)[0], 6))", "        state = tf.zeros((tf.shape(x)[0], self.cell.units))",
    ),))),
}  # fmt: skip
