"""The contract between code of the program's own and what calls it: shapes in build, the data of a step, names, ids, one-hot rows of labels."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_STEP = """
class Coder(keras.Model):
    def __init__(self, net):
        super().__init__()
        self.net = net
    def call(self, x):
        return self.net(x)
    def train_step(self, batch):
        {doc}with tf.GradientTape() as tape:
            loss = {loss}
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.net.trainable_variables))
        return {{"loss": loss}}


def build():
    net = keras.{net}
    model = Coder(net)
    model.compile("sgd")
    return model


def data():
    x = np.ones((8, 6), "float32")
    return {data}
"""
_FUNCTIONAL = "Model(i := keras.Input((6,)), L.Dense(6)(L.Dense(2)(i)))"

CONTRACTS: dict[str, tuple[str, Own]] = {
    "a weight of the whole shape in build": (
        "layer-raises",
        Own(
            model_of(
                """
i = keras.Input((5, 4))
model = keras.Model(i, L.Dense(1)(L.Flatten()(Places()(i))))
""",
                f"{rows(8, 5, 4)}, {rows(8, 1)}",
                head="""
class Places(L.Layer):
    def build(self, shape):
        self.places = self.add_weight(shape=shape, initializer="zeros", name="places")
    def call(self, x):
        return x + self.places
""",
            ),
            (
                (
                    '        self.places = self.add_weight(shape=shape, initializer="zeros", name="places")',
                    '        self.places = self.add_weight(shape=shape[1:], initializer="zeros", name="places")',
                ),
            ),
        ),
    ),
    "a step that passes all of its data to a model": (
        "layer-raises",
        Own(
            _STEP.format(doc="", loss="tf.reduce_mean(tf.square(self.net(batch) - batch))", net=_FUNCTIONAL, data="x, x"),
            (("    def train_step(self, batch):", "        batch = batch[0]"),),
        ),
    ),
    "a step that computes with all of its data": (
        "layer-raises",
        Own(
            _STEP.format(
                doc='"""One step."""\n        ',
                loss="tf.reduce_mean(tf.square(self.net(batch, training=True) - batch))",
                net="Sequential([keras.Input((6,)), L.Dense(2), L.Dense(6)])",
                data='x, x, np.ones((8,), "float32")',
            ),
            (("    def train_step(self, batch):", "        batch = batch[0]"),),
        ),
    ),
    "parameters under each other's name": (
        "names-crossed",
        Own(
            """
class Coach(keras.Model):
    def __init__(self, student, teacher):
        super().__init__()
        self.teacher = student
        self.student = teacher
    def call(self, x):
        return self.student(x)
    def train_step(self, data):
        x, y = data
        soft = self.teacher(x)
        with tf.GradientTape() as tape:
            out = self.student(x)
            loss = tf.reduce_mean(tf.square(out - y)) + tf.reduce_mean(tf.square(out - soft))
        grads = tape.gradient(loss, self.student.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.student.trainable_variables))
        return {"loss": loss}


def build():
    student = keras.Sequential([keras.Input((6,)), L.Dense(1)])
    teacher = keras.Sequential([keras.Input((6,)), L.Dense(9), L.Dense(1)])
    model = Coach(student, teacher)
    model.compile("sgd")
    return model


def data():
    return np.ones((8, 6), "float32"), np.ones((8, 1), "float32")
""",
            (("        self.teacher = student", "        self.teacher = teacher"), ("        self.student = teacher", "        self.student = student")),
        ),
    ),
    "an encoder with an embedding behind an embedding": (
        "embedding-coded",
        Own(
            model_of(
                """
i = keras.Input((7,), dtype="int32")
x = L.Embedding(20, 4)(i)
model = keras.Model(i, L.Dense(1)(Encoder()(x)))
""",
                f"np.arange(56).reshape(8, 7) % 20, {rows(8, 1)}",
                head="""
class Encoder(L.Layer):
    def __init__(self):
        super().__init__()
        self.embedding = L.Embedding(20, 6)
        self.pool = L.GlobalAveragePooling1D()
    def call(self, tokens):
        return self.pool(self.embedding(tokens))
""",
            ),
            (("    x = L.Embedding(20, 4)(i)", "    x = i"),),
        ),
    ),
    "one-hot rows of labels with an axis of their own, read twice": (
        "batch-broadcast",
        Own(
            model_of(
                """
i = keras.Input((5,))
y = keras.Input((1,), dtype="int32")
model = keras.Model([i, y], L.Softmax()(Margin()([L.Dense(3)(i), y])))
""",
                f"[{rows(8, 5)}, (np.arange(8) % 3)[:, None]], (np.arange(8) % 3)[:, None]",
                '"sparse_categorical_crossentropy"',
                head="""
class Margin(L.Layer):
    def call(self, given):
        logits, labels = given
        hot = tf.one_hot(labels, 3)
        return hot * (logits - 0.5) + (1.0 - hot) * logits
""",
            ),
            (("        hot = tf.one_hot(labels, 3)", "        hot = tf.squeeze(tf.one_hot(labels, 3), 1)"),),
        ),
    ),
    "the key of the only output": (
        "output-names",
        Own(
            model_of(
                """
i = keras.Input((5,))
model = keras.Model(i, {"scores": L.Dense(3, activation="softmax")(i)})
""",
                f"{rows(8, 5)}, {{'kinds': np.arange(8) % 3}}",
                '{"kinds": "sparse_categorical_crossentropy"}',
            ),
            (
                (
                    '    model.compile(\'sgd\', {"kinds": "sparse_categorical_crossentropy"})',
                    '    model.compile(\'sgd\', {"scores": "sparse_categorical_crossentropy"})',
                ),
            ),
        ),
    ),
}
