"""Programs in which a line takes all rows instead of one entry, a slice that is empty, all steps of a sequence, or a state of another width."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_DATA = f"{rows(8, 6)}, {rows(8, 1)}"
_STACK = """
class Stack(L.Layer):
    def __init__(self, depth, width):
        super().__init__()
        self.blocks = [L.Dense(width, activation="relu") for _ in range(depth)]
        self.depth, self.width = depth, width

    def build(self, shape):
        self.scale = self.add_weight(shape=(self.depth, self.width), initializer="ones", name="scale")
        self.shift = self.add_weight(shape=(self.depth, self.width), initializer="zeros", name="shift")
        self.built = True

    def call(self, x):
        for i, block in enumerate(self.blocks):
            h = block(x)
            h = {line}
            x = x + h
        return x
"""
_NET = """
i = keras.Input((6,))
model = keras.Model(i, L.Dense(1)(Stack(3, 6)(i)))
"""
_NOISE = """
LEVELS = np.linspace(1.0, 0.1, 20).astype("float32").reshape(20, 1, 1)

class Noisy(keras.Model):
    def __init__(self):
        super().__init__()
        self.net = L.Dense(4)

    def call(self, x):
        return self.net(x)

    def train_step(self, x):
        t = tf.random.uniform((tf.shape(x)[0],), 0, 20, dtype=tf.int32)
        noise = tf.random.normal(tf.shape(x))
        kept = tf.gather(tf.sqrt(1 - LEVELS * LEVELS), t)
        mixed = kept * x + {level} * noise
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.net(mixed) - noise))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {{"loss": loss}}

def build():
    model = Noisy()
    model.compile("sgd")
    return model

def data():
    return tf.data.Dataset.from_tensor_slices(np.random.rand(16, 5, 4).astype("float32")).batch(8)
"""
_ATTEND = """
class Attend(L.Layer):
    def __init__(self):
        super().__init__()
        self.query, self.key = L.Dense(5), L.Dense(5)

    def call(self, state, sequence):
        query = {query}
        scores = tf.reduce_sum(tf.tanh(self.key(sequence) + query), axis=-1)
        return tf.reduce_sum(sequence * tf.nn.softmax(scores, axis=1)[..., None], axis=1)
"""
_ATTENDED = """
i = keras.Input((7, 3))
sequence, state = L.GRU(4, return_sequences=True, return_state=True)(i)
model = keras.Model(i, L.Dense(1)(Attend()(state, sequence)))
"""
_LATENT = """
LATENT = 4

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = L.Dense({units})
        self.decoder = L.Dense(6)

    def call(self, x):
        h = self.encoder(x)
        mean, log_var = h[:, :LATENT], h[:, LATENT:2 * LATENT]
        return self.decoder(mean + tf.exp(log_var) * tf.random.normal(tf.shape(mean)))

def build():
    model = Net()
    model.compile("sgd", "mse")
    return model

def data():
    x = np.random.rand(8, 6).astype("float32")
    return x, x
"""
_DECODER = """
class Decoder(L.Layer):
    def __init__(self, units, steps):
        super().__init__()
        self.steps, self.units = steps, units
        self.cell = L.LSTMCell({units})
        self.head = L.Dense(1)

    def call(self, x, states):
        made = []
        for _ in range(self.steps):
            y, states = self.cell(x, states)
            x = self.head(y)
            made.append(x)
        return tf.stack(made, axis=1)
"""
_DECODED = """
i = keras.Input((7, 3))
_, h, c = L.LSTM(8, return_state=True)(i)
model = keras.Model(i, Decoder(8, 4)(i[:, -1, :1], [h, c]))
"""
_WALK = """
class Walk(L.Layer):
    def __init__(self, units):
        super().__init__()
        self.cell = L.SimpleRNNCell(units)

    def call(self, x):
        state = {state}
        for t in range(x.shape[1]):
            y, state = self.cell(x[:, t], state)
        return y
