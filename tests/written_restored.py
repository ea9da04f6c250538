"""Programs that run on the wrong data: an autoencoder that is given classes, windows whose steps and features a reshape mixes."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_PICTURES = """
i = keras.Input((16, 16, 3))
x = L.Conv2D(8, 3, strides=2, padding="same")(i)
x = L.Conv2DTranspose(3, 3, strides=2, padding="same")(x)
model = keras.Model(i, x)
"""
_WIDE = """
i = keras.Input((32,))
model = keras.Model(i, L.Dense(32, activation="sigmoid")(L.Dense(4)(i)))
"""

_SERIES = f"""
STEPS, FEATURES = 6, 3
def windows(series):
    x, y = [], []
    for i in range(len(series) - STEPS):
        x.append(series[i : i + STEPS])
        y.append(series[i + STEPS, 0])
    return np.array(x), np.array(y)
def build():
    model = keras.Sequential([keras.Input((3, 6)), L.LSTM(4), L.Dense(1)])
    model.compile("sgd", "mse")
    return model
def data():
    x, y = windows({rows(40, 3)})
"""

_TURNED = (
    "    model = keras.Sequential([keras.Input((3, 6)), L.LSTM(4), L.Dense(1)])",
    "    model = keras.Sequential([keras.Input((6, 3)), L.LSTM(4), L.Dense(1)])",
)

RESTORED: dict[str, tuple[str, Own]] = {
    "pictures that are compared with their classes": ("labels-not-inputs", Own(f"""
def build():
    model = keras.Sequential([keras.Input((16, 16, 3)), L.MaxPooling2D(), L.UpSampling2D(), L.Conv2D(3, 3, padding="same")])
    model.compile("sgd", "mse")
    return model
def data():
    x, y = {rows(32, 16, 16, 3)}, np.arange(32) % 10
    return x, y
""", (("    return x, y", "    return x, x"),))),
    "pictures that are compared with one-hot classes": ("labels-not-inputs", Own(model_of(
        _PICTURES, f"{rows(32, 16, 16, 3)}, {rows(32, 10)}"), ((f"    return {rows(32, 16, 16, 3)}, {rows(32, 10)}", f"    x = {rows(32, 16, 16, 3)}"),))),
    "sequences that are compared with one value each": ("labels-not-inputs", Own(model_of("""
i = keras.Input((20, 3))
x = L.RepeatVector(20)(L.LSTM(8)(i))
model = keras.Model(i, L.Dense(3)(L.LSTM(8, return_sequences=True)(x)))
""", f"{rows(32, 20, 3)}, {rows(32, 1)}", loss="'mae'"), ((f"    return {rows(32, 20, 3)}, {rows(32, 1)}", "    return x, x"),))),
    "a pipeline of vectors and their classes": ("labels-not-inputs", Own(model_of(
        _WIDE, f"tf.data.Dataset.from_tensor_slices(({rows(32, 32)}, np.arange(32) % 10)).batch(8)"), (
        (f"    return tf.data.Dataset.from_tensor_slices(({rows(32, 32)}, np.arange(32) % 10)).batch(8)",
         f"    return tf.data.Dataset.from_tensor_slices(({rows(32, 32)}, np.arange(32) % 10)).batch(8).map(lambda a, b: (a, a))"),))),
    "windows that a reshape turns": ("data-axes-mixed", Own(
        _SERIES + "    return x.reshape((x.shape[0], FEATURES, STEPS)), y\n",
        (("    return x.reshape((x.shape[0], FEATURES, STEPS)), y", "    return x, y"), _TURNED))),
    "rows whose own sizes a reshape exchanges": ("data-axes-mixed", Own(
        _SERIES + "    x = np.reshape(x, (len(x), x.shape[2], x.shape[1]))\n    return x[:30], y[:30]\n",
        (("    x = np.reshape(x, (len(x), x.shape[2], x.shape[1]))", f"    x, y = windows({rows(40, 3)})"), _TURNED))),
}  # fmt: skip
