"""Two faults: the fix of the first moves the lines of code that does not run again, and the second is mended there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import jupyter_tpushape as tpushape
from jupyter_tpushape.repair.rerun import lines_moved

PROGRAM = """
import numpy as np
import keras
import tensorflow as tf
from keras import layers


def get_encoder():
    inputs = keras.Input((12,))
    project = layers.Dense(
        8,
        use_bias=False,
    )
    x = project(inputs)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    return keras.Model(inputs, project(x), name="encoder")


class Pairs(keras.Model):
    def __init__(self, encoder):
        super().__init__()
        self.net = keras.Sequential([encoder, layers.BatchNormalization(), layers.Dense(4)])

    def call(self, x):
        return self.net(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            predicted = self.net(x)
            loss = tf.reduce_mean(predicted * y)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


def build():
    model = Pairs(get_encoder())
    model.compile("sgd")
    return model


def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(16, 12)).astype("float32"), rng.normal(size=(16, 4)).astype("float32")
"""


def test_the_second_fault_is_mended_in_code_that_the_first_fix_moved(tmp_path: Path) -> None:
    file = tmp_path / "pairs.py"
    file.write_text(PROGRAM)
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    report = tpushape.trace(names["build"], names["data"], tpu=None)
    fix = report.findings[0].fixes[0]
    assert fix.verified
    tpushape.apply(fix, file)
    again: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), again)
    again["build"]().fit(*again["data"](), verbose=0)
    assert file.read_text().count("training=True") == 1
    assert file.read_text().count("layers.Dense(\n") == 2


LINES = st.lists(st.sampled_from("abcdef"), max_size=12)


@given(LINES, LINES, LINES, LINES)
def test_lines_outside_of_a_change_are_found_again(before: list[str], old: list[str], new: list[str], after: list[str]) -> None:
    unique = [f"{number} {line}" for number, line in enumerate([*before, *after])]
    head, tail = unique[: len(before)], unique[len(before) :]
    now = lines_moved("\n".join([*head, *old, *tail]), "\n".join([*head, *new, *tail]))
    assert [now(line + 1) for line in range(len(head))] == [line + 1 for line in range(len(head))]
    first_old, first_new = len(head) + len(old), len(head) + len(new)
    assert [now(first_old + line + 1) for line in range(len(tail))] == [first_new + line + 1 for line in range(len(tail))]
