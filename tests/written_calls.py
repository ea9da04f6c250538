"""What a layer, a model or a step is called with, and what is made of its result: the line, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_TOKEN = """
class Token(L.Layer):
    def build(self, shape):
        self.token = self.add_weight(shape=(1, 1, shape[-1]))
        self.places = self.add_weight(shape=(1, shape[1], shape[-1]))
    def call(self, x):
        x = tf.concat([tf.repeat(self.token, tf.shape(x)[0], axis=0), x], axis=1)
        return x + self.places
"""
_KERNEL = """
class Kernel(L.Layer):
    def __init__(self, batch):
        super().__init__()
        self.batch = batch
    def build(self, shape):
        self.rows, self.kernel = shape[1], self.add_weight(shape=(shape[2], 3))
    def call(self, x):
        flat = tf.reshape(x, (self.batch * self.rows, -1))
        return tf.reshape(flat @ self.kernel, (self.batch, self.rows, 3))
"""
_TRIPLET = """
def triplet(y, p):
    near = tf.reduce_sum((p[:, 0] - p[:, 1]) ** 2, axis=1)
    far = tf.reduce_sum((p[:, 0] - p[:, 2]) ** 2, axis=1)
    return tf.maximum(near - far + 1.0, 0.0)
"""
_STEP = """
class Net(keras.Model):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            p = self(x, training=True)
            loss = self.compute_loss(x, y, p)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {'loss': loss}
"""
_RAGGED = """
def ragged():
    x = np.empty(8, object)
    for n in range(8):
        x[n] = np.ones((n + 2, 3), 'float32')
    return x
"""
_COMMA = """
class Gate(L.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units,
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.units))
    def call(self, x):
        return x @ self.w
"""
_PLACES = """
LONGEST, WIDTH = 9, 4
class Places(L.Layer):
    def __init__(self):
        super().__init__()
        self.ids, self.places = L.Embedding(7, WIDTH), L.Embedding(LONGEST, WIDTH)
    def call(self, x):
        return self.ids(x) + self.places(tf.range(LONGEST))
"""
_HEAD = """
def head_of(shape):
    i = keras.Input(shape)
    return keras.Model(i, L.Dense(1)(L.Flatten()(i)))
"""
_QUALITY = """
class Quality(keras.Model):
    def __init__(self):
        super().__init__()
        self.q = keras.Sequential([keras.Input((4,)), L.Dense(2)])
    def call(self, x):
        return self.q(x)
    def train_step(self, data):
        x, (reward, after) = data
        target = reward + 0.9 * tf.reduce_max(self.q(after))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((target - tf.reduce_sum(self.q(x), axis=1)) ** 2)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {'loss': loss}
"""
_METRIC = """
def right(y, p):
    found = tf.cast(tf.argmax(p, axis=-1), 'float32')
    return tf.reduce_sum(y * found) / tf.reduce_sum(y)
"""

CALLS: dict[str, tuple[str, Own]] = {
    "the scores of an attention": ("code-raises", Own(model_of("""
i = keras.Input((6, 4))
a, scores = L.Attention()([i, i])
model = keras.Model(i, L.Dense(1)(L.Flatten()(L.Concatenate()([a, L.Dot(1)([scores, i])]))))
""", f"{rows(8, 6, 4)}, {rows(8, 1)}"), (
        ("    a, scores = L.Attention()([i, i])", "    a, scores = L.Attention()([i, i], return_attention_scores=True)"),
    ))),
    "the state of a recurrent layer": ("code-raises", Own(model_of("""
i = keras.Input((6, 4))
x, state = L.GRU(3)(i)
model = keras.Model(i, L.Dense(1)(state))
""", f"{rows(8, 6, 4)}, {rows(8, 1)}"), (("    x, state = L.GRU(3)(i)", "    x, state = L.GRU(3, return_state=True)(i)"),))),
    "a head with an input of its own": ("graph-disconnected", Own(model_of("""
