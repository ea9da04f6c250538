"""Code of older versions of Keras, and code that makes data: the line that is wrong, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_SLICED = f"tf.data.Dataset.from_tensor_slices(({{}}{rows(8, 3)}, {rows(8, 3)}{{}}, {rows(8, 1)})).batch(4)"
_FUNCTION = "tf.data.Dataset.range(8).map(lambda i: tf.numpy_function(load, [i], [tf.float32, tf.float32])).batch(4)"

_BACKEND = """
from keras import backend as K
class Attention(L.Layer):
    def build(self, shape):
        self.w = self.add_weight(name="w", shape=(shape[-1], 1))
    def call(self, x):
        a = K.softmax(K.squeeze(K.tanh(K.dot(x, self.w)), axis=-1))
        return K.sum(x * K.expand_dims(a, axis=-1), axis=1)
"""
_NAMED = """
class Scaled(L.Layer):
    def build(self, shape):
        self.gain = self.add_weight("gain", shape[-1:], initializer="ones", trainable=True)
        self.shift = self.add_weight("shift", (shape[-1],))
    def call(self, x):
        return self.gain * x + self.shift
"""
_SHAPES = """
class Scaled(L.Layer):
    def build(self, shape):
        self.gain = self.add_weight(name="gain", shape=(shape.as_list()[-1],))
    def call(self, x):
        return self.gain * x
"""

OLDER: dict[str, tuple[str, Own]] = {
    "the learning rate": ("code-raises", Own(model_of("""
model = keras.Sequential([keras.Input((4,)), L.Dense(1)])
optimizer = keras.optimizers.SGD(lr=0.01, momentum=0.9)
""", f"{rows(8, 4)}, {rows(8, 1)}").replace("'sgd'", "optimizer"), (
        ("    optimizer = keras.optimizers.SGD(lr=0.01, momentum=0.9)", "    optimizer = keras.optimizers.SGD(learning_rate=0.01, momentum=0.9)"),))),
    "the shape of a batch in a layer": ("code-raises", Own(model_of("""
model = keras.Sequential([L.LSTM(3, batch_input_shape=(4, 6, 2), stateful=True), L.Dense(1)])
""", f"tf.data.Dataset.from_tensor_slices(({rows(8, 6, 2)}, {rows(8, 1)})).batch(4, drop_remainder=True)"), (
        ("    model = keras.Sequential([L.LSTM(3, batch_input_shape=(4, 6, 2), stateful=True), L.Dense(1)])",
         "    model = keras.Sequential([keras.Input(batch_shape=(4, 6, 2)), L.LSTM(3, stateful=True), L.Dense(1)])"),))),
    "the shape of a batch in a layer that is added": ("code-raises", Own(model_of("""
model = keras.Sequential()
model.add(L.LSTM(3, batch_input_shape=(4, 6, 2), stateful=True))
model.add(L.Dense(1))
""", f"tf.data.Dataset.from_tensor_slices(({rows(8, 6, 2)}, {rows(8, 1)})).batch(4, drop_remainder=True)"), (
        ("    model.add(L.LSTM(3, batch_input_shape=(4, 6, 2), stateful=True))", "    model.add(keras.Input(batch_shape=(4, 6, 2)))"),
        ("    model.add(L.LSTM(3, batch_input_shape=(4, 6, 2), stateful=True))", "    model.add(L.LSTM(3, stateful=True))"),))),
    "weights whose name comes first": (
        "layer-raises",
        Own(
            model_of(
                """
i = keras.Input((4,))
model = keras.Model(i, L.Dense(1)(Scaled()(i)))
""",
                f"{rows(8, 4)}, {rows(8, 1)}",
                head=_NAMED,
            ),
            (
                (
                    '        self.gain = self.add_weight("gain", shape[-1:], initializer="ones", trainable=True)',
                    '        self.gain = self.add_weight(name="gain", shape=shape[-1:], initializer="ones", trainable=True)',
                ),
                (
                    '        self.shift = self.add_weight("shift", (shape[-1],))',
                    '        self.shift = self.add_weight(name="shift", shape=(shape[-1],))',
                ),
            ),
        ),
    ),
    "a size that was an object": ("code-raises", Own(model_of("""
