"""Heads that a reshape folds, vectors that a loss cuts out of rows, sequences of sequences."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_GRID = """
S, B, C = 3, 2, 4
def grid_loss(t, p):
    p = tf.reshape(p, (-1, S, S, B * 5 + C))
    return tf.reduce_sum(tf.square(t - p), axis=[1, 2, 3])
"""
_THREE = """
N = 5
def triplet(t, p):
    a, b, c = p[:, :N], p[:, N:2 * N], p[:, 2 * N:]
    return tf.nn.relu(tf.reduce_sum((a - b) ** 2, -1) - tf.reduce_sum((a - c) ** 2, -1) + 0.2)
"""
_BLOCK = """
class Block(L.Layer):
    def __init__(self, width):
        super().__init__()
        self.way = keras.Sequential([L.Dense(6), L.Dense(width)])
    def call(self, x):
        return x + self.way(x)
"""
_VIEWS = """
class Views(keras.Model):
    def __init__(self):
        super().__init__()
        self.way = L.Dense(4)
        self.score = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    def call(self, x):
        return self.way(x)
    def train_step(self, x):
        with tf.GradientTape() as tape:
            z = tf.concat([self.way(x), self.way(-x)], 0)
            n = tf.shape(x)[0]
            scores = tf.matmul(z, z, transpose_b=True) - 1e9 * tf.eye(2 * n)
            loss = self.score(tf.range(n), scores)
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return {"loss": loss}
"""

FOLDED: dict[str, tuple[str, Own]] = {
    "a head for the grid of the loss": ("loss-raises", Own(model_of("""
i = keras.Input((6,))
model = keras.Model(i, L.Dense(S * S * (B * 4 + C))(i))
""", f"{rows(8, 6)}, {rows(8, 3, 3, 14)}", "grid_loss", head=_GRID), ((
        "    model = keras.Model(i, L.Dense(S * S * (B * 4 + C))(i))", "    model = keras.Model(i, L.Dense(S * S * (B * 5 + C))(i))",
    ),))),
    "steps of one value": ("loss-broadcast", Own(model_of("""
i = keras.Input((7, 5))
x = L.Dense(30)(L.LSTM(4)(i))
model = keras.Model(i, L.Reshape((6, 5))(x))
""", f"{rows(8, 7, 5)}, {rows(8, 6, 1)}"), (
        ("    x = L.Dense(30)(L.LSTM(4)(i))", "    x = L.Dense(6)(L.LSTM(4)(i))"),
        ("    model = keras.Model(i, L.Reshape((6, 5))(x))", "    model = keras.Model(i, L.Reshape((6, 1))(x))"),
    ))),
    "vectors in one row": ("loss-raises", Own(model_of("""
i, j, k = keras.Input((6,)), keras.Input((6,)), keras.Input((6,))
way = L.Dense(5)
x = L.Lambda(lambda t: tf.stack(t, axis=1))([way(i), way(j), way(k)])
model = keras.Model([i, j, k], x)
""", f"({rows(8, 6)}, {rows(8, 6)}, {rows(8, 6)}), {rows(8, 1)}", "triplet", head=_THREE), ((
        "    x = L.Lambda(lambda t: tf.stack(t, axis=1))([way(i), way(j), way(k)])",
        "    x = L.Lambda(lambda t: tf.concat(t, axis=-1))([way(i), way(j), way(k)])",
    ),))),
    "words of sentences": ("layer-rank", Own(model_of("""
i = keras.Input((4, 6))
x = L.Embedding(20, 3)(i)
x = L.GRU(5)(x)
model = keras.Model(i, L.Dense(1)(L.GRU(2)(x)))
""", f"np.arange(192).reshape(8, 4, 6) % 20, {rows(8, 1)}"), (("    x = L.GRU(5)(x)", "    x = L.TimeDistributed(L.GRU(5))(x)"),))),
    "tokens behind a block": ("missing-flatten", Own(model_of("""
i = keras.Input((4,))
x = Block(3)(L.Embedding(20, 3)(i))
x = L.Dense(5, activation="relu")(x)
model = keras.Model(i, L.Dense(2)(x))
""", "np.arange(32).reshape(8, 4) % 20, np.arange(8) % 2", "keras.losses.SparseCategoricalCrossentropy(from_logits=True)", head=_BLOCK), ((
        '    x = L.Dense(5, activation="relu")(x)', '    x = L.Dense(5, activation="relu")(L.Flatten()(x))',
    ),))),
    "labels of the other view": ("loss-raises", Own(model_of("""
model = Views()
""", f"tf.data.Dataset.from_tensor_slices({rows(8, 3)}).batch(4)", head=_VIEWS), ((
        "            loss = self.score(tf.range(n), scores)", "            loss = self.score(tf.concat([tf.range(n) + n, tf.range(n)], 0), scores)",
    ),))),
    "a gate of half the filters": ("merge-shapes", Own(model_of("""
i = keras.Input((9, 4))
a = L.Conv1D(4, 2, padding="causal", activation="tanh")(i)
b = L.Conv1D(2, 2, padding="causal", activation="sigmoid")(i)
x = L.Add()([L.Multiply()([a, b]), i])
model = keras.Model(i, L.Dense(1)(L.Flatten()(x)))
""", f"{rows(8, 9, 4)}, {rows(8, 1)}"), ((
        '    b = L.Conv1D(2, 2, padding="causal", activation="sigmoid")(i)', '    b = L.Conv1D(4, 2, padding="causal", activation="sigmoid")(i)',
    ),))),
    "one of two tensors": ("layer-raises", Own(model_of("""
i, z = keras.Input((6,)), keras.Input((4,))
both = keras.Model(i, [L.Dense(4)(i), L.Dense(3)(i)], name="both")
last = keras.Model(z, L.Dense(1)(z), name="last")
given = both(i)
model = keras.Model(i, last(given))
""", f"{rows(8, 6)}, {rows(8, 1)}"), (("    model = keras.Model(i, last(given))", "    model = keras.Model(i, last(given[0]))"),))),
    "masks of 0 and 255": ("label-range", Own(model_of("""
i = keras.Input((4, 4, 3))
model = keras.Model(i, L.Conv2D(2, 1, activation="softmax")(i))
""", f"{rows(8, 4, 4, 3)}, (np.arange(128).reshape(8, 4, 4, 1) % 2 * 255).astype('uint8')", "'sparse_categorical_crossentropy'"), ((
        f"    return {rows(8, 4, 4, 3)}, (np.arange(128).reshape(8, 4, 4, 1) % 2 * 255).astype('uint8')",
        f"    return {rows(8, 4, 4, 3)}, np.argmax((np.arange(128).reshape(8, 4, 4, 1) % 2 * 255).astype('uint8') == np.array([0, 255]), -1)",
    ),))),
}  # fmt: skip
