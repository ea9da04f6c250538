"""Random programs whose data, inputs, outputs, labels and losses are nested in every way that a user may write."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jupyter_tpushape.flow.paths import flatten

ROWS = 8
WIDTHS = (3, 3, 4, 5)
NAMES = ("zeta", "alpha", "mid", "beta")
KEYS = ("q", "p", "r", "a")


@dataclass
class Nested:
    """One program: how its inputs are nested, how its data is, and the builder and data that follow from it.

    Attributes:
        inputs, data, outputs, labels: the form of each part, for a test's name.
        make: builds the model in a framework. doors: a model with the same inputs that gives each of them back, and their names.
        own: for each input's name, the keys under which a dict of data is searched for it.
        x, y: the data; leaf ``i`` of x holds the number ``i + 1`` everywhere.
    """

    inputs: str
    data: str
    outputs: str
    labels: str
    make: Callable[[Any], Any]
    doors: Callable[[Any], Any]
    own: dict[str, tuple[Any, ...]]
    x: Any
    y: Any

    @property
    def name(self) -> str:
        return f"{self.inputs}-{self.data}-{self.outputs}-{self.labels}"


def _nest(form: str, items: list[Any], keys: tuple[str, ...]) -> Any:
    """The items in a container of this form."""
    match form:
        case "one":
            return items[0]
        case "list":
            return list(items)
        case "tuple":
            return tuple(items)
        case "dict":
            return dict(zip(keys, items, strict=False))
        case "ordered":
            return OrderedDict(zip(keys, items, strict=False))
        case "dict-of-lists":
            return {keys[0]: [items[0], items[1]], keys[1]: items[2:]}
        case "list-of-dicts":
            return [{keys[0]: items[0], keys[1]: items[1]}, *items[2:]]
    raise ValueError(form)


FORMS = {"one": 1, "list": 3, "tuple": 2, "dict": 3, "dict-of-lists": 3, "list-of-dicts": 3}


def nested(seed: int) -> Nested:
    """The program of this seed."""
    dice = random.Random(seed)
    inputs = dice.choice(list(FORMS))
    count = FORMS[inputs]
    widths = dice.sample(WIDTHS, count)
    names = dice.sample(NAMES, count)
    keys = tuple(dice.sample(KEYS, count)) if dice.random() < 0.6 else tuple(names)
    arrays = [np.full((ROWS, width), i + 1, "float32") for i, width in enumerate(widths)]
    data = dice.choice(_ways(inputs))
    x = _data(data, inputs, arrays, keys, tuple(names), dice)
    heads = dice.choice(("one", "list", "dict"))
    ends = dice.sample(("out_b", "out_a", "out_c"), 1 if heads == "one" else 2)
    end_keys = tuple(dice.sample(("v", "u"), 2)) if dice.random() < 0.5 else tuple(ends)
    labels = dice.choice({"one": ["same"], "list": ["same", "by-name", "tuple"], "dict": ["same", "turned", "list"]}[heads])
    y = _labels(labels, heads, tuple(ends), end_keys)
    losses = dice.choice(("mse", ["mse", "mae"][: len(ends)] if heads != "dict" else "mse", _by_key(heads, ends, end_keys)))

    def tensors(lib: Any) -> tuple[list[Any], Any]:
        made = [lib.Input((width,), name=name) for width, name in zip(widths, names, strict=True)]
        return made, _nest(inputs, made, keys)

    def make(lib: Any) -> Any:
        made, nest = tensors(lib)
        read = [lib.layers.Dense(4, name=f"read_{name}")(tensor) for tensor, name in zip(made, names, strict=True)]
        joined = lib.layers.Concatenate(name="join")(read) if count > 1 else read[0]
        out = [lib.layers.Dense(i + 1, name=end)(joined) for i, end in enumerate(ends)]
        model = lib.Model(nest, _nest(heads, out, end_keys))
        model.compile("sgd", losses)
        return model

    def doors(lib: Any) -> Any:
        made, nest = tensors(lib)
        return lib.Model(nest, [lib.layers.Activation("linear")(tensor) for tensor in made]), names

    places = flatten(_nest(inputs, list(names), keys))
    own = {name: path if any(isinstance(key, str) for key in path) else (name,) for path, name in places}
    return Nested(inputs, data, heads, labels, make, doors, own, x, y)


def _ways(inputs: str) -> list[str]:
    """How data may be nested for inputs of this form, rightly and wrongly."""
    return {
        "one": ["same", "by-name", "in-list", "wrong-name"],
        "list": ["same", "by-name", "by-name-and-more", "turned", "tuple", "wrong-name", "too-few"],
        "tuple": ["same", "by-name", "as-list"],
        "dict": ["same", "turned", "as-list", "by-name", "and-more", "and-less", "ordered"],
        "dict-of-lists": ["same", "turned", "as-list"],
        "list-of-dicts": ["same", "turned"],
    }[inputs]


def _data(way: str, inputs: str, arrays: list[Any], keys: tuple[str, ...], names: tuple[str, ...], dice: random.Random) -> Any:
    extra = np.full((ROWS, 3), 9, "float32")
    same = _nest(inputs, arrays, keys)
    match way:
        case "by-name":
            return dict(zip(names, arrays, strict=True))
        case "by-name-and-more":
            return {dice.choice(("aa", "zz")): extra, **dict(zip(names, arrays, strict=True))}
        case "wrong-name":
            return {f"x{i}": array for i, array in enumerate(arrays)}
        case "turned":
            if isinstance(same, dict):
                return dict(reversed(same.items()))
            if isinstance(same[0], dict):
                return [dict(reversed(same[0].items())), *same[1:]]
            return dict(reversed(list(zip(names, arrays, strict=True))))
        case "as-list" | "in-list":
            return list(arrays)
        case "tuple":
            return tuple(arrays)
        case "too-few":
            return arrays[:-1]
        case "and-more":
            return {**same, dice.choice(("0", "zz")): extra}
        case "and-less":
            return dict(list(same.items())[1:])
        case "ordered":
            return OrderedDict(same)
    return same


def _labels(way: str, heads: str, ends: tuple[str, ...], keys: tuple[str, ...]) -> Any:
    arrays = [np.zeros((ROWS, i + 1), "float32") for i, _ in enumerate(ends)]
    match way:
        case "by-name":
            return dict(reversed(list(zip(ends, arrays, strict=True))))
        case "turned":
            return dict(reversed(list(zip(keys, arrays, strict=True))))
        case "tuple":
            return tuple(arrays)
        case "list":
            # A list for a dict of outputs goes by the order of their keys.
            return [array for _, array in sorted(zip(keys, arrays, strict=True))]
    return _nest(heads, arrays, keys)


def _by_key(heads: str, ends: list[str], keys: tuple[str, ...]) -> Any:
    if heads == "one":
        return "mae"
    named = keys if heads == "dict" else ends
    return dict(zip(named, ("mae", "mse"), strict=False))
