"""Sizes that follow from a number elsewhere, and steps that the head never gets: the line, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_HEADS = """
BOXES = 2
def head(x, boxes):
    return L.Reshape((-1, 5))(L.Conv2D(boxes * 5, 1)(x))
"""
_EXPERTS = """
class Experts(L.Layer):
    def __init__(self, width):
        super().__init__()
        self.parts = [
            L.Dense(width), L.Dense(width),
            L.Dense(12),
        ]
    def call(self, x):
        return tf.reduce_mean(tf.stack([part(x) for part in self.parts], axis=1), axis=1)
"""
_VOTES = """
class Votes(L.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(3, shape[1], shape[2], 7), name='w')
    def call(self, x):
        x = x[:, None, :, :, None]
        return tf.reduce_sum(tf.matmul(self.w, x), axis=[2, 4])
"""
_GRID = """
class Grid(L.Layer):
    def __init__(self, height, width):
        super().__init__()
        self.height, self.width = height, width
    def call(self, x):
        flat = tf.reshape(tf.reduce_mean(x, -1), [tf.shape(x)[0], self.height * self.width])
        return flat - tf.reduce_mean(flat, -1, keepdims=True)
"""
_TAGGER = """
class Tagger(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed, self.hidden, self.head = L.Embedding(50, 8), L.Dense(8), L.Dense(4, activation='softmax')
    def call(self, ids):
        x = self.embed(ids)
        return self.head(self.hidden(x[:, 0]))
"""
_CODES = """
class Codes(L.Layer):
    def __init__(self, count, width):
        super().__init__()
        self.count, self.width = count, width
    def build(self, shape):
        self.book = self.add_weight(shape=(self.width, self.count), name='book')
    def call(self, x):
        flat = tf.reshape(x, [-1, self.width])
        near = tf.one_hot(tf.argmax(tf.matmul(flat, self.book), 1), self.count)
        return x + tf.stop_gradient(tf.reshape(tf.matmul(near, self.book, transpose_b=True), tf.shape(x)) - x)
"""
_SCORES = """
class Scores(L.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], 1), name='w')
        self.b = self.add_weight(shape=(shape[-1], 1), name='b')
    def call(self, x):
        a = tf.nn.softmax(tf.tanh(tf.tensordot(x, self.w, 1) + self.b), axis=1)
        return tf.reduce_sum(x * a, axis=1)
"""
_PARSED = """
def parse(row):
    return tf.reshape(row['image'], (4, 4, 3)), row['label']
"""
_BLOCK = """
def block(x, filters, stride):
    y = L.Conv1D(filters, 3, strides=stride, padding='same')(x)
    if x.shape[-1] != filters:
        x = L.Conv1D(filters, 1)(x)
    return L.ReLU()(L.Add()([x, y]))
"""
_FEEDBACK = """
class Feedback(keras.Model):
    def __init__(self, units, width):
        super().__init__()
        self.cell = L.LSTMCell(units)
        self.rnn, self.head = L.RNN(self.cell, return_state=True), L.Dense(width)
    def call(self, x):
        last, *state = self.rnn(x)
        steps = [self.head(last)]
        for _ in range(2):
            last, state = self.cell(steps[-1], state)
            steps.append(self.head(last))
        return tf.stack(steps, axis=1)
"""
_GATE = """
def gate(x, g, filters):
    both = L.Add()([L.Conv2D(filters, 1)(x), L.Conv2D(filters, 1)(g)])
    return L.Multiply()([x, L.Conv2D(1, 1, activation='sigmoid')(both)])
"""
_CHOSEN = """
class Chosen(L.Layer):
    def __init__(self, count):
        super().__init__()
        self.count, self.scores = count, L.Dense(count)
    def call(self, x):
        scores = self.scores(x)
        best = tf.one_hot(tf.argmax(scores, -1), self.count + 1)
        return best * tf.nn.softmax(scores)
"""

_PLACES = """
class Places(keras.Model):
    def __init__(self):
        super().__init__()
        self.table = self.add_weight(shape=(1, 14, 6), name='table')
        self.dense, self.head = L.Dense(6), L.Dense(1)
    def call(self, x):
        x = self.dense(x) + self.table
        return self.head(tf.reduce_mean(x, axis=1))
"""
_LIGHT = """
class Light(keras.Model):
    def __init__(self):
        super().__init__()
        self.light = self.add_weight(shape=(1, 9, 12, 1), initializer='ones', name='light')
        self.head = L.Dense(1)
    def call(self, x):
        return self.head(tf.reduce_mean(x * self.light, axis=[1, 2]))
