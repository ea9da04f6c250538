"""Losses and layers that run along the batch where each sample is meant, rows of two orders, and what does so on purpose."""

from __future__ import annotations

import pytest
from broken import HEAD, load

import jupyter_tpushape as tpushape

_LOSS = """
def loss(y, z):
    a, b, c = tf.split(z, 3, axis=-1)
    {}
def build():
    i = keras.Input((40,)); m = keras.Model(i, L.Dense(36)(L.Dense(32, activation="relu")(i))); m.compile("adam", loss); return m
def data():
    r = np.random.default_rng(0); return r.normal(size=(64, 40)).astype("float32"), np.zeros((64, 36), "float32")
"""
_LAYER = """
{}
def build():
    i = keras.Input({}); x = Own()(i); x = L.Flatten()(x); m = keras.Model(i, L.Dense(3)(x)); m.compile("adam", "mse"); return m
def data():
    r = np.random.default_rng(0); return r.normal(size=(64, *{})).astype("float32"), np.zeros((64, 3), "float32")
"""
_NORM = """
class Own(L.Layer):
    def build(self, shape):
        self.gamma = self.add_weight(name="gamma", shape=(shape[-1],), initializer="ones")
        self.kept = self.add_weight(name="kept", shape=(shape[-1],), initializer="zeros", trainable={})
        super().build(shape)
    def call(self, x, training=None):
        {}"""
_NETS = """
class Own(L.Layer):
    def __init__(self, **kw):
        super().__init__(**kw); self.one, self.two = L.Dense(8, activation="relu"), L.Dense(8)
    def call(self, x):
        {}"""
_ATTEND = """
class Own(L.Layer):
    def __init__(self, **kw):
        super().__init__(**kw); self.q, self.k, self.v = L.Dense(8), L.Dense(8), L.Dense(8)
    def call(self, x):
        s = tf.matmul(self.q(x), self.k(x), transpose_b=True); n = x.shape[1]; t = tf.shape(x)[1]
        tri = tf.linalg.band_part(tf.ones((t, t)), -1, 0)
        {}
        return tf.matmul(tf.nn.softmax(s, axis=-1), self.v(x))"""


def loss(*lines):
    return _LOSS.format("\n    ".join(lines))


def layer(source, *lines, shape=(6, 8)):
    return _LAYER.format(source.replace("{}", "\n        ".join(lines)), shape, shape)


def norm(*lines, kept="True", shape=(6, 8)):
    return _LAYER.format(_NORM.format(kept, "\n        ".join(lines)), shape, shape)


CANDIDATES = """
K = 5
class Rank(keras.Model):
    def __init__(self):
        super().__init__(); self.one, self.two = L.Dense(16), L.Dense(16); self.score = keras.Sequential([L.Dense(8, activation="relu"), L.Dense(1)])
    def call(self, inputs):
        query, items = inputs["query"], inputs["items"]
        {}
def build():
    m = Rank(); m.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True)); return m
def data():
    r = np.random.default_rng(0)
    return {{"query": r.normal(size=(60, 8)).astype("float32"), "items": r.normal(size=(60, K, 12)).astype("float32")}}, r.integers(0, K, 60)
"""
TOKENS = """
def loss(y, p):
    {}
def build():
    m = keras.Sequential([keras.Input((12,), dtype="int32"), L.Embedding(50, 16), L.LSTM(32, return_sequences=True), L.Dense(50)])
    m.compile("adam", loss); return m
def data():
    t = np.random.default_rng(0).integers(0, 50, (40, 13)); return t[:, :-1], t[:, 1:]
"""


def candidates(*lines):
    return CANDIDATES.format("\n        ".join(lines))


def tokens(*lines):
    return TOKENS.format("\n    ".join(lines))


_COSINE = """
def build():
    m = keras.Sequential([keras.Input((30,)), L.Dense(24)]); m.compile("adam", keras.losses.CosineSimilarity({})); return m
def data():
    r = np.random.default_rng(0); return r.normal(size=(64, 30)).astype("float32"), r.normal(size=(64, 24)).astype("float32")
"""

