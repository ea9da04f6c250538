"""A matrix that is multiplied by each sample."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

SEEN = {
    "samples as one row of all nodes": ("op-shapes", Own(model_of(
        "model = keras.Sequential([keras.Input((20,)), Nodes(np.eye(5)), L.Flatten()])", f"{rows(8, 20)}, {rows(8, 20)}", head="""
class Nodes(L.Layer):
    def __init__(self, adjacency):
        super().__init__()
        self.adjacency = tf.constant(adjacency, tf.float32)
    def call(self, x):
        return tf.nn.relu(tf.matmul(self.adjacency, x))
"""), (("    model = keras.Sequential([keras.Input((20,)), Nodes(np.eye(5)), L.Flatten()])", "    model = keras.Sequential([keras.Input((20,)), L.Reshape((5, 4)), Nodes(np.eye(5)), L.Flatten()])"),))),
}  # fmt: skip
