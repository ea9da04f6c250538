"""Model files of strangers: each is read as data, refused by name or in one sentence, and runs nothing."""

from __future__ import annotations

import base64
import bz2
import copy
import io
import json
import marshal
import os
import random
import re
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import h5py
import keras
import pytest
import tensorflow as tf
import tf_keras

from jupyter_tpushape.cli import main
from jupyter_tpushape.saved import Refused, Unreadable, read, reader
from jupyter_tpushape.saved.walk import check

pytestmark = pytest.mark.smoke
# make soak asks for more, with a seed of its own.
MANY, SEED = int(os.environ.get("TPUSHAPE_FUZZ", "400")), int(os.environ.get("TPUSHAPE_SEED", "0"))
K3 = {"module": "keras.layers", "registered_name": None}


def marshalled(marker: Path) -> str:
    code = compile(f"open({str(marker)!r}, 'w')", "x", "exec")
    return base64.b64encode(marshal.dumps(code)).decode()


def layer(name: str, **config: Any) -> dict[str, Any]:
    return {"class_name": name, "config": {"name": name.lower(), **config}, **K3}


def sequential(*layers: Any, compiled: Any = None, second: bool = False) -> dict[str, Any]:
    shape = {"batch_input_shape" if second else "batch_shape": [None, 4]}
    first = layer("InputLayer", **shape, dtype="float32")
    made = {"class_name": "Sequential", "config": {"name": "m", "layers": [first, *layers]}, "module": "keras", "registered_name": None}
    return made | ({"compile_config": compiled} if compiled else {})


def archive(path: Path, config: Any, version: str = "3.15.0", **members: Any) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("metadata.json", json.dumps({"keras_version": version, "date_saved": "x"}))
        file.writestr("config.json", config if isinstance(config, (str, bytes)) else json.dumps(config))
        for name, data in members.items():
            file.writestr(name, data)
    return path


def legacy(path: Path, config: Any, training: Any = None, version: str = "2.15.0") -> Path:
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"] = version
        file.attrs["backend"] = "tensorflow"
        file.attrs["model_config"] = config if isinstance(config, (str, bytes)) else json.dumps(config)
        if training is not None:
            file.attrs["training_config"] = json.dumps(training)
    return path


