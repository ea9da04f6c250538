"""Faults in what a tensor stands for: steps, frames, classes, samples, rows of a graph; the line, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_STEP = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.one = L.Dense({units})
    def call(self, x):
        return self.one(x)
    def train_step(self, data):
{body}
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return {{"loss": loss}}

def build():
    model = Net()
    model.compile("sgd")
    return model

def data():
    return tf.data.Dataset.from_tensor_slices({data}).batch(4, drop_remainder=True)
"""
_CHOSEN = f"({rows(8, 3)}, np.zeros((8,), 'int32'), {rows(8)})"
_MARKS = "(np.random.default_rng(0).random((8, 3)) > 0.5).astype('int32')"
_TWICE = "np.eye(2, dtype='float32')[np.eye(3, dtype='int32')[np.arange(8) % 3]]"

ROLES: dict[str, tuple[str, Own]] = {
    "a vector per sample from a sequence": ("layer-rank", Own(model_of("""
i = keras.Input((6, 4))
x = L.LSTM(3, return_sequences=True)(i)
x = L.LSTM(3, return_sequences=True)(L.RepeatVector(6)(x))
model = keras.Model(i, L.Dense(4)(x))
""", f"{rows(8, 6, 4)}, {rows(8, 6, 4)}"), (
        ("    x = L.LSTM(3, return_sequences=True)(i)", "    x = L.LSTM(3, return_sequences=False)(i)"),))),
    "the last step of a vector": ("layer-rank", Own(model_of("""
i = keras.Input((6, 4))
x = L.GRU(3)(i)
x = L.Lambda(lambda t: t[:, -1])(x)
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 6, 4)}, {rows(8, 1)}"), (("    x = L.GRU(3)(i)", "    x = L.GRU(3, return_sequences=True)(i)"),))),
    "a query without steps": ("layer-rank", Own(model_of("""
i, j = keras.Input((6, 4)), keras.Input((5, 4))
q = L.LSTM(4)(i)
x = L.Attention()([q, j])
model = keras.Model([i, j], L.Dense(1)(L.GlobalAveragePooling1D()(x)))
""", f"({rows(8, 6, 4)}, {rows(8, 5, 4)}), {rows(8, 1)}"), (("    q = L.LSTM(4)(i)", "    q = L.LSTM(4, return_sequences=True)(i)"),))),
    "the last frame of several": ("last-step-only", Own(model_of("""
i = keras.Input((3, 4, 4, 1))
x = L.ConvLSTM2D(2, 3, padding='same')(i)
x = L.Conv2D(1, 1)(x)
model = keras.Model(i, x)
""", f"{rows(4, 3, 4, 4, 1)}, {rows(4, 3, 4, 4, 1)}"), (
        ("    x = L.ConvLSTM2D(2, 3, padding='same')(i)", "    x = L.ConvLSTM2D(2, 3, padding='same', return_sequences=True)(i)"),
        ("    x = L.Conv2D(1, 1)(x)", "    x = L.TimeDistributed(L.Conv2D(1, 1))(x)")))),
    "several classes a sample": ("one-hot-labels", Own(model_of("""
model = keras.Sequential([keras.Input((4,)), L.Dense(3, activation='softmax')])
""", f"{rows(8, 4)}, {_MARKS}", "'sparse_categorical_crossentropy'"), (
        ("    model = keras.Sequential([keras.Input((4,)), L.Dense(3, activation='softmax')])",
         '    model = keras.Sequential([keras.Input((4,)), L.Dense(3, activation="sigmoid")])'),))),
    "labels encoded twice": ("label-rank", Own(model_of("""
model = keras.Sequential([keras.Input((4,)), L.Dense(3, activation='softmax')])
""", f"{rows(8, 4)}, {_TWICE}", "'categorical_crossentropy'"), (
        (f"    return {rows(8, 4)}, {_TWICE}", f"    return {rows(8, 4)}, np.argmax({_TWICE}, axis=-1)"),))),
    "a layer that is never called": ("layer-axis", Own("""
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.one = L.Dense(4)
        self.two = L.Dense(5)
        self.out = L.Dense(1)
    def call(self, x):
        x = self.one(x)
        return self.out(self.one(x))

def build():
    model = Net()
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((8, 3), "float32"), np.zeros((8, 1), "float32")
""", (("        return self.out(self.one(x))", "        return self.out(self.two(x))"),))),
    "a parameter for each input": ("layer-raises", Own("""
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.one = L.Dense(4)
        self.out = L.Dense(1)
    def call(self, first, second):
        return self.out(self.one(first) * self.one(second))

def build():
    model = Net()
    model.compile("sgd", "mse")
    return model

def data():
    return (np.zeros((8, 3), "float32"), np.zeros((8, 3), "float32")), np.zeros((8, 1), "float32")
""", (("    def call(self, first, second):", "    def call(self, inputs):"),
      ("        return self.out(self.one(first) * self.one(second))", "        first, second = inputs")))),
    "a graph in batches": ("op-shapes", Own(model_of("""
i = keras.Input((3,))
x = Spread()(L.Dense(4)(i))
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 3)}, {rows(8, 1)}", head="""
class Spread(L.Layer):
    def call(self, x):
        return tf.matmul(tf.eye(8), x)
""").replace(f"    return {rows(8, 3)}, {rows(8, 1)}", f"    return tf.data.Dataset.from_tensor_slices(({rows(8, 3)}, {rows(8, 1)})).batch(4, drop_remainder=True)"), (
        (f"    return tf.data.Dataset.from_tensor_slices(({rows(8, 3)}, {rows(8, 1)})).batch(4, drop_remainder=True)",
         f"    return tf.data.Dataset.from_tensor_slices(({rows(8, 3)}, {rows(8, 1)})).batch(8, drop_remainder=False)"),))),
    "the value of the action that was taken": ("samples-summed", Own(_STEP.format(units=4, data=_CHOSEN, body="""\
        state, action, reward = data
        with tf.GradientTape() as tape:
            value = tf.reduce_sum(self(state) * tf.one_hot(action, 4))
            loss = tf.reduce_mean(tf.square(reward - value))"""), (
        ("            value = tf.reduce_sum(self(state) * tf.one_hot(action, 4))",
         "            value = tf.reduce_sum(self(state) * tf.one_hot(action, 4), axis=-1)"),))),
    "a gradient by the input": ("code-raises", Own(_STEP.format(units=1, data=f"({rows(8, 2)}, {rows(8, 1)})", body="""\
        x, y = data
        with tf.GradientTape() as tape:
            with tf.GradientTape() as inner:
                u = self(x)
            slope = inner.gradient(u, x)
            loss = tf.reduce_mean(tf.square(slope * u - y))"""), (
        ("                u = self(x)", "                inner.watch(x)"),))),
    "axes that are gone": ("op-shapes", Own(_STEP.format(units=4, data=rows(8, 4), body="""\
        x = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.reduce_sum(keras.losses.mean_squared_error(x, self(x)), axis=(1, 2)))"""), (
        ("            loss = tf.reduce_mean(tf.reduce_sum(keras.losses.mean_squared_error(x, self(x)), axis=(1, 2)))",
         "            loss = tf.reduce_mean(keras.losses.mean_squared_error(x, self(x)))"),))),
    "an axis that a generator leaves out": ("data-raises", Own(model_of("""
model = keras.Sequential([keras.Input((4, 4, 1)), L.Conv2D(2, 3), L.Flatten(), L.Dense(1)])
""", "pipeline()", head="""
def gen():
    for _ in range(8):
        yield np.zeros((4, 4), "float32"), np.zeros((1,), "float32")

def pipeline():
    signature = tf.TensorSpec((4, 4, 1), tf.float32), tf.TensorSpec((1,), tf.float32)
    return tf.data.Dataset.from_generator(gen, output_signature=signature).batch(4)
"""), (('        yield np.zeros((4, 4), "float32"), np.zeros((1,), "float32")',
        '        yield np.zeros((4, 4), "float32")[..., None], np.zeros((1,), "float32")'),))),
    "a gate with too few channels": ("merge-shapes", Own(model_of("""
i = keras.Input((8, 8, 4))
g = L.Dense(2, activation='sigmoid')(L.GlobalAveragePooling2D()(i))
x = L.Multiply()([i, L.Reshape((1, 1, 2))(g)])
model = keras.Model(i, L.Dense(1)(L.Flatten()(x)))
""", f"{rows(8, 8, 8, 4)}, {rows(8, 1)}"), (
        ("    g = L.Dense(2, activation='sigmoid')(L.GlobalAveragePooling2D()(i))", "    g = L.Dense(4, activation='sigmoid')(L.GlobalAveragePooling2D()(i))"),
        ("    x = L.Multiply()([i, L.Reshape((1, 1, 2))(g)])", "    x = L.Multiply()([i, L.Reshape((1, 1, 4))(g)])")))),
    "labels by another name": ("output-names", Own(model_of("""
i = keras.Input((4,))
model = keras.Model(i, [L.Dense(1, name='age')(i), L.Dense(1, name='height')(i)])
""", f"{rows(8, 4)}, {{'age': {rows(8, 1)}, 'size': {rows(8, 1)}}}", "{'age': 'mse', 'height': 'mse'}"), (
        (f"    return {rows(8, 4)}, {{'age': {rows(8, 1)}, 'size': {rows(8, 1)}}}",
         f'    return {rows(8, 4)}, {{"age": {rows(8, 1)}, "height": {rows(8, 1)}}}'),))),
    "a loss by another name": ("output-names", Own(model_of("""
i = keras.Input((4,))
model = keras.Model(i, [L.Dense(1, name='age')(i), L.Dense(1, name='height')(i)])
""", f"{rows(8, 4)}, {{'age': {rows(8, 1)}, 'height': {rows(8, 1)}}}", "{'age': 'mse', 'heigth': 'mse'}"), (
        ("    model.compile('sgd', {'age': 'mse', 'heigth': 'mse'})", "    model.compile('sgd', {'age': 'mse', \"height\": 'mse'})"),))),
    "masks of two bytes": ("label-scale", Own(model_of("""
model = keras.Sequential([keras.Input((4, 4, 1)), L.Conv2D(1, 1, activation='sigmoid')])
""", f"{rows(8, 4, 4, 1)}, masks()", "'binary_crossentropy'", head="""
def masks():
    return (np.arange(128).reshape(8, 4, 4, 1) % 2 * 255).astype('uint8')
"""), ((f"    return {rows(8, 4, 4, 1)}, masks()", f'    return {rows(8, 4, 4, 1)}, (masks() == 255).astype("float32")'),))),
    "noise of another size": ("layer-axis", Own(_STEP.format(units=3, data=rows(8, 3), body="""\
        x = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self(x) - self(tf.random.normal((4, 5)))))"""), (
        ("            loss = tf.reduce_mean(tf.square(self(x) - self(tf.random.normal((4, 5)))))",
         "            loss = tf.reduce_mean(tf.square(self(x) - self(tf.random.normal((tf.shape(data)[0], 3)))))"),))),
    "time before samples": ("swapped-axes", Own(model_of("""
