"""Every layer of a framework, found by walking its modules, over configurations, ranks, dtypes and numbers of inputs."""

from __future__ import annotations

import inspect
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from .program import Case, rows

ROWS = 4
SHAPES = ((), (1,), (6,), (6, 4), (6, 6, 3), (2, 6, 6, 3), (2, 6, 6, 6, 2))
DTYPES = ("float32", "float32", "float32", "float16", "bfloat16", "float64", "int32", "int64", "uint8", "bool", "string")
POLICIES = (None, None, None, "mixed_float16", "mixed_bfloat16", "float64", "float16")

# What a parameter may be given, by its name: this is about constructors, not about classes.
REQUIRED: dict[str, tuple[Any, ...]] = {
    "units": (1, 3), "filters": (2, 4), "kernel_size": (1, 2, 3), "pool_size": (2, 3), "rate": (0.0, 0.5), "stddev": (0.1,), "size": (2,),
    "target_shape": ((-1,), (3, 2), (24,), (2, 12)), "dims": ((1,), (2, 1), (1, 2)), "n": (3,), "axes": (1, -1, (1, 2)), "input_dim": (4, 10),
    "output_dim": (3,), "num_heads": (1, 2), "key_dim": (2,), "head_dim": (2,), "num_query_heads": (2,), "num_key_value_heads": (1,),
    "factor": (0.2, 4), "height": (4,), "width": (4,), "num_bins": (8,), "num_tokens": (4,), "max_tokens": (5,), "theta": (0.5,), "padding": (1,),
    "cropping": (1,), "scale": (2.0, 1 / 255), "groups": (1,), "activation": ("relu",), "bin_boundaries": ((0.0, 1.0),), "value_range": ((0, 1),),
    "height_factor": (0.2,), "width_factor": (0.2,), "equation": ("ab,bc->ac", "abc,cd->abd"), "output_shape": (3, (None, 3)), "l1": (0.1,),
    "num_outputs": (3,), "sequence_length": (3,), "num_classes": (4,), "target_size": (4,), "output_size": (2,), "max_number": (4,), "bounding_box_format": ("xyxy",),
}  # fmt: skip
OPTIONAL: dict[str, tuple[Any, ...]] = {
    "padding": ("same", "valid", "causal"), "strides": (1, 2), "dilation_rate": (1, 2), "use_bias": (False,), "return_sequences": (True,),
    "go_backwards": (True,), "activation": ("relu", "softmax"), "axis": (0, 1, -1, 2), "keepdims": (True,), "mask_zero": (True,),
    "data_format": ("channels_last", "channels_first"), "groups": (2,), "output_padding": (1,), "stateful": (True,), "unroll": (True,),
    "center": (False,), "normalize": (True,), "depth_multiplier": (2,), "value_dim": (3,), "interpolation": ("nearest",), "mask_value": (0.0, 1.0),
    "output_mode": ("int", "one_hot", "multi_hot", "count"), "vocabulary": (["a", "b"], [1, 2]), "use_scale": (True,), "noise_shape": ((None, 1),),
    "dropout": (0.3,), "recurrent_dropout": (0.3,), "reset_after": (False,), "merge_mode": ("sum", "concat"), "rms_scaling": (True,),
    "num_tokens": (4,), "bin_boundaries": ((0.0, 1.0),), "fft_length": (4,),
}  # fmt: skip


def classes(lib: Any) -> dict[str, Any]:
    """The layer classes that a framework offers, by name."""
    return {
        name: value
        for name, value in sorted(vars(lib.layers).items())
        if inspect.isclass(value) and issubclass(value, lib.layers.Layer) and not inspect.isabstract(value)
    }