i = keras.Input((8, 8, 3))
base = keras.Model(i, L.Conv2D(4, 3)(i))
j = keras.Input(base.output_shape[1:])
top = keras.Model(j, L.Dense(1)(L.Flatten()(j)))
model = keras.Model(i, top.output)
""", f"{rows(8, 8, 8, 3)}, {rows(8, 1)}"), (("    model = keras.Model(i, top.output)", "    model = keras.Model(i, top(base.output))"),))),
    "sequences in an array of objects": ("data-misfit", Own(model_of("""
model = keras.Sequential([keras.Input((None, 3)), L.LSTM(4), L.Dense(1)])
""", f"ragged(), {rows(8, 1)}", head=_RAGGED), ((f"    return ragged(), {rows(8, 1)}", (
        f"    return np.stack([np.pad(row, [(max(map(len, ragged())) - len(row), 0), (0, 0)]) for row in ragged()]), {rows(8, 1)}"
    )),))),
    "places beside a class token": ("op-shapes", Own(model_of("""
i = keras.Input((6, 4))
model = keras.Model(i, L.Dense(1)(L.Flatten()(Token()(i))))
""", f"{rows(8, 6, 4)}, {rows(8, 1)}", head=_TOKEN), ((
        "        self.places = self.add_weight(shape=(1, shape[1], shape[-1]))",
        "        self.places = self.add_weight(shape=(1, shape[1] + 1, shape[-1]))",
    ),))),
    "rows of a batch, folded": ("fixed-batch", Own(model_of("""
i = keras.Input((6, 4))
model = keras.Model(i, L.Dense(1)(L.Flatten()(Kernel(8)(i))))
""", f"tf.data.Dataset.from_tensor_slices(({rows(20, 6, 4)}, {rows(20, 1)})).batch(8)", head=_KERNEL), ((
        "        flat = tf.reshape(x, (self.batch * self.rows, -1))", "        flat = tf.reshape(x, (tf.shape(x)[0] * self.rows, -1))",
    ),))),
    "vectors of a triplet side by side": ("loss-raises", Own(model_of("""
i = [keras.Input((5,)) for _ in range(3)]
dense = L.Dense(4)
a, b, c = [dense(one) for one in i]
x = L.Concatenate(axis=1)([a, b, c])
model = keras.Model(i, x)
""", f"[{rows(8, 5)}] * 3, {rows(8)}", "triplet", head=_TRIPLET), (
        ("    x = L.Concatenate(axis=1)([a, b, c])", "    x = keras.ops.stack([a, b, c], axis=1)"),
    ))),
    "outputs without a loss": ("output-names", Own(model_of("""
i = keras.Input((4,))
a = L.Dense(3, name='a')(i)
b = L.Softmax(name='b')(a)
model = keras.Model(i, [a, b])
""", f"{rows(8, 4)}, {{'a': {rows(8, 3)}}}", "{'a': 'mse'}"), (
        ("    model = keras.Model(i, [a, b])", "    model = keras.Model(i, {'a': a, 'b': b})"),
    ))),
    "a comma at the end of a line": ("layer-raises", Own(model_of("""
model = keras.Sequential([keras.Input((4,)), Gate(3), L.Dense(1)])
""", f"{rows(8, 4)}, {rows(8, 1)}", head=_COMMA), (("        self.units = units,", "        self.units = units"),))),
    "positions up to the longest": ("op-shapes", Own(model_of("""
i = keras.Input((None,), dtype='int32')
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Places()(i))))
""", f"np.ones((8, 6), 'int32'), {rows(8, 1)}", head=_PLACES), ((
        "        return self.ids(x) + self.places(tf.range(LONGEST))", "        return self.ids(x) + self.places(tf.range(tf.shape(x)[1]))",
    ),))),
    "a head declared with the batch axis": ("axis-unknown", Own(model_of("""
