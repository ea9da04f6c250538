"""A model with the signature of a SavedModel: the same inputs and outputs, but nothing of the file's graph."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..flow import Spec
from .open import Held
from .reader import Unreadable

NAME = "serving_default"


def serving(held: Held) -> Callable[[], Any]:
    """A function that makes the model of the signature ``serving_default``.

    Raises:
        Unreadable: where there is none, or where it takes or gives what Keras has no name for.
    """
    found = held.signatures.get(NAME)
    if found is None or not found.inputs or not found.outputs:
        others = ", ".join(sorted(name for name in held.signatures if not name.startswith("__")))
        raise Unreadable(f"{held.path} is not a SavedModel with the signature {NAME}" + (f"; it has {others[:200]}." if others else "."))
    for name, spec in {**found.inputs, **found.outputs}.items():
        if not spec.dtype or spec.shape is None:
            raise Unreadable(f"{held.path} has a tensor in its signature ({name[:80]}) whose dtype or rank is unknown.")
    inputs, outputs = found.inputs, found.outputs

    def build() -> Any:
        import keras

        layer = _layer(keras, outputs)
        plain = _plain(list(inputs))
        given = {name: keras.Input(batch_shape=spec.shape, dtype=spec.dtype, name=plain[name]) for name, spec in inputs.items()}
        only = len(given) == 1
        made = layer(next(iter(given.values())) if only else given)
        with warnings.catch_warnings():
            # Keras warns of each key that is not the name of its tensor; the signature's names are what data is given by.
            warnings.simplefilter("ignore")
            return keras.Model(next(iter(given.values())) if only else given, made)

    return build


def _plain(names: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        plain = made = "".join(letter if letter.isalnum() or letter in "_-." else "_" for letter in name) or "x"
        number = 0
        while made in found.values() or (made != name and made in names):
            number += 1
            made = f"{plain}_{number}"
        found[name] = made
    return found


def _layer(keras: Any, outputs: dict[str, Spec]) -> Any:

    def call(_layer: Any, inputs: Any) -> Any:
        first = next(iter(inputs.values())) if isinstance(inputs, dict) else inputs
        made = {name: _rows(keras.ops, first, spec) for name, spec in outputs.items()}
        return next(iter(made.values())) if len(made) == 1 else made

    def compute_output_spec(_layer: Any, inputs: Any) -> Any:
        first = next(iter(inputs.values())) if isinstance(inputs, dict) else inputs
        made = {name: keras.KerasTensor(_shape(first.shape, spec), spec.dtype) for name, spec in outputs.items()}
        return next(iter(made.values())) if len(made) == 1 else made

    base = keras.layers.Layer
    body = {"call": call, "compute_output_spec": compute_output_spec, "__module__": base.__module__}
    return type("TFSMLayer", (base,), body)(name="saved_model")


def _shape(given: Any, spec: Spec) -> tuple[int | None, ...]:
    shape = spec.shape or ()
    return (given[0], *shape[1:]) if shape and shape[0] is None and len(given) else shape


def _rows(ops: Any, given: Any, spec: Spec) -> Any:
    """A tensor of the signature's shape, each row of which depends on the same row of what is given."""
    shape = _shape(tuple(given.shape), spec)
    whole = [_size(axis, size, given) for axis, size in enumerate(shape)]
    if spec.dtype == "string":
        import tensorflow as tf

        return tf.fill(whole, "")
    if shape and len(given.shape):
        axes = list(range(1, len(given.shape)))
        number = ops.zeros_like(given, dtype="float32") if given.dtype == "string" else ops.cast(given, "float32")
        total = ops.sum(number, axis=axes) if axes else number
        return ops.cast(ops.broadcast_to(ops.reshape(total, [whole[0]] + [1] * (len(whole) - 1)), whole), spec.dtype)
    return ops.zeros(whole, spec.dtype)


def _size(axis: int, size: int | None, given: Any) -> Any:
    """A size that the signature leaves open is taken to be that of what is given, axis for axis."""
    known = axis < len(given.shape)
    return size if size is not None else 1 if not known else given.shape[axis] if given.shape[axis] is not None else _open(given, axis)


def _open(given: Any, axis: int) -> Any:
    from keras import ops

    return ops.shape(given)[axis]
