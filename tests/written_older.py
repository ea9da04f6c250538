"""Code of older versions of Keras, and code that makes data: the line that is wrong, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_SLICED = f"tf.data.Dataset.from_tensor_slices(({{}}{rows(8, 3)}, {rows(8, 3)}{{}}, {rows(8, 1)})).batch(4)"
_FUNCTION = "tf.data.Dataset.range(8).map(lambda i: tf.numpy_function(load, [i], [tf.float32, tf.float32])).batch(4)"

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