i = keras.Input((6, 4))
x = L.Conv1D(3, 3)(i)
x = L.Reshape((x.get_shape().as_list()[1] * x.shape[-1].value,))(x)
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 6, 4)}, {rows(8, 1)}"), (
        ("    x = L.Reshape((x.get_shape().as_list()[1] * x.shape[-1].value,))(x)", "    x = L.Reshape((list(x.shape)[1] * x.shape[-1],))(x)"),))),
    "a shape that was an object": ("layer-raises", Own(model_of("""
i = keras.Input((4,))
model = keras.Model(i, L.Dense(1)(Scaled()(i)))
""", f"{rows(8, 4)}, {rows(8, 1)}", head=_SHAPES), ((
        '        self.gain = self.add_weight(name="gain", shape=(shape.as_list()[-1],))',
        '        self.gain = self.add_weight(name="gain", shape=(list(shape)[-1],))'),))),
    "functions of the backend in a class that is named like one of Keras": ("layer-raises", Own(model_of("""
i = keras.Input((5, 4))
model = keras.Model(i, L.Dense(1)(Attention()(i)))
""", f"{rows(8, 5, 4)}, {rows(8, 1)}", head=_BACKEND), (
        ("        a = K.softmax(K.squeeze(K.tanh(K.dot(x, self.w)), axis=-1))",
         "        a = keras.ops.softmax(keras.ops.squeeze(keras.ops.tanh(keras.ops.dot(x, self.w)), axis=-1))"),
        ("        return K.sum(x * K.expand_dims(a, axis=-1), axis=1)",
         "        return keras.ops.sum(x * keras.ops.expand_dims(a, axis=-1), axis=1)"),))),
    "a loss that is added to a finished model": ("code-raises", Own(model_of("""
i = keras.Input((4,))
h = L.Dense(2)(i)
model = keras.Model(i, L.Dense(4)(h))
model.add_loss(keras.ops.mean(keras.ops.square(h)))
""", f"{rows(8, 4)}, {rows(8, 4)}"), (
        ("    model.add_loss(keras.ops.mean(keras.ops.square(h)))",
         "    model = keras.Model(model.input, AddedLoss()([model.output, keras.ops.mean(keras.ops.square(h))]), name=model.name)"),))),
    "two losses that are added to a finished model": ("code-raises", Own(model_of("""
i = keras.Input((4,))
h = L.Dense(2)(i)
model = keras.Model(i, L.Dense(4)(h))
model.add_loss(keras.ops.mean(keras.ops.square(h)))
model.add_loss(keras.ops.mean(keras.ops.abs(h)))
""", f"{rows(8, 4)}, {rows(8, 4)}"), (
        ("    model.add_loss(keras.ops.mean(keras.ops.square(h)))",
         "    model = keras.Model(model.input, AddedLoss()([model.output, keras.ops.mean(keras.ops.square(h))]), name=model.name)"),
        ("    model.add_loss(keras.ops.mean(keras.ops.abs(h)))",
         "    model = keras.Model(model.input, AddedLoss()([model.output, keras.ops.mean(keras.ops.abs(h))]), name=model.name)"),))),
    "a layer that was an experiment": ("code-raises", Own(model_of("""
model = keras.Sequential([keras.Input((4,)), keras.layers.experimental.preprocessing.Rescaling(0.5), L.Dense(1)])
""", f"{rows(8, 4)}, {rows(8, 1)}"), (
        ("    model = keras.Sequential([keras.Input((4,)), keras.layers.experimental.preprocessing.Rescaling(0.5), L.Dense(1)])",
         "    model = keras.Sequential([keras.Input((4,)), keras.layers.Rescaling(0.5), L.Dense(1)])"),))),
    "a list of two inputs in slices": ("data-raises", Own(model_of("""
i, j = keras.Input((3,)), keras.Input((3,))
model = keras.Model([i, j], L.Dense(1)(L.Concatenate()([i, j])))
""", _SLICED.format("[", "]")), ((f"    return {_SLICED.format('[', ']')}", f"    return {_SLICED.format('(', ')')}"),))),
    "what a Python function returns": ("data-raises", Own(model_of("""
model = keras.Sequential([keras.Input((3,)), L.Dense(1)])
""", _FUNCTION, head="""
def load(i):
    row = np.ones((3,), "float32") * i
    return row, np.ones((1,), "float32")
"""), (('    return row, np.ones((1,), "float32")', '    return row.astype("float32"), np.ones((1,), "float32")'),))),
    "masks that are not resized": ("output-size", Own(model_of("""
model = keras.Sequential([keras.Input((6, 6, 3)), L.Conv2D(1, 1, activation='sigmoid')])
""", "pipeline()", "'binary_crossentropy'", head="""
def smaller(image, mask):
    return tf.image.resize(image, (6, 6)), mask

def pipeline():
    masks = (np.arange(4 * 64).reshape(4, 8, 8, 1) % 2).astype("float32")
    return tf.data.Dataset.from_tensor_slices((np.zeros((4, 8, 8, 3), "float32"), masks)).map(smaller).batch(2)
"""), (("    return pipeline()", '    return pipeline().map(lambda x, y: (x, tf.image.resize(y, (6, 6), method="nearest")))'),))),
}  # fmt: skip
