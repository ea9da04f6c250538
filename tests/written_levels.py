"""States of another level, grids of another image, whole models with another number of classes, and batches put together by hand."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_LEVELS = """
i = keras.Input((9, 3))
first = L.Bidirectional(L.{kind}(5, return_sequences=True, return_state=True))
x, *lower = first(i)
second = L.{kind}(8, return_state=True)
x, *upper = second(x)
low = [L.Concatenate()(pair) for pair in zip(lower[:len(lower) // 2], lower[len(lower) // 2:])]
states1 = [{low}]
states2 = [{high}]
y = L.RepeatVector(4)(x)
y = L.{kind}(10, return_sequences=True)(y, initial_state=states1)
y = L.{kind}(8, return_sequences=True)(y, initial_state=states1)
model = keras.Model(i, L.Dense(1)(y))
"""
_STATED = ("    y = L.{kind}(8, return_sequences=True)(y, initial_state=states1)", "    y = L.{kind}(8, return_sequences=True)(y, initial_state=states2)")


def _levels(kind: str, low: str, high: str) -> tuple[str, Own]:
    old, new = (text.format(kind=kind) for text in _STATED)
    return "rnn-states", Own(model_of(_LEVELS.format(kind=kind, low=low, high=high), f"{rows(8, 9, 3)}, {rows(8, 4, 1)}"), ((old, new),))


_GRID = """
class Boxes:
    def __init__(self, size, boxes):
        self.boxes = boxes
        {grid}
        i = keras.Input((size, size, 3))
        x = L.Conv2D(8, 3, strides=2, padding="same")(i)
        x = L.Conv2D(boxes * 5, 3, strides=2, padding="same")(x)
        self.model = keras.Model(i, L.Reshape((self.rows, self.columns, boxes, 5))(x))
    def loss(self, y_true, y_pred):
        column = tf.reshape(tf.range(self.columns, dtype="float32"), (1, 1, self.columns, 1, 1))
        return tf.reduce_mean(tf.square(y_true - y_pred - column), axis=(1, 2, 3, 4))
"""
_GENERATED = """
def build():
    model = keras.Sequential([keras.Input((6,)), L.Dense(1, activation="sigmoid")])
    model.compile("sgd", "binary_crossentropy")
    return model
def data():
    rng = np.random.default_rng(0)
    for _ in range(3):
        labels = [int(value) for value in rng.integers(0, 2, 8)]
        yield rng.random((8, 6), dtype="float32"), labels
"""
_BOARD = """
def build():
    model = keras.Sequential([
        keras.Input((1,)),
        L.Dense(9),
    ])
    model.compile("sgd", "mse")
    return model
def data():
    board = np.arange(27, dtype="float32")
    target = np.zeros((1, 9), "float32")
    return board, target
"""
_WHOLE = """
def build():
    model = keras.applications.MobileNet(weights=None, alpha=0.25, input_shape=(32, 32, 3))
    model.compile("sgd", {loss})
    return model
def data():
    rng = np.random.default_rng(0)
    return rng.random((8, 32, 32, 3), dtype="float32"), {labels}
"""
_MADE = "    model = keras.applications.MobileNet(weights=None, alpha=0.25, input_shape=(32, 32, 3))"


def _whole(loss: str, labels: str, words: str) -> tuple[str, Own]:
    return "output-units", Own(_WHOLE.format(loss=loss, labels=labels), ((_MADE, f"{_MADE[:-1]}, {words})"),))


_JUDGED = """
maker = keras.Sequential([
    keras.Input((6,)),
    L.Dense(4 * 4 * 8),
    L.Reshape((4, 4, 8)),
    L.Conv2DTranspose(1, 4, strides=2, padding="same"),
])
judge = keras.Sequential([keras.Input((6, 6, 1)), L.Flatten(), L.Dense(1)])
model = keras.Sequential([maker, judge])
"""
_JOINED = """
image = keras.Input((8, 8, 3))
numbers = keras.Input((5,))
x = L.MaxPooling2D()(L.Conv2D(4, 3, padding="same")(image))
joined = L.concatenate([x, L.Dense(16)(numbers)])
model = keras.Model([image, numbers], L.Dense(1)(L.Dense(8)(joined)))
"""
_SKIPS = """
class Skips(keras.Model):
    def __init__(self):
        super().__init__()
        self.downs = [L.Conv1D(8, 3, strides=2, padding="same") for _ in range(3)]
        self.ups = [L.Conv1DTranspose(8, 3, strides=2, padding="same") for _ in range(3)]
        self.out = L.Conv1D(1, 1)
    def call(self, x):
        skips = []
        for down in self.downs:
            skips.append(x)
            x = down(x)
        for up in self.ups:
            x = up(x)
            x = tf.concat([x, skips.pop(0)], -1)
        return self.out(x)
"""
_GATED = """
class Gated(L.Layer):
    def __init__(self):
        super().__init__()
        self.router = L.Dense(4)
    def build(self, shape):
        self.kernel = self.add_weight(shape=(4, shape[-1], shape[-1]), name="kernel")
    def call(self, x):
        y = tf.einsum("btd,edh->bteh", x, self.kernel)
        return tf.einsum("bte,btde->btd", tf.nn.softmax(self.router(x)), y)
"""

LEVELS = {
    "the oldest skip first": ("op-shapes", Own(model_of("model = Skips()\n", f"{rows(8, 32, 8)}, {rows(8, 32, 1)}", head=_SKIPS), (
        ("            x = tf.concat([x, skips.pop(0)], -1)", "            x = tf.concat([x, skips.pop()], -1)"),
    ))),
    "letters of what the gates weigh": ("op-shapes", Own(model_of("""
i = keras.Input((6, 3))
model = keras.Model(i, L.Dense(1)(Gated()(i)))
""", f"{rows(8, 6, 3)}, {rows(8, 6, 1)}", head=_GATED), ((
        '        return tf.einsum("bte,btde->btd", tf.nn.softmax(self.router(x)), y)',
        '        return tf.einsum("bte,bted->btd", tf.nn.softmax(self.router(x)), y)',
    ),))),
    "a grid for the model that judges it": ("input-axis", Own(model_of(_JUDGED, f"{rows(8, 6)}, {rows(8, 1)}"), (
        ("        L.Dense(4 * 4 * 8),", "        L.Dense(72),"), ("        L.Reshape((4, 4, 8)),", "        L.Reshape((3, 3, 8)),"),
    ))),
    # Nothing after the join reads a map, so that a vector which would fill one is none.
    "a map joined with numbers": ("merge-shapes", Own(model_of(_JOINED, f"({rows(8, 8, 8, 3)}, {rows(8, 5)}), {rows(8, 1)}"), (
        ("    joined = L.concatenate([x, L.Dense(16)(numbers)])", "    joined = L.concatenate([L.Flatten()(x), L.Dense(16)(numbers)])"),
    ))),
    "the states of an encoder's other level": _levels("LSTM", "low[0], low[1]", "upper[0], upper[1]"),
    "the state of an encoder's other level": _levels("GRU", "low[0]", "upper[0]"),
    "a grid written for another image": ("reshape-size", Own(
        _GRID.format(grid="self.rows, self.columns = 7, 7") + model_of("""
boxes = Boxes(32, 2)
model = boxes.model
""", f"{rows(8, 32, 32, 3)}, {rows(8, 8, 8, 2, 5)}", loss="boxes.loss"),
        (("        self.rows, self.columns = 7, 7", "        self.rows, self.columns = 8, 8"),))),
    "labels of a generator in a list": ("data-misfit", Own(_GENERATED, ((
        '        yield rng.random((8, 6), dtype="float32"), labels', '        yield rng.random((8, 6), dtype="float32"), np.array(labels)',
    ),))),
    "one board without its batch": ("data-misfit", Own(_BOARD, (
        ("        keras.Input((1,)),", "        keras.Input((27,)),"), ("    return board, target", "    return np.expand_dims(board, 0), target"),
    ))),
    "a whole model for two classes": _whole('"binary_crossentropy"', "rng.integers(0, 2, (8, 1))", "classes=1, classifier_activation='sigmoid'"),
    "a whole model for three classes": _whole(
        '"categorical_crossentropy"', 'np.eye(3, dtype="float32")[np.arange(8) % 3]', "classes=3"
    ),
}  # fmt: skip
