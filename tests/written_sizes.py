"""Sizes and names that a program gives in one place and needs in another."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_ATTENTION = """
class Weighted(L.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[1], 1), initializer='normal', name='w')
        self.b = self.add_weight(shape=(shape[2], 1), initializer='zeros', name='b')
        self.built = True

    def call(self, x):
        scores = tf.nn.softmax(tf.tanh(tf.matmul(x, self.w) + self.b), axis=1)
        return tf.reduce_sum(x * scores, axis=1)
"""
_BIAS = """
class Biased(L.Layer):
    def __init__(self, width, length=6):
        super().__init__()
        self.dense, self.length = L.Dense(width), length

    def build(self, shape):
        self.bias = self.add_weight(shape=(self.length, self.length), initializer='zeros', name='bias')
        self.built = True

    def call(self, x):
        x = self.dense(x)
        return tf.matmul(tf.matmul(x, x, transpose_b=True) + self.bias, x)
"""
_BLOCK = """
def block(x, filters, stride=1):
    skip = x
    y = L.Conv2D(filters, 3, strides=stride, padding='same')(x)
    if stride != 1:
        skip = L.Conv2D(filters, 1, strides=stride)(skip)
    return L.Add()([y, skip])
"""
_BATCHES = """
class Batches(keras.utils.PyDataset if hasattr(keras.utils, 'PyDataset') else keras.utils.Sequence):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        classes = np.array([[0, 1, 2, 1], [0, 1, 1, 0], [1, 0, 1, 0]][index])
        return np.zeros((4, 5), 'float32'), keras.utils.to_categorical(classes)
"""

_GATE = """
def gate(x, ratio=4):
    channels = x.shape[-1]
    s = L.Dense(channels // ratio, activation='relu')(L.GlobalAveragePooling2D()(x))
    s = L.Dense(channels // ratio, activation='sigmoid')(s)
    return L.Multiply()([x, s])
"""

SIZES: dict[str, tuple[str, Own]] = {
    "a skip that is projected for its strides only": (
        "merge-shapes",
        Own(
            model_of(
                """
i = keras.Input((8, 8, 3))
x = block(block(i, 4), 8, stride=2)
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""",
                f"{rows(4, 8, 8, 3)}, {rows(4, 1)}",
                head=_BLOCK,
            ),
            (("    if stride != 1:", "    if stride != 1 or skip.shape[-1] != y.shape[-1]:"),),
        ),
    ),
    "weights of the channels that are as few as the layer between": (
        "merge-shapes",
        Own(
            model_of(
                """
i = keras.Input((8, 8, 3))
x = gate(L.Conv2D(8, 3)(i))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""",
                f"{rows(4, 8, 8, 3)}, {rows(4, 1)}",
                head=_GATE,
            ),
            (("    s = L.Dense(channels // ratio, activation='sigmoid')(s)", "    s = L.Dense(channels, activation='sigmoid')(s)"),),
            keras=True,
        ),
    ),
    "the sizes of two weights": (
        "op-shapes",
        Own(
            model_of(
                """
i = keras.Input((7, 4))
model = keras.Model(i, L.Dense(1)(Weighted()(i)))
""",
                f"{rows(4, 7, 4)}, {rows(4, 1)}",
                head=_ATTENTION,
            ),
            (
                (
                    "        self.w = self.add_weight(shape=(shape[1], 1), initializer='normal', name='w')",
                    "        self.w = self.add_weight(shape=(shape[2], 1), initializer='normal', name='w')",
                ),
                (
                    "        self.b = self.add_weight(shape=(shape[2], 1), initializer='zeros', name='b')",
                    "        self.b = self.add_weight(shape=(shape[1], 1), initializer='zeros', name='b')",
                ),
            ),
        ),
    ),
    "one of two arguments of the same size": (
        "op-shapes",
        Own(
            model_of(
                """
i = keras.Input((9, 4))
model = keras.Model(i, L.Dense(1)(L.Flatten()(Biased(6)(i))))
""",
                f"{rows(4, 9, 4)}, {rows(4, 1)}",
                head=_BIAS,
            ),
            (
                (
                    "    model = keras.Model(i, L.Dense(1)(L.Flatten()(Biased(6)(i))))",
                    "    model = keras.Model(i, L.Dense(1)(L.Flatten()(Biased(6, length=9)(i))))",
                ),
            ),
        ),
    ),
    "a loss under another name": (
        "output-names",
        Own(
            """
def build():
    i = keras.Input((4,))
    model = keras.Model(i, [L.Dense(1, name='price')(i), L.Dense(3, activation='softmax', name='kind')(i)])
    model.compile('sgd', loss={'price': 'mse', 'type': 'sparse_categorical_crossentropy'})
    return model


def data():
    return np.zeros((8, 4), 'float32'), {'price': np.zeros((8, 1), 'float32'), 'kind': np.arange(8) % 3}
""",
            (
                (
                    "    model.compile('sgd', loss={'price': 'mse', 'type': 'sparse_categorical_crossentropy'})",
                    "    model.compile('sgd', loss={'price': 'mse', \"kind\": 'sparse_categorical_crossentropy'})",
                ),
            ),
        ),
    ),
    "classes that are counted in each batch": (
        "label-widths",
        Own(
            model_of(
                """
model = keras.Sequential([keras.Input((5,)), L.Dense(3, activation='softmax')])
""",
                "Batches()",
                "'categorical_crossentropy'",
                head=_BATCHES,
            ),
            (
                (
                    "        return np.zeros((4, 5), 'float32'), keras.utils.to_categorical(classes)",
                    "        return np.zeros((4, 5), 'float32'), keras.utils.to_categorical(classes, num_classes=3)",
                ),
            ),
        ),
    ),
    "the size of a network from a library": (
        "input-axis",
        Own(
            model_of(
                """
base = keras.applications.MobileNet(weights=None, include_top=False, alpha=0.25, input_shape=(32, 32, 3))
model = keras.Sequential([keras.Input((64, 64, 3)), L.Rescaling(1 / 255), base, L.GlobalAveragePooling2D(), L.Dense(1)])
""",
                f"{rows(2, 64, 64, 3)}, {rows(2, 1)}",
            ),
            (
                (
                    "    base = keras.applications.MobileNet(weights=None, include_top=False, alpha=0.25, input_shape=(32, 32, 3))",
                    "    base = keras.applications.MobileNet(weights=None, include_top=False, alpha=0.25, input_shape=(64, 64, 3))",
                ),
            ),
        ),
    ),
}
