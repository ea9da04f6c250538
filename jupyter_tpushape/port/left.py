"""Code that a port cannot rewrite: the line, what it does, and what to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Left:
    """Code that cannot be ported by rewriting the text."""

    line: int
    what: str
    todo: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}. {self.todo}"


def operation(line: int, name: str) -> Left:
    """A TensorFlow operation on the device."""
    return Left(line, f"tf.{name} runs on the device", "Use keras.ops, or move it into the map of the data pipeline.")


def loop(line: int, name: str) -> Left:
    """Part of a custom training loop."""
    return Left(
        line, f"{name} is part of a custom TensorFlow training loop",
        "Use compile and fit, or write the step with jax.value_and_grad over model.stateless_call.",
    )  # fmt: skip


def member(line: int, name: str) -> Left:
    """A strategy member without a counterpart in a distribution."""
    return Left(line, f"strategy.{name} has no counterpart in keras.distribution", "Use compile and fit, which distribute batches over the devices.")


def text(line: int) -> Left:
    """Text on the device."""
    return Left(line, "The model receives text", "Tokenize in the pipeline (ds.map), and pass integers to the model.")


def hub(line: int) -> Left:
    """A TensorFlow Hub layer."""
    return Left(line, "A TensorFlow Hub layer runs only on TensorFlow", "Use a model from keras.applications or keras_hub, or stay on TensorFlow.")


def missing(line: int, name: str) -> Left:
    """A name that Keras 3 does not have."""
    return Left(line, f"Keras 3 has no {name}", "See keras.io for its replacement.")


def variable(line: int, name: str) -> Left:
    """A TensorFlow variable in a layer."""
    return Left(line, f"{name} creates a TensorFlow variable", "Use self.add_weight or keras.Variable instead.")


def resolver(line: int, name: str) -> Left:
    """Use of an object that only the TPU setup creates."""
    return Left(line, f"{name} came from the TPU setup, which the port removes", "Remove it. keras.distribution.list_devices() lists the devices.")
