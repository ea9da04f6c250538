"""Programs with code of their own and with traps, operators inside such code, and two and three faults at once."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from .architectures import ARCHITECTURES, Program, classes, numbers, targets
from .mutations import OPERATORS, Changes, Mutant, changes, every, keyword, keywords, layer, literal


def odd_unet(keras: Any) -> Program:
    L = keras.layers

    def build():
        image = keras.Input((7, 9, 2))
        left = L.Conv2D(3, 3, padding="same", activation="relu")(image)
        x = L.MaxPooling2D(2, padding="same")(left)
        x = L.Conv2D(4, 3, padding="same", activation="relu")(x)
        x = L.UpSampling2D(2)(x)
        x = L.Cropping2D(((0, 1), (0, 1)))(x)
        x = L.Concatenate(axis=-1)([x, left])
        model = keras.Model(image, L.Conv2D(1, 1, activation="sigmoid")(x))
        model.compile("sgd", "binary_crossentropy")
        return model

    def data():
        return numbers(40, 7, 9, 2), classes(2, 40, 7, 9, 1)

    return build, data


def factorization(keras: Any) -> Program:
    L = keras.layers

    class Pairs(L.Layer):
        def build(self, shape):
            self.v = self.add_weight(shape=(int(shape[-1]), 4), initializer="normal", trainable=True)

        def call(self, x):
            both = tf.square(tf.matmul(x, self.v)) - tf.matmul(tf.square(x), tf.square(self.v))
            return 0.5 * tf.reduce_sum(both, axis=1, keepdims=True)

    def build():
        row = keras.Input((6,))
        x = L.Add()([L.Dense(1)(row), Pairs()(row)])
        model = keras.Model(row, x)
        model.compile("sgd", "mse")
        return model

    def data():
        return numbers(40, 6), targets(40, 1)

    return build, data


def patches(keras: Any) -> Program:
    L = keras.layers

    class Patches(L.Layer):
        def call(self, x):
            x = tf.reshape(x, (-1, 4, 2, 3, 2, 3))
            x = tf.transpose(x, (0, 1, 3, 2, 4, 5))
            return tf.reshape(x, (-1, 12, 12))

    def build():
        image = keras.Input((8, 6, 3))
        x = L.Dense(8, activation="relu")(Patches()(image))
        x = L.GlobalAveragePooling1D()(x)
        model = keras.Model(image, L.Dense(3, activation="softmax")(x))
        model.compile("sgd", "sparse_categorical_crossentropy")
        return model

    def data():
        return numbers(40, 8, 6, 3), classes(3, 40)

    return build, data


def colour_masks(keras: Any) -> Program:
    L = keras.layers

    def build():
        model = keras.Sequential([
            keras.Input((8, 8, 3)),
            L.Conv2D(4, 3, padding="same", activation="relu"),
            L.Conv2D(3, 1, activation="softmax"),
        ])  # fmt: skip
        model.compile("sgd", "sparse_categorical_crossentropy")
        return model

    def data():
        colours = np.array([[0, 0, 0], [255, 0, 0], [0, 0, 255]])
        masks = colours[classes(3, 40, 8, 8)]
        return numbers(40, 8, 8, 3), (masks[..., None, :] == colours).all(-1).argmax(-1)

    return build, data


def no_positives(keras: Any) -> Program:
    L = keras.layers

    def loss(y, p):
        return tf.reduce_mean(tf.square(tf.cast(y, p.dtype) - p), axis=-1)

    def build():
        model = keras.Sequential([
            keras.Input((5, 3)),
            L.LSTM(4),
            L.Dense(1, activation="sigmoid"),
        ])  # fmt: skip
        model.compile("sgd", loss)
        return model

    def data():
        return numbers(40, 5, 3), np.zeros((40, 1), "int64")

    return build, data


TRAPS = (odd_unet, factorization, patches, colour_masks, no_positives)
ORIGINALS: dict[str, Callable[[Any], Program]] = {function.__name__: function for function in (*ARCHITECTURES, *TRAPS)}


# -- faults in code of one's own -----------------------------------------------------------------------


def own_axis(node: ast.AST) -> Changes:
    """Another axis of a reduction, and one that is lost."""
    if isinstance(node, ast.Call) and not layer(node) and isinstance(keywords(node).get("axis"), int):
        yield "axis 0 in own code", keyword(node, "axis", 0)
        yield "no axis in own code", keyword(node, "axis", None)
        if "keepdims" in keywords(node):
            yield "an axis lost in own code", keyword(node, "keepdims", None)


def own_operands(node: ast.AST) -> Changes:
    """Exchanged operands, a size that is one off, axes in another order, a cast or a conversion left out."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    called = ast.unparse(node.func)
    made = copy.deepcopy(node)
    if called == "tf.matmul":
        made.args = made.args[::-1]
        yield "operands exchanged", made
    elif called in ("tf.reshape", "tf.transpose") and (sizes := literal(node, 1)):
        other = (*sizes[:-1], sizes[-1] + 1) if called == "tf.reshape" else (*sizes[:1], *sizes[:0:-1])
        made.args[1] = ast.parse(repr(other), mode="eval").body
        yield f"{called} of {other}", made
    elif called == "tf.cast" or node.func.attr == "argmax":
        yield f"without {node.func.attr}", node.args[0] if called == "tf.cast" else node.func.value


OWN = {operator.__name__: operator for operator in (own_axis, own_operands)}
# What several faults are drawn from: another activation is none, and no fix takes it back.
FAULTS = {name: operator for name, operator in (OWN | OPERATORS).items() if name != "harmless"}


def harder(seed: int, each: int) -> list[Mutant]:
    """``each`` mutants of every trap, every operator's in turn and those of own code first, and of every program one with two or three faults."""
    chosen: list[Mutant] = []
    for trap in TRAPS:
        draw = random.Random(f"{seed} {trap.__name__}")
        found = every(trap, OWN | OPERATORS)
        own = [one for name in OWN for one in found[name]]
        piles = [draw.sample(pile, len(pile)) for name, pile in found.items() if pile and name not in OWN]
        turns = [pile[turn] for turn in range(max(map(len, piles))) for pile in draw.sample(piles, len(piles)) if turn < len(pile)]
        chosen += [*draw.sample(own, len(own)), *turns][:each]
    for number, name in enumerate(ORIGINALS):
        draw, count = random.Random(f"{seed} {name} several"), 2 + number % 2
        done = [draw.choice([one for pile in every(ORIGINALS[name], FAULTS).values() for one in pile])]
        while len(done) < count:
            done.append(draw.choice([one for pile in changes(name, done[-1].text, FAULTS).values() for one in pile]))
        chosen.append(Mutant(name, f"{count} faults", ", ".join(one.change for one in done), done[-1].text))
    return chosen
