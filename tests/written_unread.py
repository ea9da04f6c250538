"""Programs that are mutants of published examples: names that nothing reads, weights sized by the wrong name, steps of a loop."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

UNREAD: dict[str, tuple[str, Own]] = {
    "an argument that nothing reads": ("op-shapes", Own(model_of("""
a, b = keras.Input((6, 4)), keras.Input((3, 4))
x = Masked()(b, a[:, :, 0], b[:, :, 0])
model = keras.Model([a, b], L.Dense(1)(L.Flatten()(L.Concatenate(axis=1)([a, x]))))
""", f"[{rows(8, 6, 4)}, {rows(8, 3, 4)}], {rows(8, 1)}", head="""
class Masked(L.Layer):
    def call(self, x, source, target):
        weight = tf.cast(source > 0, "float32")[:, :, None]
        return x * weight
"""), (('        weight = tf.cast(source > 0, "float32")[:, :, None]', '        weight = tf.cast(target > 0, "float32")[:, :, None]'),))),
    "a part of the batch that the step never feeds": ("op-shapes", Own(model_of("""
model = Next()
""", f"{rows(8, 5, 3)}, {rows(8, 1)}", head="""
class Next(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = L.Dense(3)
    def call(self, x):
        return self.dense(x)
    def compared(self, true, x):
        return tf.reduce_mean(tf.square(true - self(x)))
    def train_step(self, batch):
        steps, _ = batch
        fed, true = steps[:, :-1], steps[:, 1:]
        with tf.GradientTape() as tape:
            loss = self.compared(true, steps)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {"loss": loss}
"""), (("            loss = self.compared(true, steps)", "            loss = self.compared(true, fed)"),))),
    "rows of a weight by the width of what it is multiplied with": ("op-shapes", Own(model_of("""
i = keras.Input((5, 4))
model = keras.Model(i, L.Dense(1)(L.Flatten()(Score(7)(i))))
""", f"{rows(8, 5, 4)}, {rows(8, 1)}", head="""
class Score(L.Layer):
    def __init__(self, hidden):
        super().__init__()
        self.hidden = hidden
    def build(self, shape):
        self.v = self.add_weight(shape=(shape[-1], self.hidden))
        self.w = self.add_weight(shape=(shape[-1], 1))
    def call(self, x):
        h = tf.tanh(tf.tensordot(x, self.v, axes=1))
        return x * tf.nn.softmax(tf.matmul(h, self.w), axis=1)
"""), (("        self.w = self.add_weight(shape=(shape[-1], 1))", "        self.w = self.add_weight(shape=(self.hidden, 1))"),))),
    "rows of a weight for both ends of an edge": ("op-shapes", Own(model_of("""
i = keras.Input((6, 4))
model = keras.Model(i, L.Dense(1)(L.Flatten()(Pairs(5)(i))))
""", f"{rows(8, 6, 4)}, {rows(8, 1)}", head="""
class Pairs(L.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units
    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], self.units))
        self.score = self.add_weight(shape=(self.units, 1))
    def call(self, x):
        h = tf.matmul(x, self.kernel)
        pairs = tf.reshape(h, (-1, 3, 2 * self.units))
        return tf.matmul(pairs, self.score)
"""), (("        self.score = self.add_weight(shape=(self.units, 1))", "        self.score = self.add_weight(shape=(2 * self.units, 1))"),))),
    "vectors that are joined where each has a row of its own": ("merge-shapes", Own(model_of("""
inputs = [keras.Input((4,)) for _ in range(3)]
parts = [L.Dense(5)(one) for one in inputs]
x = L.concatenate(parts)
x = x + L.Embedding(3, 5)(keras.ops.arange(3))
model = keras.Model(inputs, L.Dense(1)(L.Flatten()(x)))
""", f"[{rows(8, 4)}, {rows(8, 4)}, {rows(8, 4)}], {rows(8, 1)}"), (("    x = L.concatenate(parts)", "    x = keras.ops.stack(parts, axis=1)"),))),
    "what a step of a loop leaves for the next": ("op-shapes", Own(model_of("""
model = Forced()
""", f"{rows(8, 5, 3)}, {rows(8, 1)}", head="""
class Forced(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = L.Dense(3)
    def call(self, x):
        return self.dense(x)
    def step(self, state, fed):
        return self.dense(tf.concat([state, fed], axis=1))[:, :1]
    def train_step(self, batch):
        steps, _ = batch
        with tf.GradientTape() as tape:
            loss, state = 0.0, tf.zeros((tf.shape(steps)[0], 1, 3))
            fed = tf.expand_dims(steps[:, 0], 1)
            for t in range(1, 3):
                state = self.step(state, fed)
                loss += tf.reduce_mean(tf.square(state[:, 0] - steps[:, t]))
                fed = steps[:, t]
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {"loss": loss}
"""), (("                fed = steps[:, t]", "                fed = tf.expand_dims(steps[:, t], 1)"),))),
    "an output that keeps its name": ("output-size", Own(model_of("""
i = keras.Input((8, 8, 3))
x = L.Conv2D(4, 3, strides=2, padding="same")(i)
whole = L.Conv2D(1, 1, name="whole")(L.UpSampling2D(2)(x))
edge = L.Conv2D(1, 1, name="edge")(x)
model = keras.Model(i, [whole, edge])
""", f"{rows(8, 8, 8, 3)}, {{'whole': {rows(8, 8, 8, 1)}, 'edge': {rows(8, 8, 8, 1)}}}", loss={"whole": "mse", "edge": "mse"}), (
        ('    edge = L.Conv2D(1, 1, name="edge")(x)', '    edge = L.Conv2D(1, 1, name="edge")(L.UpSampling2D((2, 2))(x))'),))),
    "as many labels as there are predictions": ("loss-raises", Own(model_of("""
model = Judge()
""", f"{rows(8, 3)}, {rows(8, 1)}", head="""
class Judge(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = L.Dense(1)
        self.bce = keras.losses.BinaryCrossentropy(from_logits=True)
    def call(self, x):
        return self.dense(x)
    def train_step(self, batch):
        real, _ = batch
        n = tf.shape(real)[0]
        both = tf.concat([tf.random.normal((n, 3)), real], axis=0)
        labels = tf.concat([tf.ones((n, 1)), tf.zeros((n // 2, 1))], axis=0)
        with tf.GradientTape() as tape:
            loss = self.bce(labels, self(both))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {"loss": loss}
"""), (("        labels = tf.concat([tf.ones((n, 1)), tf.zeros((n // 2, 1))], axis=0)", "        labels = tf.concat([tf.ones((n, 1)), tf.zeros((n, 1))], axis=0)"),))),
}  # fmt: skip
