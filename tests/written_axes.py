"""Reductions, shifts, softmaxes, one-hot vectors and labels along another axis than is meant: what is written, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_MAP = """
i = keras.Input((4, 6, 3))
model = keras.Model(i, L.Conv2D(5, 1, activation='softmax')(i))
"""
_MAPS = f"{rows(8, 4, 6, 3)}, np.eye(5, dtype='float32')[np.arange(8 * 24).reshape(8, 4, 6) % 5]"
_TABLE = "np.random.default_rng(0).integers(0, 9, (64, 4)).astype('float32')"

AXES: dict[str, tuple[str, Own]] = {
    "a dice loss whose sums go over other axes": (
        "loss-raises",
        Own(
            model_of(
                _MAP,
                _MAPS,
                "dice",
                head="""
def dice(y_true, y_pred):
    both = tf.reduce_sum(y_true * y_pred, axis=[1, 2, 3])
    one = tf.reduce_sum(y_true, axis=[1, 2])
    other = tf.reduce_sum(y_pred, axis=[1, 2])
    return 1 - tf.reduce_mean((2.0 * both + 1.0) / (one + other + 1.0))
""",
            ),
            (("    both = tf.reduce_sum(y_true * y_pred, axis=[1, 2, 3])", "    both = tf.reduce_sum(y_true * y_pred, axis=[1, 2])"),),
        ),
    ),
    "one of three sums over other axes": (
        "loss-raises",
        Own(
            model_of(
                _MAP,
                _MAPS,
                "tversky",
                head="""
def tversky(y_true, y_pred):
    hits = tf.reduce_sum(y_true * y_pred, axis=(1, 2))
    wrong = tf.reduce_sum((1 - y_true) * y_pred, axis=(1, 2))
    missed = tf.reduce_sum(y_true * (1 - y_pred), axis=(1, 3))
    return 1 - tf.reduce_mean(hits / (hits + 0.3 * wrong + 0.7 * missed + 1e-6))
""",
            ),
            (("    missed = tf.reduce_sum(y_true * (1 - y_pred), axis=(1, 3))", "    missed = tf.reduce_sum(y_true * (1 - y_pred), axis=(1, 2))"),),
        ),
    ),
    "weights of classes summed over steps": (
        "loss-raises",
        Own(
            model_of(
                """
i = keras.Input((7, 3))
model = keras.Model(i, L.Dense(5, activation='softmax')(i))
""",
                f"{rows(8, 7, 3)}, np.eye(5, dtype='float32')[np.arange(56).reshape(8, 7) % 5]",
                "weighted",
                head="""
def weighted(y_true, y_pred):
    each = keras.losses.categorical_crossentropy(y_true, y_pred)
    weight = tf.reduce_sum(tf.constant([0.1, 1.0, 1.0, 1.0, 1.0]) * y_true, axis=1)
    return each * weight
""",
            ),
            (
                (
                    "    weight = tf.reduce_sum(tf.constant([0.1, 1.0, 1.0, 1.0, 1.0]) * y_true, axis=1)",
                    "    weight = tf.reduce_sum(tf.constant([0.1, 1.0, 1.0, 1.0, 1.0]) * y_true, axis=2)",
                ),
            ),
        ),
    ),
    "an activation over the one score of each step": (
        "one-unit-softmax",
        Own(
            model_of(
                """
i = keras.Input((7, 3))
h = L.LSTM(4, return_sequences=True)(i)
a = L.Activation('softmax')(L.Dense(1, activation='tanh')(h))
x = L.Flatten()(L.Multiply()([h, a]))
model = keras.Model(i, L.Dense(1)(x))
""",
                f"{rows(8, 7, 3)}, {rows(8, 1)}",
            ),
            (("    a = L.Activation('softmax')(L.Dense(1, activation='tanh')(h))", "    a = L.Softmax(1)(L.Dense(1, activation='tanh')(h))"),),
        ),
    ),
    "a step before that is another sample": (
        "samples-in-order",
        Own(
            model_of(
                """
i = keras.Input((7, 3))
model = keras.Model(i, L.Dense(1)(L.LSTM(4)(Change()(i))))
""",
                f"{rows(8, 7, 3)}, {rows(8, 1)}",
                head="""
class Change(L.Layer):
    def call(self, x):
        before = tf.roll(x, shift=1, axis=0)
        return tf.concat([x, x - before], axis=-1)
