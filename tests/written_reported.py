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
    "an encoder whose output no step of the decoder gets": ("layer-rank", Own(model_of("""
i = keras.Input((14, 3))
x = L.LSTM(8)(i)
x = L.LSTM(8, return_sequences=True)(x)
model = keras.Model(i, L.TimeDistributed(L.Dense(1))(x))
""", f"{rows(8, 14, 3)}, {rows(8, 5, 1)}"), (("    x = L.LSTM(8, return_sequences=True)(x)", "    x = L.LSTM(8, return_sequences=True)(L.RepeatVector(5)(x))"),))),
    "an encoder with as many steps as the decoder": ("layer-rank", Own(model_of("""
i = keras.Input((5, 3))
x = L.LSTM(8)(i)
x = L.LSTM(8, return_sequences=True)(x)
model = keras.Model(i, L.TimeDistributed(L.Dense(1))(x))
""", f"{rows(8, 5, 3)}, {rows(8, 5, 1)}"), (("    x = L.LSTM(8)(i)", "    x = L.LSTM(8, return_sequences=True)(i)"),))),
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
    "labels that a loss reads by their one column elsewhere": ("loss-raises", Own(model_of(_COLUMNS, f"{rows(8, 4)}, {rows(8, 3)}", loss="contrastive", head="""
def contrastive(y, p):
    return tf.reduce_mean((1 - y[:, 0]) * tf.square(p[:, 0]) + y * tf.square(tf.maximum(1 - p[:, 0], 0)))
"""), (("    return tf.reduce_mean((1 - y[:, 0]) * tf.square(p[:, 0]) + y * tf.square(tf.maximum(1 - p[:, 0], 0)))",
         "    return tf.reduce_mean((1 - y[:, 0]) * tf.square(p[:, 0]) + y[:, 0] * tf.square(tf.maximum(1 - p[:, 0], 0)))"),))),
    "the column of labels that a loss does not read elsewhere": ("loss-raises", Own(model_of(_COLUMNS, f"{rows(8, 4)}, {rows(8, 3)}", loss="weighted", head="""
def weighted(y, p):
    return tf.reduce_mean(tf.square(p[:, 0] - y) * y[:, 1] * y[:, 2])
"""), (("    return tf.reduce_mean(tf.square(p[:, 0] - y) * y[:, 1] * y[:, 2])", "    return tf.reduce_mean(tf.square(p[:, 0] - y[:, 0]) * y[:, 1] * y[:, 2])"),))),
    "one-hot masks that a metric flattens with all their classes": ("metric-raises", Own(model_of("""
i = keras.Input((8, 8, 3))
model = keras.Model(i, L.Conv2D(3, 1, activation="softmax")(i))
""", f"{rows(8, 8, 8, 3)}, {_ONE_HOT}", loss="'categorical_crossentropy', metrics=[same]", head="""
def same(y, p):
    p = tf.reshape(tf.argmax(p, axis=-1), [-1])
    y = tf.cast(tf.reshape(y, [-1]), "int64")
    return tf.reduce_mean(tf.cast(tf.equal(y, p), "float32"))
"""), (("    p = tf.reshape(tf.argmax(p, axis=-1), [-1])", "    y = tf.cast(tf.argmax(y, axis=-1), y.dtype)"),))),
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
    "a model that its first layer declares for fewer values": ("input-axis", Own(model_of("""
z, c = keras.Input((8,)), keras.Input((3,))
maker = keras.Sequential()
maker.add(L.Dense(4, input_shape=(8,)))
maker.add(L.Dense(2))
model = keras.Model([z, c], maker(L.Concatenate()([z, c])))
""", f"[{rows(8, 8)}, {rows(8, 3)}], {rows(8, 2)}"), (("    maker.add(L.Dense(4, input_shape=(8,)))", "    maker.add(L.Dense(4, input_shape=(11,)))"),))),
    "an argument of the call that the constructor is given": ("code-raises", Own(model_of("""
i = keras.Input((5, 8))
x, scores = L.MultiHeadAttention(2, 4, return_attention_scores=True)(i, i)
model = keras.Model(i, L.Dense(1)(L.Flatten()(x)))
""", f"{rows(8, 5, 8)}, {rows(8, 1)}"), (("    x, scores = L.MultiHeadAttention(2, 4, return_attention_scores=True)(i, i)", "    x, scores = L.MultiHeadAttention(2, 4)(i, i, return_attention_scores=True)"),))),
    "a tensor from which an older version made states": ("op-shapes", Own(model_of("""
model = Teller()
""", f"{rows(8, 5, 3)}, {rows(8, 5, 4)}", head="""
class Teller(keras.Model):
    def __init__(self):
        super().__init__()
        self.gru = L.GRU(4, return_sequences=True)
    def call(self, x):
        states = self.gru.get_initial_state(x)
        return self.gru(x, initial_state=states)
"""), (("        states = self.gru.get_initial_state(x)", "        states = self.gru.get_initial_state(keras.ops.shape(x)[0])"),))),
    "the outputs of an encoder in place of its state": ("rnn-states", Own(model_of("""
a, b = keras.Input((9, 4)), keras.Input((5, 3))
x = L.GRU(6, return_sequences=True)(a)
y = L.GRU(6, return_sequences=True)(b, initial_state=x)
model = keras.Model([a, b], L.Dense(3)(y))
""", _SEQUENCES), (("    x = L.GRU(6, return_sequences=True)(a)", "    x, *states = L.GRU(6, return_sequences=True, return_state=True)(a)"),
        ("    y = L.GRU(6, return_sequences=True)(b, initial_state=x)", "    y = L.GRU(6, return_sequences=True)(b, initial_state=states)")))),
    "the outputs of both directions in place of their states": ("rnn-states", Own(model_of("""
a, b = keras.Input((9, 4)), keras.Input((5, 3))
x = L.Bidirectional(L.LSTM(3, return_sequences=True))(a)
y = L.LSTM(6, return_sequences=True)(b, initial_state=[x, x])
model = keras.Model([a, b], L.Dense(3)(y))
""", _SEQUENCES), (("    x = L.Bidirectional(L.LSTM(3, return_sequences=True))(a)", "    x, *states = L.Bidirectional(L.LSTM(3, return_sequences=True, return_state=True))(a)"),
        ("    y = L.LSTM(6, return_sequences=True)(b, initial_state=[x, x])",
         "    y = L.LSTM(6, return_sequences=True)(b, initial_state=[L.Concatenate()([states[0], states[2]]), L.Concatenate()([states[1], states[3]])])")))),
    "lengths with an axis of size 1": ("loss-raises", Own(model_of("""
i = keras.Input((24, 6))
model = keras.Model(i, L.Dense(11)(L.LSTM(8, return_sequences=True)(i)))
""", f"{rows(8, 24, 6)}, np.arange(40).reshape(8, 5) % 9 + 1", loss="ctc", head="""
def ctc(y, p):
    batch = tf.shape(y)[0]
    frames = tf.fill([batch, 1], tf.shape(p)[1])
    letters = tf.fill([batch, 1], tf.shape(y)[1])
    return tf.nn.ctc_loss(tf.cast(y, "int32"), p, letters, frames, logits_time_major=False, blank_index=-1)
"""), (('    return tf.nn.ctc_loss(tf.cast(y, "int32"), p, letters, frames, logits_time_major=False, blank_index=-1)',
        '    return tf.nn.ctc_loss(tf.cast(y, "int32"), p, tf.squeeze(letters, 1), tf.squeeze(frames, 1), logits_time_major=False, blank_index=-1)'),))),
}  # fmt: skip