model = keras.Sequential([keras.Input((None, 4)), L.GRU(3), L.Dense(1)])
""", f"tf.data.Dataset.from_tensors(({rows(6, 8, 4)}, {rows(8, 1)}))"), (
        (f"    return tf.data.Dataset.from_tensors(({rows(6, 8, 4)}, {rows(8, 1)}))",
         f"    return tf.data.Dataset.from_tensors(({rows(6, 8, 4)}, {rows(8, 1)})).map(lambda x, y: (tf.transpose(x, (1, 0, 2)), y))"),))),
    "labels flattened alone": ("batch-broadcast", Own(model_of("""
model = keras.Sequential([keras.Input((4, 4, 1)), L.Conv2D(1, 1, activation='sigmoid')])
""", f"{rows(8, 4, 4, 1)}, {rows(8, 4, 4, 1)}", "apart", head="""
def apart(y_true, y_pred):
    y_true = tf.reshape(y_true, [-1])
    return tf.reduce_mean(tf.abs(y_true - y_pred))
"""), (("    y_true = tf.reshape(y_true, [-1])", "    return tf.reduce_mean(tf.abs(y_true - y_pred))"),))),
    "the step that has no label": ("output-size", Own(model_of("""
i = keras.Input((6,))
model = keras.Model(i, L.Dense(5, activation='softmax')(L.LSTM(3, return_sequences=True)(L.Embedding(5, 4)(i))))
""", "ids(), ids()[:, 1:]", "'sparse_categorical_crossentropy'", head="""
def ids():
    return np.random.default_rng(0).integers(0, 5, (8, 6))
