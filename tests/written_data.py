"""Data that is made in another form than the model takes it, and sizes that a program names: the line, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_FRAMES = """
def frames():
    for i in range(8):
        yield np.ones((6, 6, 3), 'float32'), i % 2
def made(shape):
    return tf.data.Dataset.from_generator(
        frames,
        output_signature=(tf.TensorSpec((None, 6, 6, 3), 'float32'), tf.TensorSpec((), 'int32')),
    )
"""
_SENTENCES = """
LONGEST = 12
def masked(y, p):
    y = tf.reshape(y, shape=(-1, LONGEST - 1))
    return tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, p, from_logits=True))
"""
_OVERLAP = """
def overlap(y, p):
    y, p = L.Flatten()(y), L.Flatten()(p)
    return 1 - 2 * tf.reduce_sum(y * p) / (tf.reduce_sum(y) + tf.reduce_sum(p))
"""
_SINES = """
class Sines(L.Layer):
    def call(self, x):
        width = x.shape[-1]
        turns = tf.range(4.0)[:, None] / 100.0 ** (2 * tf.range(width / 2, dtype='float32') / width)
        places = tf.concat([tf.sin(turns), tf.cos(turns)], 1)
        return x + places
"""
_PLACES = """
class Places(L.Layer):
    def __init__(self, longest, width):
        super().__init__()
        self.table = np.ones((longest, width), 'float32')
    def call(self, x):
        return x + self.table
"""
_HOUSES = """
def boxes(y, p):
    found = tf.sigmoid(p[..., 4:])
    return tf.reduce_mean(tf.square(y[..., 4:] - found)) + tf.reduce_mean(y[..., 4:] * tf.square(y[..., :4] - p[..., :4]))
def grid(x):
    for filters in (4, 4):
        x = L.MaxPooling2D((2, 2))(L.Conv2D(filters, 3, padding='same')(x))
    x = L.Conv2D(8, 3, padding='same')(x)
    x = L.MaxPooling2D((2, 2))(x)
    return L.Lambda(lambda t: tf.reshape(t, (-1, tf.shape(t)[1], tf.shape(t)[2], 2, 5)))(L.Conv2D(10, 1)(x))
"""
_HEAD = """
def tower():
    i = keras.Input((3,))
    return keras.Model(i, L.Dense(4)(i))
def head(shape):
    a, b = keras.Input(shape=shape), keras.Input(shape=shape)
    return keras.Model([a, b], L.Dense(1)(L.Concatenate()([a, b])))
"""
_SHIFTED = """
def pairs():
    words, ids = np.arange(48).reshape(8, 6) % 9, np.arange(40).reshape(8, 5) % 7
    after = np.eye(7)[ids]
    before = np.zeros_like(after)
    before[:, 1:] = after[:, :-1]
    before[:, 0] = 1
    return [words, before], after
"""
_HOPS = """
class Hops(L.Layer):
    def __init__(self, units, supports=1):
        super().__init__()
        self.units, self.supports = units, supports
    def build(self, shapes):
        self.kernel = self.add_weight(shape=(shapes[0][-1] * self.supports, self.units))
    def call(self, inputs):
        x, steps = inputs[0], inputs[1:]
        return tf.concat([step @ x for step in steps], -1) @ self.kernel
"""
_RECALLS = """
class Recalls(keras.metrics.Metric):
    def __init__(self, classes):
        super().__init__(name='recalls')
        self.classes = classes
        self.hits = self.add_weight(name='hits', initializer='zeros')
        self.missed = self.add_weight(name='missed', initializer='zeros')
    def update_state(self, y, p, sample_weight=None):
        y = tf.one_hot(tf.cast(tf.reshape(y, [-1]), tf.int32), self.classes)
        p = tf.one_hot(tf.argmax(p, -1), self.classes)
        self.hits.assign_add(tf.reduce_sum(y * p, axis=0))
        self.missed.assign_add(tf.reduce_sum(y * (1 - p), axis=0))
    def result(self):
        return tf.reduce_mean(self.hits / (self.hits + self.missed + 1e-7))