_CHOSEN = """
def right(y, p):
    return tf.reduce_mean(tf.cast(tf.argmax(y, {0}) == tf.argmax(p, {0}), "float32"))
def build():
    m = keras.Sequential([keras.Input((30,)), L.Dense(5, activation="softmax")]); m.compile("adam", "categorical_crossentropy", metrics=[right]); return m
def data():
    r = np.random.default_rng(0); return r.normal(size=(64, 30)).astype("float32"), np.eye(5)[r.integers(0, 5, 64)]
"""
_PICTURES = """
def build():
    i = keras.Input({0}); x = L.Conv2D(8, 3, padding="same")(i)
    x = L.BatchNormalization(axis={1})(x)
    x = L.Conv2D(8, 3)(x); m = keras.Model(i, L.Dense(1)(L.Flatten()(x))); m.compile("adam", "mse"); return m
def data():
    r = np.random.default_rng(0); return r.normal(size=(16, *{0})).astype("float32"), r.normal(size=(16, 1))
"""
_VIEWS = """
class Own(L.Layer):
    def __init__(self, **kw):
        super().__init__(**kw); self.one, self.two, self.all = L.Dense(8), L.Dense(8), L.MultiHeadAttention(2, 4)
    def call(self, x):
        views = tf.stack([self.one(x), self.two(x)]{}
        return tf.reduce_mean(self.all(views, views), axis={})"""