"""

SOLVED: dict[str, tuple[str, Own]] = {
    "how many boxes one of two heads has": ("output-size", Own(model_of("""
i = keras.Input((16, 16, 3))
a = L.Conv2D(4, 3, strides=2, padding='same')(i)
b = L.Conv2D(4, 3, strides=2, padding='same')(a)
one = head(a, 2)
two = head(b, 4)
model = keras.Model(i, L.Concatenate(axis=1)([one, two]))
""", f"{rows(8, 16, 16, 3)}, {rows(8, 64 * 3 + 16 * 4, 5)}", head=_HEADS), (("    one = head(a, 2)", "    one = head(a, 3)"),))),
    "how many boxes the module says": ("output-size", Own(model_of("""
i = keras.Input((16, 16, 3))
model = keras.Model(i, head(L.Conv2D(4, 3, strides=2, padding='same')(i), BOXES))
""", f"{rows(8, 16, 16, 3)}, {rows(8, 192, 5)}", head=_HEADS), (("BOXES = 2", "BOXES = 3"),))),
    "the width of one of three experts": ("op-shapes", Own(model_of("""
i = keras.Input((6,))
model = keras.Model(i, L.Dense(1)(Experts(8)(i)))
""", f"{rows(8, 6)}, {rows(8, 1)}", head=_EXPERTS), (("            L.Dense(12),", "            L.Dense(width),"),))),
    "the length of a table that all samples share": ("op-shapes", Own(model_of("""
model = Places()
""", f"{rows(8, 10, 3)}, {rows(8, 1)}", head=_PLACES), ((
        "        self.table = self.add_weight(shape=(1, 14, 6), name='table')", "        self.table = self.add_weight(shape=(1, 10, 6), name='table')",
    ),))),
    "the columns of a map that all samples share": ("op-shapes", Own(model_of("""
model = Light()
""", f"{rows(8, 9, 10, 3)}, {rows(8, 1)}", head=_LIGHT), ((
        "        self.light = self.add_weight(shape=(1, 9, 12, 1), initializer='ones', name='light')",
        "        self.light = self.add_weight(shape=(1, 9, 10, 1), initializer='ones', name='light')",
    ),))),
    "a weight that a product needs transposed": ("op-shapes", Own(model_of("""
i = keras.Input((4, 5))
model = keras.Model(i, L.Dense(1)(Votes()(i)))
""", f"{rows(8, 4, 5)}, {rows(8, 1)}", head=_VOTES), ((
        "        return tf.reduce_sum(tf.matmul(self.w, x), axis=[2, 4])",
        "        return tf.reduce_sum(tf.matmul(self.w, x, transpose_a=True), axis=[2, 4])",
    ),))),
    "the height that a layer is created with": ("op-shapes", Own(model_of("""
i = keras.Input((10, 10, 3))
model = keras.Model(i, L.Dense(1)(Grid(8, 10)(i)))
""", f"{rows(8, 10, 10, 3)}, {rows(8, 1)}", head=_GRID), ((
        "    model = keras.Model(i, L.Dense(1)(Grid(8, 10)(i)))", "    model = keras.Model(i, L.Dense(1)(Grid(10, 10)(i)))",
    ),))),
    "one step for labels of each": ("last-step-only", Own(model_of(
        "\nmodel = Tagger()\n", "np.arange(48).reshape(8, 6) % 50, np.arange(48).reshape(8, 6) % 4", "'sparse_categorical_crossentropy'", head=_TAGGER,
    ), (("        return self.head(self.hidden(x[:, 0]))", "        return self.head(self.hidden(x))"),))),
    "a bias as long as the features, for each step": ("op-shapes", Own(model_of("""
i = keras.Input((5, 8))
model = keras.Model(i, L.Dense(1)(Scores()(i)))
""", f"{rows(8, 5, 8)}, {rows(8, 1)}", head=_SCORES), ((
        "        self.b = self.add_weight(shape=(shape[-1], 1), name='b')", "        self.b = self.add_weight(shape=(shape[1], 1), name='b')",
    ),))),
    "a function of one row that fails when batches run": ("data-raises", Own(model_of("""
