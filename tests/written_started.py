"""Maps that a generator starts from, vectors in products, weights by name, and layers whose graph breaks with the data alone."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_VECTOR = """
class Context(L.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], 6), name="w")
        self.u = self.add_weight(shape=(6,), name="u")
    def call(self, x):
        a = tf.tanh(tf.matmul(x, self.w))
        a = tf.matmul(a, self.u)
        a = tf.nn.softmax(tf.squeeze(a, -1), axis=1)
        return tf.reduce_sum(x * tf.expand_dims(a, -1), axis=1)
"""
_SQUEEZED = """
class Squeeze(L.Layer):
    def __init__(self, ratio):
        super().__init__()
        self.ratio = ratio
    def call(self, x):
        width = x.shape[-1]
        s = L.GlobalAveragePooling2D()(x)
        s = L.Dense(width // self.ratio, activation="relu")(s)
        s = L.Dense(width, activation="sigmoid")(s)
        return x * tf.reshape(s, (-1, 1, 1, width))
"""
_F1 = """
def f1(y_true, y_pred):
    both = tf.reduce_sum(y_true * y_pred, axis=0)
    return tf.reduce_mean(2 * both / (tf.reduce_sum(y_true + y_pred, axis=0) + 1e-7))
"""
_NETS = """
class Nets(keras.Model):
    def __init__(self):
        super().__init__()
        self.make = keras.Sequential([keras.Input((4,)), L.Dense(3 * 3 * 2), L.Reshape((3, 3, 2)), L.UpSampling2D(4), L.Conv2D(1, 3, padding="same")])
        self.judge = keras.Sequential([keras.Input((16, 16, 1)), L.Flatten(), L.Dense(1, activation="sigmoid")])
        self.score = keras.losses.BinaryCrossentropy()
    def train_step(self, real):
        n = tf.shape(real)[0]
        fake = self.make(tf.random.normal((n, 4)))
        both = tf.concat([fake, real], axis=0)
        with tf.GradientTape() as tape:
            loss = self.score(tf.concat([tf.ones((n, 1)), tf.zeros((n, 1))], 0), self.judge(both))
        held = self.judge.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, held), held))
        return {"loss": loss}
"""

STARTED: dict[str, tuple[str, Own]] = {
    "query and value of a graph that breaks with the data": (
        "merge-shapes",
        Own(
            model_of(
                """
i, j = keras.Input((9, 4)), keras.Input((None, 4))
a = L.LSTM(5, return_sequences=True)(i)
b = L.LSTM(5, return_sequences=True)(j)
c = L.Attention()([a, b])
model = keras.Model([i, j], L.Dense(1)(L.Concatenate()([b, c])))
""",
                f"({rows(8, 9, 4)}, {rows(8, 6, 4)}), {rows(8, 6, 1)}",
            ),
            (("    c = L.Attention()([a, b])", "    c = L.Attention()([b, a])"),),
        ),
    ),
    "a vector in a product of matrices": (
        "op-shapes",
        Own(
            model_of(
                """
i = keras.Input((7, 4))
model = keras.Model(i, L.Dense(1)(Context()(i)))
""",
                f"{rows(8, 7, 4)}, {rows(8, 1)}",
                head=_VECTOR,
            ),
            (("        a = tf.matmul(a, self.u)", "        a = tf.matmul(a, self.u[:, None])"),),
        ),
    ),
    "layers that call makes as wide as its input": (
        "made-in-call",
        Own(
            model_of(
                """
i = keras.Input((5, 5, 4))
model = keras.Model(i, L.Dense(1)(L.Flatten()(Squeeze(2)(i))))
""",
                f"{rows(8, 5, 5, 4)}, {rows(8, 1)}",
                head=_SQUEEZED,
            ),
            (
                (
                    '        s = L.Dense(width // self.ratio, activation="relu")(s)',
                    "        self.dense = L.Dense(width // self.ratio, activation='relu')".replace("'", '"'),
                ),
                ('        s = L.Dense(width, activation="sigmoid")(s)', "        s = self.dense_1(s)"),
                ("        s = L.GlobalAveragePooling2D()(x)", "    def build(self, input_shape):"),
            ),
        ),
    ),
    "class indices in a metric of its own": (
        "dtype-mix",
        Own(
            model_of(
                """
i = keras.Input((4,))
model = keras.Model(i, L.Dense(3, activation="softmax")(i))
""",
                f"{rows(8, 4)}, np.arange(8) % 3",
                "'sparse_categorical_crossentropy', metrics=[f1]",
                head=_F1,
            ),
            (("def f1(y_true, y_pred):", '    y_true = tf.one_hot(tf.cast(y_true, "int32"), y_pred.shape[-1])'),),
        ),
    ),
    "a class and a box in the columns of the labels": (
        "output-names",
        Own(
            model_of(
                """
i = keras.Input((6,))
model = keras.Model(i, [L.Dense(3, activation="softmax")(i), L.Dense(4)(i)])
""",
                f"{rows(8, 6)}, np.concatenate([np.arange(8)[:, None] % 3, {rows(8, 4)}], axis=1)",
                "['sparse_categorical_crossentropy', 'mse']",
            ),
            (
                (
                    f"    return {rows(8, 6)}, np.concatenate([np.arange(8)[:, None] % 3, {rows(8, 4)}], axis=1)",
                    f"    return {rows(8, 6)}, np.split(np.concatenate([np.arange(8)[:, None] % 3, {rows(8, 4)}], axis=1), [1], axis=-1)",
                ),
            ),
        ),
    ),
    "values of the head for the steps of a label": (
        "output-size",
        Own(
            model_of(
                """
i = keras.Input((9, 2))
x = L.LSTM(4, return_sequences=True)(i)
x = L.LSTM(4, return_sequences=True)(x)
model = keras.Model(i, L.Dense(5)(x))
""",
                f"{rows(8, 9, 2)}, {rows(8, 5, 1)}",
            ),
            (("    x = L.LSTM(4, return_sequences=True)(x)", "    x = L.LSTM(4, return_sequences=False)(x)"),),
        ),
    ),
    "the map that a decoder starts from": (
        "output-size",
        Own(
            model_of(
                """
i = keras.Input((4,))
x = L.Reshape((3, 3, 2))(L.Dense(3 * 3 * 2)(i))
x = L.Conv2DTranspose(2, 3, strides=4, padding="same")(x)
model = keras.Model(i, L.Conv2D(1, 3, padding="same")(x))
""",
                f"{rows(8, 4)}, {rows(8, 16, 16, 1)}",
            ),
            (("    x = L.Reshape((3, 3, 2))(L.Dense(3 * 3 * 2)(i))", "    x = L.Reshape((4, 4, 2))(L.Dense(32)(i))"),),
        ),
    ),
    "the map that a generator starts from": (
        "op-shapes",
        Own(
            model_of(
                """
model = Nets()
""",
                rows(8, 16, 16, 1),
                head=_NETS,
            ),
            (
                (
                    '        self.make = keras.Sequential([keras.Input((4,)), L.Dense(3 * 3 * 2), L.Reshape((3, 3, 2)), L.UpSampling2D(4), L.Conv2D(1, 3, padding="same")])',
                    '        self.make = keras.Sequential([keras.Input((4,)), L.Dense(32), L.Reshape((4, 4, 2)), L.UpSampling2D(4), L.Conv2D(1, 3, padding="same")])',
                ),
            ),
        ),
    ),
}
