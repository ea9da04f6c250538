"""Faulty programs written in many ways: the same fault, and arguments, layers and data as different people write them.

A form is a program as text with ``build()`` and ``data()``. Faults and ways of writing are multiplied; names and sizes vary with the
seed, so that no repair can know a program.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

HEAD = """import {framework} as keras
import functools
import numpy as np
from {framework} import layers
from {framework}.layers import Dense, Conv2D, LSTM, Bidirectional, TimeDistributed, Flatten, Input, MaxPooling2D, Conv2DTranspose, Embedding
L = keras.layers
"""


@dataclass(frozen=True)
class Form:
    """One program. ``fault`` and ``way`` name what is wrong and how it is written."""

    fault: str
    way: str
    text: str

    @property
    def id(self) -> str:
        return f"{self.fault}-{self.way}"


def forms(seed: int, framework: str) -> Iterator[Form]:
    """Every fault in every way that fits it."""
    rng = random.Random(seed)
    for fault, parts in FAULTS.items():
        for way, write in WAYS.items():
            sizes = {"n": rng.choice([8, 12, 24]), "side": rng.choice([8, 10, 12]), "c": rng.choice([1, 3]), "k": rng.choice([3, 4, 5])}
            sizes.update(f=rng.choice([4, 6]), t=rng.choice([5, 6, 7]), w=rng.choice([3, 4]))
            layers, data = parts(sizes)
            text = write(layers, sizes)
            if text is not None:
                yield Form(fault, way, HEAD.format(framework=framework) + text + f"\n\ndef data():\n{data}")


# -- faults: (layers as constructor texts, the data function's body) -------------------------------------


def _labels(rows: int, classes: int) -> str:
    return f"    y = np.arange({rows}) % {classes}\n"


def _return(x: str = "x", y: str = "y") -> str:
    return f"    return {x}, {y}\n"


def units(s):
    loss = ("sgd", "categorical_crossentropy")
    layers = [f"Input(({s['n']},))", "Dense(16, 'relu')", f"Dense({s['k'] + 1}, 'softmax')", loss]
    return layers, f"    x = np.zeros((16, {s['n']}), 'float32')\n" + _labels(16, s["k"]) + _return(y=f"np.eye({s['k']}, dtype='float32')[y]")


def flatten(s):
    layers = [f"Input(({s['side']}, {s['side']}, {s['c']}))", f"Conv2D({s['f']}, 3)", f"Dense({s['k']}, 'softmax')", ("sgd", "sparse_categorical_crossentropy")]
    return layers, f"    x = np.zeros((16, {s['side']}, {s['side']}, {s['c']}), 'float32')\n" + _labels(16, s["k"]) + _return()


def sequences(s):
    layers = [f"Input(({s['t']}, {s['w']}))", "LSTM(8)", "LSTM(6)", f"Dense({s['k']}, 'softmax')", ("sgd", "sparse_categorical_crossentropy")]
    return layers, f"    x = np.zeros((16, {s['t']}, {s['w']}), 'float32')\n" + _labels(16, s["k"]) + _return()


def last_step(s):
    layers = [f"Input(({s['t']}, {s['w']}))", "LSTM(8, return_sequences=True)", f"Dense({s['k']}, 'softmax')", ("sgd", "sparse_categorical_crossentropy")]
    return layers, f"    x = np.zeros((16, {s['t']}, {s['w']}), 'float32')\n" + _labels(16, s["k"]) + _return()


def wrapped(s):
    layers = [f"Input(({s['t']}, {s['w']}))", "Bidirectional(LSTM(8))", "LSTM(6)", f"Dense({s['k']}, 'softmax')", ("sgd", "sparse_categorical_crossentropy")]
    return layers, f"    x = np.zeros((16, {s['t']}, {s['w']}), 'float32')\n" + _labels(16, s["k"]) + _return()


def wrapped_units(s):
    layers = [f"Input(({s['t']}, {s['w']}))", "LSTM(8, return_sequences=True)", f"TimeDistributed(Dense({s['k'] + 2}))", ("sgd", "mse")]
    return layers, f"    x = np.zeros((16, {s['t']}, {s['w']}), 'float32')\n" + _return(y=f"np.zeros((16, {s['t']}, {s['k']}), 'float32')")


def integers(s):
    layers = [f"Input(({s['n']},))", "Dense(16, 'relu')", f"Dense({s['k']}, 'softmax')", ("sgd", "categorical_crossentropy")]
    return layers, f"    x = np.zeros((16, {s['n']}), 'float32')\n" + _labels(16, s["k"]) + _return()


def declared(s):
    layers = [f"Input(({s['n'] + 1},))", "Dense(16, 'relu')", f"Dense({s['k']})", ("sgd", "mse")]
    return layers, f"    x = np.zeros((16, {s['n']}), 'float32')\n" + _return(y=f"np.zeros((16, {s['k']}), 'float32')")


def window(s):
    layers = [
        f"Input(({s['side']}, {s['side']}, {s['c']}))",
        f"Conv2D({s['f']}, 3, 1, 'valid')",
        f"Conv2D({s['f']}, {s['side']}, 1, 'valid')",
        "Flatten()",
        "Dense(2)",
        ("sgd", "mse"),
    ]
    return layers, f"    x = np.zeros((16, {s['side']}, {s['side']}, {s['c']}), 'float32')\n" + _return(y="np.zeros((16, 2), 'float32')")


def vocabulary(s):
    layers = [f"Input(({s['t']},))", "Embedding(20, 4)", "Flatten()", "Dense(1)", ("sgd", "mse")]
    return layers, f"    x = np.full((16, {s['t']}), 25)\n" + _return(y="np.zeros((16, 1), 'float32')")


FAULTS = {
    "units": units, "flatten": flatten, "sequences": sequences, "last-step": last_step, "wrapped": wrapped, "wrapped-units": wrapped_units,
    "integers": integers, "declared": declared, "window": window, "vocabulary": vocabulary,
}  # fmt: skip


# -- ways of writing them ---------------------------------------------------------------------------------


def _compile(loss) -> str:
    return f"    model.compile('{loss[0]}', '{loss[1]}')\n    return model\n"


def listed(layers, s):
    *parts, loss = layers
    return "\n\ndef build():\n    model = keras.Sequential([" + ", ".join(parts) + "])\n" + _compile(loss)


def a_line_each(layers, s):
    *parts, loss = layers
    inner = "".join(f"        {part},  # {i}\n" for i, part in enumerate(parts))
    return "\n\ndef build():\n    model = keras.Sequential([\n" + inner + "    ])\n" + _compile(loss).replace(f"'{loss[1]}'", f"loss='{loss[1]}'")


def added(layers, s):
    *parts, loss = layers
    lines = "".join(f"    model.add({part})\n" for part in parts)
    return "\n\ndef build():\n    model = keras.Sequential()\n" + lines + _compile(loss)


def on_one_line(layers, s):
    *parts, loss = layers
    return "\n\ndef build():\n    model = keras.Sequential(); " + "; ".join(f"model.add({part})" for part in parts) + "\n" + _compile(loss)


def functional(layers, s):
    first, *parts, loss = layers
    lines = f"    i = x = {first}\n" + "".join(f"    x = {part}(x)\n" for part in parts)
    return "\n\ndef build():\n" + lines + "    model = keras.Model(i, x)\n" + _compile(loss)


def nested_calls(layers, s):
    first, *parts, loss = layers
    call = "i"
    for part in parts:
        call = f"{part}({call})"
    return f"\n\ndef build():\n    i = {first}\n    model = keras.Model(i, {call})\n" + _compile(loss)


def with_prefix(layers, s):
    *parts, loss = layers
    return (
        "\n\ndef build():\n    model = keras.models.Sequential(layers=["
        + ", ".join(f"L.{part}" for part in parts).replace("(LSTM", "(L.LSTM").replace("(Dense", "(L.Dense")
        + "])\n"
        + _compile(loss)
    )


def named(layers, s):
    *parts, loss = layers
    lines = "".join(f"    a{i} = {part}\n" for i, part in enumerate(parts))
    return "\n\ndef build():\n" + lines + "    model = keras.Sequential([" + ", ".join(f"a{i}" for i in range(len(parts))) + "])\n" + _compile(loss)


_KEYWORDS = {
    "Dense": ["units", "activation"],
    "Conv2D": ["filters", "kernel_size", "strides", "padding"],
    "LSTM": ["units"],
    "Embedding": ["input_dim", "output_dim"],
}


def _with_keywords(part: str) -> str:
    name, _, rest = part.partition("(")
    if name in _KEYWORDS and rest.endswith(")"):
        given = [item.strip() for item in rest[:-1].split(",") if item.strip()]
        done = [item if "=" in item else f"{key}={item}" for key, item in zip([*_KEYWORDS[name], *[""] * 9], given, strict=False)]
        return f"{name}({', '.join(reversed(done))})"
    return part


def keywords(layers, s):
    *parts, loss = layers
    return "\n\ndef build():\n    model = keras.Sequential([" + ", ".join(map(_with_keywords, parts)) + "])\n" + _compile(loss)


def mapped(layers, s):
    """The head's arguments in a dict."""
    *parts, loss = layers
    last = parts[-1]
    if not last.startswith("Dense("):
        return None
    inside = ", ".join(item for item in _with_keywords(last)[len("Dense(") : -1].split(", "))
    parts[-1] = "Dense(**head)"
    return f"\n\nhead = dict({inside})\n\n\ndef build():\n    model = keras.Sequential([" + ", ".join(parts) + "])\n" + _compile(loss)