# A program, its rule, what is wrong in it, and what the first fix makes of that.
FAULTS = {
    "triplet": (
        loss("p = tf.reduce_sum(tf.square(a - b), axis=0)", "n = tf.reduce_sum(tf.square(a - c), axis=0)", "return tf.reduce_mean(tf.maximum(p - n + 0.2, 0.0))"),
        "samples-summed", "axis=0)", "axis=-1)",
    ),
    "similarities": (
        loss("p = tf.reduce_sum(a * b, axis=0)", "n = tf.reduce_sum(a * c, axis=0)", "return tf.reduce_mean(tf.nn.relu(0.5 - p + n))"),
        "samples-summed", "axis=0)", "axis=-1)",
    ),
    "logistic": (
        loss("p = tf.reduce_sum(tf.abs(a - b), 0)", "n = tf.reduce_sum(tf.abs(a - c), 0)", "return tf.reduce_mean(tf.math.softplus(p - n))"),
        "samples-summed", ", 0)", ", -1)",
    ),
    "cosine": (_COSINE.format("axis=0"), "normalized-over-batch", "axis=0", "axis=-1"),
    "tiled queries": (
        candidates("q = tf.tile(self.one(query), [K, 1])", "c = self.two(tf.reshape(items, (-1, 12)))", "return tf.reshape(self.score(tf.concat([q, c], -1)), (-1, K))"),
        "rows-regrouped", "tf.tile(self.one(query), [K, 1])", "tf.repeat(self.one(query), K, axis=0)",
    ),
    "tiled in a layer": (
        candidates("q = self.one(tf.tile(query, (K, 1)))", "c = self.two(tf.reshape(items, (-1, 12)))", "return tf.reshape(self.score(L.Concatenate()([c, q])), (-1, K))"),
        "rows-regrouped", "tf.tile(query, (K, 1))", "tf.repeat(query, K, axis=0)",
    ),
    "tokens": (
        tokens("y, p = tf.reshape(y, (-1,)), tf.reshape(tf.transpose(p, [1, 0, 2]), (-1, 50))", "return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.cast(y, 'int32'), logits=p))"),
        "rows-regrouped", "tf.transpose(p, [1, 0, 2])", "p",
    ),
    "normalization": (
        norm("m = tf.reduce_mean(x, axis=0, keepdims=True)", "s = tf.math.reduce_std(x, axis=0, keepdims=True)", "return self.gamma * (x - m) / (s + 1e-6) + self.kept"),
        "samples-summed", "axis=0", "axis=-1",
    ),
    "root mean square": (
        norm("return x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), axis=0, keepdims=True) + 1e-6) * self.gamma + self.kept"),
        "samples-summed", "axis=0", "axis=-1",
    ),
    "squeeze": (
        layer(_NETS, "s = tf.reduce_mean(x, axis=[0, 1], keepdims=True)", "return x * tf.sigmoid(self.two(self.one(s)))", shape=(6, 6, 8)),
        "samples-summed", "axis=[0, 1]", "axis=(1, 2)",
    ),
    "all axes turned": (layer(_NETS, "return self.one(x) + self.two(keras.ops.flip(x))"), "samples-in-order", "flip(x)", "flip(x, axis=1)"),
    "positions": (layer(_NETS, "return x + self.one(tf.cast(tf.range(tf.shape(x)[0]), 'float32')[:, None, None])"), "samples-in-order", "", ""),
    "chosen": (_CHOSEN.format(0), "normalized-over-batch", ", 0)", ", -1)"),
    "channels in front": (_PICTURES.format((3, 20, 20), -1), "channels-order", "", ""),
    "rows for channels": (_PICTURES.format((20, 20, 3), 1), "channels-order", "axis=1", "axis=-1"),
    "views": (layer(_VIEWS.format(")", 0), shape=(8,)), "batch-axis-lost", "", ""),
    "added mask": (layer(_ATTEND, "s += tri * -1e9"), "mask-inverted", "tri * -1e9", "(1 - tri) * -1e9"),
    "scaled mask": (layer(_ATTEND, "s = s / 2.83 + -1e9 * tri"), "mask-inverted", "-1e9 * tri", "-1e9 * (1 - tri)"),
}  # fmt: skip
RIGHT = {
    # Margins and statistics of losses.
    "triplet": loss("p = tf.reduce_sum(tf.square(a - b), axis=1)", "n = tf.reduce_sum(tf.square(a - c), axis=1)", "return tf.reduce_mean(tf.maximum(p - n + 0.2, 0.0))"),
    "vicreg": loss(
        "v = tf.reduce_sum(tf.square(a - tf.reduce_mean(a, 0)), axis=0) / 63.0 + tf.reduce_sum(tf.square(b - tf.reduce_mean(b, 0)), axis=0) / 63.0",
        "return tf.reduce_mean(tf.nn.relu(1.0 - tf.sqrt(v + 1e-4))) + tf.reduce_mean(tf.square(a - b))",
    ),
    "vicreg by moments": loss(
        "n = tf.cast(tf.shape(a)[0], 'float32')", "v = tf.reduce_sum(a * a, axis=0) / n - tf.square(tf.reduce_sum(a, axis=0) / n)",
        "return tf.reduce_mean(tf.nn.relu(1.0 - tf.sqrt(v + 1e-4))) + tf.reduce_mean(tf.square(a - b))",
    ),
    "barlow twins": loss("z, w = [(t - tf.reduce_mean(t, 0)) / (tf.math.reduce_std(t, 0) + 1e-6) for t in (a, b)]", "m = tf.matmul(z, w, transpose_a=True) / 64.0",
        "return tf.reduce_sum(tf.square(m - tf.eye(12)))"),
    "soft margin of classes": loss("t = tf.reduce_sum(a, 0)", "return tf.reduce_mean(tf.nn.relu(0.1 - t)) + tf.reduce_mean(tf.square(b))"),
    "dice of a batch": loss("g, p = tf.sigmoid(c), tf.sigmoid(a)", "i = tf.reduce_sum(g * p, axis=0)", "return tf.reduce_mean(1.0 - (2.0 * i + 1.0) / (tf.reduce_sum(g, 0) + tf.reduce_sum(p, 0) + 1.0))"),
    "tversky of a batch": loss(
        "g, p = tf.sigmoid(c), tf.sigmoid(a)", "i, f, n = tf.reduce_sum(g * p, 0), tf.reduce_sum((1.0 - g) * p, 0), tf.reduce_sum(g * (1.0 - p), 0)",
        "return tf.reduce_mean(1.0 - (i + 1.0) / (i + 0.7 * n + 0.3 * f + 1.0))",
    ),
    "balance of experts": loss("g = tf.nn.softmax(a)", "t = tf.reduce_sum(g, axis=0)", "return tf.math.reduce_variance(t) / (tf.square(tf.reduce_mean(t)) + 1e-6) + tf.reduce_mean(tf.square(b))"),
    "entropy of the mean": loss("m = tf.reduce_mean(tf.nn.softmax(a), axis=0)", "return tf.reduce_sum(m * tf.math.log(m + 1e-9)) + tf.reduce_mean(tf.square(b))"),
    "hardest of a batch": loss(
        "d = tf.reduce_sum(tf.square(a[:, None] - b[None]), -1)", "p = tf.linalg.diag_part(d)", "n = tf.reduce_min(d + 1e9 * tf.eye(tf.shape(d)[0]), axis=1)",
        "return tf.reduce_mean(tf.nn.relu(p - n + 0.3))",
    ),
    "all pairs": loss("s = tf.matmul(a, b, transpose_b=True)", "p = tf.linalg.diag_part(s)", "return tf.reduce_mean(tf.nn.relu(0.2 + s - p[:, None])) + tf.reduce_mean(tf.nn.relu(0.2 + s - p[None, :]))"),
    "nt-xent": loss(
        "z = tf.math.l2_normalize(tf.concat([a, b], 0), 1)", "s = tf.matmul(z, z, transpose_b=True) / 0.1", "n = tf.shape(a)[0]", "s -= 1e9 * tf.eye(2 * n)",
        "return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.concat([tf.range(n) + n, tf.range(n)], 0), logits=s))",
    ),
    "correlation": loss("p, q = a - tf.reduce_mean(a, 0), b - tf.reduce_mean(b, 0)", "r = tf.reduce_sum(p * q, 0) / (tf.sqrt(tf.reduce_sum(p * p, 0) * tf.reduce_sum(q * q, 0)) + 1e-6)",
        "return 1.0 - tf.reduce_mean(r)"),
    "explained variance": loss("r = tf.reduce_sum(tf.square(a - b), 0)", "t = tf.reduce_sum(tf.square(a - tf.reduce_mean(a, 0)), 0)", "return tf.reduce_mean(r / (t + 1e-6))"),
    "moments": loss("return tf.reduce_sum(tf.square(tf.reduce_mean(a, 0) - tf.reduce_mean(b, 0))) + tf.reduce_mean(tf.square(c))"),
    "at most once": loss("u = tf.reduce_sum(tf.nn.softmax(a), 0) - tf.reduce_sum(tf.nn.softmax(b), 0)", "return tf.reduce_mean(tf.nn.relu(u - 1.0)) + tf.reduce_mean(tf.square(c))"),
    "cosine": _COSINE.format(""),
    "cosine of the last axis": _COSINE.format("axis=1"),
    "chosen": _CHOSEN.format(-1),
    "negatives": loss("n = tf.reverse(b, axis=[0])", "return tf.reduce_mean(tf.nn.relu(tf.reduce_sum(a * (n - b), -1) + 0.2))"),
    "neighbors chosen": loss("s = tf.matmul(a, b, transpose_b=True)", "return tf.reduce_mean(tf.gather(c, tf.argmax(s, 0)) - tf.gather(c, tf.argmax(s, 1)))"),
    # Axes.
    "pictures": _PICTURES.format((20, 20, 3), -1),
    "a few rows": _PICTURES.format((4, 8, 8), -1),
    "frequencies": _PICTURES.format((24, 40, 1), 1),
    "positions": layer(_NETS, "return x + self.one(tf.cast(tf.range(tf.shape(x)[1]), 'float32')[None, :, None])"),
    "steps first for a while": layer(_NETS, "return tf.transpose(self.two(self.one(tf.transpose(x, (1, 0, 2)))), (1, 0, 2))"),
    "a time of each sample": layer(_NETS, "return x + self.one(tf.random.uniform((tf.shape(x)[0], 1, 1)))"),
    "a token before": layer(_NETS, "return self.two(tf.concat([tf.zeros_like(x[:, :1]), x], 1))"),
    "views": layer(_VIEWS.format(", axis=1)", 1), shape=(8,)),
    "features turned": layer(_NETS, "return self.one(x) + self.two(tf.reverse(x, axis=[1, 2]))"),
    "mixed": layer(_NETS, "return 0.9 * x + 0.1 * tf.reverse(x, axis=[0])", shape=(6, 6, 8)),
    # Rows.
    "repeated queries": candidates("q = tf.repeat(self.one(query), K, axis=0)", "c = self.two(tf.reshape(items, (-1, 12)))", "return tf.reshape(self.score(tf.concat([q, c], -1)), (-1, K))"),
    "tiled both": candidates(
        "q = tf.tile(self.one(query), [K, 1])", "c = self.two(tf.reshape(tf.transpose(items, (1, 0, 2)), (-1, 12)))", "return tf.transpose(tf.reshape(self.score(tf.concat([q, c], -1)), (K, -1)))",
    ),
    "tiled inside": candidates("q = tf.tile(self.one(query)[:, None], [1, K, 1])", "return self.score(tf.concat([q, self.two(items)], -1))[..., 0]"),
    "tiled inside and merged": candidates(
        "q = tf.reshape(tf.tile(self.one(query)[:, None], [1, K, 1]), (-1, 16))", "c = self.two(tf.reshape(items, (-1, 12)))", "return tf.reshape(self.score(tf.concat([q, c], -1)), (-1, K))",
    ),
    "stacked candidates": candidates("c = tf.concat(tf.unstack(items, axis=1), 0)", "q = tf.tile(self.one(query), [K, 1])",
        "return tf.transpose(tf.reshape(self.score(tf.concat([q, self.two(c)], -1)), (K, -1)))"),
    "prototypes": candidates(
        "q = self.one(query)", "c = self.two(tf.eye(K))", "n = tf.shape(q)[0]", "g = tf.concat([tf.repeat(q, K, axis=0), tf.tile(c, [n, 1])], -1)",
        "return tf.reshape(self.score(g), (-1, K)) + 0.0 * items[:, :, 0]",
    ),
    "numbers of copies": candidates(
        "q = tf.tile(self.one(query), [K, 1])", "at = tf.repeat(tf.eye(K), tf.shape(query)[0], axis=0)", "s = self.score(tf.concat([q, at], -1))",
        "return tf.transpose(tf.reshape(s, (K, -1))) + tf.reduce_sum(items, -1)",
    ),
    "both views": candidates("z = tf.concat([query, query + 0.1], 0)", "w = tf.concat([items[:, 0], items[:, 1]], 0)", "a, b = tf.split(tf.concat([self.one(z), self.two(w)], -1), 2, axis=0)",
        "return tf.tile(self.score(a) + self.score(b), [1, K])"),
    "tokens": tokens("y, p = tf.reshape(y, (-1,)), tf.reshape(p, (-1, 50))", "return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.cast(y, 'int32'), logits=p))"),
    "tokens, time first": tokens(
        "y, p = tf.reshape(tf.transpose(y), (-1,)), tf.reshape(tf.transpose(p, [1, 0, 2]), (-1, 50))",
        "return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.cast(y, 'int32'), logits=p))",
    ),
    "tokens, unstacked": tokens(
        "y, p = tf.unstack(tf.cast(y, 'int32'), axis=1), tf.unstack(p, axis=1)", "return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.concat(y, 0), logits=tf.concat(p, 0)))",
    ),
    # Statistics in layers.
    "layer normalization": norm("m, v = tf.nn.moments(x, axes=[-1], keepdims=True)", "return self.gamma * (x - m) * tf.math.rsqrt(v + 1e-6) + self.kept"),
    "instance normalization": norm("m, v = tf.nn.moments(x, axes=[1, 2], keepdims=True)", "return self.gamma * (x - m) * tf.math.rsqrt(v + 1e-6) + self.kept", shape=(6, 6, 8)),
    "batch normalization": norm(
        "if not training:", "    return self.gamma * (x - self.kept)", "m = tf.reduce_mean(x, axis=[0, 1])", "self.kept.assign(0.9 * self.kept + 0.1 * m)", "return self.gamma * (x - m)", kept="False",
    ),
    "kept for each step": norm("m = tf.reduce_mean(x, axis=0)", "self.kept.assign(0.9 * self.kept + 0.1 * tf.reduce_mean(m, 0))", "return self.gamma * (x - (m if training else self.kept))", kept="False"),
    "centered": _LAYER.format("class Own(L.Layer):\n    def call(self, x):\n        return (x - tf.reduce_mean(x, axis=0, keepdims=True)) / (tf.math.reduce_std(x, 0, keepdims=True) + 1e-6)", (6, 8), (6, 8)),
    "spread of a minibatch": layer(_NETS, "s = tf.reduce_mean(tf.math.reduce_std(x, axis=0, keepdims=True), axis=[1, 2, 3], keepdims=True)",
        "return tf.concat([self.one(x), tf.tile(s, [tf.shape(x)[0], 6, 6, 1])], -1)", shape=(6, 6, 8)),
    "spread of a minibatch in groups": layer(
        _NETS, "g = tf.reshape(x, (4, -1, 6, 6, 8))", "s = tf.reduce_mean(tf.sqrt(tf.reduce_mean(tf.square(g - tf.reduce_mean(g, 0, keepdims=True)), 0) + 1e-8), [1, 2, 3], keepdims=True)",
        "return tf.concat([self.one(x), tf.tile(s, [4, 6, 6, 1])], -1)", shape=(6, 6, 8),
    ),
    "minibatch discrimination": layer(_NETS, "m = self.one(x)", "d = tf.reduce_sum(tf.abs(m[:, None] - m[None]), -1)", "return tf.concat([m, tf.reduce_sum(tf.exp(-d), 1)[:, None]], -1)", shape=(8,)),
    "deep sets": layer(_NETS, "return self.one(x) + self.two(tf.reduce_mean(x, axis=1, keepdims=True))"),
    "one set": layer(_NETS, "return self.one(x) - self.two(tf.reduce_mean(x, axis=0, keepdims=True))", shape=(8,)),
    "a node for the graph": layer(_NETS, "h = self.one(x)", "return h + self.two(tf.reduce_mean(h, axis=0, keepdims=True))", shape=(8,)),
    "graph normalization": norm("m = tf.reduce_mean(x, axis=0)", "d = x - self.kept * m", "return self.gamma * d / tf.sqrt(tf.reduce_mean(d * d, 0) + 1e-6)", shape=(8,)),
    "pair normalization": layer(_NETS, "h = self.one(x)", "h -= tf.reduce_mean(h, axis=0, keepdims=True)", "return self.two(h / tf.sqrt(1e-6 + tf.reduce_mean(tf.reduce_sum(h * h, 1))))", shape=(8,)),
    "neural process": layer(
        _NETS, "r = tf.reduce_mean(self.one(x), axis=0, keepdims=True)", "return self.two(tf.concat([x, tf.repeat(r, tf.shape(x)[0], axis=0)], -1))", shape=(8,),
    ),
    "squeeze": layer(_NETS, "return x * tf.sigmoid(self.two(self.one(tf.reduce_mean(x, axis=[1, 2], keepdims=True))))", shape=(6, 6, 8)),
    "a loss inside": layer(_NETS, "h = self.one(x)", "m = tf.reduce_mean(h, axis=0)", "self.add_loss(tf.reduce_mean(tf.square(h - m)))", "return self.two(h)"),
    "clusters": layer(_NETS, "h = self.one(x)", "q = tf.nn.softmax(self.two(h))", "t = q * q / tf.reduce_sum(q, 0)",
        "self.add_loss(tf.reduce_mean(tf.reduce_sum(tf.stop_gradient(t / tf.reduce_sum(t, 1, keepdims=True)) * -tf.math.log(q + 1e-9), 1)))", "return h", shape=(8,)),
    # Masks.
    "causal": layer(_ATTEND, "s += (1.0 - tri) * -1e9"),
    "causal, subtracted": layer(_ATTEND, "s -= (1.0 - tri) * 1e9"),
    "causal, picked": layer(_ATTEND, "s = tf.where(tri > 0, s, -1e9)"),
    "causal, times": layer(_ATTEND, "s = s * tri - 1e9 * (1.0 - tri)"),
    "causal, made beside": layer(_ATTEND, "s += tf.constant(np.triu(np.full((n, n), -1e9, 'float32'), 1))"),
    "backward": layer(_ATTEND, "s += (1.0 - tf.transpose(tri)) * -1e9"),
    "near": layer(_ATTEND, "s += (1.0 - tf.linalg.band_part(tf.ones((t, t)), 2, 2)) * -1e9"),
    "apart from itself": layer(_ATTEND, "s += tf.eye(t) * -1e9"),
    "distances": layer(_ATTEND, "s += -0.5 * tf.abs(tf.cast(tf.range(t)[None] - tf.range(t)[:, None], 'float32'))"),
    "slopes": layer(_ATTEND, "s += tf.cast(tf.range(t)[None] - tf.range(t)[:, None], 'float32') * tri - 1e9 * (1.0 - tri)"),
    "a table of pairs": layer(_ATTEND, "s += tf.constant(np.random.default_rng(0).normal(size=(n, n)).astype('float32'))"),
    "blocks": layer(_ATTEND, "s += tf.constant(np.where(np.arange(n)[:, None] // 2 == np.arange(n) // 2, 0.0, -1e9).astype('float32'))"),
    "a prefix": layer(_ATTEND, "s += (1.0 - tf.maximum(tri, tf.cast(tf.range(t) < 2, 'float32'))) * -1e9"),
    "nothing hidden": layer(_ATTEND, "s += tf.zeros((t, t))"),
    "later tokens alone": layer(_ATTEND, "s += tf.linalg.band_part(tf.ones((t, t)), -1, 0) * 0.1"),
}  # fmt: skip


