"""Programs after reports of users: what an encoder hands to a decoder, labels of several outputs in one array, masks, calls of older versions."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_SEQUENCES = f"[{rows(8, 9, 4)}, {rows(8, 5, 3)}], {rows(8, 5, 3)}"
_COLUMNS = """
i = keras.Input((4,))
model = keras.Model(i, L.Dense(1)(i))
"""
_ONE_HOT = 'np.eye(3, dtype="float32")[np.arange(512).reshape(8, 8, 8) % 3]'
_MASKED = """
i = keras.Input((8,), dtype="int32")
x = {layer}(L.Embedding(9, 4, mask_zero=True)(i))
model = keras.Model(i, L.Dense(1)(L.LSTM(3)(x)))
"""
_IDS = f'np.ones((8, 8), "int32"), {rows(8, 1)}'

REPORTED: dict[str, tuple[str, Own]] = {
    "labels of several outputs that a dataset made one tensor": ("output-names", Own(f"""
def build():
    i = keras.Input((3,))
    model = keras.Model(i, [L.Dense(1, name="low")(i), L.Dense(1, name="high")(i)])
    model.compile("sgd", "mse")
    return model
def data():
    x, y = {rows(8, 3)}, {rows(8, 2, 1)}
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(4)
""", (("    return tf.data.Dataset.from_tensor_slices((x, y)).batch(4)", "    return tf.data.Dataset.from_tensor_slices((x, y)).batch(4).map(lambda x, y: (x, tuple(y[:, i] for i in range(2))))"),))),
}  # fmt: skip
