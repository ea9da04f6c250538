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
    "a mask that a layer passes on though it takes every second step": ("mask-shapes", Own(model_of(_MASKED.format(layer="Half()"), _IDS, head="""
class Half(L.Layer):
    supports_masking = True
    def call(self, x, mask=None):
        return x[:, ::2]
    def compute_mask(self, x, mask=None):
        return mask
"""), (("        return mask", "        return mask[:, ::2]"),))),
    "a mask that a layer passes on though it leaves no steps": ("mask-shapes", Own(model_of(_MASKED.format(layer="Pool()"), _IDS, head="""
class Pool(L.Layer):
    supports_masking = True
    def call(self, x, mask=None):
        return keras.ops.mean(x, axis=1)
class Copies(L.Layer):
    supports_masking = True
    def call(self, x):
        return keras.ops.stack([x, x, x], axis=1)
""").replace("L.LSTM(3)(x)", "L.LSTM(3)(Copies()(x))"), (("    def call(self, x, mask=None):", "    def compute_mask(self, x, mask=None):"),))),
}  # fmt: skip
