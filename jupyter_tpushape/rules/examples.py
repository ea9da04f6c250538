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
