"""Graphs in a batch: nodes and edges have rows of their own, and the labels one for each graph. No axis of an input is the batch."""

from __future__ import annotations

import pytest

import jupyter_tpushape as tpushape

HEAD = "import {lib} as keras\nimport numpy as np\nimport tensorflow as tf\nL = keras.layers\n"

GRAPHS = """
class Readout(L.Layer):
    def call(self, inputs):
        nodes, graph = inputs
        return tf.math.unsorted_segment_sum(nodes, graph, 4)

class Sent(L.Layer):
    def call(self, inputs):
        nodes, edges, pairs = inputs
        sent = tf.concat([tf.gather(nodes, pairs[:, 1]), edges], axis=-1)
        return tf.concat([nodes, tf.math.unsorted_segment_sum(sent, pairs[:, 0], tf.shape(nodes)[0])], axis=-1)

def build():
    nodes, edges = keras.Input((5,)), keras.Input((3,))
    pairs, graph = keras.Input((2,), dtype="int32"), keras.Input((), dtype="int32")
    x = L.Dense(8)(Sent()([nodes, edges, pairs]))
    model = keras.Model([nodes, edges, pairs, graph], L.Dense(1)(Readout()([x, graph])))
    model.compile("sgd", "mse")
    return model

def data():
    def batches():
        for _ in range(2):
            pairs, graph = np.random.randint(0, 12, (30, 2)).astype("int32"), np.repeat(np.arange(4), 3).astype("int32")
            yield (np.random.rand(12, 5), np.random.rand(30, 3), pairs, graph), np.zeros((4, 1))
    f, i = tf.float32, tf.int32
    inputs = tf.TensorSpec((None, 5), f), tf.TensorSpec((None, 3), f), tf.TensorSpec((None, 2), i), tf.TensorSpec((None,), i)
    return tf.data.Dataset.from_generator(batches, output_signature=(inputs, tf.TensorSpec((4, 1), f)))
"""


@pytest.mark.parametrize("lib", ["keras", "tf_keras"])
def test_a_label_for_each_graph_is_no_lost_batch(lib, tmp_path):
    file = tmp_path / f"graphs_{lib}.py"
    file.write_text(HEAD.format(lib=lib) + GRAPHS)
    names: dict = {"__name__": "program", "__file__": str(file)}
    exec(compile(file.read_text(), str(file), "exec"), names)
    assert not tpushape.trace(names["build"], names["data"], tpu=None).findings
    names["build"]().fit(names["data"](), verbose=0)