"""
_NET = """
def net(shape):
    i = keras.Input(shape)
    a = L.Conv2D(4, 3, padding='same')(i)
    x = L.MaxPooling2D()(L.MaxPooling2D()(a))
    x = L.UpSampling2D(4)(x)
    return keras.Model(i, L.Conv2D(1, 1)(L.Concatenate()([a, x])))
"""
_GRAPH = """
class Graph(L.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units
    def build(self, shapes):
        x_shape, a_shape = shapes
        self.kernel = self.add_weight(shape=(a_shape[-1], self.units))
    def call(self, inputs):
        x, a = inputs
        return tf.matmul(a, tf.matmul(x, self.kernel))
"""
_ACTOR = """
class Actor(keras.Model):
    def __init__(self):
        super().__init__()
        self.policy, self.value = L.Dense(3), L.Dense(1)
    def call(self, x):
        return self.policy(x), self.value(x)
    def train_step(self, data):
        states, actions, returns = data
        with tf.GradientTape() as tape:
            logits, values = self(states)
            better = returns - values
            chosen = tf.gather(tf.nn.log_softmax(logits), actions, axis=1, batch_dims=0)
            loss = tf.reduce_mean(tf.square(better)) - tf.reduce_mean(chosen * better)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {'loss': loss}
"""
_TOWERS = """
class Towers(keras.Model):
    def __init__(self):
        super().__init__()
        self.one, self.other = L.Dense(3), L.Dense(3)
    def call(self, inputs):
        return tf.reduce_sum(self.one(inputs[0]) * self.other(inputs[1]), axis=0)
"""
_HALVES = """
LATENT = 3
class Halves(L.Layer):
    def __init__(self):
        super().__init__()
        self.out = L.Dense(LATENT)
    def call(self, x):
        mean, spread = tf.split(self.out(x), 2, axis=-1)
        return mean + tf.exp(spread)
"""

DATA: dict[str, tuple[str, Own]] = {
    "a batch axis in a signature": ("data-raises", Own(model_of("""
i = keras.Input((6, 6, 3))
model = keras.Model(i, L.Dense(2)(L.GlobalAveragePooling2D()(i)))
""", "made(1).batch(4)", "keras.losses.SparseCategoricalCrossentropy(from_logits=True)", head=_FRAMES), ((
        "        output_signature=(tf.TensorSpec((None, 6, 6, 3), 'float32'), tf.TensorSpec((), 'int32')),",
        "        output_signature=(tf.TensorSpec((6, 6, 3), 'float32'), tf.TensorSpec((), 'int32')),",
    ),))),
    "a longest sentence that the program names": ("loss-raises", Own(model_of("""
i = keras.Input((7,), dtype='int32')
model = keras.Model(i, L.Dense(20)(L.Embedding(20, 4)(i)))
""", "np.ones((8, 7), 'int32'), np.ones((8, 7), 'int32')", "masked", head=_SENTENCES), (("LONGEST = 12", "LONGEST = 8"),))),
    "masks of three equal channels in a loss": ("loss-raises", Own(model_of("""
i = keras.Input((6, 6, 3))
model = keras.Model(i, L.Conv2D(1, 1, activation='sigmoid')(i))
""", f"{rows(8, 6, 6, 3)}, np.repeat({rows(8, 6, 6, 1)} > 0.5, 3, -1).astype('float32')", "overlap", head=_OVERLAP), ((
        f"    return {rows(8, 6, 6, 3)}, np.repeat({rows(8, 6, 6, 1)} > 0.5, 3, -1).astype('float32')",
        f"    return {rows(8, 6, 6, 3)}, np.repeat({rows(8, 6, 6, 1)} > 0.5, 3, -1).astype('float32')[..., :1]",
    ),))),
    "sines and cosines of an odd width": ("op-shapes", Own(model_of("""
i = keras.Input((4, 5))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Sines()(i))))
""", f"{rows(8, 4, 5)}, {rows(8, 1)}", head=_SINES), (
        ("        return x + places", "        return x + places[..., : x.shape[-1]]"),
    ))),
    "pictures with their channels in front": ("window-too-large", Own(model_of("""
