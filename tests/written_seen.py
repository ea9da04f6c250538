"""A matrix that is multiplied by each sample, axes in another order."""

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
    "weights in another order than what they weigh": ("op-shapes", Own(model_of(
        "model = keras.Sequential([keras.Input((7, 4)), Routed(3, 5), L.Flatten()])", f"{rows(8, 7, 4)}, {rows(8, 15)}", head="""
class Routed(L.Layer):
    def __init__(self, kinds, width):
        super().__init__()
        self.kinds, self.width = kinds, width
    def build(self, shape):
        self.w = self.add_weight(shape=(self.kinds, shape[1], self.width, shape[2]), name="w")
        self.score = self.add_weight(shape=(1, shape[1], self.kinds), name="score")
    def call(self, x):
        u = tf.einsum("bni,knoi->bkno", x, self.w)
        c = tf.repeat(tf.nn.softmax(self.score, axis=-1), tf.shape(x)[0], axis=0)
        return tf.reduce_sum(c[..., None] * u, axis=2)
"""), (("        return tf.reduce_sum(c[..., None] * u, axis=2)", "        return tf.reduce_sum(keras.ops.swapaxes(c[..., None], 1, 2) * u, axis=2)"),))),
}  # fmt: skip
