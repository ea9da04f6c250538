"""What a function does not return, an object that was not created, inputs one by one, a step that one tensor went through alone."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_RANDOM = f"{rows(8, 6)}, {rows(8, 1)}"
_DENSE = "model = keras.Sequential([keras.Input((6,)), L.Dense(4){}, L.Dense(1)])"
_HEADS = """
class Heads(L.Layer):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.each = heads, width // heads
        self.ask, self.key, self.tell = L.Dense(width), L.Dense(width), L.Dense(width)
    def split(self, x):
        return tf.transpose(tf.reshape(x, (-1, 5, self.heads, self.each)), (0, 2, 1, 3))
    def call(self, x):
        q = self.ask(x)
        k = self.key(x)
        v = self.tell(x)
        q = self.split(q)
        w = tf.nn.softmax(tf.matmul(q, k, transpose_b=True))
        return tf.reshape(tf.transpose(tf.matmul(w, v), (0, 2, 1, 3)), (-1, 5, self.heads * self.each))
"""
_TABLE = """
class Placed(L.Layer):
    def __init__(self, longest, width):
        super().__init__()
        self.table = tf.constant(np.random.default_rng(0).normal(size=(longest, width)), "float32")
    def call(self, x):
        return x + self.table[tf.newaxis, :, :]
"""
_NET = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.end = L.Dense(1)
    def call(self, x):
        return self.end(x)
"""
_ATTENDED = "model = keras.Sequential([keras.Input((5, 6)), {}, L.Flatten(), L.Dense(1)])"

RETURNS: dict[str, tuple[str, Own]] = {
    "a layer's result": ("code-raises", Own(model_of(_DENSE.format(", Half()"), _RANDOM, head="""
class Half(L.Layer):
    def call(self, x):
        y = x / 2
"""), (("        y = x / 2", "        return y"),))),
    "a layer's result but for training": ("code-raises", Own(model_of(_DENSE.format(", Noise()"), _RANDOM, head="""
class Noise(L.Layer):
    def call(self, x, training=False):
        if training:
            return x + tf.random.normal(tf.shape(x))
"""), (("            return x + tf.random.normal(tf.shape(x))", "        return x"),))),
    "a model's result": ("code-raises", Own(model_of("model = Net()", _RANDOM, head="""
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.end = L.Dense(1)
    def call(self, x):
        x = self.end(x)
"""), (("        x = self.end(x)", "        return x"),))),
    "a loss": ("code-raises", Own(model_of(_DENSE.format(""), _RANDOM, loss="twice", head="""
def twice(t, p):
    2 * tf.reduce_mean(tf.square(t - p))
"""), (("    2 * tf.reduce_mean(tf.square(t - p))", "    return 2 * tf.reduce_mean(tf.square(t - p))"),))),
    "a block": ("code-raises", Own(model_of("""
i = keras.Input((6,))
x = block(i, 4)
model = keras.Model(i, L.Dense(1)(x))
""", _RANDOM, head="""
def block(x, width):
    x = L.Dense(width)(x)
    x = L.ReLU()(x)
"""), (("    x = L.ReLU()(x)", "    return x"),))),
    "what a map makes": ("code-raises", Own(model_of(_DENSE.format(""), f"tf.data.Dataset.from_tensor_slices(({_RANDOM})).map(halved).batch(4)", head="""
def halved(x, y):
    x = x / 2
"""), (("    x = x / 2", "    return x, y"),))),
    "the logs of a step": ("code-raises", Own(model_of("model = Net()", _RANDOM, head=_NET + """\
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            lost = tf.reduce_mean(tf.square(self(x, training=True) - y))
        found = tape.gradient(lost, self.trainable_variables)
        self.optimizer.apply_gradients(zip(found, self.trainable_variables))
"""), (("        self.optimizer.apply_gradients(zip(found, self.trainable_variables))", '        return {"loss": lost}'),))),
    "a model that a function compiles": ("code-raises", Own(f"""
def made():
    model = keras.Sequential([keras.Input((6,)), L.Dense(1)])
    model.compile("sgd", "mse")


def build():
    model = made()
    model.optimizer.learning_rate = 0.1
    return model


def data():
    return {_RANDOM}
""", (('    model.compile("sgd", "mse")', "    return model"),))),
    "a model that nothing created": ("code-raises", Own(model_of("model = Net", _RANDOM, head=_NET), (("    model = Net", "    model = Net()"),))),
    "the inputs of a model one by one": ("code-raises", Own(model_of("""
a, b = keras.Input((6,)), keras.Input((4,))
model = keras.Model(a, b, L.Dense(1)(L.concatenate([a, b])))
""", f"({rows(8, 6)}, {rows(8, 4)}), {rows(8, 1)}"), ((
    "    model = keras.Model(a, b, L.Dense(1)(L.concatenate([a, b])))", "    model = keras.Model([a, b], L.Dense(1)(L.concatenate([a, b])))"),))),
    "what a layer of a row is not given": ("layer-raises", Own(model_of(_DENSE.format(", Half()"), _RANDOM, head="""
class Half(L.Layer):
    def call(self, x, training, mask):
        return x / 2 if training else x
"""), (("    def call(self, x, training, mask):", "    def call(self, x, training=None, mask=None):"),))),
    "heads of the queries alone": ("op-shapes", Own(model_of(_ATTENDED.format("Heads(6, 2)"), f"{rows(8, 5, 6)}, {rows(8, 1)}", head=_HEADS),
        (("        q = self.split(q)", "        k = self.split(k)"), ("        v = self.tell(x)", "        v = self.split(v)")))),
    "heads of the queries where they are made": ("op-shapes", Own(model_of(
        _ATTENDED.format("Heads(6, 2)"), f"{rows(8, 5, 6)}, {rows(8, 1)}", head=_HEADS.replace("        q = self.split(q)\n", "").replace("q = self.ask(x)", "q = self.split(self.ask(x))")),
        (("        k = self.key(x)", "        k = self.split(self.key(x))"), ("        v = self.tell(x)", "        v = self.split(self.tell(x))")))),
    "a table that is longer than the sequences": ("op-shapes", Own(model_of(_ATTENDED.format("Placed(50, 6)"), f"{rows(8, 5, 6)}, {rows(8, 1)}", head=_TABLE),
        (("        return x + self.table[tf.newaxis, :, :]", "        return x + self.table[tf.newaxis, :keras.ops.shape(x)[1], :]"),))),
}  # fmt: skip