def from_helper(layers, s):
    """The head made by a function of the user's."""
    first, *parts, loss = layers
    if not parts[-1].startswith("Dense("):
        return None
    given = parts[-1][len("Dense(") : -1].split(", ")
    rest = "".join(f", {item}" for item in given[1:])
    lines = f"    i = x = {first}\n" + "".join(f"    x = {part}(x)\n" for part in parts[:-1])
    return (
        f"\n\ndef dense(x, units):\n    return Dense(units{rest})(x)\n\n\ndef build():\n{lines}    x = dense(x, {given[0]})\n    model = keras.Model(i, x)\n"
        + _compile(loss)
    )


def in_a_loop(layers, s):
    """Hidden layers made in a loop, in front of the head."""
    first, *parts, loss = layers
    if not parts[-1].startswith("Dense(") or len(parts) != 2 or not parts[0].startswith("Dense("):
        return None
    given = parts[-1][len("Dense(") : -1].split(", ")
    return f"\n\ndef build():\n    i = x = {first}\n    for n in [16, 8, {given[0]}]:\n        x = Dense(n)(x)\n    model = keras.Model(i, x)\n" + _compile(
        loss
    )


def comprehension(layers, s):
    first, *parts, loss = layers
    if not parts[0].startswith("Dense("):
        return None
    return (
        f"\n\ndef build():\n    model = keras.Sequential([{first}, *[Dense(n, name=f'hidden_{{n}}') for n in (16, 12)], "
        + ", ".join(parts[1:])
        + "])\n"
        + _compile(loss)
    )


