"""A matrix that is multiplied by each sample, axes in another order, columns that lose their axis, rows that a reshape makes."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

SEEN = {
    "samples as one row of all nodes": ("op-shapes", Own(model_of(
        "model = keras.Sequential([keras.Input((20,)), Nodes(np.eye(5)), L.Flatten()])", f"{rows(8, 20)}, {rows(8, 20)}", head="""
class Nodes(L.Layer):
    def __init__(self, adjacency):
        super().__init__()
        self.adjacency = tf.constant(adjacency, tf.float32)
    def call(self, x):
        return tf.nn.relu(tf.matmul(self.adjacency, x))
"""), (("    model = keras.Sequential([keras.Input((20,)), Nodes(np.eye(5)), L.Flatten()])", "    model = keras.Sequential([keras.Input((20,)), L.Reshape((5, 4)), Nodes(np.eye(5)), L.Flatten()])"),))),
    "weights in another order than what they weigh": ("op-shapes", Own(model_of(
        "model = keras.Sequential([keras.Input((7, 4)), Routed(3, 5), L.Flatten()])", f"{rows(8, 7, 4)}, {rows(8, 15)}", head="""
class Routed(L.Layer):
    def __init__(self, kinds, width):
        super().__init__()
        self.kinds, self.width = kinds, width
    def build(self, shape):
        self.w = self.add_weight(shape=(self.kinds, shape[1], self.width, shape[2]), name="w")
        self.score = self.add_weight(shape=(1, shape[1], self.kinds), name="score")
    def call(self, x):
        u = tf.einsum("bni,knoi->bkno", x, self.w)
        c = tf.repeat(tf.nn.softmax(self.score, axis=-1), tf.shape(x)[0], axis=0)
        return tf.reduce_sum(c[..., None] * u, axis=2)
"""), (("        return tf.reduce_sum(c[..., None] * u, axis=2)", "        return tf.reduce_sum(keras.ops.swapaxes(c[..., None], 1, 2) * u, axis=2)"),))),
    "columns that are joined": ("op-shapes", Own(model_of(
        "model = keras.Sequential([keras.Input((2,)), Joined(), L.Dense(1)])", f"{rows(8, 2)}, {rows(8, 1)}", head="""
class Joined(L.Layer):
    def call(self, points):
        x, t = points[:, 0], points[:, 1]
        return tf.concat([x, t], axis=1) * x
"""), (("        x, t = points[:, 0], points[:, 1]", "        x, t = points[:, 0:1], points[:, 1:2]"),))),
    "a reshape that makes two rows of each sample": ("op-shapes", Own(model_of("""
i = keras.Input((6,))
x = L.Reshape((3, 3, 4))(L.Dense(36)(i))
model = keras.Model(i, L.Flatten()(Styled(4)([x, i])))
""", f"{rows(8, 6)}, {rows(8, 36)}", head="""
class Styled(L.Layer):
    def __init__(self, channels):
        super().__init__()
        self.channels = channels
        self.style = L.Dense(2 * channels)
    def call(self, inputs):
        x, style = inputs
        return x * tf.reshape(self.style(style), (-1, 1, 1, self.channels))
"""), (("        self.style = L.Dense(2 * channels)", "        self.style = L.Dense(channels)"),))),
    "a table whose size is also its width": ("op-shapes", Own(model_of("""
model = keras.Sequential([keras.Input((8, 4)), L.Dense(6), Positions(6, 6), L.Flatten(), L.Dense(1)])
""", f"{rows(8, 8, 4)}, {rows(8, 1)}", head="""
class Positions(L.Layer):
    def __init__(self, steps, width):
        super().__init__()
        self.table = self.add_weight(shape=(1, steps, width), name="table")
    def call(self, x):
        return x + self.table
"""), (("    model = keras.Sequential([keras.Input((8, 4)), L.Dense(6), Positions(6, 6), L.Flatten(), L.Dense(1)])",
        "    model = keras.Sequential([keras.Input((8, 4)), L.Dense(6), Positions(8, 6), L.Flatten(), L.Dense(1)])"),))),
    "one of the heads that are averaged": ("output-units", Own(model_of("""
