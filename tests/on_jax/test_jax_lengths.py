"""Does fine-tuning with LoRA at this length fit the slice: the largest batch at each length, by compiling."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import jupyter_tpushape as tpushape
from jupyter_tpushape.compilers import bridge
from jupyter_tpushape.compilers.lengths import _lora
from jupyter_tpushape.replicas.layouts import planned

L = keras.layers
compiler = pytest.mark.skipif(bool(bridge.check()), reason="the TPU compiler is not installed")
GIB = 2**30


def build(length, width=512):
    tokens = keras.Input((length,), dtype="int32")
    x = L.Embedding(1000, width, name="table")(tokens)
    x = L.Dense(width, use_bias=False, name="down")(L.Dense(4 * width, activation="relu", name="up")(L.LayerNormalization()(x)))
    model = keras.Model(tokens, L.Dense(1, name="head")(x))
    model.compile("adam", "mse")
    return model


def data(length):
    return np.zeros((8, length), "int32"), np.zeros((8, length, 1), "float32")


def test_lora_trains_its_factors_alone():
    model = _lora(build(8), 4)
    names = {variable.path for variable in model.trainable_variables}
    assert names == {*(f"{layer}/lora_kernel_{part}" for layer in ("up", "down", "head") for part in "ab"), *(f"table/lora_embeddings_{part}" for part in "ab")}
    assert _lora(build(8), 0).get_layer("up").kernel.trainable
    with pytest.raises(ValueError, match="enable_lora"):
        _lora(keras.Sequential([keras.Input((4,)), L.Flatten()]), 4)
    with pytest.raises(ValueError, match="at least one length"):
        tpushape.fit_length(build, data, ())


@compiler
def test_the_largest_batch_of_a_mesh_is_a_batch_that_compiles_and_the_next_does_not():
    on = planned({"batch": 2, "model": 4}, {".*up/kernel": (None, "model"), ".*down/kernel": ("model", None)})
    found = tpushape.fit_batch(lambda: build(65536), lambda: data(65536), tpu="v5e-8", strategy=on, compilations=5)
    assert found.parts == 2 and found.batch == 2 * found.rows > 0
    assert [one.fits for one in found.tried] == [one.rows <= found.rows for one in found.tried]
    report = tpushape.trace(
        lambda: build(65536), (keras.KerasTensor((found.batch, 65536), "int32"), keras.KerasTensor((found.batch, 65536, 1))),
        tpu="v5e-8", strategy=on, compiler="tpu", fixes=False,
    )  # fmt: skip
    assert report.verdicts[-1].tried[0] == next(one for one in found.tried if one.rows == found.rows)


@compiler
def test_each_length_has_its_largest_batch_until_none_fits():
    said = []
    found = tpushape.fit_length(
        build, data, (2**19, 2**14, 2**24), tpu="v5e-4", lora=4, most=64, compilations=3, progress=said.append
    )  # fmt: skip
    assert [length for length, _ in found.tried] == [2**14, 2**19, 2**24]
    assert found.longest == 2**19 and found.batch(2**24) == 0 == found.batch(5)
    assert found.batch(2**14) > found.batch(2**19) > 0
    assert any(line.startswith(f"length {2**14}: train with") for line in said)
    # Gradients and moments of frozen weights take nothing: training all of them takes more.
    (whole,) = tpushape.fit_length(build, data, [2**14], tpu="v5e-4", most=2, compilations=1).tried
    part = next(one for one in dict(found.tried)[2**14].tried if one.rows == whole[1].tried[0].rows)
    assert part.bytes < whole[1].tried[0].bytes
