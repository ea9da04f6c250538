"""What stands where it has no room: heads, frames, results, classes and labels in another order or on another axis than they are read."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_ASKED = """
class Asked(L.Layer):
    def __init__(self):
        super().__init__()
        self.attention = L.MultiHeadAttention(1, 4)
        self.queries = self.add_weight(shape=(2, 4), name="queries")
    def call(self, x):
        return self.attention(self.queries, x)
"""
_SHORT = """
class Short(L.Layer):
    def __init__(self, filters, stride=1):
        super().__init__()
        self.way = L.Conv2D(filters, 3, strides=stride, padding="same")
        self.short = L.Conv2D(filters, 1, strides=stride) if stride != 1 else None
    def call(self, x):
        y = self.way(x)
        short = self.short(x) if self.short is not None else x
        return tf.nn.relu(y + short)
"""
_GROUPED = """
class Grouped(L.Layer):
    def __init__(self, heads, few):
        super().__init__()
        self.heads, self.few = heads, few
        self.many, self.less = L.Dense(heads * 3), L.Dense(few * 3)
    def call(self, x):
        q = keras.ops.reshape(self.many(x), (-1, 5, self.heads, 3))
        k = keras.ops.reshape(self.less(x), (-1, 5, self.few, 3))
        k = keras.ops.repeat(k, self.heads // self.few, axis=1)
        return keras.ops.einsum("bqhd,bkhd->bqk", q, k)
"""
_FORECAST = """
class Forecast(L.Layer):
    def __init__(self, past, future):
        super().__init__()
        self.future = future
        self.both = L.Dense(past + future)
    def call(self, x):
        both = self.both(x)
        return both[:, :self.future], both[:, self.future:]
"""
_OWN_CLASSES = """
class Own(keras.metrics.MeanIoU):
    def update_state(self, t, p, sample_weight=None):
        return super().update_state(tf.argmax(t, -1), tf.argmax(p, -1), sample_weight)
"""
_SPOTS = """
class Spots(L.Layer):
    def __init__(self):
        super().__init__()
        self.score = L.Dense(1)
    def call(self, x):
        rows = tf.reshape(x, (tf.shape(x)[0], 36, 4))
        shares = tf.nn.softmax(self.score(rows), axis=1)
        return x * shares
"""
_SMOOTHED = """
def smoothed(t, p):
    t = tf.one_hot(tf.cast(t, tf.int32), 5) * 0.9 + 0.02
    seen = tf.cast(tf.reduce_sum(t, -1) > 0, tf.float32)
    return tf.reduce_sum(-t * tf.nn.log_softmax(p) * seen) / tf.reduce_sum(seen)
"""
_FILTERED = """
class Filtered(L.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(3, 3, 4, shape[-1]), name="w")
    def call(self, x):
        return tf.nn.conv2d(x, self.w, strides=1, padding="SAME")
"""
_BIASED = """
class Biased(L.Layer):
    def __init__(self):
        super().__init__()
        self.q, self.k = L.Dense(6), L.Dense(6)
        self.table = self.add_weight(shape=(16, 3), name="table")
    def call(self, x):
        q = tf.transpose(tf.reshape(self.q(x), (-1, 4, 3, 2)), (0, 2, 1, 3))
        k = tf.transpose(tf.reshape(self.k(x), (-1, 4, 3, 2)), (0, 2, 1, 3))
        bias = tf.reshape(self.table, (4, 4, 3))
        return tf.matmul(q, k, transpose_b=True) + bias[None]
"""
_SCALED = """
class Scaled(L.Layer):
    def __init__(self, channels):
        super().__init__()
        self.both = L.Dense(channels)
    def call(self, x, z):
        scale, shift = tf.split(self.both(z), 2, axis=-1)
        return x * scale[:, None, None] + shift[:, None, None]
"""
_COUNTED = """
class Counted(keras.Model):
    def __init__(self):
        super().__init__()
        self.net, self.score = L.Conv1D(4, 3), keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    def call(self, x):
        return self.net(x)
    def train_step(self, x):
        with tf.GradientTape() as tape:
            z = self(x, training=True)
            scores = tf.matmul(z[:, 0], z[:, -1], transpose_b=True)
            loss = self.score(tf.range(tf.shape(z)[1]), scores)
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"score": loss}
"""

SHAPED = {
    "queries without samples": ("attention-shapes", Own(model_of("""