model = net((3, 32, 32))
""", f"{rows(8, 3, 32, 32)}, {rows(8, 1, 32, 32)}", head=_NET), (
        ("    i = keras.Input(shape)", "    i = keras.Input((32, 32, 3))"),
        (
            f"    return {rows(8, 3, 32, 32)}, {rows(8, 1, 32, 32)}",
            f"    return np.transpose({rows(8, 3, 32, 32)}, (0, 2, 3, 1)), np.transpose({rows(8, 1, 32, 32)}, (0, 2, 3, 1))",
        ),
    ))),
    "the shape of the other input in build": ("op-shapes", Own(model_of("""
x, a = keras.Input((6, 4)), keras.Input((6, 6))
model = keras.Model([x, a], L.Dense(1)(L.Flatten()(Graph(3)([x, a]))))
""", f"[{rows(8, 6, 4)}, {rows(8, 6, 6)}], {rows(8, 1)}", head=_GRAPH), ((
        "        self.kernel = self.add_weight(shape=(a_shape[-1], self.units))",
        "        self.kernel = self.add_weight(shape=(x_shape[-1], self.units))",
    ),))),
    "an actor and a critic": ("batch-broadcast", Own(model_of("""
model = Actor()
""", f"tf.data.Dataset.from_tensor_slices(({rows(8, 4)}, np.arange(8) % 3, {rows(8)})).batch(4)", head=_ACTOR), (
        ("            better = returns - values", "            better = returns - tf.squeeze(values, 1)"),
        (
            "            chosen = tf.gather(tf.nn.log_softmax(logits), actions, axis=1, batch_dims=0)",
            "            chosen = tf.gather(tf.nn.log_softmax(logits), actions, axis=1, batch_dims=1)",
        ),
    ))),
    "two towers that meet over the samples": ("batch-axis-merged", Own(model_of("""
model = Towers()
""", f"({rows(8, 4)}, {rows(8, 5)}), {rows(8, 1)}", head=_TOWERS), ((
        "        return tf.reduce_sum(self.one(inputs[0]) * self.other(inputs[1]), axis=0)",
        "        return tf.reduce_sum(self.one(inputs[0]) * self.other(inputs[1]), axis=-1, keepdims=True)",
    ),))),
    "two halves of an odd number": ("op-shapes", Own(model_of("""
i = keras.Input((4,))
model = keras.Model(i, L.Dense(1)(Halves()(i)))
""", f"{rows(8, 4)}, {rows(8, 1)}", head=_HALVES), (
        ("        self.out = L.Dense(LATENT)", "        self.out = L.Dense(2 * LATENT)"),
    ))),
    "positions in an array of the longest input": ("op-shapes", Own(model_of("""
a, b = keras.Input((9, 4)), keras.Input((6, 4))
places = Places(9, 4)
model = keras.Model([a, b], L.Dense(1)(L.Flatten()(L.Concatenate(axis=1)([places(a), places(b)]))))
""", f"[{rows(8, 9, 4)}, {rows(8, 6, 4)}], {rows(8, 1)}", head=_PLACES), (
        ("        return x + self.table", "        return x + self.table[:x.shape[-2]]"),
    ))),
    "one pooling too many for a grid of labels": ("output-size", Own(model_of("""
i = keras.Input((52, 52, 3))
model = keras.Model(i, grid(i))
""", f"{rows(4, 52, 52, 3)}, {rows(4, 13, 13, 2, 5)}", "boxes", head=_HOUSES), (
        ("    x = L.MaxPooling2D((2, 2))(x)", '    x = L.MaxPooling2D((2, 2), padding="same", strides=1)(x)'),
    ))),
    "masks without a last axis for a map of half the size": ("output-size", Own(model_of("""
