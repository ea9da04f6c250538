"""A line that takes all rows instead of one entry, an empty slice, an axis in front of the samples, a cell narrower than its state, all steps of a sequence."""

from __future__ import annotations

import pytest
from strangers import first

STACK = """
class Stack(layers.Layer):
    def __init__(self, depth, width, **kw):
        super().__init__(**kw)
        self.blocks = [layers.Dense(width, activation="relu") for _ in range(depth)]
        self.depth, self.width = depth, width

    def build(self, shape):
        self.scale = self.add_weight(shape=(self.depth, self.width), initializer="ones", name="scale")

    def call(self, x):
        for i in range(self.depth):
            h = self.blocks[i](x) * self.scale[i]
            gate = jax.nn.sigmoid(h + self.scale)
            x = x + h * gate
        return x

def build():
    i = keras.Input((16,))
    m = keras.Model(i, layers.Dense(1)(Stack(4, 16)(i)))
    m.compile("adam", "mse")
    return m

def data():
    return np.random.rand(32, 16).astype("float32"), np.random.rand(32, 1).astype("float32")
"""
ATTEND = """
class Attend(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.q = layers.Dense(24)
        self.k = layers.Dense(24)

    def call(self, state, sequence):
        query = self.q(state)[jnp.newaxis]
        keys = self.k(sequence)
        scores = jnp.sum(jnp.tanh(keys + query), axis=-1)
        weights = jax.nn.softmax(scores, axis=1)
        return jnp.sum(sequence * weights[..., None], axis=1)

def build():
    s = keras.Input((10, 8))
    seq, h = layers.GRU(12, return_sequences=True, return_state=True)(s)
    m = keras.Model(s, layers.Dense(1)(Attend()(h, seq)))
    m.compile("adam", "mse")
    return m

def data():
    return np.random.rand(32, 10, 8).astype("float32"), np.random.rand(32, 1).astype("float32")
"""
LATENT = """
LATENT = 8

class VAE(keras.Model):
    def __init__(self):
        super().__init__()
        self.enc = keras.Sequential([layers.Dense(32, activation="relu"), layers.Dense(LATENT)])
        self.dec = keras.Sequential([layers.Dense(32, activation="relu"), layers.Dense(20)])
        self.seed = keras.random.SeedGenerator(1)

    def call(self, x):
        h = self.enc(x)
        mean, log_var = h[:, :LATENT], h[:, LATENT : 2 * LATENT]
        z = mean + ops.exp(0.5 * log_var) * keras.random.normal(ops.shape(mean), seed=self.seed)
        return self.dec(z)

def build():
    m = VAE()
    m.compile("adam", "mse")
    return m

def data():
    x = np.random.rand(32, 20).astype("float32")
    return x, x
"""
GATES = """
def build():
    i = keras.Input((32, 6))
    h = layers.Dense(3 * 8)(i)
    f, k, o, g = h[..., :8], h[..., 8:16], h[..., 16:24], h[..., 24:32]
    x = layers.Concatenate()([f, k, o, g])
    m = keras.Model(i, layers.Dense(1)(layers.GlobalAveragePooling1D()(x)))
    m.compile("adam", "mse")
    return m

def data():
    return np.random.rand(8, 32, 6).astype("float32"), np.random.rand(8, 1).astype("float32")
"""
DECODER = """
class Decoder(layers.Layer):
    def __init__(self, units, steps, **kw):
        super().__init__(**kw)
        self.cell = layers.LSTMCell(24)
        self.out = layers.Dense(1)
        self.units, self.steps = units, steps

    def call(self, x, h, c):
        states, made = [h, c], []
        for _ in range(self.steps):
            y, states = self.cell(x, states)
            x = self.out(y)
            made.append(x)
        return ops.stack(made, axis=1)

def build():
    i = keras.Input((12, 3))
    _, h, c = layers.LSTM(32, return_state=True)(i)
    y = Decoder(32, 4)(i[:, -1, :1], h, c)
    m = keras.Model(i, y)
    m.compile("adam", "mse")
    return m

def data():
    return np.random.rand(16, 12, 3).astype("float32"), np.random.rand(16, 4, 1).astype("float32")
"""
OWN_LOSS = """
class LM(keras.Model):
    def __init__(self):
        super().__init__()
        self.emb = layers.Embedding(30, 16)
        self.gru = layers.GRU(16, return_sequences=True)
        self.out = layers.Dense(30)

    def call(self, tokens):
        return self.out(self.gru(self.emb(tokens[:, :-1])))

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return ops.mean(keras.losses.sparse_categorical_crossentropy(x, y_pred, from_logits=True))

def build():
    m = LM()
    m.compile("adam")
    return m

def data():
    t = np.random.randint(0, 30, (32, 12))
    return t, t
"""
NEXT = """
class LM(keras.Model):
    def __init__(self):
        super().__init__()
        self.emb = layers.Embedding(30, 16)
        self.gru = layers.GRU(16, return_sequences=True)
        self.out = layers.Dense(30)

    def call(self, tokens):
        return self.out(self.gru(self.emb(tokens[:, :-1])))

def build():
    m = LM()
    m.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return m

def data():
    t = np.random.randint(0, 30, (32, 12))
    return t, t
"""
SAME = """
class Gen(keras.Model):
    def __init__(self):
        super().__init__()
        self.emb = layers.Embedding(30, 16)
        self.gru = layers.GRU(16, return_sequences=True)
        self.out = layers.Dense(30)
        self.tracker = keras.metrics.Mean(name="loss")

    def call(self, x):
        return self.out(self.gru(self.emb(x[:, :-1])))

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        labels = x[:, :-1]
        return keras.ops.mean(keras.losses.sparse_categorical_crossentropy(labels, y_pred, from_logits=True))

def build():
    m = Gen()
    m.compile("adam")
    return m

def data():
    t = np.random.randint(0, 30, (32, 12))
    return t, t
"""
CASES = {
    "same": (SAME, "same-steps", "        labels = x[:, 1:]"),
    "stack": (STACK, "op-shapes", "            gate = jax.nn.sigmoid(h + self.scale[i])"),
    "attend": (ATTEND, "op-shapes", "        query = self.q(state)[:, None, :]"),
    "latent": (LATENT, "op-shapes", '        self.enc = keras.Sequential([layers.Dense(32, activation="relu"), layers.Dense(2 * LATENT)])'),
    "gates": (GATES, "empty-slice", "    h = layers.Dense(32)(i)"),
    "decoder": (DECODER, "rnn-states", "        self.cell = layers.LSTMCell(units)"),
    "own_loss": (OWN_LOSS, "loss-raises", "        return ops.mean(keras.losses.sparse_categorical_crossentropy(x[:, 1:], y_pred, from_logits=True))"),
    "next": (NEXT, "output-size", "    return t, t[:, 1:]"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_first_fix_takes_the_entry_the_axis_or_the_step_that_is_meant(tmp_path, case):
    source, rule, mended = CASES[case]
    assert f"+{mended}" in first(tmp_path, source, rule).splitlines()