""",
            ),
            (("        before = tf.roll(x, shift=1, axis=0)", "        before = tf.roll(x, shift=1, axis=1)"),),
        ),
    ),
    "a smoothness of samples": (
        "samples-in-order",
        Own(
            model_of(
                """
i = keras.Input((7, 3))
model = keras.Model(i, L.Dense(1)(L.LSTM(4, return_sequences=True)(i)))
""",
                f"{rows(8, 7, 3)}, {rows(8, 7, 1)}",
                "smooth",
                head="""
def smooth(y_true, y_pred):
    rough = tf.reduce_mean(tf.abs(y_pred[1:] - y_pred[:-1]))
    return tf.reduce_mean(tf.square(y_true - y_pred)) + 0.1 * rough
""",
            ),
            (("    rough = tf.reduce_mean(tf.abs(y_pred[1:] - y_pred[:-1]))", "    rough = tf.reduce_mean(tf.abs(y_pred[:, 1:] - y_pred[:, :-1]))"),),
        ),
    ),
    "one-hot vectors across the steps": (
        "several-classes",
        Own(
            model_of(
                """
i = keras.Input((5, 3))
model = keras.Model(i, L.Dense(5, activation='softmax')(i))
""",
                f"{rows(16, 5, 3)}, np.moveaxis(np.eye(5, dtype='float32')[np.random.default_rng(1).integers(0, 5, (16, 5))], -1, 1)",
                "'categorical_crossentropy'",
            ),
            (
                (
                    f"    return {rows(16, 5, 3)}, np.moveaxis(np.eye(5, dtype='float32')[np.random.default_rng(1).integers(0, 5, (16, 5))], -1, 1)",
                    f"    return {rows(16, 5, 3)}, np.transpose(np.moveaxis(np.eye(5, dtype='float32')[np.random.default_rng(1).integers(0, 5, (16, 5))], -1, 1), (0, 2, 1))",
                ),
            ),
        ),
    ),
    "the labels left in a table": (
        "same-steps",
        Own(
            model_of(
                """
i = keras.Input((4,))
model = keras.Model(i, L.Dense(1)(L.Dense(6, activation='relu')(i)))
""",
                "TABLE, TABLE[:, 1]",
                head=f"TABLE = {_TABLE}\n",
            ),
            (
                ("    i = keras.Input((4,))", "    i = keras.Input((3,))"),
                ("    return TABLE, TABLE[:, 1]", "    return np.delete(TABLE, 1, axis=1), TABLE[:, 1]"),
            ),
        ),
    ),
    "a list of samples with two parts": (
        "input-structure",
        Own(
            model_of(
                """
i, j = keras.Input((5, 2)), keras.Input((3,))
model = keras.Model([i, j], L.Dense(1)(L.Concatenate()([L.LSTM(4)(i), j])))
""",
                "[[a, b] for a, b in zip(PRICES, FACTS)], np.arange(8.0)",
                head=f"PRICES, FACTS = {rows(8, 5, 2)}, {rows(8, 3)}\n",
            ),
            (
                (
                    "    return [[a, b] for a, b in zip(PRICES, FACTS)], np.arange(8.0)",
                    "    return [np.stack(part) for part in zip(*[[a, b] for a, b in zip(PRICES, FACTS)])], np.arange(8.0)",
                ),
            ),
        ),
    ),
    "one label for a map of patches": (
        "missing-flatten",
        Own(
            model_of(
                """
i = keras.Input((8, 8, 3))
x = L.LeakyReLU()(L.Conv2D(4, 4, strides=2, padding='same')(i))
model = keras.Model(i, L.Conv2D(1, 4, padding='same', activation='sigmoid')(x))
""",
                f"{rows(8, 8, 8, 3)}, np.ones((8, 1))",
                "'binary_crossentropy'",
            ),
            (
                (
                    f"    return {rows(8, 8, 8, 3)}, np.ones((8, 1))",
                    f"    return {rows(8, 8, 8, 3)}, np.tile(np.reshape(np.ones((8, 1)), (-1, 1, 1, 1)), (1, 4, 4, 1))",
                ),
            ),
        ),
    ),
    "labels in a list of numbers": (
        "data-misfit",
        Own(
            model_of(
                """