"""), (("    i = keras.Input((6,))", "    i = keras.Input((5,))"), ("    return ids(), ids()[:, 1:]", "    return ids()[:, :5], ids()[:, 1:]")))),
    "a factor that has a name": ("output-size", Own(model_of("""
i = keras.Input((None, None, 1))
x = L.Conv2D(UP * UP, 3, padding='same')(i)
model = keras.Model(i, L.Lambda(lambda t: tf.nn.depth_to_space(t, UP))(x))
""", f"{rows(4, 8, 8, 1)}, {rows(4, 32, 32, 1)}", head="UP = 3\n"), (("UP = 3", "UP = 4"),))),
    "the output of a model that was not called": ("code-raises", Own(model_of("""
base = keras.Sequential([keras.Input((4,)), L.Dense(3)])
x = L.Dense(1)(base.output)
model = keras.Model(base.input, x)
""", f"{rows(8, 4)}, {rows(8, 1)}"), (
        ("    x = L.Dense(1)(base.output)", "    x = L.Dense(1)(base.outputs[0])"),
        ("    model = keras.Model(base.input, x)", "    model = keras.Model(base.inputs[0], x)")))),
    "the action of each sample": ("batch-broadcast", Own(_STEP.format(units=4, data=_CHOSEN, body="""\
        state, action, gain = data
        with tf.GradientTape() as tape:
            chosen = tf.gather(tf.nn.softmax(self(state)), action, axis=1)
            loss = -tf.reduce_mean(tf.math.log(chosen) * gain)"""), (
        ("            chosen = tf.gather(tf.nn.softmax(self(state)), action, axis=1)",
         "            chosen = tf.gather(tf.nn.softmax(self(state)), action, axis=1, batch_dims=1)"),))),
    "a convolution behind a global pooling": ("layer-rank", Own(model_of("""