i = keras.Input((6,))
model = keras.Model(i, L.Average()([head(i, 1, "sigmoid"), head(i, 1, "sigmoid"), head(i, 2, "softmax")]))
""", f"{rows(8, 6)}, {rows(8, 1)}", loss="'binary_crossentropy'", head="""
def head(x, units, activation):
    return L.Dense(units, activation=activation)(L.Dense(4)(x))
"""), (('    model = keras.Model(i, L.Average()([head(i, 1, "sigmoid"), head(i, 1, "sigmoid"), head(i, 2, "softmax")]))',
        '    model = keras.Model(i, L.Average()([head(i, 1, "sigmoid"), head(i, 1, "sigmoid"), head(i, 1, "sigmoid")]))'),))),
    "values that a reshape needs": ("op-shapes", Own(model_of(
        "model = keras.Sequential([keras.Input((5,)), Turned(), L.Flatten()])", f"{rows(8, 5)}, {rows(8, 6)}", head="""
class Turned(L.Layer):
    def __init__(self):
        super().__init__()
        self.angles = keras.Sequential([L.Dense(7, activation="relu"), L.Dense(4)])
    def call(self, x):
        return tf.reshape(self.angles(x), (tf.shape(x)[0], 2, 3))
"""), (('        self.angles = keras.Sequential([L.Dense(7, activation="relu"), L.Dense(4)])', '        self.angles = keras.Sequential([L.Dense(7, activation="relu"), L.Dense(6)])'),))),
    "a sum beside values that are not summed": ("op-shapes", Own(model_of("model = Flow()", rows(8, 5), loss="None", head="""
class Flow(keras.Model):
    def __init__(self):
        super().__init__()
        self.way, self.scale = L.Dense(5), L.Dense(5)
    def call(self, x):
        s = self.scale(x)
        return self.way(x) * tf.exp(s), s
    def train_step(self, x):
        with tf.GradientTape() as tape:
            z, s = self(x)
            total = tf.reduce_sum(-0.5 * z ** 2, -1)
            loss = -tf.reduce_mean(total + s)
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}
"""), (("            loss = -tf.reduce_mean(total + s)", "            loss = -tf.reduce_mean(total + tf.reduce_sum(s, -1))"),))),
    "a factor for pictures on their labels": ("batch-broadcast", Own(model_of(
        "model = Mixed()", "np.zeros((8, 6, 6, 3), 'float32'), np.eye(3, dtype='float32')[np.arange(8) % 3]", loss="'categorical_crossentropy'", head="""
class Mixed(keras.Model):
    def __init__(self):
        super().__init__()
        self.way, self.pool = L.Dense(3, activation="softmax"), L.GlobalAveragePooling2D()
    def call(self, x):
        return self.way(self.pool(x))
    def train_step(self, data):
        x, y = data
        share = tf.random.uniform((tf.shape(x)[0], 1, 1, 1))
        x = share * x + (1 - share) * x[::-1]
        y = share * y + (1 - share) * y[::-1]
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}
"""), (("        y = share * y + (1 - share) * y[::-1]", "        y = share[:, :, 0, 0] * y + (1 - share[:, :, 0, 0]) * y[::-1]"),))),
    "tokens for the rest of the patches": ("op-shapes", Own(model_of("model = Rest()", f"{rows(8, 9, 4)}, {rows(8, 9, 5)}", head="""
ALL, KEPT = 9, 4
class Rest(keras.Model):
    def __init__(self):
        super().__init__()
        self.way, self.out = L.Dense(6), L.Dense(5)
        self.token = self.add_weight(shape=(1, 1, 6), name="token")
        self.places = self.add_weight(shape=(1, ALL, 6), name="places")
    def call(self, x):
        seen = self.way(x)[:, :KEPT]
        seen = seen * 2.0
        rest = keras.ops.tile(self.token, (keras.ops.shape(x)[0], ALL, 1))
        return self.out(keras.ops.concatenate([seen, rest], axis=1) + self.places)
"""), (("        rest = keras.ops.tile(self.token, (keras.ops.shape(x)[0], ALL, 1))", "        rest = keras.ops.tile(self.token, (keras.ops.shape(x)[0], ALL - KEPT, 1))"),))),
    "a vector joined with each step": ("op-shapes", Own(model_of("""