i = keras.Input((4,))
base = keras.Model(i, L.Dense(3)(i))
head = head_of(base.output_shape)
model = keras.Model(i, head(base(i)))
""", f"{rows(8, 4)}, {rows(8, 1)}", head=_HEAD), (
        ("    head = head_of(base.output_shape)", "    head = head_of(base.output_shape[1:])"),
    ))),
    "a map that is folded to the size of the labels": ("reshape-size", Own(model_of("""
i = keras.Input((8, 8, 3))
x = L.MaxPooling2D()(L.Conv2D(4, 3, padding='same')(i))
x = L.Reshape((64, 4))(x)
model = keras.Model(i, x)
""", f"{rows(8, 8, 8, 3)}, {rows(8, 64, 4)}"), (
        ("    x = L.Reshape((64, 4))(x)", "    x = L.Reshape((64, 4))(L.UpSampling2D(2)(x))"),
    ))),
    "three days of two values each": ("label-rank", Own(model_of("""
model = keras.Sequential([keras.Input((7, 2)), L.LSTM(4), L.Dense(1)])
""", f"{rows(8, 7, 2)}, {rows(8, 3, 2)}"), ((
        "    model = keras.Sequential([keras.Input((7, 2)), L.LSTM(4), L.Dense(1)])",
        "    model = keras.Sequential([keras.Input((7, 2)), L.LSTM(4), L.Dense(6), L.Reshape((3, 2))])",
    ),))),
    "a metric of predicted classes": ("metric-raises", Own(model_of("""
model = keras.Sequential([keras.Input((4,)), L.Dense(2, activation='softmax')])
""", f"{rows(8, 4)}, np.eye(2, dtype='float32')[np.arange(8) % 2]", "'categorical_crossentropy', metrics=[right]", head=_METRIC), ((
        "    return tf.reduce_sum(y * found) / tf.reduce_sum(y)", '    y = tf.cast(tf.argmax(y, axis=-1), "float32")',
    ),))),
    "a metric that multiplies one of three predicted classes": ("metric-raises", Own(model_of("""
model = keras.Sequential([keras.Input((4,)), L.Dense(3, activation='softmax')])
""", f"{rows(9, 4)}, np.eye(3, dtype='float32')[np.arange(9) % 3]", "'categorical_crossentropy', metrics=[right]", head=_METRIC), ((
        "    found = tf.cast(tf.argmax(p, axis=-1), 'float32')", "    found = tf.cast(tf.one_hot(tf.argmax(p, axis=-1), 3), 'float32')",
    ),))),
    "a layer under the name of a tensor": ("layer-uncalled", Own(model_of("""
