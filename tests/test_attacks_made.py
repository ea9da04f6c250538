"""Files of models that can be made, as often as it takes, and of models that cannot, whatever their parts say."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np
import pytest
import tf_keras
from test_attacks_files import archive, layer, legacy, refused, sequential

from jupyter_tpushape.cli import main

pytestmark = pytest.mark.smoke


def checked(path: Path, capsys: Any, *codes: int, spec: str = "8,4:float32") -> str:
    capsys.readouterr()
    assert main(["check", str(path), "--input-spec", spec, "--tpu", "none"]) in codes
    out, err = capsys.readouterr()
    assert not re.search("Internal error|Warning", out + err)
    return out + err


# -- a configuration that Keras takes apart as it reads it ----------------------------------------------------------------------


def operations(lib: Any) -> Any:
    given = lib.Input((4,))
    if lib is keras:
        return lib.Model(given, lib.layers.Dense(3)(keras.ops.pad(keras.ops.reshape(given, (-1, 4)), [[0, 0], [1, 1]])))
    return lib.Model(given, lib.layers.Dense(3)(given * 2.0))


def wrapped(lib: Any) -> Any:
    layers = lib.layers
    inner = layers.Bidirectional(layers.LSTM(2, return_sequences=True))
    return lib.Sequential(
        [lib.Input((4,)), layers.Reshape((2, 2)), layers.TimeDistributed(layers.Dense(3)), inner, layers.RNN(layers.LSTMCell(2)), layers.Dense(3)]
    )


def normalized(lib: Any) -> Any:
    """A wrapper whose layer Keras takes out of its configuration, and a policy by name."""
    layers = lib.layers
    # What tf_keras normalizes, it refuses to build.
    first = layers.SpectralNormalization(layers.Dense(3)) if lib is keras else layers.Dense(3, kernel_regularizer="l2")
    return lib.Sequential([lib.Input((4,)), first, layers.Dense(3, dtype="mixed_bfloat16")])


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("form", ["m.keras", "m.h5"])
@pytest.mark.parametrize("make", [operations, wrapped, normalized])
@pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
def test_a_good_model_is_made_more_than_once(lib: Any, make: Any, form: str, compiled: bool, tmp_path: Path, capsys: Any) -> None:
    model = make(lib)
    if compiled:
        model.compile("adam", "mse", metrics=["mae"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.save(tmp_path / form)
    try:
        lib.models.load_model(tmp_path / form, compile=False)
    except TypeError:
        pytest.skip("this Keras writes operations into this form and cannot read them itself")
    assert "the loss is not checked" not in checked(tmp_path / form, capsys, 0)


# -- what no tensor is ----------------------------------------------------------------------------------------------------------

IMPOSSIBLE: dict[str, tuple[Any, str]] = {
    "a shape of 100,000 axes": ({"batch_shape": [None, *[1] * 100_000]}, "a tensor with 100,001 dimensions"),
    "a shape of 2**64 rows": ({"batch_shape": [None, 2**32, 2**32]}, "more elements than a tensor can have"),
    "a table of 10**24 numbers": (layer("Embedding", input_dim=10**12, output_dim=10**12), "a weight of the shape (1000000000000, 1000000000000)"),
    "a picture of 10**24 points": (layer("Resizing", height=10**12, width=10**12), "more elements than a tensor can have"),
    "a weight of 100,000 axes": (layer("LayerNormalization", axis=[-1] * 100_000), "a weight with 100,000 dimensions"),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_no_tensor_is_is_told_before_anything_is_traced(name: str, tmp_path: Path, capsys: Any) -> None:
    one, words = IMPOSSIBLE[name]
    made = sequential(one if "class_name" in one else layer("Activation", activation="linear"))
    if "batch_shape" in one:
        made["config"]["layers"][0]["config"] |= one
    elif one["class_name"] == "Resizing":
        made["config"]["layers"][0]["config"]["batch_shape"] = [None, 4, 4, 3]
    said = refused(archive(tmp_path / "m.keras", made), capsys)
    # An older Keras refuses some of them with words of its own.
    assert (words in said and "describes what no model has" in said) or "cannot build" in said


def test_a_number_of_weights_that_nobody_can_write_is_no_fault_of_ours() -> None:
    import jupyter_tpushape as tpushape

    class Odd(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.read, self.head = keras.layers.LSTM(2, return_sequences=True), keras.layers.Dense(2, activation="softmax")

        def call(self, x: Any) -> Any:
            return self.head(self.read(x))

        def count_params(self) -> int:
            return 10**5000

    def build() -> Any:
        model = Odd()
        model.compile("sgd", "sparse_categorical_crossentropy")
        return model

    report = tpushape.trace(build, (np.zeros((8, 5, 3), "float32"), np.zeros(8, "int32")), tpu=None)
    assert not report.ok
    assert "Internal error" not in repr(report)


# -- texts that are none, names that are the same -------------------------------------------------------------------------------


ATTRIBUTES = {
    "texts": lambda text: ([text, text], h5py.string_dtype()),
    "a structure": lambda text: (np.zeros(3, dtype=[("a", "S5"), ("b", "f4")]), None),
    "a word for a number": lambda text: (1, h5py.enum_dtype({"A": 1})),
    "bytes as numbers": lambda text: (np.frombuffer(text.encode(), "uint8"), None),
}


@pytest.mark.parametrize("key", ["model_config", "training_config"])
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_an_attribute_of_other_things_is_not_read_as_text(key: str, name: str, tmp_path: Path, capsys: Any) -> None:
    """The bytes of texts in an array are addresses in our memory."""
    config = json.dumps(sequential(layer("Dense", units=3), second=True))
    path = legacy(tmp_path / "m.h5", config, {"loss": "mse"})
    value, dtype = ATTRIBUTES[name](config)
    with h5py.File(path, "a") as file:
        del file.attrs[key]
        file.attrs.create(key, value, dtype=dtype)
    assert f"has a {key} that is not text" in refused(path, capsys)


def _number(value: int) -> bytes:
    made = b""
    while value > 127:
        made, value = made + bytes([value & 127 | 128]), value >> 7
    return made + bytes([value])


def _field(number: int, held: bytes) -> bytes:
    return _number(number << 3 | 2) + _number(len(held)) + held


def _signature(inputs: list[str]) -> bytes:
    axes = b"".join(_field(2, b"\x08" + _number(size)) for size in ((1 << 64) - 1, 4))

    def end(side: int, name: str) -> bytes:
        return _field(side, _field(1, name.encode()) + _field(2, b"\x10\x01" + _field(3, axes)))

    held = b"".join(end(1, name) for name in inputs) + end(2, "y")
    return _field(2, _field(5, _field(1, b"serving_default") + _field(2, held)))


@pytest.mark.parametrize("names", [["a b", "a_b"], ["a/b", "a_b", "a_b_1"], ["", "x"], ["a:0", "\x1b[2J"], ["ä", "a\u202eb"]], ids=str)
def test_names_of_a_signature_stay_apart(names: list[str], tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "saved_model.pb").write_bytes(_signature(names))
    said = checked(tmp_path / "model", capsys, 1)
    assert "\x1b" not in said and "\u202e" not in said
