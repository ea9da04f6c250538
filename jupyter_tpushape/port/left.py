"""What a port leaves to its reader: the line, what stands there, and what to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Left:
    """One thing that cannot be ported by rewriting the text."""

    line: int
    what: str
    todo: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}. {self.todo}"


def operation(line: int, name: str) -> Left:
    """An operation of TensorFlow on the device."""
    return Left(line, f"tf.{name} runs on the device", "Write it with keras.ops, or move it into the pipeline's map.")


def loop(line: int, name: str) -> Left:
    """A part of a training loop of the program's own."""
    return Left(
        line, f"{name} is a part of a training loop of TensorFlow's",
        "Train with compile and fit, or write the step with jax.value_and_grad over model.stateless_call.",
    )  # fmt: skip


def member(line: int, name: str) -> Left:
    """Something of a strategy that a distribution does not have."""
    return Left(
        line, f"strategy.{name} has no counterpart in keras.distribution", "Train with compile and fit, which deal batches to devices."
    )


def text(line: int) -> Left:
    """Text on the device."""
    return Left(line, "Text goes into the model", "Tokenize in the pipeline (ds.map), and give the model integers.")


def hub(line: int) -> Left:
    """A layer of TensorFlow Hub."""
    return Left(
        line,
        "A layer of TensorFlow Hub is a program of TensorFlow's",
        "Take the model from keras.applications or keras_hub, or keep TensorFlow.",
    )


def missing(line: int, name: str) -> Left:
    """A name that Keras 3 has not."""
    return Left(line, f"Keras 3 has no {name}", "See keras.io for what stands for it.")


def variable(line: int, name: str) -> Left:
    """A variable of TensorFlow's in a layer."""
    return Left(line, f"{name} makes a variable of TensorFlow's", "Make it with self.add_weight, or keras.Variable.")


def resolver(line: int, name: str) -> Left:
    """Use of what only the set-up of a TPU made."""
    return Left(
        line, f"{name} came from the TPU's set-up, which is gone", "Take it out; keras.distribution.list_devices() names the devices."
    )
