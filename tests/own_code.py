"""Faults inside functions of the user's own, and in how the data is put together: the line that is wrong, and as it should be."""

from __future__ import annotations

from dataclasses import dataclass

DATA = """

def data():
    rng = np.random.default_rng(0)
    return {x}, {y}
"""
MODEL = """

def build():
    i = keras.Input({shape})
    model = keras.Model(i, {body})
    model.compile("sgd", "mse")
    return model
"""


@dataclass(frozen=True)
class Own:
    """A program without its head. ``lines``: what the first fix takes, and what it puts there. ``keras``: for Keras 3 alone."""

    source: str
    lines: tuple[tuple[str, str], ...]
    keras: bool = False
    tpu: str | None = None


def _own(head: str, shape: str, body: str, x: str, y: str, old: str, new: str, *, keras: bool = False) -> Own:
    return Own(head.strip("\n") + "\n" + MODEL.format(shape=shape, body=body) + DATA.format(x=x, y=y), ((old, new),), keras)


def _rows(*shape: int) -> str:
    return f'rng.random({shape}, dtype="float32")'


OWN = {
    "gate": _own(
        """
class Gate(L.Layer):
    def call(self, x):
        gate = tf.reduce_mean(x, axis=1)
        return x * gate
""",
        "(12, 8)", "L.Dense(1)(L.Flatten()(Gate()(i)))", _rows(16, 12, 8), _rows(16, 1),
        "        return x * gate", "        return x * gate[:, None, :]",
    ),
    "scores": _own(
        """
class Pool(L.Layer):
    def __init__(self):
        super().__init__()
        self.score = L.Dense(1)

    def call(self, x):
        weights = tf.nn.softmax(tf.squeeze(self.score(x), -1), axis=1)
        return tf.reduce_sum(x * weights, axis=1)
""",
        "(10, 6)", "L.Dense(2)(Pool()(i))", _rows(16, 10, 6), _rows(16, 2),
        "        return tf.reduce_sum(x * weights, axis=1)", "        return tf.reduce_sum(x * weights[..., None], axis=1)",
    ),
    "product": _own(
        """
class Similar(L.Layer):
    def call(self, x):
        other = x[:, 1:] * 2.0
        return tf.matmul(x, other)
""",
        "(5, 8)", "L.Dense(1)(L.Flatten()(Similar()(i)))", _rows(16, 5, 8), _rows(16, 1),
        "        return tf.matmul(x, other)", "        return tf.matmul(x, other, transpose_b=True)",
    ),
    "reduction": _own(
        """
class Largest(L.Layer):
    def call(self, x):
        largest = tf.reduce_max(x)
        return tf.concat([x[:, :2], largest], axis=-1)
""",
        "(8,)", "L.Dense(1)(Largest()(i))", _rows(16, 8), _rows(16, 1),
        "        largest = tf.reduce_max(x)", "        largest = tf.reduce_max(x, axis=-1, keepdims=True)",
    ),
    "noise": _own(
        """
ROWS = 100


class Noise(L.Layer):
    def call(self, x):
        return x + tf.random.normal((ROWS, 4))
""",
        "(4,)", "L.Dense(1)(Noise()(i))", _rows(150, 4), _rows(150, 1),
        "        return x + tf.random.normal((ROWS, 4))", "        return x + tf.random.normal((tf.shape(x)[0], 4))",
    ),
    "written size": _own(
        """
class Causal(L.Layer):
    def call(self, x):
        mask = tf.linalg.band_part(tf.ones((20, 20)), -1, 0)
        return tf.matmul(tf.matmul(x, x, transpose_b=True) * mask, x)
""",
        "(24, 4)", "L.Dense(1)(L.Flatten()(Causal()(i)))", _rows(8, 24, 4), _rows(8, 1),
        "        mask = tf.linalg.band_part(tf.ones((20, 20)), -1, 0)",
        "        mask = tf.linalg.band_part(tf.ones((24, 24)), -1, 0)",
    ),
    "symbolic": _own(
        """
def squashed(x):
    return tf.concat([tf.nn.relu(x), tf.exp(x)], axis=-1)
""",
        "(6,)", "L.Dense(2)(squashed(L.Dense(4)(i)))", _rows(16, 6), _rows(16, 2),
        "    return tf.concat([tf.nn.relu(x), tf.exp(x)], axis=-1)",
        "    return keras.ops.concatenate([keras.ops.relu(x), keras.ops.exp(x)], axis=-1)",
        keras=True,
    ),
    "half precision": _own(
        """
def scaled(x):
    by = tf.constant(0.5)
    return tf.nn.relu(x) * by
""",
        "(6,)", 'L.Dense(2, dtype="float32")(L.Dense(4, activation=scaled, dtype="mixed_float16")(i))', _rows(16, 6), _rows(16, 2),
        "    return tf.nn.relu(x) * by", "    return tf.nn.relu(x) * tf.cast(by, x.dtype)",
    ),
    "loss of whole numbers": Own(
        """
def own(y_true, y_pred):
    y = tf.cast(y_true, tf.int32)
    return -tf.reduce_sum(y * tf.math.log(y_pred + 1e-7), axis=-1)


def build():
    model = keras.Sequential([keras.Input((5,)), L.Dense(3, activation="softmax")])
    model.compile("sgd", own)
    return model


def data():
    return np.zeros((16, 5), "float32"), np.eye(3, dtype="float32")[np.arange(16) % 3]
""",
        (
            (
                "    return -tf.reduce_sum(y * tf.math.log(y_pred + 1e-7), axis=-1)",
                "    return -tf.reduce_sum(tf.cast(y, y_pred.dtype) * tf.math.log(y_pred + 1e-7), axis=-1)",
            ),
        ),
    ),
    "map": Own(
        """
def build():
    model = keras.Sequential([keras.Input((8, 4)), L.Flatten(), L.Dense(1)])
    model.compile("sgd", "mse")
    return model


def with_sum(x, y):
    return tf.concat([x, tf.reduce_sum(x, axis=-1)], axis=-1), y


def data():
    rows = (np.zeros((16, 8, 3), "float32"), np.zeros((16, 1), "float32"))
    return tf.data.Dataset.from_tensor_slices(rows).batch(4).map(with_sum)
""",
        (
            (
                "    return tf.concat([x, tf.reduce_sum(x, axis=-1)], axis=-1), y",
                "    return tf.concat([x, tf.reduce_sum(x, axis=-1)[..., None]], axis=-1), y",
            ),
        ),
    ),
    "zipped pairs": Own(
        """
def build():
    a, b = keras.Input((4,)), keras.Input((4,))
    model = keras.Model([a, b], L.Dense(1)(L.Concatenate()([a, b])))
    model.compile("sgd", "mse")
    return model


def data():
    y = np.zeros((16, 1), "float32")
    one, two = [tf.data.Dataset.from_tensor_slices((np.zeros((16, 4), "float32"), y)) for _ in range(2)]
    return tf.data.Dataset.zip((one, two)).batch(8)
""",
        (
            (
                "    return tf.data.Dataset.zip((one, two)).batch(8)",
                "    return tf.data.Dataset.zip((one, two)).batch(8).map(lambda a, b: ((a[0], b[0]), a[1]))",
            ),
        ),
    ),
    "inputs in one array": Own(
        """
def build():
    a, b = keras.Input((4,)), keras.Input((4,))
    model = keras.Model([a, b], L.Dense(1)(L.Subtract()([a, b])))
    model.compile("sgd", "mse")
    return model


def data():
    pairs = np.zeros((16, 2, 4), "float32")
    return pairs, np.zeros((16, 1), "float32")
""",
        (
            (
                '    return pairs, np.zeros((16, 1), "float32")',
                '    return [pairs[:, i] for i in range(2)], np.zeros((16, 1), "float32")',
            ),
        ),
    ),
    "text for labels": Own(
        """
def build():
    model = keras.Sequential([keras.Input((4,)), L.Dense(3, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


def data():
    names = np.array(["cat", "dog", "owl"])[np.arange(18) % 3]
    return np.zeros((18, 4), "float32"), names
""",
        (
            (
                '    return np.zeros((18, 4), "float32"), names',
                "    return np.zeros((18, 4), \"float32\"), np.searchsorted(['cat', 'dog', 'owl'], names)",
            ),
        ),
    ),
    "odd decoder": Own(
        """
def build():
    i = keras.Input((22, 20, 1))
    down = L.MaxPooling2D(2)(L.Conv2D(4, 3, padding="same")(i))
    skip = L.Conv2D(4, 3, padding="same")(down)
    up = L.UpSampling2D(2)(L.MaxPooling2D(2)(skip))
    up = L.UpSampling2D(2)(L.Concatenate()([up, skip]))
    model = keras.Model(i, L.Conv2D(1, 1)(up))
    model.compile("sgd", "mse")
    return model


def data():
    return np.zeros((2, 22, 20, 1), "float32"), np.zeros((2, 22, 20, 1), "float32")
""",
        (
            (
                "    up = L.UpSampling2D(2)(L.Concatenate()([up, skip]))",
                "    up = L.UpSampling2D(2)(L.Concatenate()([L.ZeroPadding2D(((0, 1), (0, 0)))(up), skip]))",
            ),
        ),
    ),
    "shape read": _own(
        """
class Scale(L.Layer):
    def build(self, shape):
        self.by = self.add_weight(shape=(shape[1],), name="by", initializer="ones")

    def call(self, x):
        return x * self.by
""",
        "(20, 8)", "L.Dense(1)(L.Flatten()(Scale()(i)))", _rows(12, 20, 8), _rows(12, 1),
        '        self.by = self.add_weight(shape=(shape[1],), name="by", initializer="ones")',
        '        self.by = self.add_weight(shape=(shape[-1],), name="by", initializer="ones")',
    ),
    "row of pixels": _own(
        """
class Rows(L.Layer):
    def __init__(self):
        super().__init__()
        self.conv = L.Conv2D(4, 3)

    def call(self, x):
        return tf.reshape(self.conv(x), [-1, 12 * 12 * 4])
""",
        "(12, 12, 1)", "L.Dense(1)(Rows()(i))", _rows(8, 12, 12, 1), _rows(8, 1),
        "        return tf.reshape(self.conv(x), [-1, 12 * 12 * 4])", "        return tf.reshape(self.conv(x), [-1, 400])",
    ),
    "padding hidden": Own(
        """
class Reader(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed, self.out = L.Embedding(30, 8), L.Dense(1)

    def call(self, ids):
        x = self.embed(ids)
        padding = tf.cast(tf.equal(ids, 0), tf.float32)
        scores = tf.matmul(x, x, transpose_b=True) + padding * -1e9
        return self.out(tf.reduce_mean(tf.matmul(tf.nn.softmax(scores), x), axis=1))


def build():
    model = Reader()
    model.compile("sgd", "mse")
    return model


def data():
    return np.arange(84).reshape(6, 14) % 30, np.zeros((6, 1), "float32")
""",
        (
            (
                "        scores = tf.matmul(x, x, transpose_b=True) + padding * -1e9",
                "        scores = tf.matmul(x, x, transpose_b=True) + (padding * -1e9)[:, None, :]",
            ),
        ),
    ),
    "steps in front": Own(
        """
class Steps(keras.Model):
    def __init__(self):
        super().__init__()
        self.step = L.Dense(3)

    def call(self, x):
        out = [self.step(x)]
        for _ in range(4):
            out.append(self.step(out[-1]))
        return tf.stack(out)


def build():
    model = Steps()
    model.compile("sgd", "mse")
    return model


def data():
    return np.zeros((12, 3), "float32"), np.zeros((12, 5, 3), "float32")
""",
        (("        return tf.stack(out)", "        return tf.stack(out, axis=1)"),),
    ),
    "widths of embeddings": Own(
        """
def build():
    a, b = keras.Input((1,), dtype="int32"), keras.Input((1,), dtype="int32")
    rows = L.Flatten()(L.Embedding(9, 8)(a)), L.Flatten()(L.Embedding(7, 6)(b))
    model = keras.Model([a, b], L.Dot(axes=-1)(list(rows)))
    model.compile("sgd", "mse")
    return model


def data():
    return [np.zeros((16, 1), "int32"), np.zeros((16, 1), "int32")], np.zeros((16, 1), "float32")
""",
        (
            (
                "    rows = L.Flatten()(L.Embedding(9, 8)(a)), L.Flatten()(L.Embedding(7, 6)(b))",
                "    rows = L.Flatten()(L.Embedding(9, 8)(a)), L.Flatten()(L.Embedding(7, 8)(b))",
            ),
        ),
    ),
    "made in call": _own(
        """
class Head(L.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units

    def call(self, x):
        return L.Dense(self.units, activation="relu")(x)
""",
        "(4,)", "L.Dense(1)(Head(8)(i))", _rows(16, 4), _rows(16, 1),
        '        return L.Dense(self.units, activation="relu")(x)', "        return self.dense(x)",
    ),
    "loss of each sample": _own(
        """
class Penalty(L.Layer):
    def call(self, x):
        self.add_loss(tf.reduce_sum(tf.square(x), axis=-1))
        return x
""",
        "(4,)", "L.Dense(1)(Penalty()(i))", _rows(16, 4), _rows(16, 1),
        "        self.add_loss(tf.reduce_sum(tf.square(x), axis=-1))",
        "        self.add_loss(tf.reduce_mean(tf.reduce_sum(tf.square(x), axis=-1)))",
    ),
    "losses of a tuple": Own(
        """
class TwoHeads(keras.Model):
    def __init__(self):
        super().__init__()
        self.kind, self.size = L.Dense(3, name="kind"), L.Dense(1, name="size")

    def call(self, x):
        return self.kind(x), self.size(x)


def build():
    model = TwoHeads()
    model.compile("sgd", {"size": "mse", "kind": keras.losses.SparseCategoricalCrossentropy(from_logits=True)})
    return model


def data():
    return np.zeros((16, 4), "float32"), (np.zeros(16, "int32"), np.zeros((16, 1), "float32"))
""",
        (
            (
                '    model.compile("sgd", {"size": "mse", "kind": keras.losses.SparseCategoricalCrossentropy(from_logits=True)})',
                '    model.compile("sgd", [keras.losses.SparseCategoricalCrossentropy(from_logits=True), "mse"])',
            ),
        ),
    ),
    "columns and embeddings": Own(
        """
def build():
    a, b = keras.Input((4,)), keras.Input((1,), dtype="int32")
    joined = L.Concatenate()([a, L.Embedding(9, 3)(b)])
    model = keras.Model([a, b], L.Dense(1)(joined))
    model.compile("sgd", "mse")
    return model


def data():
    return [np.zeros((16, 4), "float32"), np.zeros((16, 1), "int32")], np.zeros((16, 1), "float32")
""",
        (
            (
                "    joined = L.Concatenate()([a, L.Embedding(9, 3)(b)])",
                "    joined = L.Concatenate()([a, L.Flatten()(L.Embedding(9, 3)(b))])",
            ),
        ),
    ),
    "lists from a generator": Own(
        """
def build():
    a, b = keras.Input((6,)), keras.Input((4,))
    model = keras.Model([a, b], L.Dense(1)(L.Concatenate()([a, b])))
    model.compile("sgd", "mse")
    return model


def data():
    def batches():
        for _ in range(8):
            yield [[np.zeros((8, 6), "float32"), np.zeros((8, 4), "float32")], np.zeros((8, 1), "float32")]

    return batches()
""",
        (
            (
                '            yield [[np.zeros((8, 6), "float32"), np.zeros((8, 4), "float32")], np.zeros((8, 1), "float32")]',
                '            yield ((np.zeros((8, 6), "float32"), np.zeros((8, 4), "float32")), np.zeros((8, 1), "float32"))',
            ),
        ),
        keras=True,
    ),
    "a residual block": _own(
        """
class Block(L.Layer):
    def __init__(self, dim, inner):
        super().__init__()
        self.widen = L.Dense(inner, activation="relu")
        self.narrow = L.Dense(inner)

    def call(self, x):
        return x + self.narrow(self.widen(x))
""",
        "(10, 6)", "L.Dense(1)(L.Flatten()(Block(6, 24)(i)))", _rows(16, 10, 6), _rows(16, 1),
        "        self.narrow = L.Dense(inner)", "        self.narrow = L.Dense(dim)",
    ),
    "a list of inputs in a sequence": Own(
        """
class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        inputs = [np.zeros((8, 6), "float32"), np.zeros((8, 4), "float32")]
        return inputs, np.zeros((8, 1), "float32")


def build():
    a, b = keras.Input((6,)), keras.Input((4,))
    model = keras.Model([a, b], L.Dense(1)(L.Concatenate()([a, b])))
    model.compile("sgd", "mse")
    return model


def data():
    return Batches()
""",
        (('        return inputs, np.zeros((8, 1), "float32")', '        return tuple(inputs), np.zeros((8, 1), "float32")'),),
        keras=True,
    ),
    "frames for samples": Own(
        """
def build():
    model = keras.Sequential([keras.Input((5, 8, 8, 1)), L.ConvLSTM2D(2, 3), L.Flatten(), L.Dense(1)])
    model.compile("sgd", "mse")
    return model


def data():
    frames = np.zeros((6, 5, 8, 8), "float32").reshape(-1, 8, 8, 1)
    return frames, np.zeros((6, 1), "float32")
""",
        (
            (
                '    return frames, np.zeros((6, 1), "float32")',
                '    return np.reshape(frames, (-1, 5, 8, 8, 1)), np.zeros((6, 1), "float32")',
            ),
        ),
    ),
    "last frame for frames": Own(
        """
def build():
    model = keras.Sequential(
        [
            keras.Input((5, 8, 8, 1)),
            L.ConvLSTM2D(2, 3, padding="same"),
            L.Conv3D(1, 3, padding="same"),
        ]
    )
    model.compile("sgd", "mse")
    return model


def data():
    return np.zeros((6, 5, 8, 8, 1), "float32"), np.zeros((6, 5, 8, 8, 1), "float32")
""",
        (
            (
                '            L.ConvLSTM2D(2, 3, padding="same"),',
                '            L.ConvLSTM2D(2, 3, padding="same", return_sequences=True),',
            ),
        ),
    ),
    "text without a dtype": Own(
        """
def build():
    words = L.TextVectorization(50, output_sequence_length=4)
    words.adapt(["a cat", "a dog"])
    i = keras.Input((1,))
    model = keras.Model(i, L.Dense(1)(L.Flatten()(L.Embedding(50, 3)(words(i)))))
    model.compile("sgd", "mse")
    return model


def data():
    return tf.constant([["a cat"], ["a dog"]] * 4), np.zeros((8, 1), "float32")
""",
        (("    i = keras.Input((1,))", '    i = keras.Input((1,), dtype="string")'),),
    ),
    "loss for each sample of a model": Own(
        """
class Sparse(keras.Model):
    def __init__(self):
        super().__init__()
        self.out = L.Dense(1)

    def call(self, x):
        spread = tf.reduce_sum(tf.square(x), axis=1)
        self.add_loss(spread)
        return self.out(x)


def build():
    model = Sparse()
    model.compile("sgd", "mse")
    return model
"""
        + DATA.format(x=_rows(16, 5), y=_rows(16, 1)),
        (("        self.add_loss(spread)", "        self.add_loss(tf.reduce_mean(spread))"),),
    ),
    "class indices in an axis of their own": Own(
        """
class Classes(keras.losses.Loss):
    def call(self, y_true, y_pred):
        return tf.nn.sparse_softmax_cross_entropy_with_logits(tf.cast(y_true, tf.int32), y_pred)


def build():
    i = keras.Input((5,))
    model = keras.Model(i, L.Dense(3)(i))
    model.compile("sgd", Classes())
    return model
"""
        + DATA.format(x=_rows(16, 5), y="np.arange(16)[:, None] % 3"),
        (
            (
                "        return tf.nn.sparse_softmax_cross_entropy_with_logits(tf.cast(y_true, tf.int32), y_pred)",
                "        return tf.nn.sparse_softmax_cross_entropy_with_logits(tf.squeeze(tf.cast(y_true, tf.int32), -1), y_pred)",
            ),
        ),
    ),
}  # fmt: skip
