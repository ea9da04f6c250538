"""More broken programs, one for each kind of repair: tagging, decoders, skips, pipelines, weights of one's own, steps of one's own."""

from __future__ import annotations

from broken import Broken


def _kind(body: str, edits: tuple[str, ...], removed: tuple[str, ...], added: tuple[str, ...], tpu: str | None = None) -> Broken:
    return Broken(body.strip("\n") + "\n", edits, removed, added, tpu)


KINDS = {
    "tags": _kind(
        """
def build():
    model = keras.Sequential([
        keras.Input((14, 6)),
        L.GRU(8, name="reader"),
        L.Dense(5, activation="softmax"),
    ])
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


def data():
    return np.zeros((8, 14, 6), "float32"), np.zeros((8, 14), "int32")
""",
        ("layer-config",),
        ('        L.GRU(8, name="reader"),',),
        ('        L.GRU(8, name="reader", return_sequences=True),',),
    ),
    "value-a-step": _kind(
        """
def build():
    model = keras.Sequential([keras.Input((10, 4)), L.LSTM(8, name="reader"), L.Dense(1)])
    model.compile("sgd", "mse")
    return model


def data():
    return np.zeros((8, 10, 4), "float32"), np.zeros((8, 10, 1), "float32")
""",
        ("layer-config",),
        ('    model = keras.Sequential([keras.Input((10, 4)), L.LSTM(8, name="reader"), L.Dense(1)])',),
        ('    model = keras.Sequential([keras.Input((10, 4)), L.LSTM(8, name="reader", return_sequences=True), L.Dense(1)])',),
    ),
    "one-of-two-losses": _kind(
        """
def build():
    i = keras.Input((6,))
    topic = L.Dense(4, activation="softmax", name="topic")(i)
    spam = L.Dense(1, activation="sigmoid", name="spam")(i)
    model = keras.Model(i, [topic, spam])
    model.compile("sgd", loss={"topic": "categorical_crossentropy", "spam": "binary_crossentropy"})
    return model


def data():
    labels = {"topic": np.arange(16) % 4, "spam": np.zeros((16, 1), "float32")}
    return tf.data.Dataset.from_tensor_slices((np.zeros((16, 6), "float32"), labels)).batch(8)
""",
        ("loss",),
        ('    model.compile("sgd", loss={"topic": "categorical_crossentropy", "spam": "binary_crossentropy"})',),
        ('    model.compile("sgd", loss={"topic": "sparse_categorical_crossentropy", "spam": "binary_crossentropy"})',),
    ),
    "odd-skip": _kind(
        """
def build():
    i = keras.Input((15, 15, 2))
    down = L.Conv2D(4, 3, padding="same")(L.MaxPooling2D()(i))
    up = L.UpSampling2D(name="up")(down)
    both = L.Concatenate(name="join")([up, i])
    model = keras.Model(i, L.Conv2D(1, 1)(both))
    model.compile("sgd", "mse")
    return model


def data():
    return np.zeros((4, 15, 15, 2), "float32"), np.zeros((4, 15, 15, 1), "float32")
""",
        ("insert-layer",),
        ('    both = L.Concatenate(name="join")([up, i])',),
        ('    both = L.Concatenate(name="join")([L.ZeroPadding2D(((0, 1), (0, 1)))(up), i])',),
    ),
    "declared-without-channels": _kind(
        """
def build():
    model = keras.Sequential([
        keras.Input((12, 12)),
        L.Conv2D(4, 3),
        L.Flatten(),
        L.Dense(3, activation="softmax"),
    ])
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


def data():
    return np.zeros((8, 12, 12, 1), "float32"), np.arange(8) % 3
""",
        ("input-shape",),
        ("        keras.Input((12, 12)),",),
        ("        keras.Input((12, 12, 1)),",),
    ),
    "joined-along-the-batch": _kind(
        """
def build():
    a, b = keras.Input((6,), name="a"), keras.Input((6,), name="b")
    both = L.Concatenate(axis=0, name="join")([L.Dense(8)(a), L.Dense(8)(b)])
    model = keras.Model([a, b], L.Dense(1, activation="sigmoid")(both))
    model.compile("sgd", "binary_crossentropy")
    return model


def data():
    return [np.zeros((16, 6), "float32"), np.zeros((16, 6), "float32")], np.zeros((16, 1), "float32")
""",
        ("layer-config",),
        ('    both = L.Concatenate(axis=0, name="join")([L.Dense(8)(a), L.Dense(8)(b)])',),
        ('    both = L.Concatenate(axis=-1, name="join")([L.Dense(8)(a), L.Dense(8)(b)])',),
    ),
    "frames": _kind(
        """
def build():
    model = keras.Sequential([
        keras.Input((4, 8, 8, 1)),
        L.ConvLSTM2D(3, 3, padding="same", return_sequences=True, name="video"),
        L.Conv2D(1, 1, activation="sigmoid"),
    ])
    model.compile("sgd", "binary_crossentropy")
    return model


def data():
    return np.zeros((4, 4, 8, 8, 1), "float32"), np.zeros((4, 8, 8, 1), "float32")
""",
        ("layer-config",),
        ('        L.ConvLSTM2D(3, 3, padding="same", return_sequences=True, name="video"),',),
        ('        L.ConvLSTM2D(3, 3, padding="same", return_sequences=False, name="video"),',),
    ),
    "softmax-over-samples": _kind(
        """
class Pool(L.Layer):
    def __init__(self):
        super().__init__()
        self.score = L.Dense(1)

    def call(self, h):
        weight = tf.nn.softmax(self.score(h), axis=0)
        return tf.reduce_sum(weight * h, axis=1)


def build():
    model = keras.Sequential([keras.Input((9, 6)), Pool(), L.Dense(2, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


def data():
    return np.zeros((16, 9, 6), "float32"), np.arange(16) % 2
""",
        ("replace-op",),
        ("        weight = tf.nn.softmax(self.score(h), axis=0)",),
        ("        weight = tf.nn.softmax(self.score(h), axis=1)",),
    ),
    "steps-by-reshape": _kind(
        """
class Steps(keras.Model):
    def __init__(self):
        super().__init__()
        self.into, self.out = L.Dense(5), L.Dense(1)

    def call(self, x):
        major = tf.reshape(x, (6, -1, 3))
        return self.out(self.into(major[0]) + self.into(major[1]))


def build():
    model = Steps()
    model.compile("sgd", "mse")
    return model


def data():
    return np.zeros((16, 6, 3), "float32"), np.zeros((16, 1), "float32")
""",
        ("replace-op",),
        ("        major = tf.reshape(x, (6, -1, 3))",),
        ("        major = tf.transpose(x, (1, 0, 2))",),
    ),
    "state-of-two-directions": _kind(
        """
def build():
    source, target = keras.Input((5, 7)), keras.Input((4, 9))
    _, fh, fc, bh, bc = L.Bidirectional(L.LSTM(6, return_state=True))(source)
    state = [L.Concatenate()([fh, bh]), L.Concatenate()([fc, bc])]
    h = L.LSTM(6, return_sequences=True, name="decoder")(target, initial_state=state)
    model = keras.Model([source, target], L.Dense(9, activation="softmax")(h))
    model.compile("sgd", "categorical_crossentropy")
    return model


def data():
    return [np.zeros((8, 5, 7), "float32"), np.zeros((8, 4, 9), "float32")], np.eye(9, dtype="float32")[np.zeros((8, 4), int)]
""",
        ("layer-config",),
        ('    h = L.LSTM(6, return_sequences=True, name="decoder")(target, initial_state=state)',),
        ('    h = L.LSTM(12, return_sequences=True, name="decoder")(target, initial_state=state)',),
    ),
    "rows-of-the-whole-batch": _kind(
        """
class Cell(keras.Model):
    def __init__(self):
        super().__init__()
        self.mix, self.out = L.Dense(6), L.Dense(3, activation="softmax")

    def call(self, x):
        h = tf.zeros((32, 6))
        for step in range(3):
            h = self.mix(tf.concat([x[:, step], h], axis=-1))
        return self.out(h)


def build():
    model = Cell()
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


def data():
    pairs = tf.data.Dataset.from_tensor_slices((np.zeros((64, 5, 4), "float32"), np.arange(64) % 3))
    return pairs.batch(32, drop_remainder=True).prefetch(1)
""",
        ("replace-op",),
        ("        h = tf.zeros((32, 6))",),
        ("        h = tf.zeros((tf.shape(x)[0], 6))",),
        "v3-8",
    ),
    "windows-that-do-not-fill": _kind(
        """
def build():
    model = keras.Sequential([keras.Input((12, 3)), L.LSTM(4), L.Dense(1)])
    model.compile("sgd", "mse")
    return model


def data():
    series = np.zeros((250, 3), "float32")
    x = series.reshape(-1, 12, 3)
    return x, x[:, -1, :1]
""",
        ("data-transform",),
        ("    x = series.reshape(-1, 12, 3)",),
        ("    x = series[: len(series) // 12 * 12].reshape(-1, 12, 3)",),
    ),
    "batched-twice": _kind(
        """
def build():
    model = keras.Sequential([keras.Input((6,)), L.Dense(1)])
    model.compile("sgd", "mse")
    return model


def data():
    pairs = tf.data.Dataset.from_tensor_slices((np.zeros((32, 6), "float32"), np.zeros((32, 1), "float32")))
    return pairs.batch(4).shuffle(4).batch(2)
""",
        ("batching",),
        ("    return pairs.batch(4).shuffle(4).batch(2)",),
        ("    return pairs.batch(4).shuffle(4)",),
    ),
    "own-step": _kind(
        """
class Regressor(keras.Model):
    def __init__(self):
        super().__init__()
        self.out = L.Dense(1)

    def call(self, x):
        return self.out(x)

    def train_step(self, batch):
        x, y = batch
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(y - self(x, training=True)))
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}


def build():
    model = Regressor()
    model.compile(optimizer="sgd")
    return model


def data():
    return np.zeros((16, 3), "float32"), np.zeros(16, "float32")
""",
        ("replace-op",),
        ("            loss = tf.reduce_mean(tf.square(y - self(x, training=True)))",),
        ("            loss = tf.reduce_mean(tf.square(y - tf.squeeze(self(x, training=True), 1)))",),
    ),
}
