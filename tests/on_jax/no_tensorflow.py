"""The harnesses of agreement and of mutants for Keras on JAX, where there is no TensorFlow.

Their programs name a few functions of TensorFlow's, which are those of ``keras.ops`` here; pipelines are ``PyDataset``s, and a training step of a
model's own takes and returns the state.
"""

from __future__ import annotations

import sys
import types

import jax
import keras
import numpy as np
from keras import ops


def _constant(value):
    return value if isinstance(value, np.ndarray) and value.dtype.kind == "O" else ops.convert_to_tensor(value)


STANDS_IN = types.ModuleType("tensorflow")
vars(STANDS_IN).update(
    reduce_mean=ops.mean, reduce_sum=ops.sum, square=ops.square, cast=ops.cast, abs=ops.abs, ones=lambda shape, dtype="float32": ops.ones(shape, dtype),
    reshape=ops.reshape, transpose=ops.transpose, constant=_constant,
)  # fmt: skip
# Only while they are imported: a program that imports TensorFlow itself must still fail.
sys.modules["tensorflow"] = STANDS_IN
try:
    from agreement import grammar, layers
    from mutants import architectures, mutations, outcomes
finally:
    del sys.modules["tensorflow"]


class Batches(keras.utils.PyDataset):
    """Rows in batches."""

    def __init__(self, x, y, size, rest=True):
        super().__init__()
        self.x, self.y, self.size = x, y, size
        self.count = -(-len(x) // size) if rest else len(x) // size

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        rows = slice(index * self.size, (index + 1) * self.size)
        return self.x[rows], self.y[rows]


def fed(feed, x, y):
    """How a program of the grammar is fed."""
    match feed:
        case "dataset":
            return Batches(x, y, 3)
        case "dataset-drop":
            return Batches(x, y, 4, rest=False)
        case "generator" | "unbatched":
            return Batches(x, y, 4)
        case "dict":
            return {"door": x}, y
    return x, y


_classes = grammar._class


def classes(lib, step):
    """Keras' own model, or one with a call or a step of its own."""

    class Own(lib.Model):
        def loss_of(self, trainable, rest, x, y):
            found, rest = self.stateless_call(trainable, rest, x, training=True)
            return ops.mean(ops.square(found - ops.cast(y, "float32"))), rest

        def train_step(self, state, data):
            trainable, rest, slots, metrics = state
            (loss, rest), grads = jax.value_and_grad(self.loss_of, has_aux=True)(trainable, rest, *data)
            trainable, slots = self.optimizer.stateless_apply(slots, grads, trainable)
            return {"loss": loss}, (trainable, rest, slots, metrics)

    return Own if step == "own-step" else _classes(lib, step)


grammar._fed, grammar._class = fed, classes
# A pipeline of TensorFlow's is none of this environment.
architectures.ARCHITECTURES = tuple(one for one in architectures.ARCHITECTURES if one.__name__ != "dataset")

__all__ = ["architectures", "grammar", "layers", "mutations", "outcomes"]
