"""Programs of examples that many copy: a recommender of tables, a quantized codebook, an agent; with the line that is meant, and others."""

from __future__ import annotations

import jupyter_tpushape as tpushape

HEAD = """
import keras
import numpy as np
from keras import layers, ops
"""


def findings(tmp_path, code):
    """What is found in a program in a file."""
    path = tmp_path / "program.py"
    path.write_text(HEAD + code, encoding="utf-8")
    scope = {"__name__": "program", "__file__": str(path)}
    exec(compile(HEAD + code, str(path), "exec"), scope)
    return tpushape.trace(scope["build"], scope["data"], tpu=None).findings


def problems(tmp_path, code):
    """The serious ones."""
    return [finding for finding in findings(tmp_path, code) if finding.serious]


RECOMMENDER = """
rng = np.random.default_rng(0)
user = np.concatenate([np.arange(30), rng.integers(0, 30, 34)])
movie = np.concatenate([np.arange(50), rng.integers(0, 50, 14)])

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.users, self.movies = layers.Embedding(30, 12), layers.Embedding(50, 12)
        self.bias = layers.Embedding(30, 1)
    def call(self, inputs):
        one = self.users(inputs[:, 0])
        bias = self.bias(inputs[:, 0])
        other = self.movies(inputs[:, 1])
        score = {score}
        return ops.sigmoid(score + bias)

def build():
    model = Net()
    model.compile("sgd", "binary_crossentropy")
    return model

def data():
    return np.stack([{columns}], axis=1), (np.arange(64) % 2).astype("float32")
"""
SCORE = "ops.sum(one * other, axis=-1, keepdims=True)"
# What is one number for all samples, added to each.
OF_ALL = ("ops.tensordot(one, other, 2)", "ops.einsum('ij,ij->', one, other)")
# Statistics of a batch, and a score for each sample.
MEANT = (SCORE, "layers.Dot(axes=1)([one, other])", "ops.einsum('ij,ij->i', one, other)[:, None]", "bias * ops.mean(one * other)")


def recommender(score: str = SCORE, columns: str = "user, movie") -> str:
    return RECOMMENDER.format(score=score, columns=columns)


CODEBOOK = """
class Codes(layers.Layer):
    def build(self, shape):
        self.codes = self.add_weight(shape=(6, 24))
    def call(self, x):
        flat = ops.reshape(x, (-1, 6))
        distances = ops.sum(flat**2, axis=1{keep}) + ops.sum(self.codes**2, axis=0) - 2 * ops.matmul(flat, self.codes)
        return ops.reshape(ops.matmul(ops.softmax(-distances), ops.transpose(self.codes)), (-1, 5, 6))

def build():
    model = keras.Sequential([keras.Input((5, 6)), Codes(), layers.Flatten(), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((16, 5, 6), "float32"), np.zeros((16, 1), "float32")
"""
SQUEEZED = """
class Last(layers.Layer):
    def call(self, inputs):
        x, lengths = inputs
        index = ops.expand_dims(ops.expand_dims(lengths - 1, -1), -1)
        last = ops.take_along_axis(x, index, axis=1)
        return ops.squeeze(last, axis={axis})

def build():
    x, lengths = keras.Input((7, 4)), keras.Input((), dtype="int32")
    model = keras.Model([x, lengths], layers.Dense(1)(Last()([x, lengths])))
    model.compile("sgd", "mse")
    return model

def data():
    return [np.zeros((16, 7, 4), "float32"), np.full((16,), 3, "int32")], np.zeros((16, 1), "float32")
"""
PAIRS = """
def build():
    ids = [keras.Input((1,), dtype="int32") for _ in range(2)]
    table = layers.Embedding(9, 4)
    one, other = (table(x) for x in ids)
    model = keras.Model(ids, layers.Dot(axes={axes})([{one}, {other}]))
    model.compile("sgd", keras.losses.BinaryCrossentropy(from_logits=True))
    return model

def data():
    ids = np.arange(16) % 9
    return [ids[:, None], ids[:, None]], ids % 2
"""
MASKS = """
class Net(keras.Model):
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        total = 0.0
        for one in y_pred:
            total += 1 - ops.mean(ops.sum(y * one, axis=[1, 2, 3]))
        return total

def build():
    i = keras.Input((8, 8, 3))
    outputs = [layers.Conv2D(1, 3, padding="same", activation="sigmoid")(i) for _ in range(2)]
    model = Net(i, outputs)
    model.compile("sgd")
    return model

def data():
    return np.zeros((6, 8, 8, 3), "float32"), np.zeros({shape}, "float32")
"""
FRAMES = """
def build():
    model = keras.Sequential([keras.Input((4, 36, 36)), {first}layers.Conv2D(8, 8, strides=4), layers.Conv2D(8, 4), layers.Flatten(), layers.Dense(2)])
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((6, 4, 36, 36), "float32"), np.zeros((6, 2), "float32")
"""
ENDPOINT = """
class Endpoint(layers.Layer):
    def __init__(self):
        super().__init__()
        self.loss_fn = keras.losses.BinaryCrossentropy(from_logits=True)
    def call(self, logits, targets=None, sample_weight=None):
        self.add_loss(self.loss_fn({order}, sample_weight))
        return ops.sigmoid(logits)

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense, self.endpoint = layers.Dense(1), Endpoint()
    def call(self, inputs):
        return self.endpoint(self.dense(inputs["inputs"]), targets=inputs["{key}"], sample_weight=inputs["sample_weight"])

def build():
    model = Net()
    model.compile("sgd")
    return model

def data():
    rows = np.ones((16, 1), "float32")
    return ({{"inputs": np.ones((16, 4), "float32"), "targets": rows, "sample_weight": rows}},)
"""


def endpoint(order: str = "targets, logits", key: str = "targets") -> str:
    return ENDPOINT.format(order=order, key=key)