one, many = keras.Input((4,)), keras.Input((7, 4))
model = keras.Model([one, many], L.Dense(1)(Beside()([one, many])))
""", f"[{rows(8, 4)}, {rows(8, 7, 4)}], {rows(8, 1)}", head="""
class Beside(L.Layer):
    def __init__(self):
        super().__init__()
        self.score = L.Dense(1)
    def call(self, inputs):
        q, k = inputs
        w = self.score(tf.concat([q, k, q * k], axis=-1))
        return tf.reduce_sum(tf.nn.softmax(w, axis=1) * k, axis=1)
"""), (("        w = self.score(tf.concat([q, k, q * k], axis=-1))", "        q = tf.repeat(q[:, None], tf.shape(k)[1], axis=1)"),))),
    "one of two states that is joined": ("rnn-states", Own(model_of("""
one, many = keras.Input((5, 4)), keras.Input((7, 4))
_, h, c, back, cell = L.Bidirectional(L.LSTM(3, return_state=True))(one)
y = L.LSTM(6)(many, initial_state=[L.Concatenate()([h, back]), c])
model = keras.Model([one, many], L.Dense(1)(y))
""", f"[{rows(8, 5, 4)}, {rows(8, 7, 4)}], {rows(8, 1)}"), ((
        "    y = L.LSTM(6)(many, initial_state=[L.Concatenate()([h, back]), c])",
        "    y = L.LSTM(6)(many, initial_state=[L.Concatenate()([h, back]), L.Concatenate()([c, cell])])",
    ),))),
    "a width that a loop goes through": ("op-shapes", Own(model_of("""
widths = (4, 6)
x = i = keras.Input((9, 4))
for stage, width in enumerate(widths):
    if stage:
        x = L.Conv1D(width, 1)(x)
    x = Block(widths[0])(x)
model = keras.Model(i, L.Dense(1)(L.Flatten()(x)))
""", f"{rows(8, 9, 4)}, {rows(8, 1)}", head="""
class Block(L.Layer):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = L.Dense(4 * width), L.Dense(width)
        self.factor = self.add_weight(shape=(width,), name="factor")
    def call(self, x):
        return x + self.factor * self.down(self.up(x))
"""), (("        x = Block(widths[0])(x)", "        x = Block(width)(x)"),))),
    "a window of another side": ("op-shapes", Own(model_of(
        "model = keras.Sequential([keras.Input((9, 4)), Windowed(4), L.Flatten(), L.Dense(1)])", f"{rows(8, 9, 4)}, {rows(8, 1)}", head="""
class Windowed(L.Layer):
    def __init__(self, side):
        super().__init__()
        self.bias = self.add_weight(shape=(side * side, side * side), name="bias")
    def call(self, x):
        scores = tf.matmul(x, x, transpose_b=True) + self.bias
        return tf.matmul(tf.nn.softmax(scores), x)
"""), (("    model = keras.Sequential([keras.Input((9, 4)), Windowed(4), L.Flatten(), L.Dense(1)])", "    model = keras.Sequential([keras.Input((9, 4)), Windowed(3), L.Flatten(), L.Dense(1)])"),))),
    "pairs of both views of a written batch": ("op-shapes", Own(model_of(
        "model = Pairs()", f"tf.data.Dataset.from_tensor_slices(({rows(16, 5)}, {rows(16, 5)})).batch(4)", loss="None", head="""
BATCH = 32
class Pairs(keras.Model):
    def __init__(self):
        super().__init__()
        self.way = L.Dense(6)
    def call(self, x):
        return self.way(x)
    def train_step(self, data):
        one, other = data
        with tf.GradientTape() as tape:
            z = tf.concat([self.way(one), self.way(other)], 0)
            scores = tf.matmul(z, z, transpose_b=True) - 1e9 * tf.eye(2 * BATCH)
            n = tf.shape(one)[0]
            places = tf.concat([tf.range(n) + n, tf.range(n)], 0)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(places, scores))
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}
"""), (("            scores = tf.matmul(z, z, transpose_b=True) - 1e9 * tf.eye(2 * BATCH)", "            scores = tf.matmul(z, z, transpose_b=True) - 1e9 * tf.eye(tf.shape(z)[0])"),))),
}  # fmt: skip