model = keras.Sequential([keras.Input((4,)), L.Dense(1)])
""",
                f"{rows(8, 4)}, [1, 0] * 4",
            ),
            ((f"    return {rows(8, 4)}, [1, 0] * 4", f"    return {rows(8, 4)}, np.asarray([1, 0] * 4)"),),
        ),
    ),
    "a matrix of scores of maps and of rows": (
        "metric-raises",
        Own(
            model_of(
                _MAP,
                f"{rows(8, 4, 6, 3)}, np.arange(8 * 24).reshape(8, 4, 6) % 5",
                "'sparse_categorical_crossentropy', metrics=[hits]",
                head="""
def hits(y_true, y_pred):
    table = tf.math.confusion_matrix(tf.reshape(y_true, [-1]), tf.argmax(y_pred, axis=-1), 5, dtype=tf.float32)
    return tf.linalg.trace(table) / tf.reduce_sum(table)
""",
            ),
            (
                (
                    "    table = tf.math.confusion_matrix(tf.reshape(y_true, [-1]), tf.argmax(y_pred, axis=-1), 5, dtype=tf.float32)",
                    "    table = tf.math.confusion_matrix(tf.reshape(y_true, [-1]), tf.reshape(tf.argmax(y_pred, axis=-1), (-1,)), 5, dtype=tf.float32)",
                ),
            ),
        ),
    ),
    "the last state of each sample in a product": (
        "op-shapes",
        Own(
            model_of(
                """
i = keras.Input((7, 4))
model = keras.Model(i, L.Dense(1)(Attend()(L.LSTM(5, return_sequences=True)(i))))
""",
                f"{rows(8, 7, 4)}, {rows(8, 1)}",
                head="""
class Attend(L.Layer):
    def call(self, h):
        last = h[:, -1, :]
        score = tf.matmul(h, last)
        share = tf.nn.softmax(tf.squeeze(score, -1), axis=1)
        return tf.reduce_sum(h * share[:, :, None], axis=1)
""",
            ),
            (("        score = tf.matmul(h, last)", "        score = tf.matmul(h, last[:, :, None])"),),
        ),
    ),
    "a generator of larger pictures": (
        "input-axis",
        Own(
            model_of(
                """
draw = keras.Sequential([keras.Input((4,)), L.Dense(36), L.Reshape((3, 3, 4)),
    L.Conv2DTranspose(4, 3, strides=2, padding='same'),
    L.Conv2DTranspose(1, 3, strides=2, padding='same')])
i = keras.Input((6, 6, 1))
judge = keras.Model(i, L.Dense(1)(L.Flatten()(L.Conv2D(2, 3)(i))))
i = keras.Input((4,))
model = keras.Model(i, judge(draw(i)))
""",
                f"{rows(8, 4)}, {rows(8, 1)}",
            ),
            (("        L.Conv2DTranspose(1, 3, strides=2, padding='same')])", "        L.Conv2DTranspose(1, 3, strides=1, padding='same')])"),),
            keras=True,
        ),
    ),
    "three weights for each step": (
        "merge-shapes",
        Own(
            model_of(
                """
i = keras.Input((7, 4))
h = L.Bidirectional(L.LSTM(6, return_sequences=True))(i)
a = L.TimeDistributed(L.Dense(3))(h)
a = L.Softmax(axis=1)(a)
model = keras.Model(i, L.Dense(1)(L.Flatten()(L.Multiply()([h, a]))))
""",
                f"{rows(8, 7, 4)}, {rows(8, 1)}",
            ),
            (("    a = L.TimeDistributed(L.Dense(3))(h)", "    a = L.TimeDistributed(L.Dense(1))(h)"),),
        ),
    ),
    "a mean of pixels beside a sum of each picture": (
        "loss-raises",
        Own(
            model_of(
                """
i = keras.Input((4, 6, 3))
model = keras.Model(i, L.Conv2D(1, 1, activation='sigmoid')(i))
""",
                f"{rows(8, 4, 6, 3)}, np.ones((8, 4, 6, 1), 'float32')",
                "both",
                head="""
def both(y_true, y_pred):
    each = keras.losses.binary_crossentropy(y_true, y_pred)
    hits = tf.reduce_sum(y_true * y_pred, axis=(1, 2, 3))
    every = tf.reduce_sum(y_true + y_pred, axis=(1, 2, 3)) + 1e-6
    return each + 1 - 2 * hits / every
""",
            ),
            (("    return each + 1 - 2 * hits / every", "    return each + 1 - (2 * hits / every)[:, None, None]"),),
        ),
    ),
}