def program(tmp_path, source, framework="keras"):
    path = tmp_path / "along.py"
    path.write_text(HEAD.format(framework=framework) + source.lstrip("\n"))
    return load(path)


@pytest.mark.parametrize("name", FAULTS)
def test_what_runs_along_the_batch_is_found_and_mended(name, tmp_path):
    source, rule, wrong, right = FAULTS[name]
    module = program(tmp_path, source)
    found = [one for one in tpushape.trace(module.build, module.data, tpu=None).findings if one.serious]
    assert {one.rule for one in found} == {rule}
    if wrong:
        fix = next(one for one in found[0].fixes if one.proof == "source")
        mended = [line[1:] for line in fix.patch.splitlines() if line.startswith("+") and not line.startswith("+++")]
        before = [line for line in module.__loader__.get_source(module.__name__).splitlines() if wrong in line]
        assert mended == [line.replace(wrong, right) for line in before]


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
@pytest.mark.parametrize("name", RIGHT)
def test_what_is_meant_is_left_alone(name, framework, tmp_path):
    module = program(tmp_path, RIGHT[name], framework)
    report = tpushape.trace(module.build, module.data, tpu=None, fixes=False)
    assert report.ok, report.findings


_HEADS = """
def build():
    i = keras.Input((6,)); x = L.Dense(8, activation="relu")(i)
    m = keras.Model(i, [L.Dense(1, name="age")(x), L.Dense(1, activation="sigmoid", name="sex")(x)])
    m.compile("adam", loss=[{}]); return m
def data():
    r = np.random.default_rng(0)
    return r.random((32, 6)).astype("float32"), [{}]
"""
_AGE, _SEX = 'r.integers(2, 90, (32, 1)).astype("float32")', 'r.integers(0, 2, (32, 1)).astype("float32")'


@pytest.mark.parametrize(
    ("losses", "labels", "title"),
    [
        ('"binary_crossentropy", "mse"', (_AGE, _SEX), "Swap the losses of age and sex in compile"),
        ('"mse", "binary_crossentropy"', (_SEX, _AGE), "Swap the labels of age and sex"),
    ],
)
def test_the_activations_of_heads_tell_what_is_exchanged(losses, labels, title, tmp_path):
    module = program(tmp_path, _HEADS.format(losses, ", ".join(labels)))
    (found,) = [one for one in tpushape.trace(module.build, module.data, tpu=None).findings if one.serious]
    assert [fix.title for fix in found.fixes if fix.verified] == [title]