i = keras.Input((5, 4))
model = keras.Model(i, L.Dense(1)(L.Flatten()(Asked()(i))))
""", f"{rows(8, 5, 4)}, {rows(8, 1)}", head=_ASKED), ((
        "        return self.attention(self.queries, x)",
        "        return self.attention(keras.ops.repeat(self.queries[None], keras.ops.shape(x)[0], axis=0), x)",
    ),))),
    "a shortcut for other channels": ("op-shapes", Own(model_of("""
i = keras.Input((8, 8, 2))
x = Short(4, 2)(Short(4)(i))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""", f"{rows(8, 8, 8, 2)}, {rows(8, 1)}", head=_SHORT), ((
        "        self.short = L.Conv2D(filters, 1, strides=stride) if stride != 1 else None",
        "        self.short = L.Conv2D(filters, 1, strides=stride)",
    ),))),
    "heads repeated along the steps": ("op-shapes", Own(model_of("""
i = keras.Input((5, 4))
model = keras.Model(i, L.Dense(1)(L.Flatten()(Grouped(4, 2)(i))))
""", f"{rows(8, 5, 4)}, {rows(8, 1)}", head=_GROUPED), ((
        "        k = keras.ops.repeat(k, self.heads // self.few, axis=1)", "        k = keras.ops.repeat(k, self.heads // self.few, axis=2)",
    ),))),
    "results in the other order": ("merge-shapes", Own(model_of("""
i = keras.Input((9,))
past, future = Forecast(9, 2)(i)
rest = L.Subtract()([i, past])
model = keras.Model(i, L.Add()([future, L.Dense(2)(rest)]))
""", f"{rows(8, 9)}, {rows(8, 2)}", head=_FORECAST), ((
        "        return both[:, :self.future], both[:, self.future:]", "        return both[:, self.future:], both[:, :self.future]",
    ),))),
    "class numbers of which the best is taken": ("metric-raises", Own(model_of("""
i = keras.Input((4, 4, 3))
model = keras.Model(i, L.Conv2D(3, 1, activation="softmax")(i))
""", f"{rows(8, 4, 4, 3)}, np.arange(128).reshape(8, 4, 4) % 3", "'sparse_categorical_crossentropy', metrics=[Own(3)]", head=_OWN_CLASSES), ((
        "        return super().update_state(tf.argmax(t, -1), tf.argmax(p, -1), sample_weight)",
        '        return super().update_state(tf.cast(t, "int64"), tf.argmax(p, -1), sample_weight)',
    ),))),
    "a list for a layer of one input": ("layer-raises", Own(model_of("""
