"""What is written with keras.ops in place of another library's function gives the same numbers."""

from __future__ import annotations

import ast
import importlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from jupyter_tpushape.repair.text import keras_ops
from jupyter_tpushape.repair.text.names import Names
from jupyter_tpushape.repair.text.source import Source, nodes

X = np.random.default_rng(0).normal(size=(3, 4, 5)).astype("float32")
IDS = np.array([[1, 0, 2, 3], [3, 3, 0, 1], [2, 1, 1, 0]])
SAME = [
    "tf.reduce_sum(x, 1, True)",
    "tf.reduce_mean(input_tensor=x, axis=[1, 2], keepdims=True)",
    "tf.math.reduce_variance(x, axis=1)",
    "tf.concat([x, x], axis=1, name='joined')",
    "tf.concat(values=[x, x], axis=2)",
    "tf.stack(values=[x, x], axis=1)",
    "tf.matmul(x, x, transpose_b=True)",
    "tf.matmul(a=x, b=tf.transpose(x, perm=[0, 2, 1]))",
    "tf.gather(x, [2, 0])",
    "tf.gather(params=x, indices=[1, 1], axis=2)",
    "tf.argmax(x)",
    "tf.argmax(x, axis=-1)",
    "tf.cumsum(x)",
    "tf.one_hot(ids, depth=4)",
    "tf.clip_by_value(x, clip_value_min=-0.5, clip_value_max=0.5)",
    "tf.cast(x, tf.int32)",
    "tf.where(x > 0, x=x, y=tf.zeros_like(x))",
    "tf.split(x, 2, axis=1)[1]",
    "tf.tile(x, multiples=[1, 2, 1])",
    "tf.reverse(x, axis=[1])",
    "tf.nn.softmax(x, axis=1)",
    "tf.nn.gelu(x)",
    "tf.nn.leaky_relu(x, alpha=0.3)",
    "tf.nn.l2_normalize(x, axis=-1)",
    "tf.math.divide_no_nan(x, tf.nn.relu(x))",
    "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids, logits=x)",
    "tf.nn.softmax_cross_entropy_with_logits(labels=tf.nn.softmax(x), logits=x)",
    "tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.nn.sigmoid(x), logits=x)",
    "tf.pad(x, [[0, 0], [1, 0], [0, 0]])",
    "tf.norm(x, axis=-1)",
    "K.sum(x, axis=1, keepdims=True)",
    "K.concatenate([x, x])",
    "K.argmax(x)",
    "K.expand_dims(x)",
    "K.permute_dimensions(x, (0, 2, 1))",
    "K.repeat_elements(x, rep=2, axis=1)",
    "K.clip(x, min_value=0.0, max_value=1.0)",
    "K.gather(x, [0, 1])",
    "K.flatten(x)",
]
LEFT = [
    "tf.split(x, [1, 3], axis=1)",
    "tf.gather(x, ids, batch_dims=1)",
    "tf.nn.l2_normalize(x)",
    "tf.gather(x, [0], None)",
    "tf.cumsum(x, reverse=True)",
    "tf.matmul(x, x, adjoint_b=True)",
    "tf.boolean_mask(x, x[:, 0, 0] > 0)",
    "tf.concat(*[[x, x], 1])",
]


def written(code: str) -> tuple[str, dict]:
    scope = {"tf": tf, "K": importlib.import_module("keras._tf_keras.keras.backend"), "keras": keras, "x": tf.constant(X), "ids": tf.constant(IDS)}
    source = Source("program.py", code)
    names = Names(source, scope)
    calls = [call for call in nodes(source.tree, ast.Call) if keras_ops.name_of(names, call)]
    source.splice(list(dict.fromkeys(change for call in calls for change in keras_ops.changes(source, names, call))))
    return source.text, scope


@pytest.mark.parametrize("code", SAME)
def test_the_same_numbers(code):
    text, scope = written(code)
    assert "tf." not in text and "K." not in text
    np.testing.assert_allclose(eval(text, scope), eval(code, scope), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("code", LEFT)
def test_what_means_something_else_there_stays(code):
    assert written(code)[0].strip() == code


def test_what_prepares_data_is_told_apart():
    tree = Source(
        "program.py",
        "def scale(x):\n    return helper(x)\ndef helper(x):\n    return x\ndef loss(y, p):\n    return y - p\n"
        "def data():\n    return tf.data.Dataset.range(3)\nds = data().map(scale)\n",
    ).tree
    assert {one.name for one in keras_ops.on_host(tree)} == {"scale", "helper", "data"}
