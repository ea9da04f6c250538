"""Small programs that the examples of several families share."""

from __future__ import annotations


def sequential(layers: str, x: str = "(8, 6)", y: str = "np.zeros((8, 1), 'float32')", loss: str = "'mse'", more: str = "") -> str:
    """A program with a Sequential of ``layers`` over data of shape ``x``; ``more`` stands in front of it."""
    return f"""
{more}
def build():
    m = keras.Sequential([keras.Input({x}[1:]), {layers}]); m.compile("sgd", {loss}); return m
def data():
    return np.zeros({x}, "float32"), {y}
"""


def stepped(end: str = "pass", loss: str = "tf.reduce_mean((y - p) ** 2)", layer: str = "L.Dense(1)", metrics: str = ', metrics=["mae"]') -> str:
    """A program whose model has a ``train_step`` of its own; ``end`` stands at the end of the step."""
    return f"""
class Net(keras.Model):
    def __init__(self):
        super().__init__(); self.dense = {layer}
    def call(self, x):
        return self.dense(x)
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            p = self(x, training=True)
            loss = {loss}
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        {end}
        return {{"loss": loss}}
def build():
    m = Net(); m.compile("sgd"{metrics}); return m
def data():
    return np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")
"""
