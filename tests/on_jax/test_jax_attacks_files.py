"""Model files of strangers where TensorFlow is not installed: refused by name or in one sentence, and good ones are read."""

from __future__ import annotations

import json
import zipfile

import h5py
import keras
import pytest

from jupyter_tpushape.cli import main

K3 = {"module": "keras.layers", "registered_name": None}
EVIL = {"class_name": "function", "config": "system", "module": "os", "registered_name": None}


def layer(name, **config):
    return {"class_name": name, "config": {"name": name.lower(), **config}, **K3}


def sequential(*layers, compiled=None, **first):
    layers = [layer("InputLayer", **({"batch_shape": [None, 4], "dtype": "float32"} | first)), *layers]
    made = {"class_name": "Sequential", "config": {"name": "m", "layers": layers}, "module": "keras", "registered_name": None}
    return made | ({"compile_config": compiled} if compiled else {})


def checked(path, capsys, *codes):
    capsys.readouterr()
    assert main(["check", str(path), "--input-spec", "8,4:float32", "--tpu", "none"]) in codes
    out, err = capsys.readouterr()
    assert "Internal error" not in out + err
    return out + err


DENSE = layer("Dense", units=3)
REFUSED = {
    "a lambda": (sequential(layer("Lambda", function={"class_name": "__lambda__", "config": {"value": "x"}})), "a Lambda layer"),
    "a JAX function": (sequential(layer("JaxLayer", call_fn=EVIL)), "a JAX function"),
    "a Flax module": (sequential(layer("FlaxLayer", module=EVIL)), "a Flax module"),
    "a pickle": (sequential(layer("TorchModuleWrapper", module="gASV")), "a pickled PyTorch module"),
    "another SavedModel": (sequential(layer("TFSMLayer", filepath="/tmp/x")), "another SavedModel"),
    "a metric": (sequential(DENSE, compiled={"optimizer": "sgd", "loss": "mse", "weighted_metrics": {"d": [EVIL]}}), "os.system"),
    "a vocabulary": (sequential(layer("StringLookup", vocabulary="/etc/passwd")), "a vocabulary from the file"),
    "a function of JAX": (sequential(layer("Dense", units=3, activation={**EVIL, "module": "jax", "config": "jit"})), "jax.jit"),
    "a table of 10**24 numbers": (sequential(layer("Embedding", input_dim=10**12, output_dim=10**12)), "more elements than"),
    "a shape of 100,000 axes": (sequential(layer("Flatten"), batch_shape=[None, *[1] * 100_000]), "100,001 dimensions"),
    "the form of Keras 2": (sequential(DENSE, batch_input_shape=[None, 4]), "tf_keras"),
}


@pytest.mark.parametrize("form", ["m.keras", "m.h5"])
@pytest.mark.parametrize("name", REFUSED)
def test_a_file_is_refused_in_one_sentence(name, form, tmp_path, capsys):
    config, words = REFUSED[name]
    if form == "m.keras":
        with zipfile.ZipFile(tmp_path / form, "w") as file:
            file.writestr("config.json", json.dumps(config))
    else:
        if len(json.dumps(config)) > 60_000:
            pytest.skip("HDF5 keeps attributes of 64 KiB at most in this form")
        with h5py.File(tmp_path / form, "w") as file:
            file.attrs["model_config"] = json.dumps({key: value for key, value in config.items() if key != "compile_config"})
            if "compile_config" in config:
                file.attrs["training_config"] = json.dumps(config["compile_config"])
    said = checked(tmp_path / form, capsys, 2)
    assert words in said
    assert said.startswith("tpushape: ") and said.count("\n") == 1


def operations():
    given = keras.Input((4,))
    return keras.Model(given, keras.layers.Dense(3)(keras.ops.pad(keras.ops.reshape(given, (-1, 4)), [[0, 0], [1, 1]])))


def wrapped():
    layers = keras.layers
    inner = [layers.TimeDistributed(layers.Dense(3)), layers.Bidirectional(layers.LSTM(2, return_sequences=True)), layers.RNN(layers.GRUCell(2))]
    return keras.Sequential([keras.Input((4,)), layers.Reshape((2, 2)), *inner, layers.Dense(3)])


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("make", [operations, wrapped])
def test_a_good_model_is_made_more_than_once(make, compiled, tmp_path, capsys):
    model = make()
    if compiled:
        model.compile("adam", "mse", metrics=["mae"])
    model.save(tmp_path / "m.keras")
    assert "the loss is not checked" not in checked(tmp_path / "m.keras", capsys, 0)