i = keras.Input((32, 32, 3))
x = L.Conv2D(4, 3, padding='same')(i)
x = L.MaxPooling2D()(x)
model = keras.Model(i, L.Conv2D(1, 1, activation='sigmoid')(x))
""", f"{rows(4, 32, 32, 3)}, {rows(4, 32, 32)}", "'binary_crossentropy'"), (
        ("    x = L.MaxPooling2D()(x)", '    x = L.MaxPooling2D(strides=1, padding="same")(x)'),
    ))),
    "a label for each step of the data, behind a pooling over steps": ("output-size", Own(model_of("""
i = keras.Input((20, 4))
x = L.LSTM(8, return_sequences=True)(i)
x = L.MaxPooling1D(2)(x)
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 20, 4)}, {rows(8, 20)}", "'mse'"), (
        ("    x = L.MaxPooling1D(2)(x)", '    x = L.MaxPooling1D(2, padding="same", strides=1)(x)'),
    ))),
    "heads that the model does not return": ("output-names", Own(model_of("""
i = keras.Input((6, 4))
x = L.LSTM(5, return_sequences=True)(i)
pitch = L.Dense(3, activation='softmax')(L.Flatten()(x))
length = L.Dense(2, activation='softmax')(L.Flatten()(x))
model = keras.Model(i, x)
""", f"{rows(8, 6, 4)}, [np.eye(3)[np.arange(8) % 3], np.eye(2)[np.arange(8) % 2]]", "['categorical_crossentropy'] * 2"), (
        ("    model = keras.Model(i, x)", "    model = keras.Model(i, [pitch, length])"),
    ))),
    "one of three heads that the model does not return": ("output-names", Own(model_of("""
i = keras.Input((4,))
age = L.Dense(1, name='age')(i)
size = L.Dense(2, name='size')(i)
kind = L.Dense(3, activation='softmax', name='kind')(i)
model = keras.Model(i, [age, kind])
""", f"{rows(8, 4)}, [{rows(8, 1)}, {rows(8, 2)}, np.eye(3)[np.arange(8) % 3]]", "['mse', 'mse', 'categorical_crossentropy']"), (
        ("    model = keras.Model(i, [age, kind])", "    model = keras.Model(i, [age, size, kind])"),
    ))),
    "the shape of a batch declared for an inner model": ("batch-in-input-shape", Own(model_of("""
a, b = keras.Input((3,)), keras.Input((3,))
one = tower()
model = keras.Model([a, b], head(one.output_shape)([one(a), one(b)]))
""", f"[{rows(8, 3)}, {rows(8, 3)}], {rows(8, 1)}", head=_HEAD), (
        ("    model = keras.Model([a, b], head(one.output_shape)([one(a), one(b)]))", "    model = keras.Model([a, b], head(one.output_shape[1:])([one(a), one(b)]))"),
    ))),
    "the shape of a batch written for an inner model": ("batch-in-input-shape", Own(model_of("""
inner = keras.Input((None, 4))
last = keras.Model(inner, L.Dense(1)(inner))
i = keras.Input((3,))
model = keras.Model(i, last(L.Dense(4)(i)))
""", f"{rows(8, 3)}, {rows(8, 1)}"), (
        ("    inner = keras.Input((None, 4))", "    inner = keras.Input((4,))"),
    ))),
    "one-hot labels shifted into the decoder": ("embedding-coded", Own(model_of("""
words, before = keras.Input((6,)), keras.Input((5,))
state = L.LSTM(4)(L.Embedding(9, 4)(words))
x = L.LSTM(4, return_sequences=True)(L.Embedding(7, 4)(before), initial_state=[state, state])
model = keras.Model([words, before], L.Dense(7, activation='softmax')(x))
""", "pairs()", "'categorical_crossentropy'", head=_SHIFTED), (
        ("    return pairs()", "    return [x[0], np.argmax(x[1], axis=-1)], y"),
    ))),
    "three supports for a kernel of one": ("op-shapes", Own(model_of("""
x, a = keras.Input((6, 4)), [keras.Input((6, 6)) for _ in range(3)]
model = keras.Model([x, *a], L.Dense(1)(L.Flatten()(Hops(5)([x, *a]))))
""", f"[{rows(8, 6, 4)}, *[{rows(8, 6, 6)}] * 3], {rows(8, 1)}", head=_HOPS), (
        ("    model = keras.Model([x, *a], L.Dense(1)(L.Flatten()(Hops(5)([x, *a]))))", "    model = keras.Model([x, *a], L.Dense(1)(L.Flatten()(Hops(5, supports=3)([x, *a]))))"),
    ))),
    "a metric of each class in a single number": ("metric-raises", Own(model_of("""
model = keras.Sequential([keras.Input((4,)), L.Dense(3, activation='softmax')])
""", f"{rows(8, 4)}, np.arange(8)[:, None] % 3", "'sparse_categorical_crossentropy', metrics=[Recalls(3)]", head=_RECALLS), (
        ("        self.hits = self.add_weight(name='hits', initializer='zeros')", "        self.hits = self.add_weight(name='hits', initializer='zeros', shape=(self.classes,))"),
        ("        self.missed = self.add_weight(name='missed', initializer='zeros')", "        self.missed = self.add_weight(name='missed', initializer='zeros', shape=(self.classes,))"),
    ))),
    "texts in an array of NumPy": ("data-misfit", Own("""
texts = np.array(["the cat", "a dog", "the owl", "no"] * 2)
words = L.TextVectorization(max_tokens=9, output_sequence_length=4)
words.adapt(texts)
def build():
    model = keras.Sequential([words, L.Embedding(9, 4), L.GlobalAveragePooling1D(), L.Dense(1)])
    model.compile('sgd', 'mse')
    return model
def data():
    return texts, np.ones((8, 1))
""", (("    return texts, np.ones((8, 1))", "    return tf.constant(texts), np.ones((8, 1))"),), keras=True)),
    "texts in a list beside numbers": ("data-misfit", Own("""
def build():
    text, size = keras.Input((), dtype="string", name="text"), keras.Input((2,), name="size")
    words = L.StringLookup(vocabulary=["a", "b"])(text)
    x = L.Concatenate()([L.Embedding(3, 4)(words), size])
    model = keras.Model({"text": text, "size": size}, L.Dense(1)(x))
    model.compile('sgd', 'mse')
    return model
def data():
    return {"text": ["a", "b"] * 4, "size": np.ones((8, 2))}, np.ones((8, 1))
""", (('    return {"text": ["a", "b"] * 4, "size": np.ones((8, 2))}, np.ones((8, 1))',
       '    return {"text": tf.constant(["a", "b"] * 4), "size": np.ones((8, 2))}, np.ones((8, 1))'),), keras=True)),
    "labels of several classes under the loss for one": ("several-classes", Own(model_of("""
model = keras.Sequential([keras.Input((6,)), L.Dense(3, activation='softmax')])
""", "np.ones((8, 6)), np.tri(8, 3)", "'categorical_crossentropy'"), (
        ("    model = keras.Sequential([keras.Input((6,)), L.Dense(3, activation='softmax')])", '    model = keras.Sequential([keras.Input((6,)), L.Dense(3, activation="sigmoid")])'),
        ("    model.compile('sgd', 'categorical_crossentropy')", "    model.compile('sgd', 'binary_crossentropy')"),
    ))),
    "pictures that lose a row on the way": ("input-axis", Own("""
def noisy(pictures):
    return np.clip((pictures + 0.1)[:, :-1], 0, 1)
def build():
    i = keras.Input((8, 8, 1))
    x = L.MaxPooling2D(padding="same")(L.Conv2D(4, 3, padding="same")(i))
    model = keras.Model(i, L.Conv2D(1, 3, padding="same")(L.UpSampling2D()(x)))
    model.compile('sgd', 'mse')
    return model
def data():
    pictures = np.ones((8, 8, 8, 1), "float32")
    return noisy(pictures), pictures
""", (("    return np.clip((pictures + 0.1)[:, :-1], 0, 1)", "    return np.clip((pictures + 0.1), 0, 1)"),))),
}  # fmt: skip