i = keras.Input((6,))
parts = [L.Dense(n)(i) for n in (2, 3)]
x = L.Dense(4)(parts)
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 6)}, {rows(8, 1)}"), (("    x = L.Dense(4)(parts)", "    x = L.Dense(4)(L.Concatenate()(parts))"),))),
    "ids of words as numbers": ("layer-rank", Own(model_of("""
words = L.TextVectorization(max_tokens=9, output_sequence_length=4, vocabulary=["a", "b", "c"])
i = keras.Input((1,), dtype="string")
x = L.LSTM(3)(words(i))
model = keras.Model(i, L.Dense(1)(x))
""", f"tf.data.Dataset.from_tensor_slices((np.array([['a b'], ['c']] * 4), {rows(8, 1)})).batch(4)"), ((
        "    x = L.LSTM(3)(words(i))", "    x = L.LSTM(3)(L.Embedding(9, output_dim=8)(words(i)))",
    ),))),
    "rows for a map": ("op-shapes", Own(model_of("""
i = keras.Input((6, 6, 4))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(Spots()(i))))
""", f"{rows(8, 6, 6, 4)}, {rows(8, 1)}", head=_SPOTS), ((
        "        return x * shares", "        return x * tf.reshape(shares, (-1, *x.shape[1:-1], 1))",
    ),))),
    "a loss that encodes its labels": ("loss-raises", Own(model_of("""
i = keras.Input((6,))
model = keras.Model(i, L.Reshape((3, 5))(L.Dense(15)(i)))
""", f"{rows(8, 6)}, np.arange(24).reshape(8, 3) % 5", "smoothed", head=_SMOOTHED), ((
        "    return tf.reduce_sum(-t * tf.nn.log_softmax(p) * seen) / tf.reduce_sum(seen)",
        "    return tf.reduce_sum(-t * tf.nn.log_softmax(p) * seen[..., None]) / tf.reduce_sum(seen)",
    ),))),
    "one position of many channels": ("window-too-large", Own(model_of("""
i = keras.Input((12,))
x = L.Reshape((1, 12))(i)
x = L.Conv1D(2, 3)(x)
model = keras.Model(i, L.Dense(1)(L.Flatten()(x)))
""", f"{rows(8, 12)}, {rows(8, 1)}"), (("    x = L.Reshape((1, 12))(i)", "    x = L.Reshape((12, 1))(i)"),))),
    "outputs stacked behind their classes": ("output-size", Own(model_of("""
i = keras.Input((6,))
parts = [L.Dense(4, activation="softmax")(i) for _ in range(3)]
x = L.Lambda(lambda t: tf.stack(t, axis=-1))(parts)
model = keras.Model(i, x)
""", f"{rows(8, 6)}, np.arange(24).reshape(8, 3) % 4", "'sparse_categorical_crossentropy'"), ((
        "    x = L.Lambda(lambda t: tf.stack(t, axis=-1))(parts)", "    x = L.Lambda(lambda t: tf.stack(t, axis=1))(parts)",
    ),))),
    "a filter's channels": ("code-raises", Own(model_of("""
i = keras.Input((6, 6, 3))
model = keras.Model(i, L.Dense(1)(L.Flatten()(Filtered()(i))))
""", f"{rows(8, 6, 6, 3)}, {rows(8, 1)}", head=_FILTERED), ((
        '        self.w = self.add_weight(shape=(3, 3, 4, shape[-1]), name="w")', '        self.w = self.add_weight(shape=(3, 3, shape[-1], 4), name="w")',
    ),))),
    "a bias with its heads behind": ("op-shapes", Own(model_of("""
i = keras.Input((4, 5))
model = keras.Model(i, L.Dense(1)(L.Flatten()(Biased()(i))))
""", f"{rows(8, 4, 5)}, {rows(8, 1)}", head=_BIASED), ((
        "        return tf.matmul(q, k, transpose_b=True) + bias[None]",
        "        return tf.matmul(q, k, transpose_b=True) + tf.transpose(bias[None], (0, 3, 1, 2))",
    ),))),
    "pieces of half the width": ("op-shapes", Own(model_of("""
i, z = keras.Input((6, 6, 8)), keras.Input((3,))
model = keras.Model([i, z], L.Dense(1)(L.GlobalAveragePooling2D()(Scaled(8)(i, z))))
""", f"({rows(8, 6, 6, 8)}, {rows(8, 3)}), {rows(8, 1)}", head=_SCALED), ((
        "        self.both = L.Dense(channels)", "        self.both = L.Dense(2 * channels)",
    ),))),
    "frames as channels": ("reshape-size", Own(model_of("""
i = keras.Input((3, 6, 6, 2))
x = L.Reshape((6, 6, 3))(i)
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(L.Conv2D(2, 3)(x))))
""", f"{rows(8, 3, 6, 6, 2)}, {rows(8, 1)}"), (("    x = L.Reshape((6, 6, 3))(i)", "    x = L.Reshape((6, 6, 6))(L.Permute((2, 3, 1, 4))(i))"),))),
    "as many labels as steps": ("loss-raises", Own(model_of("""
model = Counted()
""", f"tf.data.Dataset.from_tensor_slices({rows(8, 9, 2)}).batch(4)", head=_COUNTED), ((
        "            loss = self.score(tf.range(tf.shape(z)[1]), scores)", "            loss = self.score(tf.range(tf.shape(z)[0]), scores)",
    ),))),
}  # fmt: skip