i = keras.Input((8, 8, 3))
x = L.GlobalAveragePooling2D()(i)
x = L.Conv2D(16, 3)(x)
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 8, 8, 3)}, {rows(8, 1)}"), (
        ("    x = L.GlobalAveragePooling2D()(i)", "    x = L.Conv2D(16, 3)(i)"), ("    x = L.Conv2D(16, 3)(x)", "    x = L.GlobalAveragePooling2D()(x)")))),
    "one label for a map": ("missing-flatten", Own(model_of("""
i = keras.Input((8, 8, 3))
x = L.Conv2D(1, 3)(L.Conv2D(4, 3)(i))
model = keras.Model(i, x)
""", f"{rows(8, 8, 8, 3)}, {rows(8, 1)}"), (
        ("    x = L.Conv2D(1, 3)(L.Conv2D(4, 3)(i))", "    x = L.GlobalAveragePooling2D()(L.Conv2D(1, 3)(L.Conv2D(4, 3)(i)))"),))),
    "heads that do not divide": ("reshape-size", Own(model_of("""
i = keras.Input((5, 12))
x = Heads(12, 5)(i)
model = keras.Model(i, L.Dense(1)(L.Flatten()(x)))
""", f"{rows(8, 5, 12)}, {rows(8, 1)}", head="""
class Heads(L.Layer):
    def __init__(self, width, heads):
        super().__init__()
        self.width, self.heads = width, heads
    def call(self, x):
        x = tf.reshape(x, (-1, 5, self.heads, self.width // self.heads))
        return tf.reduce_sum(x, axis=2)
"""), (("    x = Heads(12, 5)(i)", "    x = Heads(12, 4)(i)"),))),
    "one of two weights as long as the steps": ("op-shapes", Own(model_of("""
i = keras.Input((6, 4))
model = keras.Model(i, L.Dense(1)(L.Flatten()(Waves()(i))))
""", f"{rows(8, 6, 4)}, {rows(8, 1)}", head="""
class Waves(L.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[1], 3))
        self.b = self.add_weight(shape=(shape[1], 3))
    def call(self, x):
        return tf.sin(tf.matmul(x, self.w) + self.b)
"""), (("        self.w = self.add_weight(shape=(shape[1], 3))", "        self.w = self.add_weight(shape=(shape[-1], 3))"),))),
    "a loop that adds layers to images": ("loss-broadcast", Own(model_of("""
model = keras.Sequential([keras.Input((6, 5))])
for width in (8, 6):
    model.add(L.Dense(width, activation="relu"))
model.add(L.Dense(1))
""", f"{rows(8, 6, 5)}, {rows(8, 1)}"), (
        ("", "    model.add(L.Flatten())"),))),
    "a loop over widths that images go through": ("loss-broadcast", Own(model_of("""
i = keras.Input((6, 5))
x = i
for width in (8, 6):
    x = L.Dense(width, activation="relu")(x)
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 6, 5)}, {rows(8, 1)}"), (
        ("", "    x = L.Flatten()(x)"),))),
    "an autoencoder that folds nothing": ("reshape-size", Own(model_of("""
encoder = keras.Sequential([L.Dense(10, activation="relu")])
decoder = keras.Sequential([L.Dense(12, activation="relu"), L.Dense(6 * 6), L.Reshape((6, 6))])
model = keras.Sequential([encoder, decoder])
""", f"{rows(8, 6, 6)}, {rows(8, 6, 6)}"), (
        ("    model = keras.Sequential([encoder, decoder])", "    model = keras.Sequential([L.Flatten(), encoder, decoder])"),))),
    "dense layers that keep the rows of an image": ("reshape-size", Own(model_of("""
i = keras.Input((6, 6))
h = L.Dense(10, activation="relu")(i)
h = L.Dense(36)(L.Dropout(0.1)(h))
model = keras.Model(i, L.Reshape((6, 6))(h))
""", f"{rows(8, 6, 6)}, {rows(8, 6, 6)}"), (
        ('    h = L.Dense(10, activation="relu")(i)', '    h = L.Dense(10, activation="relu")(L.Flatten()(i))'),))),
    "a generator that unfolds nothing": ("layer-rank", Own(model_of("""
model = keras.Sequential([
    keras.Input((5,)),
    L.Dense(4 * 3 * 3),
    L.LeakyReLU(),
    L.Conv2DTranspose(1, 3, strides=2, padding="same"),
])
""", f"{rows(8, 5)}, {rows(8, 6, 6, 1)}"), (("", "        L.Reshape((3, 3, 4)),"),))),
    "steps that a width multiplies": ("layer-rank", Own(model_of("""
i = keras.Input((5,))
h = L.Dense(units=STEPS * 4)(i)
h = L.GRU(6, return_sequences=True)(h)
model = keras.Model(i, L.Dense(2)(h))
""", f"{rows(8, 5)}, {rows(8, 3, 2)}", head="STEPS = 3\n"), (
        ("    h = L.GRU(6, return_sequences=True)(h)", "    h = L.GRU(6, return_sequences=True)(L.Reshape((3, 4))(h))"),))),
    "a width for another square": ("reshape-size", Own(model_of("""
h = keras.Input((5,))
model = keras.Model(h, L.Reshape((3, 3, 4))(L.Dense(5 * 3 * 4)(h)))
""", f"{rows(8, 5)}, {rows(8, 3, 3, 4)}"), (
        ("    model = keras.Model(h, L.Reshape((3, 3, 4))(L.Dense(5 * 3 * 4)(h)))", "    model = keras.Model(h, L.Reshape((3, 3, 4))(L.Dense(36)(h)))"),))),
}  # fmt: skip