"""
_TOKENS = """
class Speaker(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed, self.walk, self.head = L.Embedding(30, 8), L.GRU(8, return_sequences=True), L.Dense(30)

    def call(self, x):
        return self.head(self.walk(self.embed(x)))

    def train_step(self, tokens):
        {labels}
        with tf.GradientTape() as tape:
            logits = self({fed}, training=True)
            loss = self.compute_loss(y=labels, y_pred=logits)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {{"loss": loss}}

def build():
    model = Speaker()
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model

def data():
    return tf.data.Dataset.from_tensor_slices(np.random.randint(0, 30, (16, 9))).batch(8)
"""


def _changed(text: str, key: str, old: str, new: str) -> Own:
    """A program with ``old`` at a place of its text, which the fix makes ``new``."""
    line = next(line for line in text.splitlines() if f"{{{key}}}" in line)
    before, after = (line.replace(f"{{{key}}}", one).replace("{{", "{").replace("}}", "}") for one in (old, new))
    return Own(text.format(**{key: old}), ((before, after),))


def _tokens(labels: str, fed: str, new_labels: str, new_fed: str) -> Own:
    lines = (
        (f"        {labels}", f"        {new_labels}"),
        (f"            logits = self({fed}, training=True)", f"            logits = self({new_fed}, training=True)"),
    )
    return Own(_TOKENS.format(labels=labels, fed=fed), tuple(pair for pair in lines if pair[0] != pair[1]))


def _with(head: Own, body: str, data: str) -> Own:
    return Own(model_of(body, data, head=head.source), head.lines)


_NEXT = """
class Speaker(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed, self.walk, self.head = L.Embedding(30, 8), L.GRU(8, return_sequences=True), L.Dense(30)

    def call(self, x):
        return self.head(self.walk(self.embed(x[:, :-1])))

def build():
    model = Speaker()
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model

def data():
    tokens = np.random.randint(0, 30, (16, 9))
    return tokens, tokens
"""


_MASKED = """
class Decoder(L.Layer):
    def __init__(self):
        super().__init__()
        self.embed, self.attend, self.head = L.Embedding(30, 8), L.MultiHeadAttention(2, 4), L.Dense(30)

    def call(self, x, mask):
        n = tf.shape(x)[1]
        before = tf.cast(tf.range(n)[:, None] >= tf.range(n), "int32")[None]
        both = tf.minimum(tf.cast(mask[:, None, :], "int32"), before)
        x = self.embed(x)
        return self.head(x + self.attend(x, x, attention_mask=tf.cast(both, "bool")))

class Captions(keras.Model):
    def __init__(self):
        super().__init__()
        self.decoder = Decoder()

    def call(self, x):
        return self.decoder(x, x != 0)

    def train_step(self, tokens):
        fed, labels = tokens[:, :-1], tokens[:, 1:]
        mask = tf.not_equal({tokens}, 0)
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=labels, y_pred=self.decoder(fed, mask))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {{"loss": loss}}

def build():
    model = Captions()
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model

def data():
    return tf.data.Dataset.from_tensor_slices(np.random.randint(0, 30, (16, 9))).batch(8)
"""
_SAME = _TOKENS.replace("        {labels}\n", "        fed, labels = {both}\n").replace("{fed}", "fed")


_EACH = """
class Each(L.Layer):
    def __init__(self, count):
        super().__init__()
        self.parts = [L.Dense(4) for _ in range(count)]

    def call(self, x):
        made = []
        for i, part in enumerate(self.parts):
            {line}
        return tf.reduce_mean(tf.stack(made, axis=1), axis=1)
"""
_QUERIES = """
class Queries(L.Layer):
    def __init__(self):
        super().__init__()
        self.attend = L.Attention()

    def build(self, shape):
        self.queries = self.add_weight(shape=(3, 4), initializer="random_normal", name="queries")
        self.built = True

    def call(self, x):
        queries = {queries}
        return tf.reduce_mean(self.attend([queries, x]), axis=1)
"""
_QUERIED = """
i = keras.Input((7, 4))
model = keras.Model(i, L.Dense(1)(Queries()(i)))
"""


_GRID = """
class Mixed(L.Layer):
    def __init__(self, stride):
        super().__init__()
        self.stride = stride

    def build(self, shape):
        _, height, width, channels = shape
        self.pool = L.AveragePooling2D(self.stride)
        self.rows = L.Reshape((height * width, channels))
        self.grid = L.Reshape({grid})
        self.built = True

    def call(self, x):
        return self.grid(self.pool(x))
"""


ENTRIES: dict[str, tuple[str, Own]] = {
    "all rows of a weight where its like is indexed": (
        "op-shapes", _with(_changed(_STACK, "line", "h * self.scale + self.shift[i]", "h * self.scale[i] + self.shift[i]"), _NET, _DATA)),
    "all rows of a weight that is indexed beside": (
        "op-shapes", _with(_changed(_STACK, "line", "tf.sigmoid(h * self.scale[i] + self.scale)", "tf.sigmoid(h * self.scale[i] + self.scale[i])"), _NET, _DATA)),
    "all rows of a table whose like is looked up": ("op-shapes", _changed(_NOISE, "level", "LEVELS", "tf.gather(LEVELS, t)")),
    "a new axis in front of the samples": (
        "op-shapes", _with(_changed(_ATTEND, "query", "self.query(state)[tf.newaxis]", "self.query(state)[:, None, :]"), _ATTENDED, f"{rows(8, 7, 3)}, {rows(8, 1)}")),
    "an axis that is expanded in front of the samples": (
        "op-shapes", _with(_changed(_ATTEND, "query", "tf.expand_dims(self.query(state), 0)", "tf.expand_dims(self.query(state), 1)"),
                           _ATTENDED, f"{rows(8, 7, 3)}, {rows(8, 1)}")),
    "a slice behind the end of a layer's output": ("op-shapes", _changed(_LATENT, "units", "LATENT", "2 * LATENT")),
    "gates of which the last has no columns": ("empty-slice", Own(model_of("""
i = keras.Input((6,))
h = L.Dense(3 * 8)(i)
parts = [h[:, :8], h[:, 8:16], h[:, 16:24], h[:, 24:32]]
model = keras.Model(i, L.Dense(1)(L.Concatenate()(parts)))
""", _DATA), (("    h = L.Dense(3 * 8)(i)", "    h = L.Dense(32)(i)"),))),
    "a cell that is narrower than its states": (
        "rnn-states", _with(_changed(_DECODER, "units", "steps", "units"), _DECODED, f"{rows(8, 7, 3)}, {rows(8, 4, 1)}")),
    "a state of zeros as wide as the input": (
        "rnn-states", _with(_changed(_WALK, "state", "[tf.zeros((tf.shape(x)[0], 3))]", "[tf.zeros((tf.shape(x)[0], self.cell.units))]"),
                            "i = keras.Input((7, 3))\nmodel = keras.Model(i, L.Dense(1)(Walk(8)(i)))\n", f"{rows(8, 7, 3)}, {rows(8, 1)}")),
    "labels with the step that is not fed": (
        "output-size", _tokens("labels = tokens", "tokens[:, :-1]", "labels = tokens[:, 1:]", "tokens[:, :-1]")),
    "labels that are what is fed, of which the model leaves out the last step": (
        "output-size", Own(_NEXT, (("    return tokens, tokens", "    return tokens, tokens[:, 1:]"),))),
    "a mask of all steps beside those that are fed": ("op-shapes", _changed(_MASKED, "tokens", "tokens", "labels")),
    "labels that are the very steps that are fed": ("same-steps", _changed(_SAME, "both", "tokens[:, :-1], tokens[:, :-1]", "tokens[:, :-1], tokens[:, 1:]")),
    "a list that each iteration overwrites": ("layer-raises", _with(
        _changed(_EACH, "line", "made = part(x[:, i : i + 2])", "made.append(part(x[:, i : i + 2]))"), "i = keras.Input((6,))\nmodel = keras.Model(i, L.Dense(1)(Each(3)(i)))\n", _DATA)),
    "more multiples than axes": ("op-shapes", _with(
        _changed(_QUERIES, "queries", "tf.tile(self.queries, [tf.shape(x)[0], 1, 1])", "tf.tile(self.queries[None], [tf.shape(x)[0], 1, 1])"),
        _QUERIED, f"{rows(8, 7, 4)}, {rows(8, 1)}")),
    "a reshape to the size in front of a stride": ("reshape-size", _with(
        _changed(_GRID, "grid", "(height, width, 1, channels)", "(height // self.stride, width // self.stride, 1, channels)"),
        "i = keras.Input((8, 8, 3))\nmodel = keras.Model(i, L.Dense(1)(L.Flatten()(Mixed(2)(i))))\n", f"{rows(8, 8, 8, 3)}, {rows(8, 1)}")),
    "a last step that has no label": (
        "output-size", _tokens("labels = tokens[:, 1:]", "tokens", "labels = tokens[:, 1:]", "tokens[:, :-1]")),
}  # fmt: skip
