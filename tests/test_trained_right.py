"""Right programs that look like those that train something else than meant: nothing is reported."""

from __future__ import annotations

import pytest
from broken import HEAD, load
from written_programs import model_of, rows

import jupyter_tpushape as tpushape

_SEQUENCES = f"tf.data.Dataset.from_tensor_slices((({rows(8, 5, 3)}, {rows(8, 4, 3)}), {rows(8, 1)})).batch(4)"
_IDS = "(np.arange(48) % 9).reshape(8, 6).astype('int32'), np.zeros((8, 6, 8), 'float32')"
_READ = """
class Read(L.Layer):
    def __init__(self):
        super().__init__()
        self.rows, self.attend, self.steps = L.Embedding(9, 8), L.MultiHeadAttention(2, 4), L.GRU(8, return_sequences=True)

    def call(self, ids):
        x = self.rows(ids)
        n = tf.shape(ids)[1]
        padding = tf.equal(ids, 0)
        causal = tf.linalg.band_part(tf.ones((n, n)), -1, 0)
        x = self.steps(x, mask=tf.logical_not(padding))
        x = self.attend(x, x, attention_mask=(1.0 - tf.cast(padding, tf.float32))[:, None, :])
        return self.attend(x, x, attention_mask=causal) * tf.cast(padding, tf.float32)[..., None]
"""
_STEP = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.base = keras.Sequential([L.Dense(8), L.BatchNormalization()])
        self.base.trainable = False
        self.norm, self.head, self.drop = L.BatchNormalization(), L.Dense(1, activation="sigmoid"), L.Dropout(0.2)
        self.score = keras.losses.BinaryCrossentropy()

    def call(self, x, training=False):
        return self.head(self.drop(self.norm(self.base(x, training=False), training=training), training=training))

    def train_step(self, data):
        x, y = data
        before = self(x)
        with tf.GradientTape() as tape:
            p = self(x, training=True)
            loss = self.score(y, p) + 0.1 * self.score(tf.ones_like(p), p) + 0.1 * self.score(tf.stop_gradient(before), p)
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"score": loss}

def build():
    model = Net()
    model.compile("sgd")
    return model

def data():
    return np.random.default_rng(0).random((8, 6)).astype("float32"), np.array([0.0, 1.0] * 4, "float32").reshape(8, 1)
"""
_PAIRS = """
def contrast(labels, features):
    labels = tf.reshape(labels, (-1, 1))
    same = tf.cast(tf.equal(labels, tf.transpose(labels)), tf.float32)
    table = tf.matmul(features, features, transpose_b=True)
    table -= tf.reduce_mean(table, axis=0)
    shares = table - tf.math.log(tf.reduce_sum(tf.exp(table), axis=1, keepdims=True))
    return -tf.reduce_mean(tf.reduce_sum(same * shares, axis=1) / tf.reduce_sum(same, axis=1))
"""
_LOAD = """
def load(x, y):
    x = tf.image.resize(x, (8, 8))
    return x, {"kind": tf.image.resize(y, (8, 8), method="nearest"), "depth": tf.image.resize(x[..., :1], (8, 8))}
"""
RIGHT = {
    "masks": model_of('i = keras.Input((6,), dtype="int32")\nmodel = keras.Model(i, Read()(i))', _IDS, head=_READ),
    "a step": _STEP,
    "pairs": model_of("i = keras.Input((6,))\nmodel = keras.Model(i, L.Dense(4)(i))", f"{rows(8, 6)}, np.arange(8) % 3", "contrast", _PAIRS),
    "pixels": model_of("""
i = keras.Input((8, 8, 3))
x = L.Rescaling(1 / 127.5, offset=-1)(i)
model = keras.Model(i, L.Dense(1)(L.Flatten()(L.Conv2D(4, 3)(x))))
""", f"255 * {rows(8, 8, 8, 3)}, {rows(8, 1)}"),
    "centered values": model_of("""
i = keras.Input((8, 8, 3))
x = L.Rescaling(2.0, offset=-1)(i)
model = keras.Model(i, L.Dense(1)(L.Flatten()(L.Conv2D(4, 3)(x))))
""", f"{rows(8, 8, 8, 3)}, {rows(8, 1)}"),
    "states": model_of("""
a, b = keras.Input((5, 3)), keras.Input((4, 3))
x, h1, c1 = L.LSTM(8, return_sequences=True, return_state=True)(a)
out, fh, fc, bh, bc = L.Bidirectional(L.LSTM(4, return_state=True))(x)
y = L.LSTM(8, return_sequences=True)(b, initial_state=[h1, c1])
y = L.LSTM(8)(y, initial_state=[L.concatenate([fh, bh]), L.concatenate([fc, bc])])
model = keras.Model([a, b], L.Dense(1)(y))
""", _SEQUENCES),
    "resized": model_of("""
i = keras.Input((8, 8, 3))
model = keras.Model(i, {"kind": L.Conv2D(3, 1, activation="softmax", name="kind")(i), "depth": L.Conv2D(1, 1, name="depth")(i)})
""", f"tf.data.Dataset.from_tensor_slices(({rows(8, 16, 16, 3)}, np.arange(2048).reshape(8, 16, 16, 1) % 3)).map(load).batch(4)",
        "{'kind': 'sparse_categorical_crossentropy', 'depth': 'mse'}", _LOAD),
}  # fmt: skip


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_is_left_alone(name, framework, tmp_path):
    path = tmp_path / f"right_{name.replace(' ', '_')}.py"
    path.write_text(HEAD.format(framework=framework) + RIGHT[name].lstrip("\n"))
    module = load(path)
    report = tpushape.trace(module.build, module.data, tpu=None, fixes=False)
    assert report.ok, report.findings
