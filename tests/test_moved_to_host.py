"""Work that a TPU cannot do moves into the pipeline: layers of the model in their order, and shapes that a decoder leaves open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import jupyter_tpushape as tpushape

HEAD = """
import numpy as np
import tensorflow as tf
import {keras} as keras
from {keras} import layers as L

RNG = np.random.default_rng(0)
IMAGES, NUMBERS = RNG.random((64, 16, 16, 3)).astype("float32"), RNG.integers(0, 3, 64)
"""
AUGMENTED = """
def build():
    model = keras.Sequential([
        keras.Input((16, 16, 3)),
        L.RandomFlip("horizontal"),
        L.RandomRotation(0.1),
        L.Conv2D(4, 3, activation="relu"),
        L.GlobalAveragePooling2D(),
        L.Dense(3, activation="softmax"),
    ])
    model.compile("adam", "sparse_categorical_crossentropy")
    return model

def data():
    return tf.data.Dataset.from_tensor_slices((IMAGES, NUMBERS)).batch(32, drop_remainder=True).prefetch(2)
"""
TEXTS = """
TEXTS = np.array(["the cat sat", "a dog ran off", "the owl flew", "no"] * 16)
read = L.TextVectorization(max_tokens=50, output_sequence_length=6)
read.adapt(TEXTS)

def build():
    inputs = keras.Input((1,), dtype="string")
    x = read(inputs)
    x = L.GlobalAveragePooling1D()(L.Embedding(50, 8)(x))
    model = keras.Model(inputs, L.Dense(1, activation="sigmoid")(x))
    model.compile("adam", "binary_crossentropy")
    return model

def data():
    return tf.data.Dataset.from_tensor_slices((TEXTS[:, None], np.arange(64) % 2)).batch(32, drop_remainder=True)
"""
DECODED = """
FILES = [tf.io.encode_jpeg((image * 255).astype("uint8")).numpy() for image in IMAGES]

def decode(file, number):
    return tf.cast(tf.image.decode_jpeg(file, channels=3), tf.float32) / 255.0, number

def build():
    model = keras.Sequential([
        keras.Input((None, None, 3)), L.Conv2D(4, 3), L.GlobalAveragePooling2D(), L.Dense(3, activation="softmax")
    ])
    model.compile("adam", "sparse_categorical_crossentropy")
    return model

def data():
    return tf.data.Dataset.from_tensor_slices((FILES, NUMBERS)).map(decode, num_parallel_calls=2).batch(32, drop_remainder=True)
"""
ALONE = DECODED.replace("drop_remainder=True)\n", "drop_remainder=True),\n")
PROGRAMS = {
    "augmentation behind another that runs on a TPU": (
        AUGMENTED, ("tf_keras", "keras"), "tpu-kernel", ("random_flip(x, training=True)", "random_rotation(x, training=True)")),
    "text that a layer of the module reads in a functional model": (
        TEXTS, ("tf_keras", "keras"), "string-input", ("read(x)", 'keras.Input((6,), dtype="int64")')),
    "images whose size the decoder leaves open": (
        DECODED, ("tf_keras",), "dynamic-unsupported", ("tf.ensure_shape(x, (32, 16, 16, 3))",)),
    "a pipeline that is fit's only argument": (
        ALONE, ("tf_keras",), "dynamic-unsupported", ("tf.ensure_shape(x, (32, 16, 16, 3))",)),
}  # fmt: skip


def _loaded(file: Path) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return names


@pytest.mark.parametrize(("name", "keras"), [(name, keras) for name, (_, both, *_) in PROGRAMS.items() for keras in both])
def test_the_written_pipeline_trains(name: str, keras: str, tmp_path: Path) -> None:
    text, _, rule, wanted = PROGRAMS[name]
    file = tmp_path / "program.py"
    file.write_text(HEAD.format(keras=keras) + text)
    names = _loaded(file)
    report = tpushape.trace(names["build"], names["data"], tpu="v3-8")
    finding = next(finding for finding in report.findings if finding.rule == rule)
    fix = finding.fixes[0]
    assert fix.verified
    tpushape.apply(fix, file)
    after = file.read_text()
    assert [one for one in wanted if one not in after] == []
    names = _loaded(file)
    given = names["data"]()
    names["build"]().fit(*(given if isinstance(given, tuple) else (given,)), verbose=0)


def test_sequences_that_padding_makes_equal_are_still_padded(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(
        HEAD.format(keras="tf_keras")
        + """
def rows():
    for number in range(64):
        yield np.ones((5 + number % 3, 8, 1), "float32"), number % 2

def build():
    model = keras.Sequential([keras.Input((None, 8, 1)), L.Conv2D(4, 3), L.GlobalAveragePooling2D(), L.Dense(1)])
    model.compile("adam", "mse")
    return model

def data():
    kinds = (tf.TensorSpec((None, 8, 1), tf.float32), tf.TensorSpec((), tf.int32))
    return tf.data.Dataset.from_generator(rows, output_signature=kinds).padded_batch(32, drop_remainder=True)
"""
    )
    names = _loaded(file)
    report = tpushape.trace(names["build"], names["data"], tpu="v3-8")
    fix = next(fix for finding in report.findings if finding.rule == "dynamic-unsupported" for fix in finding.fixes)
    assert fix.verified
    assert "tf.pad(" in fix.patch