def refused(path: Path, capsys: Any, *more: str) -> str:
    """One sentence, exit code 2, and nothing of the file's has run."""
    capsys.readouterr()
    assert main(["check", str(path), "--input-spec", "8,4:float32", "--tpu", "none", *more]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("tpushape: ")
    assert err.count("\n") == 1, err
    assert not (path.parent / "ran").exists()
    return err


# -- code in a configuration ----------------------------------------------------------------------------------------------------

FUNCTION = {"class_name": "function", "registered_name": None}


def coded(marker: Path) -> dict[str, tuple[Any, str]]:
    """Layers that carry or name code, and what the refusal names."""
    body = marshalled(marker)
    made = {"class_name": "__lambda__", "config": {"value": body}}
    dense = {"units": 3}
    return {
        "a lambda": (layer("Lambda", function=made, arguments={}), "a Lambda layer"),
        "a lambda of Keras 2": (layer("Lambda", function=[body, None, None], function_type="lambda", module="os"), "a Lambda layer"),
        "a lambda without a module": ({"class_name": "Lambda", "config": {"function": [body, None, None]}}, "a Lambda layer"),
        "a lambda under another name": ({**layer("Lambda"), "registered_name": "Dense"}, "a Lambda layer"),
        "a layer registered as a lambda": ({**layer("Dense", **dense), "registered_name": "Lambda"}, "the class Lambda"),
        "a lambda as an activation": (layer("Dense", **dense, activation=made), "a marshalled function"),
        "a lambda deep in a wrapper": (
            layer("TimeDistributed", layer=layer("Bidirectional", layer=layer("LSTM", units=2, recurrent_activation=made))),
            "a marshalled function",
        ),
        "os.system": (layer("Dense", **dense, activation={**FUNCTION, "config": "system", "module": "os"}), "the function os.system"),
        "a module of its own": ({"class_name": "Evil", "config": {}, "module": "evil", "registered_name": None}, "the class evil.Evil"),
        "subprocess.Popen": ({"class_name": "Popen", "config": {"args": "x"}, "module": "subprocess", "registered_name": None}, "the class subprocess.Popen"),
        "builtins.eval": (layer("Dense", **dense, activation={**FUNCTION, "config": "eval", "module": "builtins"}), "the function eval"),
        "Keras' own downloader": (
            layer("Dense", **dense, activation={**FUNCTION, "config": "get_file", "module": "keras.utils"}),
            "the function keras.utils.get_file",
        ),
        "unsafe mode": (
            layer("Dense", **dense, activation={**FUNCTION, "config": "enable_unsafe_deserialization", "module": "keras.config"}),
            "the function keras.config.enable_unsafe_deserialization",
        ),
        "Keras' own loader": (
            layer("Dense", **dense, activation={**FUNCTION, "config": "load_model", "module": "keras.models"}),
            "the function keras.models.load_model",
        ),
        "a module inside Keras": (
            layer("Dense", **dense, activation={**FUNCTION, "config": "func_load", "module": "keras.src.utils.python_utils"}),
            "the function keras.src.utils.python_utils.func_load",
        ),
        "what a module of Keras imports": (
            {"class_name": "os", "config": {}, "module": "keras.src.saving.saving_lib", "registered_name": None},
            "the class keras.src.saving.saving_lib.os",
        ),
        "a pickle": (layer("TorchModuleWrapper", module="gASV"), "a pickled PyTorch module"),
        "another SavedModel": (layer("TFSMLayer", filepath="/tmp/evil"), "another SavedModel"),
        "a JAX function": (layer("JaxLayer", call_fn=made), "a JAX function"),
        "TensorFlow by bytes": (layer("TensorFlowOpLayer", node_def="x", constants={}), "a serialized TensorFlow operation"),
        "TensorFlow that deletes": (layer("TFOpLambda", function="io.gfile.rmtree"), ""),
        "TensorFlow that writes": (layer("TFOpLambda", function="io.write_file"), ""),
        "TensorFlow that calls Python": (layer("TFOpLambda", function="py_function"), ""),
        "a class method": (layer("ClassMethod", cls_symbol="io.gfile.GFile", fn_name="open"), "a TensorFlow method called by name"),
        "a file as a vocabulary": (layer("StringLookup", vocabulary="/etc/passwd"), "a vocabulary from the file /etc/passwd"),
        "an address as a vocabulary": (layer("TextVectorization", vocabulary="http://x/y"), "a vocabulary from the file http://x/y"),
        "a type by its module": (
            {"class_name": "__typespec__", "spec_name": "X", "module": "evil", "config": [], "registered_name": None},
            "the class evil.__typespec__",
        ),
        "custom objects": (layer("Dense", **dense, custom_objects={"relu": made}), ""),
        "a dictionary of Keras' own": (
            {"class_name": "GLOBAL_CUSTOM_OBJECTS", "config": {}, "module": "keras.src.saving.object_registration", "registered_name": None},
            "the class keras.src.saving.object_registration.GLOBAL_CUSTOM_OBJECTS",
        ),
        "what every module has": (
            {"class_name": "__builtins__", "config": {}, "module": "keras.layers", "registered_name": None},
            "the class keras.layers.__builtins__",
        ),
        "a list of folders": ({"class_name": "__path__", "config": {}, "module": "keras.layers", "registered_name": None}, "the class keras.layers.__path__"),
        "a registered package": ({"class_name": "Dense", "config": dense, "module": None, "registered_name": "evil>Dense"}, "the class evil>Dense"),
        "a class that is a list": ({"class_name": ["Lambda"], "config": {}}, "a class whose name is list"),
        "a module that is a dict": ({"class_name": "Dense", "config": {}, "module": {"x": 1}}, "a module that is dict"),
        "a number beyond all": (layer("Dense", units=10**30), "a number of 31 digits"),
    }


# What no model has, and no code either.
NO_CODE = ("a class that is a list", "a module that is a dict", "a number beyond all")
NAMES = list(coded(Path("x")))
FORMS = ("new.keras", "old.keras", "new.h5", "old.h5")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_code_in_a_model_is_refused_by_name(name, form, tmp_path, capsys):
    evil, words = coded(tmp_path / "ran")[name]
    config = sequential(evil, layer("Dense", units=3), second=form.startswith("old"))
    write = archive if form.endswith("keras") else legacy
    version = "2.15.0" if form.startswith("old") else "3.15.0"
    said = refused(write(tmp_path / form, config, version=version), capsys)
    assert re.search(rf"\(.*{re.escape(words)}.*\).*not (run|build)", said)
    assert ("contains code" in said) == (name not in NO_CODE)


COMPILED = {
    "an optimizer": {"optimizer": {"class_name": "Evil", "config": {}, "module": "evil", "registered_name": "x>Evil"}, "loss": "mse"},
    "a loss": {"optimizer": "sgd", "loss": {"class_name": "function", "config": "system", "module": "os", "registered_name": "system"}},
    "a metric": {
        "optimizer": "sgd",
        "loss": "mse",
        "metrics": [{"class_name": "MeanMetricWrapper", "config": {"fn": {"class_name": "__lambda__", "config": {"value": "x"}}}}],
    },
    "a schedule": {"optimizer": {"class_name": "Adam", "config": {"learning_rate": {"class_name": "E", "config": {}, "module": "e"}}}},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", COMPILED)
def test_code_in_what_a_model_was_compiled_with_is_refused_too(name, form, tmp_path, capsys):
    second = form.startswith("old")
    if form.endswith("keras"):
        path = archive(tmp_path / form, sequential(layer("Dense", units=3), compiled=COMPILED[name], second=second))
    else:
        told = {"optimizer_config" if key == "optimizer" else key: value for key, value in COMPILED[name].items()}
        path = legacy(tmp_path / form, sequential(layer("Dense", units=3), second=second), told)
    assert re.search(r"code \(.*\).*not run", refused(path, capsys))


@pytest.mark.parametrize("form", FORMS)
def test_with_a_loss_of_the_callers_the_compiled_one_is_not_looked_at(form, tmp_path, capsys):
    config = sequential(layer("Dense", units=3), compiled=COMPILED["a loss"], second=form.startswith("old"))
    path = archive(tmp_path / "m.keras", config)
    assert main(["check", str(path), "--input-spec", "8,4:float32", "--loss", "mse"]) == 0


@pytest.mark.parametrize("framework", [keras, tf_keras], ids=["keras", "tf_keras"])
@pytest.mark.parametrize("claimed", ["2.15.0", "3.15.0", "0", "", "99.0.0"])
def test_the_file_does_not_choose_who_reads_it(framework, claimed, tmp_path, capsys):
    framework.Sequential([framework.Input((4,)), framework.layers.Dense(3)]).save(tmp_path / "m.keras")
    with zipfile.ZipFile(tmp_path / "m.keras") as file:
        config = file.read("config.json")
    path = archive(tmp_path / "claims.keras", config, version=claimed)
    assert main(["check", str(path), "--input-spec", "8,4:float32", "--tpu", "none"]) == 0
    by = "keras on tensorflow" if framework is keras else "tf_keras"
    assert f"· {by} ·" in " ".join(capsys.readouterr().out.split())


# -- broken, enormous, deep -----------------------------------------------------------------------------------------------------


def good() -> dict[str, Any]:
    return sequential(layer("Dense", units=3))


def nested(depth: int) -> str:
    return '{"class_name": "Sequential", "config": ' + "[" * depth + "]" * depth + "}"


def circle() -> dict[str, Any]:
    def node(name: str) -> dict[str, Any]:
        tensor = {"class_name": "__keras_tensor__", "config": {"shape": [None, 4], "dtype": "float32", "keras_history": [name, 0, 0]}}
        return {"args": [tensor], "kwargs": {}}

    made = [layer("InputLayer", batch_shape=[None, 4]) | {"name": "i", "inbound_nodes": []}]
    made += [layer("Dense", units=4) | {"name": name, "inbound_nodes": [node(other)]} for name, other in (("a", "b"), ("b", "a"))]
    for one in made:
        one["config"]["name"] = one["name"]
    inner = {"name": "m", "trainable": True, "layers": made, "input_layers": [["i", 0, 0]], "output_layers": [["a", 0, 0]]}
    return {"class_name": "Functional", "config": inner, "module": "keras.src.models.functional", "registered_name": "Functional"}


def old_circle() -> dict[str, Any]:
    made = circle()
    for one in made["config"]["layers"]:
        one["inbound_nodes"] = [[[node["args"][0]["config"]["keras_history"][0], 0, 0, {}]] for node in one["inbound_nodes"]]
    made["module"] = "keras.src.engine.functional"
    made["config"]["layers"][0]["config"] = {"name": "i", "batch_input_shape": [None, 4]}
    return made


def absent() -> dict[str, Any]:
    made = circle()
    made["config"]["layers"][2]["inbound_nodes"][0]["args"][0]["config"]["keras_history"][0] = "nowhere"
    return made


def wordy() -> dict[str, Any]:
    made = circle()
    made["config"]["layers"][1] = {"class_name": "Dense", "config": "abc", "inbound_nodes": [[["i", 0, 0, {}]]]}
    return made


CONFIGS = {
    "a called layer whose config is text": (wordy, ""),
    "a circle of calls": (circle, "a cycle of calls"),
    "a circle of calls in Keras 2": (old_circle, "a cycle of calls"),
    "a call on nothing": (absent, "which does not exist"),
    "deep lists": (lambda: nested(100_000), "nested more than 400 levels deep"),
    "deep objects": (lambda: '{"a":' * 50_000 + "1" + "}" * 50_000, "nested more than 400 levels deep"),
    "a million lists": (lambda: '{"a": [' + "[]," * 1_000_000 + "1]}", "more than 1,000,000 values"),
    "a number of 5,000 digits": (lambda: '{"a": ' + "9" * 5_000 + "}", "more digits than Python reads"),
    "no JSON": (lambda: "hello", "is not valid JSON"),
    "no object": (lambda: "[1, 2]", "not describe a model"),
    "null": (lambda: "null", "not describe a model"),
    "nothing": (lambda: "", "is not valid JSON"),
    "an empty object": (dict, "not describe a model"),
    "no UTF-8": (lambda: b'{"\xff\xfe": 1}', "not UTF-8 text"),
    "UTF-16": (lambda: b"\xff\xfe{\x01}", "not UTF-8 text"),
    "another class": (lambda: layer("Dense", units=3), ""),
    "layers that are text": (lambda: {**good(), "config": {"name": "m", "layers": "none"}}, ""),
    "layers that are null": (lambda: {**good(), "config": {"name": "m", "layers": [None]}}, ""),
    "compile arguments that are a number": (lambda: {**good(), "compile_config": 7}, "are not a configuration"),
    "compile arguments that are a list": (lambda: {**good(), "compile_config": []}, "are not a configuration"),
    "a config that is a number": (lambda: {**good(), "config": 7}, ""),
    "units below zero": (lambda: sequential(layer("Dense", units=-3)), ""),
    "units that are text": (lambda: sequential(layer("Dense", units="many")), ""),
    "units that are NaN": (lambda: json.dumps(sequential(layer("Dense", units=float("nan")))), ""),
    "an argument that is not there": (lambda: sequential(layer("Dense", units=3, evil=1)), ""),
    "a name with a newline": (lambda: {**good(), "class_name": "Evil\n::add-mask::x", "module": "a\nb"}, ""),
    "a name that moves the cursor": (lambda: sequential({**layer("\x1b]0;owned\x07"), "module": "\x9b31m"}), ""),
}


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("form", ["m.keras", "m.h5"])
def test_a_configuration_that_is_none(name, form, tmp_path, capsys):
    make, words = CONFIGS[name]
    if form == "m.h5":
        if name in ("deep objects", "a million lists", "deep lists"):
            pytest.skip("HDF5 keeps attributes of 64 KiB at most in this form")
        path = legacy(tmp_path / form, make() if isinstance(make(), (str, bytes)) and make() else json.dumps(make()) if make() else "{")
    else:
        path = archive(tmp_path / form, make())
    said = refused(path, capsys)
    assert words in said or form == "m.h5"
    assert all(letter.isprintable() or letter == "\n" for letter in said)


def bomb(member: str, size: int = 2**27) -> bytes:
    """An archive whose member unpacks to much more than it takes."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr("metadata.json", "{}")
        if member != "config.json":
            file.writestr("config.json", json.dumps(good()))
        with file.open(member, "w", force_zip64=True) as stream:
            for _ in range(size >> 24):
                stream.write(b"0" * 2**24)
    return data.getvalue()


def lying() -> bytes:
    """A bomb whose directory says that it is small."""
    data = bytearray(bomb("config.json", 2**27))
    at = data.rfind(b"PK\x01\x02")
    struct.pack_into("<I", data, at + 24, 100)
    return bytes(data)


def flagged(bits: int) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("config.json", json.dumps(good()))
    held = bytearray(data.getvalue())
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = held.find(magic)
        struct.pack_into("<H", held, at + offset, bits)
    return bytes(held)


def packed(method: int) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as file:
        file.writestr("config.json", json.dumps(good()) + " " * 2**22)
    return data.getvalue()


def twice() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        for name in ("config.json", "config.jso_"):
            file.writestr(name, json.dumps(good()))
    return data.getvalue().replace(b"config.jso_", b"config.json")


def crowd() -> bytes:
    """An archive that claims more members than it has bytes for."""
    data = bytearray(flagged(0))
    at = data.rfind(b"PK\x05\x06")
    struct.pack_into("<HHI", data, at + 8, 65_000, 65_000, 2**31)
    return bytes(data)


def whole() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("config.json", json.dumps(good()))
        file.writestr("model.weights.h5", os.urandom(5_000))
    return data.getvalue()


def hdf() -> bytes:
    data = io.BytesIO()
    with h5py.File(data, "w") as file:
        file.attrs["model_config"] = json.dumps(good())
    return data.getvalue()


def weights() -> bytes:
    data = io.BytesIO()
    with h5py.File(data, "w") as file:
        file.create_dataset("kernel", data=[1.0])
    return data.getvalue()


def long() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("config.json", json.dumps(good()) + " " * reader.MOST_TEXT)
    return data.getvalue()


FILES = {
    "a configuration of 8 MiB and more": (long, "at most 8,388,608 are read"),
    "nothing": (lambda: b"", "is empty"),
    "one byte": (lambda: b"P", "neither a .keras archive nor an HDF5 file"),
    "text": (lambda: b"hello", "neither a .keras archive nor an HDF5 file"),
    "a pickle": (lambda: b"\x80\x04\x95", "neither a .keras archive nor an HDF5 file"),
    "noise": (lambda: os.urandom(5_000), "neither a .keras archive nor an HDF5 file"),
    "an archive's first bytes": (lambda: b"PK\x03\x04" + b"\0" * 100, "its directory is missing"),
    "half an archive": (lambda: whole()[:3_000], "its directory is missing"),
    "an archive of noise": (lambda: whole()[:40] + os.urandom(200) + whole()[240:], ""),
    "an archive with an end and no middle": (lambda: whole()[-22:], ""),
    "an encrypted archive": (lambda: flagged(1), "is encrypted"),
    "an archive packed as bzip2": (lambda: packed(zipfile.ZIP_BZIP2), "compression method that Keras does not use"),
    "an archive packed as LZMA": (lambda: packed(zipfile.ZIP_LZMA), "compression method that Keras does not use"),
    "two configurations": (twice, "more than one config.json"),
    "a crowd of members": (crowd, "is a damaged archive"),
    "a bomb of a configuration": (lambda: bomb("config.json"), "is a zip bomb: config.json"),
    "a bomb of weights": (lambda: bomb("model.weights.h5"), "is a zip bomb: model.weights.h5"),
    "a bomb that lies": (lying, ""),
    "a bzip2 file": (lambda: bz2.compress(b"0" * 2**20), "neither"),
    "an HDF5 file's first bytes": (lambda: b"\x89HDF\r\n\x1a\n", "damaged HDF5"),
    "half an HDF5 file": (lambda: hdf()[:700], "damaged HDF5"),
    "an HDF5 file of noise": (lambda: hdf()[:96] + os.urandom(1_000) + hdf()[1_096:], ""),
    "weights alone": (weights, "weights but no model"),
}


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_none(name, suffix, tmp_path, capsys):
    make, words = FILES[name]
    path = tmp_path / f"m{suffix}"
    path.write_bytes(make())
    assert words in refused(path, capsys)


def test_a_file_that_is_a_pipe_a_device_or_a_folder(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe.keras")
    (tmp_path / "endless.h5").symlink_to("/dev/zero")
    (tmp_path / "folder.keras").mkdir()
    (tmp_path / "dangling.keras").symlink_to(tmp_path / "nowhere")
    assert "not a regular file" in refused(tmp_path / "pipe.keras", capsys)
    assert "not a regular file" in refused(tmp_path / "endless.h5", capsys)
    refused(tmp_path / "folder.keras", capsys)
    assert "leads to no file" in refused(tmp_path / "dangling.keras", capsys)


def test_a_file_that_breaks_its_reader(tmp_path, capsys, monkeypatch):
    from jupyter_tpushape.saved import open as opened

    path = archive(tmp_path / "m.keras", good())
    reader = tmp_path / "reader.py"
    reader.write_text("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    monkeypatch.setattr(opened, "__file__", str(tmp_path / "open.py"))
    assert "crashed the process that reads it" in refused(path, capsys)


@pytest.mark.parametrize("second", [False, True])
def test_a_model_of_any_size_takes_no_memory(second, tmp_path, capsys):
    import resource

    config = sequential(layer("Dense", units=10**7), layer("Dense", units=10**7) | {"config": {"name": "d", "units": 10**7}}, second=second)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert main(["check", str(archive(tmp_path / "m.keras", config)), "--input-spec", "8,4:float32", "--tpu", "none"]) == 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 * 1024


@pytest.mark.parametrize("head", [b"PK\x03\x04", b"\x89HDF\r\n\x1a\n", b""], ids=["archive", "HDF5", "graph"])
def test_a_file_of_many_gigabytes(head, tmp_path, capsys):
    path = tmp_path / "m.keras" if head else tmp_path / "model" / "saved_model.pb"
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(20 << 30)  # takes no room on the disk
    refused(path if head else path.parent, capsys)


def many(count: int) -> dict[str, Any]:
    """A model that takes its time to make: calls one after the other."""
    made = circle()
    first, step = made["config"]["layers"][:2]
    layers = [first]
    for number in range(count):
        one = copy.deepcopy(step)
        one["name"] = one["config"]["name"] = f"n{number}"
        one["inbound_nodes"][0]["args"][0]["config"]["keras_history"][0] = f"n{number - 1}" if number else "i"
        layers.append(one)
    made["config"] |= {"layers": layers, "output_layers": [[f"n{count - 1}", 0, 0]]}
    return made


def test_a_model_that_takes_too_long_to_make(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TPUSHAPE_TIMEOUT", "0.5")
    assert "was stopped after 0.5 seconds" in refused(archive(tmp_path / "m.keras", many(5_000)), capsys)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells how much memory a process holds")
def test_a_model_that_takes_too_much_memory_to_make(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("jupyter_tpushape.saved.make.MEMORY", 1 << 20)
    assert "uses more memory" in refused(archive(tmp_path / "m.keras", many(5_000)), capsys)


# -- SavedModels ----------------------------------------------------------------------------------------------------------------


class Writes(tf.Module):
    """A SavedModel that writes a file when it is called."""

    def __init__(self, marker: str) -> None:
        super().__init__()
        self.marker = marker

    @tf.function(input_signature=[tf.TensorSpec((None, 4), tf.float32)])
    def __call__(self, x):
        tf.io.write_file(self.marker, "ran")
        return {"y": x * 2}


def saved(folder: Path) -> Path:
    module = Writes(str(folder / "ran"))
    tf.saved_model.save(module, str(folder / "model"), signatures=module.__call__.get_concrete_function())
    return folder / "model"


def test_of_a_saved_model_the_signature_is_read_and_nothing_else(tmp_path, capsys, monkeypatch):
    folder = saved(tmp_path)
    monkeypatch.setattr(tf.saved_model, "load", None)
    monkeypatch.setattr(keras.layers, "TFSMLayer", None)
    for inner in ("variables", "assets", "fingerprint.pb"):
        if (folder / inner).exists():
            (folder / inner).rename(tmp_path / inner)
    assert main(["check", str(folder), "--input-spec", "8,4:float32"]) == 0
    assert main(["check", str(folder), "--input-spec", "8,5:float32"]) == 1
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("cut", [0, 1, 10, 100, 1_000, -1])
def test_a_saved_model_that_is_broken(cut, tmp_path, capsys):
    folder = saved(tmp_path)
    graph = folder / "saved_model.pb"
    data = graph.read_bytes()
    graph.write_bytes(data[:cut])
    refused(folder, capsys)
    graph.write_bytes(os.urandom(3_000))
    refused(folder, capsys)
    graph.write_bytes(b"\x12\xff\xff\xff\xff\x7f" + data)
    refused(folder, capsys)
    graph.unlink()
    graph.symlink_to("/dev/zero")
    assert main(["check", str(folder), "--input-spec", "8,4:float32"]) == 2


def test_a_saved_model_without_the_signature(tmp_path, capsys):
    tf.saved_model.save(Writes(str(tmp_path / "ran")), str(tmp_path / "model"))
    module = Writes(str(tmp_path / "ran"))
    tf.saved_model.save(module, str(tmp_path / "other"), signatures={"score": module.__call__.get_concrete_function()})
    assert "it has score" in refused(tmp_path / "other", capsys)


# -- any bytes ------------------------------------------------------------------------------------------------------------------


def changed(data: bytes, rng: random.Random) -> bytes:
    """The bytes with a few of them exchanged, taken out, put in."""
    held = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        kind, at = rng.randrange(4), rng.randrange(len(held) or 1)
        if kind == 0 and held:
            held[at] = rng.randrange(256)
        elif kind == 1:
            del held[at : at + rng.randint(1, 50)]
        elif kind == 2:
            held[at:at] = rng.randbytes(rng.randint(1, 9))
        else:
            held[at : at + 4] = b"\xff\xff\xff\x7f"
    return bytes(held)


def test_archives_and_graphs_changed_at_random_end_in_a_sentence(tmp_path):
    """Read in this process, so that many can be."""
    seeds = {reader.held: whole(), reader.signatures: (saved(tmp_path) / "saved_model.pb").read_bytes()}
    rng = random.Random(SEED)
    path = tmp_path / "any"
    for _ in range(MANY // 2):
        for look, data in seeds.items():
            path.write_bytes(changed(data, rng))
            said = ""
            try:
                look(str(path))
            except reader.Unreadable as error:
                said = str(error)
            assert "\n" not in said


HDF5 = """
import os, sys
import h5py
from jupyter_tpushape.saved import reader
reader.SECONDS = 1
for line in sys.stdin:
    if os.fork() == 0:
        sys.argv[1:] = [line.strip()]
        reader.main()
        sys.stdout.flush()
        os._exit(0)
    ended = os.wait()[1]
    print("" if not ended else f"died {ended}", flush=True)
"""


def test_hdf5_files_changed_at_random_end_in_a_sentence(tmp_path):
    """Each in a process of its own, forked where the library is loaded already: it may loop, or die."""
    rng, path, died = random.Random(SEED), tmp_path / "m.h5", []
    good = hdf()
    with subprocess.Popen([sys.executable, "-c", HDF5], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for _ in range(MANY):
            path.write_bytes(changed(good, rng))
            process.stdin.write(f"{path}\n")
            process.stdin.flush()
            said = process.stdout.readline()
            if "died" in said:
                died.append(path.read_bytes())
                continue
            answer = json.loads(said)
            assert "config" in answer or "\n" not in answer["error"]
        process.stdin.close()
    for data in died[:2]:
        path.write_bytes(data)
        with pytest.raises(Unreadable, match=r"crashed the process that reads it|took more than 30 seconds"):
            read(path)


@pytest.mark.parametrize("framework", [keras, tf_keras], ids=["keras", "tf_keras"])
def test_configurations_changed_at_random_are_walked_to_an_end(framework, tmp_path):
    """Parts of a configuration exchanged with each other, and with what stands for harm; what is let through names nothing else."""
    inputs = framework.Input((4,))
    model = framework.Model(inputs, framework.layers.Dense(3, activation="relu", kernel_regularizer="l2")(framework.layers.Dense(4)(inputs)))
    model.compile("adam", "mse")
    model.save(tmp_path / "m.keras")
    with zipfile.ZipFile(tmp_path / "m.keras") as file:
        text = file.read("config.json").decode()
    harm = [one for one, _ in coded(tmp_path / "ran").values()]
    rng = random.Random(SEED)
    for _ in range(MANY):
        config = json.loads(text)
        places = []
        pending: list[Any] = [config]
        while pending:
            value = pending.pop()
            if isinstance(value, (dict, list)):
                places += [(value, key) for key in (value if isinstance(value, dict) else range(len(value)))]
                pending.extend(value.values() if isinstance(value, dict) else value)
        evil = rng.random() < 0.7
        holder, key = rng.choice(places)
        other = rng.choice([None, [], {}, "x", -1, 1e400, holder[key], rng.choice(places)[0]])
        holder[key] = rng.choice(harm) if evil else copy.deepcopy(other)
        try:
            check(framework.__name__, config)
        except Refused:
            continue
        assert not evil
