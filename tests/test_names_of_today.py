"""Names that are misspelled or from an older Keras: the cause is the name, and the fix is the one that this version has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import jupyter_tpushape as tpushape

HEAD = """
import numpy as np
import {keras} as keras
from {keras} import layers

def build():
    model = keras.Sequential([{body}])
    model.compile({how})
    return model

def data():
    rng = np.random.default_rng(0)
    return rng.random({x}, dtype="float32"), rng.integers(0, 3, 16)
"""
SPARSE = '"adam", "sparse_categorical_crossentropy"'
FLAT = 'keras.Input((8,)), layers.Dense(3, activation="softmax")'
IMAGES = "keras.Input((28, 28, 1)), {}, layers.Flatten(), layers.Dense(3, activation='softmax')"
STEPS = "keras.Input((9, 4)), {}, layers.Dense(3, activation='softmax')"
BOTH, THREE = ("keras", "tf_keras"), ("keras",)
# What the model is made of, how it is compiled, what x is, the rule, and what the fix writes.
PROGRAMS: dict[str, tuple[tuple[str, ...], str, str, tuple[int, ...], str, tuple[str, ...]]] = {
    "a misspelled activation": (BOTH, FLAT.replace("softmax", "softmx"), SPARSE, (16, 8), "unknown-name", ('activation="softmax"',)),
    "a misspelled loss": (BOTH, FLAT, SPARSE.replace("crossentropy", "cross_entropy"), (16, 8), "unknown-name", (SPARSE,)),
    "a misspelled layer": (BOTH, IMAGES.format("layers.Conv2d(4, 3)"), SPARSE, (16, 28, 28, 1), "code-raises", ("layers.Conv2D(4, 3)",)),
    "a misspelled argument": (BOTH, FLAT.replace("activation", "activaton"), SPARSE, (16, 8), "code-raises", ('activation="softmax"',)),
    "arguments of Keras 1": (
        BOTH, IMAGES.format("layers.Conv2D(4, 3, border_mode='same'), layers.MaxPooling2D(2, border_mode='same'), layers.Dropout(0.1)"),
        SPARSE, (16, 28, 28, 1), "code-raises", ("layers.Conv2D(4, 3, padding='same')", "layers.MaxPooling2D(2, padding='same')")),
    "required arguments of Keras 1": (
        BOTH, "keras.Input((8,)), layers.Dense(output_dim=5, init='uniform'), layers.Dense(output_dim=3, activation='softmax')",
        SPARSE, (16, 8), "code-raises", ("layers.Dense(units=5, kernel_initializer='uniform')", "layers.Dense(units=3, activation='softmax')")),
    "a kernel of two numbers": (
        BOTH, IMAGES.format("layers.Conv2D(4, 3, 3), layers.Conv2D(4, 3, 3), layers.Conv2D(4, 3, 3), layers.Conv2D(4, 3, 3)"),
        SPARSE, (16, 28, 28, 1), "window-too-large", ("layers.Conv2D(4, 3, 1), layers.Conv2D(4, 3, 1)",)),
    "a layer for cuDNN": (
        THREE, STEPS.format("layers.CuDNNLSTM(6, return_sequences=True), layers.CuDNNLSTM(6)"),
        SPARSE, (16, 9, 4), "code-raises", ("layers.LSTM(6, return_sequences=True), layers.LSTM(6)",)),
    "a dense layer for each step": (
        BOTH, STEPS.format("layers.TimeDistributedDense(6), layers.LSTM(5)"),
        SPARSE, (16, 9, 4), "code-raises", ("layers.TimeDistributed(layers.Dense(6))",)),
}  # fmt: skip


@pytest.mark.parametrize(("name", "keras"), [(name, keras) for name, (kinds, *_) in PROGRAMS.items() for keras in kinds])
def test_the_name_is_the_cause_and_the_fix(name: str, keras: str, tmp_path: Path) -> None:
    _, body, how, x, rule, wanted = PROGRAMS[name]
    file = tmp_path / "program.py"
    file.write_text(HEAD.format(keras=keras, body=body, how=how, x=x))
    names = _loaded(file)
    finding = tpushape.trace(names["build"], names["data"], tpu=None).findings[0]
    assert (finding.rule, finding.fixes[0].verified) == (rule, True)
    tpushape.apply(finding.fixes[0], file)
    assert [one for one in wanted if one not in file.read_text()] == []
    names = _loaded(file)
    names["build"]().fit(*names["data"](), verbose=0)


def _loaded(file: Path) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return names


def test_a_functional_model_of_keras_1_is_mended_with_its_merge(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("""
import numpy as np
import keras
from keras import layers

def build():
    a, b = keras.Input((4,)), keras.Input((5,))
    x = layers.merge([a, b], mode="concat", concat_axis=-1)
    model = keras.Model(input=[a, b], output=layers.Dense(1)(x))
    model.compile("sgd", "mse")
    return model

def data():
    return (np.ones((8, 4)), np.ones((8, 5))), np.ones((8, 1))
""")
    names = _loaded(file)
    fix = tpushape.trace(names["build"], names["data"], tpu=None).findings[0].fixes[0]
    assert fix.verified
    tpushape.apply(fix, file)
    assert "layers.concatenate([a, b], axis=-1)" in file.read_text()
    names = _loaded(file)
    names["build"]().fit(*names["data"](), verbose=0)


def test_strides_as_wide_as_a_kernel_are_no_fault_where_they_fit() -> None:
    import keras
    import numpy as np

    def build() -> Any:
        model = keras.Sequential([keras.Input((28, 28, 1)), *(keras.layers.Conv2D(4, 2, 2) for _ in range(3)), keras.layers.Flatten(), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        return model

    assert tpushape.trace(build, (np.ones((8, 28, 28, 1)), np.ones((8, 1))), tpu=None).ok
