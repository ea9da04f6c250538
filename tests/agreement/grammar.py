"""Random programs: chains and branches of layers, heads, losses, labels, pipelines, steps and nests, rightly and wrongly put together."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from nested_programs import nested

from .program import Case, rows

ROWS = 8
STARTS = ((6,), (8, 3), (8, 8, 1), (9, 7, 3))
LOSSES = ("mse", "mae", "binary_crossentropy", "categorical_crossentropy", "sparse_categorical_crossentropy", "huber", "own")
FEEDS = ("arrays", "dataset", "dataset-drop", "unbatched", "generator", "open-sizes", "dict")
STEPS = ("fit", "fit", "fit", "own-step", "own-call")


def _block(layers: Any, rank: int, dice: random.Random) -> Callable[[Any], Any]:
    """One layer, most often one that takes this rank."""
    fits: dict[int, list[Callable[[], Any]]] = {
        2: [lambda: layers.Dense(dice.choice((3, 4))), lambda: layers.Dropout(0.2), layers.BatchNormalization,
            lambda: layers.Reshape(dice.choice(((-1, 1), (2, 2), (1, 3))))],
        3: [lambda: layers.LSTM(4, return_sequences=dice.random() < 0.6), lambda: layers.Conv1D(3, 3, padding=dice.choice(("same", "valid"))),
            layers.GlobalAveragePooling1D, layers.Flatten, lambda: layers.Dense(3), lambda: layers.MaxPooling1D(2),
            layers.LayerNormalization],
        4: [lambda: layers.Conv2D(3, 3, strides=dice.choice((1, 2))), lambda: layers.MaxPooling2D(2), layers.Flatten,
            layers.GlobalMaxPooling2D, lambda: layers.UpSampling2D(2), lambda: layers.Conv2DTranspose(2, 2, strides=2)],
    }  # fmt: skip
    chosen = rank if dice.random() < 0.93 else dice.choice((2, 3, 4))
    return dice.choice(fits.get(chosen, fits[2]))()  # type: ignore[no-any-return]


def _merge(layers: Any, dice: random.Random) -> Any:
    return dice.choice((layers.Add, layers.Concatenate, layers.Multiply, layers.Average))()


def case(lib: Any, seed: int) -> Case:
    """The program of this seed."""
    dice = random.Random(seed)
    if dice.random() < 0.25:
        found = nested(seed)
        return Case("nested", f"nested {seed}: {found.name}", lambda: found.make(lib), found.x, found.y)
    shape = dice.choice(STARTS)
    loss, feed, step, depth = dice.choice(LOSSES), dice.choice(FEEDS), dice.choice(STEPS), dice.randint(1, 4)
    classes = dice.choice((1, 2, 3))
    flat, branch = dice.random() < 0.8, dice.random() < 0.3
    activation = dice.choice((None, "softmax", "sigmoid"))
    inner = random.Random(seed + 1)

    def body(door: Any) -> Any:
        inner.seed(seed + 1)
        tensor = door
        for _ in range(depth):
            before = tensor
            tensor = _block(lib.layers, len(tensor.shape), inner)(tensor)
            if branch and inner.random() < 0.5:
                tensor = _merge(lib.layers, inner)([tensor, before])
        if flat and len(tensor.shape) > 2:
            tensor = lib.layers.Flatten()(tensor)
        return lib.layers.Dense(classes, activation=activation)(tensor)

    def build() -> Any:
        door = lib.Input(shape, name="door")
        model = _class(lib, step)(door, body(door))
        model.compile("sgd", _own_loss if loss == "own" else loss)
        return model

    x, y = rows((ROWS, *shape), "float32", seed), _labels(dice, loss, classes)
    name = f"{seed}: {shape} depth={depth} {loss} classes={classes} y={y.shape}{y.dtype} {feed} {step}"
    fed = _fed(feed, x, y)
    return Case(f"{loss} {feed} {step}", name, build, *(fed if isinstance(fed, tuple) else (fed, None)))


def _own_loss(labels: Any, found: Any) -> Any:
    return tf.reduce_mean(tf.square(tf.cast(labels, found.dtype) - found))


def _class(lib: Any, step: str) -> Any:
    """Keras' own model, or one with a call or a step of its own."""

    class Own(lib.Model):
        def train_step(self, data: Any) -> Any:
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self(x, training=True) - tf.cast(y, "float32")))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            return {"loss": loss}

    class Called(lib.Model):
        def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
            return super().call(inputs, training=training)[:, :1]

    return {"fit": lib.Model, "own-step": Own, "own-call": Called}[step]


def _labels(dice: random.Random, loss: str, classes: int) -> Any:
    """Labels that suit the loss, and now and then those of another."""
    wanted = loss if dice.random() < 0.75 else dice.choice(LOSSES)
    if wanted == "sparse_categorical_crossentropy":
        return np.arange(ROWS) % max(classes, 2) if dice.random() < 0.5 else (np.arange(ROWS) % classes)[:, None]
    if wanted == "categorical_crossentropy":
        return np.eye(classes, dtype="float32")[np.arange(ROWS) % classes]
    shape = dice.choice(((ROWS, classes), (ROWS, classes), (ROWS, 1), (ROWS,), (ROWS, 2), (ROWS, 4, classes)))
    return np.zeros(shape, dice.choice(("float32", "float32", "int64", "bool")))


def _fed(feed: str, x: Any, y: Any) -> Any:
    if feed == "arrays":
        return x, y
    if feed == "dict":
        return {"door": x}, y
    data = tf.data.Dataset.from_tensor_slices((x, y))
    match feed:
        case "dataset":
            return data.batch(3)
        case "dataset-drop":
            return data.batch(4, drop_remainder=True)
        case "generator":
            return tf.data.Dataset.from_generator(
                lambda: iter([(x[:4], y[:4]), (x[4:], y[4:])]),
                output_signature=(tf.TensorSpec((None, *x.shape[1:])), tf.TensorSpec((None, *y.shape[1:]), y.dtype)),
            )
        case "open-sizes":
            wide = [(None,) * (value.ndim - 1) + value.shape[1:][-1:] for value in (x, y)]
            return tf.data.Dataset.from_generator(
                lambda: iter([(x[:4], y[:4]), (x[4:], y[4:])]), output_signature=(tf.TensorSpec(wide[0]), tf.TensorSpec(wide[1], y.dtype))
            )
    return data


def cases(lib: Any, seeds: range) -> Iterator[Case]:
    for seed in seeds:
        yield case(lib, seed)