i = keras.Input((4, 4, 3))
model = keras.Model(i, L.Dense(1)(L.Flatten()(i)))
""", f"tf.data.Dataset.from_tensor_slices({{'image': {rows(8, 48)}, 'label': {rows(8, 1)}}}).batch(4).map(parse)", head=_PARSED), ((
        "    return tf.reshape(row['image'], (4, 4, 3)), row['label']", "    return tf.reshape(row['image'], (-1, 4, 4, 3)), row['label']",
    ),))),
    "a stride that the shortcut of a block lacks": ("merge-shapes", Own(model_of("""
i = keras.Input((16, 2))
x = block(block(i, 4, 1), 8, 2)
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(x)))
""", f"{rows(8, 16, 2)}, {rows(8, 1)}", head=_BLOCK), (("        x = L.Conv1D(filters, 1)(x)", "        x = L.Conv1D(filters, 1, strides=stride)(x)"),))),
    "a forecast of fewer features than it is made from": ("op-shapes", Own(model_of(
        "\nmodel = Feedback(6, 1)\n", f"{rows(8, 5, 4)}, {rows(8, 3, 4)}", head=_FEEDBACK,
    ), (("    model = Feedback(6, 1)", "    model = Feedback(6, 4)"),))),
    "a map that a decoder did not upsample": ("merge-shapes", Own(model_of("""
i = keras.Input((16, 16, 1))
a = L.Conv2D(4, 3, padding='same')(i)
b = L.Conv2D(8, 3, padding='same')(L.MaxPooling2D()(a))
c = L.Conv2D(8, 3, padding='same')(L.MaxPooling2D()(b))
x = L.Concatenate()([L.UpSampling2D()(c), b])
x = L.Concatenate()([x, a])
model = keras.Model(i, L.Conv2D(1, 1)(x))
""", f"{rows(8, 16, 16, 1)}, {rows(8, 16, 16, 1)}"), ((
        "    x = L.Concatenate()([x, a])", "    x = L.Concatenate()([L.UpSampling2D((2, 2))(x), a])",
    ),))),
    "a signal of half the size, given to one of two gates": ("merge-shapes", Own(model_of("""
i = keras.Input((16, 16, 1))
a = L.Conv2D(4, 3, padding='same')(i)
b = L.Conv2D(8, 3, padding='same')(L.MaxPooling2D()(a))
c = L.Conv2D(8, 3, padding='same')(L.MaxPooling2D()(b))
x = L.Concatenate()([L.UpSampling2D()(c), gate(b, c, 4)])
x = L.UpSampling2D()(x)
x = L.Concatenate()([x, gate(a, x, 4)])
model = keras.Model(i, L.Conv2D(1, 1)(x))
""", f"{rows(8, 16, 16, 1)}, {rows(8, 16, 16, 1)}", head=_GATE), ((
        "    x = L.Concatenate()([L.UpSampling2D()(c), gate(b, c, 4)])",
        "    x = L.Concatenate()([L.UpSampling2D()(c), gate(b, L.UpSampling2D((2, 2))(c), 4)])",
    ),))),
    "a class too many in an encoding": ("op-shapes", Own(model_of("""
i = keras.Input((6,))
model = keras.Model(i, L.Dense(1)(Chosen(4)(i)))
""", f"{rows(8, 6)}, {rows(8, 1)}", head=_CHOSEN), ((
        "        best = tf.one_hot(tf.argmax(scores, -1), self.count + 1)", "        best = tf.one_hot(tf.argmax(scores, -1), scores.shape[-1])",
    ),))),
    "a map that words attend to": ("attention-shapes", Own(model_of("""
i, w = keras.Input((6, 6, 3)), keras.Input((4, 8))
f = L.Conv2D(8, 3)(i)
a = L.MultiHeadAttention(2, 4)(w, f)
model = keras.Model([i, w], L.Dense(1)(L.Flatten()(a)))
""", f"[{rows(8, 6, 6, 3)}, {rows(8, 4, 8)}], {rows(8, 1)}"), ((
        "    a = L.MultiHeadAttention(2, 4)(w, f)", "    a = L.MultiHeadAttention(2, 4)(w, keras.ops.reshape(f, (-1, 16, 8)))",
    ),))),
    "codes of another width than the map": ("reshape-interleaves", Own(model_of("""
i = keras.Input((4, 4, 1))
x = L.Conv2D(6, 1)(i)
x = Codes(9, 4)(x)
model = keras.Model(i, L.Conv2D(1, 1)(x))
""", f"{rows(8, 4, 4, 1)}, {rows(8, 4, 4, 1)}", head=_CODES), (("    x = Codes(9, 4)(x)", "    x = Codes(9, 6)(x)"),))),
}  # fmt: skip
