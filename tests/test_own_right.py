"""Code of the user's own that looks like a fault and is none: nothing is reported."""

from __future__ import annotations

import pytest
from broken import HEAD, load
from written_own import OWN_CODE

import jupyter_tpushape as tpushape

RIGHT = {
    "norm of each sample": """
class Clip(keras.Model):
    def __init__(self):
        super().__init__(); self.a = L.Dense(8); self.b = L.Dense(8)
    def call(self, inputs):
        return self.scores(self.a(inputs[0]), self.b(inputs[1]))
    def scores(self, a, b):
        a = a / tf.norm(a, axis=1, keepdims=True)
        b = b / tf.norm(b, axis=1, keepdims=True)
        return tf.matmul(a, tf.transpose(b))
    def train_step(self, data):
        x, _ = data
        with tf.GradientTape() as tape:
            s = self.scores(self.a(x[0]), self.b(x[1]))
            y = tf.range(tf.shape(s)[0])
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=s))
        v = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, v), v))
        return {"loss": loss}
def build():
    m = Clip(); m.compile(optimizer="adam"); return m
def data():
    r = np.random.default_rng(0); n = 48
    return tf.data.Dataset.from_tensor_slices(((r.normal(size=(n, 10)).astype("float32"), r.normal(size=(n, 12)).astype("float32")), np.zeros((n,), "float32"))).batch(16)
""",
    "statistics of a batch": """
class Barlow(keras.Model):
    def __init__(self):
        super().__init__(); self.enc = keras.Sequential([L.Dense(16, activation="relu"), L.Dense(8)])
    def call(self, x):
        return self.enc(x)
    def train_step(self, x):
        with tf.GradientTape() as tape:
            a, b = self.enc(x), self.enc(x + tf.random.normal(tf.shape(x)) * 0.1)
            a = tf.math.l2_normalize(a - tf.reduce_mean(a, 0), axis=0)
            b = tf.math.l2_normalize(b - tf.reduce_mean(b, 0), axis=0)
            c = tf.matmul(a, b, transpose_a=True)
            loss = tf.reduce_sum(tf.square(c - tf.eye(8)))
        v = self.enc.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, v), v))
        return {"loss": loss}
def build():
    m = Barlow(); m.compile(optimizer="adam"); return m
def data():
    return tf.data.Dataset.from_tensor_slices(np.random.default_rng(0).normal(size=(64, 10)).astype("float32")).batch(16)
""",
    "distances of all pairs": """
def mmd(y, p):
    sq = tf.reduce_sum(tf.square(p), axis=1, keepdims=True)
    d = sq - 2 * tf.matmul(p, p, transpose_b=True) + tf.transpose(sq)
    return tf.reduce_mean(tf.square(y - p)) + 0.01 * tf.reduce_mean(tf.exp(-d))
def build():
    m = keras.Sequential([keras.Input((6,)), L.Dense(4)]); m.compile("adam", mmd); return m
def data():
    r = np.random.default_rng(0); return r.random((32, 6)).astype("float32"), r.random((32, 4)).astype("float32")
""",
    "heads by einsum": """
class MHA(L.Layer):
    def __init__(self, dim, heads, **kw):
        super().__init__(**kw)
        self.h, self.d = heads, dim // heads
        self.qkv = [L.Dense(dim, use_bias=False) for _ in range(3)]
        self.out = L.Dense(dim)
    def call(self, x):
        n = x.shape[1]
        q, k, v = [keras.ops.reshape(f(x), (-1, n, self.h, self.d)) for f in self.qkv]
        att = keras.ops.softmax(keras.ops.einsum("bqhd,bkhd->bhqk", q, k) * self.d ** -0.5, axis=-1)
        y = keras.ops.einsum("bhqk,bkhd->bqhd", att, v)
        return self.out(keras.ops.reshape(y, (-1, n, self.h * self.d)))
def build():
    i = keras.Input((12, 16)); x = L.LayerNormalization()(i + MHA(16, 2)(i))
    m = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(x))); m.compile("adam", "mse"); return m
def data():
    r = np.random.default_rng(0); return r.random((32, 12, 16)).astype("float32"), r.random((32, 1)).astype("float32")
""",
    "heads moved": """
class SelfAttention(L.Layer):
    def __init__(self, heads, size):
        super().__init__()
        self.heads, self.size = heads, size
        self.q, self.k, self.v = (L.Dense(heads * size) for _ in range(3))
        self.o = L.Dense(heads * size)

    def split(self, x):
        shape = tf.shape(x)
        return tf.transpose(tf.reshape(x, (shape[0], shape[1], self.heads, self.size)), perm=[0, 2, 1, 3])

    def call(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = tf.matmul(q, k, transpose_b=True) / tf.sqrt(float(self.size))
        context = tf.transpose(tf.matmul(tf.nn.softmax(scores, axis=-1), v), perm=[0, 2, 1, 3])
        shape = tf.shape(x)
        return self.o(tf.reshape(context, (shape[0], shape[1], self.heads * self.size)))

class Encoder(keras.Model):
    def __init__(self, depth=2, heads=4, size=8):
        super().__init__()
        self.proj = L.Dense(heads * size)
        self.att = [SelfAttention(heads, size) for _ in range(depth)]
        self.norm = [L.LayerNormalization() for _ in range(depth)]
        self.pool = L.GlobalAveragePooling1D()
        self.head = L.Dense(3)

    def call(self, x):
        x = self.proj(x)
        for att, norm in zip(self.att, self.norm):
            x = norm(x + att(x))
        return self.head(self.pool(x))

def build():
    model = Encoder()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model

def data():
    rng = np.random.default_rng(21)
    return rng.normal(size=(40, 22, 6)).astype("float32"), rng.integers(0, 3, 40)
""",
    "two orders from one seed": """
def build():
    m = keras.Sequential([L.Dense(8, activation="relu"), L.Dense(1)]); m.compile("adam", "mse"); return m
def data():
    r = np.random.default_rng(0); x = r.random((64, 5)).astype("float32"); y = x.sum(1, keepdims=True)
    xs, ys = (tf.data.Dataset.from_tensor_slices(v).shuffle(64, seed=3, reshuffle_each_iteration=False) for v in (x, y))
    return tf.data.Dataset.zip((xs, ys)).batch(8)
""",
    "mixup": """
def build():
    m = keras.Sequential([L.Dense(8, activation="relu"), L.Dense(1)]); m.compile("adam", "mse"); return m
def mix(a, b):
    lam = tf.random.uniform([]); return lam * a[0] + (1 - lam) * b[0], lam * a[1] + (1 - lam) * b[1]
def data():
    r = np.random.default_rng(0); x = r.random((64, 5)).astype("float32"); y = x.sum(1, keepdims=True)
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    return tf.data.Dataset.zip((ds, ds.shuffle(64))).map(mix).batch(8)
""",
    "many draws": """
class Iwae(keras.Model):
    def __init__(self):
        super().__init__(); self.m = L.Dense(4); self.s = L.Dense(4); self.dec = L.Dense(6)
    def call(self, x):
        return self.dec(self.m(x))
    def train_step(self, x):
        with tf.GradientTape() as tape:
            m, s = self.m(x), self.s(x)
            eps = tf.random.normal((5, tf.shape(x)[0], 4))
            z = m + tf.exp(s) * eps
            w = tf.random.uniform((5, 1, 1))
            loss = tf.reduce_mean(tf.square(self.dec(z) - x) * w)
        v = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, v), v))
        return {"loss": loss}
def build():
    m = Iwae(); m.compile(optimizer="adam"); return m
def data():
    return tf.data.Dataset.from_tensor_slices(np.random.default_rng(0).random((48, 6)).astype("float32")).batch(16, drop_remainder=True)
""",
    "one number a row": OWN_CODE["noise with an axis more than a row"][1].source.replace("[size, 1, 1, 1]", "[size, 1]"),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_right_code_is_silent(name, tmp_path):
    path = tmp_path / "right.py"
    path.write_text(HEAD.format(framework="keras") + RIGHT[name].lstrip("\n"))
    module = load(path)
    assert [finding.rule for finding in tpushape.trace(module.build, module.data, tpu=None).findings if finding.serious] == []