i = keras.Input((4,))
x = L.Dense(8)(i)
x = L.Dropout(0.3)
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 4)}, {rows(8, 1)}"), (("    x = L.Dropout(0.3)", "    x = L.Dropout(0.3)(x)"),))),
    "a class under the name of a tensor": ("layer-uncalled", Own(model_of("""
i = keras.Input((8, 8, 3))
x = L.Conv2D(4, 3)(i)
pooled = L.GlobalMaxPooling2D
model = keras.Model(i, L.Dense(1)(pooled))
""", f"{rows(8, 8, 8, 3)}, {rows(8, 1)}"), (("    pooled = L.GlobalMaxPooling2D", "    pooled = L.GlobalMaxPooling2D()(x)"),))),
    "a held layer that is not called": ("layer-uncalled", Own(model_of("""
i = keras.Input((4,))
model = keras.Model(i, Block()(i))
""", f"{rows(8, 4)}, {rows(8, 1)}", head="""
class Block(L.Layer):
    def __init__(self):
        super().__init__()
        self.norm, self.dense = L.LayerNormalization(), L.Dense(1)
        self.drop = L.Dropout(0.5)

    def call(self, x):
        x = self.drop
        return self.dense(x)
"""), (("        x = self.drop", "        x = self.drop(x)"),))),
    "a decoder with the units of one direction": ("rnn-states", Own("""
class Translate(keras.Model):
    def __init__(self, units=6):
        super().__init__()
        self.encoder = L.Bidirectional(L.GRU(units, return_state=True))
        self.decoder = L.GRU(units, return_sequences=True)
        self.out = L.Dense(3)

    def call(self, inputs):
        given, asked = inputs
        _, forward, backward = self.encoder(given)
        return self.out(self.decoder(asked, initial_state=tf.concat([forward, backward], -1)))


def build():
    model = Translate()
    model.compile('sgd', 'mse')
    return model


def data():
    return (np.zeros((8, 5, 4), 'float32'), np.zeros((8, 7, 4), 'float32')), np.zeros((8, 7, 3), 'float32')
""", (("        self.decoder = L.GRU(units, return_sequences=True)", "        self.decoder = L.GRU(2 * units, return_sequences=True)"),))),
    "whole sequences, one step at a time": ("layer-rank", Own(model_of("""
model = keras.Sequential([keras.Input((12,)), L.Embedding(20, 4)])
model.add(L.TimeDistributed(L.Conv1D(3, 3)))
model.add(L.TimeDistributed(layer=L.MaxPooling1D(2)))
model.add(L.LSTM(1))
""", f"np.zeros((8, 12), 'int32'), {rows(8, 1)}"), (
        ("    model.add(L.TimeDistributed(L.Conv1D(3, 3)))", "    model.add(L.Conv1D(3, 3))"),
        ("    model.add(L.TimeDistributed(layer=L.MaxPooling1D(2)))", "    model.add(L.MaxPooling1D(2))"),
    ))),
    "names of files behind the labels": ("sample-weights", Own(model_of("""
model = keras.Sequential([keras.Input((4,)), L.Dense(1)])
""", f"tf.data.Dataset.from_tensor_slices(({rows(8, 4)}, {rows(8, 1)}, ['a', 'b'] * 4)).batch(4)"), ((
        f"    return tf.data.Dataset.from_tensor_slices(({rows(8, 4)}, {rows(8, 1)}, ['a', 'b'] * 4)).batch(4)",
        f"    return tf.data.Dataset.from_tensor_slices(({rows(8, 4)}, {rows(8, 1)}, ['a', 'b'] * 4)).batch(4).map(lambda a, b, c: (a, b))",
    ),))),
    "two layers at the end, one behind the other": ("missing-flatten", Own(model_of("""
i = keras.Input((8, 8, 3))
x = L.Conv2D(4, 3)(i)
model = keras.Model(i, x)
""", f"{rows(8, 8, 8, 3)}, np.arange(8) % 2", "'binary_crossentropy'"), ((
        "    x = L.Conv2D(4, 3)(i)", '    x = L.Dense(1, activation="sigmoid")(L.Flatten()(L.Conv2D(4, 3)(i)))',
    ),))),
    "the best of all samples": ("samples-summed", Own(model_of("""
model = Quality()
""", f"{rows(8, 4)}, ({rows(8)}, {rows(8, 4)})", head=_QUALITY), ((
        "        target = reward + 0.9 * tf.reduce_max(self.q(after))",
        "        target = reward + 0.9 * tf.reduce_max(self.q(after), axis=-1)",
    ),))),
    "several ids beside a column of numbers": ("merge-shapes", Own(model_of("""
i, j = keras.Input((3,), dtype='int32'), keras.Input((5,))
e = L.Embedding(9, 4)(i)
model = keras.Model([i, j], L.Dense(1)(L.Concatenate(axis=1)([e, j])))
""", f"[np.ones((8, 3), 'int32'), {rows(8, 5)}], {rows(8, 1)}"), (
        ("    e = L.Embedding(9, 4)(i)", "    e = L.Flatten()(L.Embedding(9, 4)(i))"),
    ))),
    "metrics that the step leaves out": ("metric-not-updated", Own(model_of("""
i = keras.Input((4,))
model = Net(i, L.Dense(1)(i))
""", f"{rows(8, 4)}, {rows(8, 1)}", "'mse', metrics=['mae']", head=_STEP), (
        ("        return {'loss': loss}", "        self.compute_metrics(x, y, p)"),
    ))),
}  # fmt: skip
