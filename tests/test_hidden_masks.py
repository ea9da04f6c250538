"""Masks that hide nothing from a softmax, or what counts, beside correct twins."""

import pytest
from broken import load

import jupyter_tpushape as tpushape

HEAD = "import keras\nimport numpy as np\nimport tensorflow as tf\nL = keras.layers\nrng = np.random.default_rng(0)\n"
IDS = """
def data():
    x = rng.integers(1, 20, (8, 6))
    x[:, 4:] = 0
    return x, rng.normal(size=(8, 1)).astype("float32")
"""
SCORES = (
    HEAD
    + """
class Attend(L.Layer):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = L.Dense(8), L.Dense(8), L.Dense(8)
    def call(self, x, ids):
        scores = tf.matmul(self.query(x), self.key(x), transpose_b=True) / 8**0.5
        keep = tf.cast(tf.not_equal(ids, 0), "float32")
        {}
        return tf.matmul(weights, self.value(x))
def build():
    i = keras.Input((6,), dtype="int32")
    x = Attend()(L.Embedding(20, 8)(i), i)
    m = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(x)))
    m.compile("sgd", "mse")
    return m
"""
    + IDS
)
LAYER = (
    HEAD
    + """
def build():
    i = keras.Input((6,), dtype="int32")
    x = L.Embedding(20, 8{})(i)
    keep = keras.ops.not_equal(i, 0)
    x = {}
    m = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(x)))
    m.compile("sgd", "mse")
    return m
"""
    + IDS
)
POOL = (
    HEAD
    + """
class Pool(L.Layer):
    def __init__(self):
        super().__init__()
        self.score = L.Dense(1)
    def call(self, x, keep):
        scores = self.score(x)
        {}
        return tf.reduce_sum(weights * x, axis=1)
def build():
    x, keep = keras.Input((6, 4)), keras.Input((6,))
    m = keras.Model([x, keep], L.Dense(1)(Pool()(x, keep)))
    m.compile("sgd", "mse")
    return m
def data():
    keep = np.ones((8, 6), "float32")
    keep[:, 4:] = 0
    return (rng.normal(size=(8, 6, 4)).astype("float32"), keep), rng.normal(size=(8, 1)).astype("float32")
"""
)


def scores(*lines):
    return SCORES.format("\n        ".join(lines))