def subclass(layers, s):
    _, *parts, loss = layers
    made = "".join(f"        self.part{i} = {part}\n" for i, part in enumerate(parts))
    calls = "".join(f"        x = self.part{i}(x)\n" for i in range(len(parts)))
    return (
        f"\n\nclass Net(keras.Model):\n    def __init__(self):\n        super().__init__()\n{made}\n    def call(self, x):\n{calls}        return x\n\n\ndef build():\n    model = Net()\n"
        + _compile(loss)
    )


def partial(layers, s):
    *parts, loss = layers
    if not parts[-1].startswith("Dense("):
        return None
    given = _with_keywords(parts[-1])[len("Dense(") : -1].split(", ")
    parts[-1] = f"head({given[0]})"
    rest = "".join(f", {item}" for item in given[1:])
    return f"\n\nhead = functools.partial(Dense{rest})\n\n\ndef build():\n    model = keras.Sequential([" + ", ".join(parts) + "])\n" + _compile(loss)


def two_builders(layers, s):
    """A second model of the same lines of layers, which is not the one that is trained."""
    first, *parts, loss = layers
    lines = f"    i = x = {first}\n" + "".join(f"    x = {part}(x)\n" for part in parts)
    return (
        "\n\ndef other():\n    i = Input((4,))\n    return keras.Model(i, Dense(4)(i))\n\n\ndef build():\n    teacher = other()\n    assert teacher is not None\n"
        + lines
        + "    model = keras.Model(i, x)\n"
        + _compile(loss)
    )


def local_import(layers, s):
    *parts, loss = layers
    return (
        "\n\ndef build():\n    from keras import Sequential as S\n    model = S([".replace("keras import", "{module} import")
        + ", ".join(parts)
        + "])\n"
        + _compile(loss)
    )


def from_list(layers, s):
    *parts, loss = layers
    return "\n\ndef stack():\n    return [" + ", ".join(parts) + "]\n\n\ndef build():\n    model = keras.Sequential(stack())\n" + _compile(loss)


WAYS = {
    "listed": listed, "a-line-each": a_line_each, "added": added, "on-one-line": on_one_line, "functional": functional, "nested-calls": nested_calls,
    "prefix": with_prefix, "named": named, "keywords": keywords, "mapped": mapped, "helper": from_helper, "loop": in_a_loop,
    "comprehension": comprehension, "subclass": subclass, "partial": partial, "two-builders": two_builders, "from-list": from_list,
}  # fmt: skip