def arguments(lib: Any, cls: Any, dice: random.Random) -> dict[str, Any] | None:
    """Constructor arguments; ``None`` where one is required that no value is known for."""
    made: dict[str, Any] = {}
    for parameter in list(inspect.signature(cls.__init__).parameters.values())[1:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        name, needed = parameter.name, parameter.default is parameter.empty
        if needed:
            value = _value(lib, cls, name, dice)
            if value is None:
                return None
            made[name] = value
        elif name in OPTIONAL and dice.random() < (0.75 if name == "vocabulary" else 0.25):
            made[name] = dice.choice(OPTIONAL[name])
        elif name in ("activation", "kernel_initializer", "kernel_regularizer", "kernel_constraint") and dice.random() < 0.15:
            made[name] = _callable(lib, name)
    return made


def _value(lib: Any, cls: Any, name: str, dice: random.Random) -> Any:
    inner = lib.layers
    match name:
        case "layer":
            recurrent = "Bidirectional" in cls.__name__
            return inner.LSTM(3, return_sequences=dice.random() < 0.5) if recurrent else inner.Dense(3)
        case "cell":
            return inner.LSTMCell(3)
        case "cells":
            return [inner.LSTMCell(3), inner.GRUCell(2)]
        case "function":
            return dice.choice((lambda x: x * 2, lambda x: x[:, :1], lambda x: x[0]))
        case "layers":
            return None
    return dice.choice(REQUIRED[name]) if name in REQUIRED else None


def _callable(lib: Any, name: str) -> Any:
    """A function of the user's own in a built-in layer: the activation's constant has a dtype of its own."""
    if name == "activation":
        return lambda x: x * tf.constant(2.0)
    if name == "kernel_initializer":
        return lambda shape, dtype=None, **_: tf.ones(shape, dtype or "float32")
    if name == "kernel_regularizer":
        return lambda w: tf.reduce_sum(tf.abs(w)) * 0.01
    return lambda w: w


def case(lib: Any, name: str, cls: Any, seed: int) -> Case | None:
    """The program of one layer and one seed; ``None`` where its constructor asks for what is not known here.

    Three of four seeds are drawn again until the model builds: what breaks at once is seldom judged wrongly.
    """
    found = None
    for attempt in range(12 if seed % 4 else 1):
        found = _drawn(lib, name, cls, f"{name}/{seed}/{attempt}")
        if found is None:
            return None
        try:
            model = found.build()
        except Exception:
            continue
        if not model.trainable_weights:
            found.y = None  # there is nothing to train: it predicts
        break
    return found


def _drawn(lib: Any, name: str, cls: Any, seed: str) -> Case | None:
    dice = random.Random(seed)
    given = arguments(lib, cls, dice)
    if given is None:
        return None
    policy = dice.choice(POLICIES)
    shape, dtype = dice.choice(SHAPES[1:] if dice.random() < 0.95 else SHAPES), dice.choice(DTYPES)
    if "vocabulary" in given and dice.random() < 0.7:
        dtype = "string" if isinstance(given["vocabulary"][0], str) else "int64"
    apart = _apart(cls)
    arity = apart or (dice.choice((1, 1, 2)) if not _merges(cls) else dice.choice((2, 2, 2, 3, 1)))
    declared = dtype if dice.random() < 0.8 else dice.choice(("float32", "int32"))
    shown = {key: value if not callable(value) else "function" for key, value in given.items()}
    label = f"{name}({shown}) policy={policy} {arity}x{shape} {declared} <- {dtype} #{seed}"

    def build() -> Any:
        again = arguments(lib, cls, random.Random(seed))
        before = lib.mixed_precision.global_policy() if hasattr(lib.mixed_precision, "global_policy") else lib.mixed_precision.dtype_policy()
        setter = getattr(lib.mixed_precision, "set_global_policy", None)
        try:
            if policy is not None:
                setter(policy)
            layer = cls(**again)
            doors = [lib.Input(shape, dtype=declared) for _ in range(arity)]
            out = layer(*doors) if apart else layer(doors[0] if arity == 1 else doors)
            model = lib.Model(doors, out)
            if trains:
                model.compile("sgd", lambda _, found: tf.reduce_mean(tf.cast(found, "float32")))
        finally:
            setter(before)
        return model

    trains = dice.random() < 0.5
    x = [_text(rows((ROWS, *shape), dtype, i)) for i in range(arity)]
    return Case(name, label + " fit" * trains, build, x[0] if arity == 1 else x, np.zeros((ROWS, 1), "float32") if trains else None)


def _text(array: Any) -> Any:
    return tf.constant(array) if array.dtype == object else array


def _apart(cls: Any) -> int:
    """How many tensors a call asks for one by one, as attention does; 0 where it takes one, or a list."""
    given = list(inspect.signature(cls.call).parameters.values())[1:]
    needed = sum(item.default is item.empty and item.kind is item.POSITIONAL_OR_KEYWORD for item in given)
    return needed if needed > 1 else 0


def _merges(cls: Any) -> bool:
    return any(base.__name__ in ("Merge", "_Merge", "Attention", "BaseDenseAttention", "AdditiveAttention") for base in cls.__mro__)


def cases(lib: Any, seeds: range) -> Iterator[Case]:
    """All layers for each seed in turn, so that a part of the run is a slice through all of them."""
    found = classes(lib)
    for seed in seeds:
        for name, cls in found.items():
            made = case(lib, name, cls, seed)
            if made is not None:
                yield made