SOFT = "weights = tf.nn.softmax(scores)"
FAULTS = {
    "added on the queries": ("mask-unseen", scores("scores += (1.0 - keep)[:, :, None] * -1e9", SOFT), "(1.0 - keep)[:, None, :] * -1e9"),
    "expanded at the end": ("mask-unseen", scores("scores -= tf.expand_dims(1.0 - keep, -1) * 1e9", SOFT), "tf.expand_dims(1.0 - keep, -2)"),
    "picked by the queries": (
        "mask-unseen", scores("scores = tf.where(tf.equal(ids, 0)[..., tf.newaxis], -1e9, scores)", SOFT), "[..., tf.newaxis, :], -1e9"
    ),
    "softmax along the queries' axis": (
        "mask-unseen", scores("scores += (1.0 - keep)[:, None, :] * -1e9", "weights = tf.transpose(tf.nn.softmax(scores, axis=1), (0, 2, 1))"), None
    ),
    "of a layer": ("mask-unseen", LAYER.format("", "L.MultiHeadAttention(2, 4)(x, x, attention_mask=keep[:, :, None])"), "keep[:, None, :]"),
    "far too small": ("mask-unseen", scores("scores += (1.0 - keep)[:, None, :] * -1e-9", SOFT), "* -1e9"),
    "far too small, of data": ("mask-unseen", POOL.format("scores -= (1.0 - keep)[:, :, None] * 1e-9\n        weights = tf.nn.softmax(scores, axis=1)"), None),
    "a small number in place of scores": ("mask-unseen", scores("scores = tf.where(keep[:, None, :] > 0, scores, 1e-9)", SOFT), "scores, -1e9)"),
    "what counts is hidden": ("mask-inverted", scores("scores += keep[:, None, :] * -1e9", SOFT), "(1.0 - keep[:, None, :]) * -1e9"),
    "padding is raised": ("mask-inverted", scores("scores += (1.0 - keep)[:, None, :] * 1e9", SOFT), "(1.0 - keep)[:, None, :] * -1e9"),
    "with tf_keras": (
        "mask-unseen", scores("scores += (1.0 - keep)[:, :, None] * -1e9", SOFT).replace("import keras", "import tf_keras as keras"), "[:, None, :] * -1e9"
    ),
    "what counts is raised": ("mask-inverted", scores("scores += keep[:, None, :] * 1e9", SOFT), "(1.0 - keep[:, None, :]) * -1e9"),
    "what counts is replaced": (
        "mask-inverted", scores("scores = tf.where(tf.not_equal(ids, 0)[:, None, :], -1e9, scores)", SOFT), "[:, None, :], scores, -1e9)"
    ),
}  # fmt: skip
SHARED = """
def attend(q, k, mask):
    return tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True) + mask * -1e9), k)
class Two(L.Layer):
    def __init__(self):
        super().__init__()
        self.query, self.key = L.Dense(8), L.Dense(8)
    def call(self, x, ids):
        pad = tf.cast(tf.not_equal(ids, 0), "float32")[:, None, :]
        ahead = tf.maximum(pad, 1 - tf.linalg.band_part(tf.ones((6, 6)), -1, 0))
        return attend(self.query(x), self.key(x), ahead) + attend(x, x, pad)
def build():
    i = keras.Input((6,), dtype="int32")
    m = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Two()(L.Embedding(20, 8)(i), i))))
    m.compile("sgd", "mse")
    return m
"""
FAULTS["a line for two masks"] = ("mask-inverted", HEAD + SHARED + IDS, None)
RIGHT = {
    "added on the keys": scores("scores += (1.0 - keep)[:, None, :] * -1e9", SOFT),
    "subtracted": scores("scores -= tf.cast(tf.equal(ids, 0), 'float32')[:, None, :] * 1e9", SOFT),
    "the maximum is taken off": scores("scores += (keep[:, None, :] - 1.0) * 1e9", "scores -= tf.reduce_max(scores, -1, keepdims=True)", SOFT),
    "both sides": scores("scores += (1.0 - keep)[:, None, :] * -1e9", "scores += (1.0 - keep)[:, :, None] * -1e9", SOFT),
    "queries beside a triangle": scores("scores += (1 - tf.linalg.band_part(tf.ones((6, 6)), -1, 0)) * -1e9", "scores += (1.0 - keep)[:, :, None] * -1e9", SOFT),
    "pairs": scores("scores = tf.where(keep[:, None, :] * keep[:, :, None] > 0, scores, -1e9)", SOFT),
    "weights cleared afterwards": scores("scores = tf.where(tf.equal(ids, 0)[:, None, :], -1e9, scores)", SOFT, "weights *= keep[:, :, None]"),
    "a bias of each query": scores("scores += self.score(x) if hasattr(self, 'score') else tf.reduce_mean(x, -1, keepdims=True)", SOFT),
    "of a layer, on the keys": LAYER.format("", "L.MultiHeadAttention(2, 4)(x, x, attention_mask=keep[:, None, :])"),
    "of a layer with a single key": LAYER.format("", "L.MultiHeadAttention(2, 4)(x, keras.ops.mean(x, 1, keepdims=True), attention_mask=keep[:, :, None])"),
    "of a layer with keys of other steps": LAYER.format("", "L.MultiHeadAttention(2, 4)(x, keras.ops.concatenate([x, x], 1), attention_mask=keep[:, :, None])"),
    "of a layer with keys of another sequence": LAYER.format(
        "", "L.MultiHeadAttention(2, 4)(x, L.Embedding(20, 8)(keras.Input((6,), dtype='int32', name='other')), attention_mask=keep[:, :, None])"
    ).replace("keras.Model(i,", "keras.Model([i, m0],").replace("    x = L.MultiHead", "    m0 = keras.Input((6,), dtype='int32')\n    x = L.MultiHead").replace(
        "keras.Input((6,), dtype='int32', name='other')", "m0").replace("return x, rng", "return (x, x[::-1].copy()), rng"),
    "queries that meet other keys": scores("scores = tf.concat([scores, scores], -1) + (1.0 - keep)[:, :, None] * -1e9", "weights = tf.nn.softmax(scores)[..., :6]"),
    "positions of a router": scores("x *= tf.nn.softmax(tf.where(keep[:, :, None] > 0, self.value(x), -1e9))", "scores += (1.0 - keep)[:, None, :] * -1e9", SOFT),
    "of a layer, beside its own": LAYER.format(", mask_zero=True", "L.MultiHeadAttention(2, 4)(x, x, attention_mask=keep[:, :, None])"),
    "of a causal layer": LAYER.format("", "L.MultiHeadAttention(2, 4)(x, x, attention_mask=keep[:, :, None], use_causal_mask=True)"),
    "a line for two masks": HEAD + SHARED.replace("not_equal", "equal") + IDS,
    "pooled": POOL.format("scores += (1.0 - keep)[:, :, None] * -1e9\n        weights = tf.nn.softmax(scores, axis=1)"),
    "pooled, with data of the other meaning": POOL.format("scores += keep[:, :, None] * -1e9\n        weights = tf.nn.softmax(scores, axis=1)"),
    "a mask of separators as one of two": scores("scores += tf.cast(tf.equal(ids, 3), 'float32')[:, None, :] * 2.0", SOFT),
}  # fmt: skip


def written(tmp_path, text):
    (tmp_path / "train.py").write_text(text)
    return load(tmp_path / "train.py")


@pytest.mark.parametrize("name", FAULTS)
def test_a_mask_that_hides_nothing_or_what_counts_is_found_and_mended(name, tmp_path):
    rule, text, fixed = FAULTS[name]
    program = written(tmp_path, text)
    report = tpushape.trace(program.build, program.data, tpu=None)
    assert [(one.rule, one.severity) for one in report.findings] == [(rule, "silent")]
    verified = [one for one in report.findings[0].fixes if one.verified]
    assert fixed in verified[0].patch if fixed else not verified, verified and verified[0].patch


@pytest.mark.parametrize("name", RIGHT)
def test_masks_that_hide_the_padding_are_silent(name, tmp_path):
    program = written(tmp_path, RIGHT[name])
    assert tpushape.trace(program.build, program.data, tpu=None).findings == []
