"""More files of strangers: members, attributes and configurations that no loader of Keras should meet."""

from __future__ import annotations

import gzip
import io
import json
import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np
import pytest
from test_attacks_files import FUNCTION, K3, archive, circle, good, layer, legacy, refused, sequential, whole

from jupyter_tpushape.cli import main
from jupyter_tpushape.saved.reader import MOST_MEMBERS

pytestmark = pytest.mark.smoke
NOT = {"registered_name": None}


def checked(path: Path, capsys: Any, *codes: int) -> str:
    """Ends with one of these codes: a verdict, or one sentence and nothing else."""
    capsys.readouterr()
    code = main(["check", str(path), "--input-spec", "8,4:float32", "--tpu", "none", "--no-fixes"])
    out, err = capsys.readouterr()
    assert code in codes, err
    assert "Internal error in" not in err and "Traceback" not in err
    assert all(letter.isprintable() or letter == "\n" for letter in err)
    assert code != 2 or (out == "" and err.startswith("tpushape: ") and err.count("\n") == 1)
    assert not (path.parent / "ran").exists()
    return err


def zipped(members: dict[str, Any], links: tuple[str, ...] = ()) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for name, held in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (0o120777 if name in links else 0o100644) << 16
            file.writestr(info, held if isinstance(held, (str, bytes)) else json.dumps(held))
    return data.getvalue()


def renamed() -> bytes:
    data = zipped({"config.json": good()})
    at = data.find(b"config.json")
    return data[:at] + b"konfig.json" + data[at + 11 :]


def wide() -> bytes:
    """A directory in 64 bits that claims more than any disk holds."""
    data = zipped({"config.json": good()})
    at = data.rfind(b"PK\x05\x06")
    more = b"PK\x06\x06" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, *(4 * [2**62])) + b"PK\x06\x07" + struct.pack("<IQI", 0, at, 1)
    end = bytearray(data[at:])
    struct.pack_into("<HHII", end, 8, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF)
    return data[:at] + more + bytes(end)


def commented() -> bytes:
    """A comment that holds a second directory, of another size."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("config.json", json.dumps(good()))
        file.comment = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 65_000, 65_000, 10**9, 0, 0) + b"x" * 100
    return data.getvalue()


def overlapping() -> bytes:
    """Ninety thousand members, all of them the same bytes."""
    data = zipped({"config.json": good()})
    at, end = data.find(b"PK\x01\x02"), data.rfind(b"PK\x05\x06")
    entry, last = data[at:end], bytearray(data[end:])
    many = entry + b"".join(entry.replace(b"config.json", b"w%010d" % number) for number in range(90_000))
    struct.pack_into("<HHII", last, 8, 65_535, 65_535, len(many), at)
    return data[:at] + many + bytes(last)


def crowded(claimed: int, *, long: bool) -> bytes:
    """More members than are read, of which the end claims fewer; with ``long``, in a directory of 64 bits that the end does not speak of."""
    data = zipped({"config.json": good()})
    at, end = data.find(b"PK\x01\x02"), data.rfind(b"PK\x05\x06")
    entry, last = data[at:end], bytearray(data[end:])
    many = entry + (entry[:28] + struct.pack("<H", 1) + entry[30:46] + b"w") * (MOST_MEMBERS + 1)
    struct.pack_into("<HHII", last, 8, claimed, claimed, len(entry) if long else len(many), at)
    place = at + len(many)
    more = b"PK\x06\x06" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, claimed, claimed, len(many), at)
    return data[:at] + many + (more + b"PK\x06\x07" + struct.pack("<IQI", 0, place, 1) if long else b"") + bytes(last)


def spoiled() -> bytes:
    data = bytearray(whole())
    data[data.find(b'"units": 3') + 9] = ord("9")
    return bytes(data)


BYTES: dict[str, tuple[Callable[[], bytes], tuple[int, ...]]] = {
    "a name that ends twice": (lambda: zipped({"config.json": good(), "config.jsonXx": "{}"}).replace(b"jsonXx", b"json\0x"), (2,)),
    "a member with two names": (renamed, (2,)),
    "a directory of 64 bits": (wide, (2,)),
    "a comment with a directory": (commented, (0, 2)),
    "members that overlap": (overlapping, (0, 2)),
    "more members than it claims": (lambda: crowded(1, long=False), (2,)),
    "more members than it claims, in 64 bits": (lambda: crowded(1, long=True), (2,)),
    "a configuration that is a link": (lambda: zipped({"config.json": "/etc/passwd"}, ("config.json",)), (2,)),
    "a configuration that is a folder": (lambda: zipped({"config.json/": "", "./config.json": good(), "CONFIG.JSON": good()}), (2,)),
    "a wrong sum": (spoiled, (2,)),
    "a script before the archive": (lambda: b"#!/bin/sh\ntouch ran\n" + whole(), (2,)),
    "a pickle in an archive": (lambda: zipped({"archive/data.pkl": b"cos\nsystem\n(S'touch ran'\ntR."}), (2,)),
    "gzip": (lambda: gzip.compress(whole()), (2,)),
    "a pointer of Git LFS": (lambda: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", (2,)),
    "a page": (lambda: b"<!doctype html><title>404</title>", (2,)),
    "TensorFlow Lite": (lambda: b"\x1c\0\0\0TFL3" + b"\0" * 99, (2,)),
}


@pytest.mark.parametrize("name", BYTES)
def test_an_archive_that_is_not_what_it_seems(name: str, tmp_path: Path, capsys: Any) -> None:
    make, codes = BYTES[name]
    for suffix in (".keras", ".H5"):
        (tmp_path / f"m{suffix}").write_bytes(make())
        checked(tmp_path / f"m{suffix}", capsys, *codes)


def test_members_beside_the_configuration_are_not_unpacked(tmp_path: Path, capsys: Any) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    names = ("../ran", "../../ran", str(tmp_path / "ran"), "C:\\ran", "\x1b[2J.h5", "x" * 60_000, "link")
    (inner / "m.keras").write_bytes(zipped({"config.json": good(), **dict.fromkeys(names, "/etc/passwd")}, ("link",)))
    assert main(["check", str(inner / "m.keras"), "--input-spec", "8,4:float32"]) == 0
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "m.keras"]


def test_the_content_decides_and_not_the_suffix(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "m.h5").write_bytes(whole())
    legacy(tmp_path / "x.h5", good()).rename(tmp_path / "x.keras")
    for name in ("m.h5", "x.keras"):
        assert main(["check", str(tmp_path / name), "--input-spec", "8,4:float32"]) == 0


# -- HDF5 -----------------------------------------------------------------------------------------------------------------------

OLD = json.dumps(sequential(layer("Dense", units=3), second=True))
ATTRIBUTES: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "a reference": (lambda file: file.ref, (2,)),
    "numbers": (lambda file: np.arange(10), (2,)),
    "nothing": (lambda file: h5py.Empty("S10"), (2,)),
    "three texts": (lambda file: np.array([OLD.encode()] * 3), (2,)),
    "a record": (lambda file: np.array([(1, b"x")], dtype=[("a", "i4"), ("b", "S5")]), (2,)),
    "opaque bytes": (lambda file: np.void(OLD.encode()), (0, 2)),
    "a truth": (lambda file: np.bool_(True), (2,)),
    "a zero in a text": (lambda file: np.void(b'{"class_name"\0: "Sequential"}'), (2,)),
    "a list of texts": (lambda file: ["{", "}"], (2,)),
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_an_attribute_that_is_no_text(name: str, tmp_path: Path, capsys: Any) -> None:
    make, codes = ATTRIBUTES[name]
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file.attrs["model_config"] = make(file)
    checked(tmp_path / "m.h5", capsys, *codes)
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file.attrs["model_config"], file.attrs["training_config"] = OLD, make(file)
    checked(tmp_path / "t.h5", capsys, 0, 2)


def test_links_and_endless_datasets_are_not_followed(tmp_path: Path, capsys: Any) -> None:
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file.attrs["model_config"] = OLD
        file["model_weights"], file["soft"], file["hard"] = h5py.ExternalLink("/dev/zero", "/"), h5py.SoftLink("/soft"), file
        file.create_dataset("big", shape=(2**40,), chunks=(2**20,), dtype="f8")
    checked(tmp_path / "m.h5", capsys, 0)


def test_bytes_before_an_hdf5_file(tmp_path: Path, capsys: Any) -> None:
    with h5py.File(tmp_path / "m.h5", "w", userblock_size=512) as file:
        file.attrs["model_config"] = json.dumps(sequential(layer("Lambda")))
    data = bytearray((tmp_path / "m.h5").read_bytes())
    checked(tmp_path / "m.h5", capsys, 2)
    data[:4] = b"PK\x03\x04"
    (tmp_path / "m.h5").write_bytes(bytes(data) + whole())
    checked(tmp_path / "m.h5", capsys, 0, 2)  # as the archive that it is too


def test_weights_of_keras_3_are_no_model(tmp_path: Path, capsys: Any) -> None:
    keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)]).save_weights(tmp_path / "m.weights.h5")
    assert "weights but no model" in checked(tmp_path / "m.weights.h5", capsys, 2)


# -- configurations ---------------------------------------------------------------------------------------------------------------


def named(name: str, module: Any, **config: Any) -> dict[str, Any]:
    return {"class_name": name, "module": module, "config": {"name": "x", **config}, **NOT}


PLACES = (
    ("keras.layers.Lambda", "__init__"), ("keras.saving", "load_model"), ("keras.utils", "FeatureSpace"), ("keras.callbacks", "LambdaCallback"),
    ("keras.src.saving.serialization_lib", "deserialize_keras_object"), ("keras.tree", "MAP_TO_NONE"), ("keras.export", "ExportArchive"),
    ("keras.datasets.mnist", "load_data"), ("keras.applications", "ResNet50"), (".keras.layers", "Dense"), ("keras.layers", "Dense.__class__"),
    ("keras", "src"), ("keras.ops", "custom_gradient"), ("keras.src.models.cloning", "clone_model"), ("tensorflow", "Module"),
    ("keras.distribution", "ModelParallel"), ("keras.wrappers", "SKLearnClassifier"), ("tf_keras.utils", "get_file"),
    ("keras.preprocessing.image", "load_img"), ("keras.src.utils.torch_utils", "TorchModuleWrapper"),
    *((f"keras.{where}", name) for where in ("ops", "src.ops.core") for name in ("Map", "Scan", "Cond", "WhileLoop", "VectorizedMap", "CustomGradient")),
)  # fmt: skip


@pytest.mark.parametrize("kind", ["class", "function"])
@pytest.mark.parametrize("place", PLACES, ids=".".join)
def test_nothing_but_parts_of_models_is_looked_up(place: tuple[str, str], kind: str, tmp_path: Path, capsys: Any) -> None:
    module, name = place
    one = named(name, module) if kind == "class" else layer("Dense", units=3, activation={**FUNCTION, "config": name, "module": module})
    refused(archive(tmp_path / "m.keras", sequential(one, layer("Dense", units=3))), capsys)


@pytest.mark.parametrize("name", ["__tensor__", "__numpy__", "__bytes__", "__ellipsis__", "__slice__", "__tuple__", "__keras_tensor__"])
@pytest.mark.parametrize("config", [{}, None, [], {"value": 10**15, "dtype": "int64"}, {"value": "x"}, {"shape": [10**12, 10**12]}], ids=str)
def test_a_value_in_the_place_of_a_layer(name: str, config: Any, tmp_path: Path, capsys: Any) -> None:
    refused(archive(tmp_path / "m.keras", sequential({"class_name": name, "config": config})), capsys)


def built(name: str, held: Any) -> dict[str, Any]:
    return {**layer(name, **({"units": 3} if name == "Dense" else {})), "build_config": held}


def inner(compiled: Any) -> dict[str, Any]:
    made = sequential(layer("Dense", units=4), compiled=compiled)
    made["config"]["name"] = "inner"
    return made


EVIL = {**FUNCTION, "config": "system", "module": "os"}
CODE = {
    "a loss in a model inside": sequential(inner({"optimizer": "sgd", "loss": EVIL})),
    "a file as a vocabulary of a build": sequential(built("StringLookup", {"vocabulary": "/etc/passwd", "input_shape": [None, 4]})),
    "a function in a build": sequential(built("Dense", {"x": {"class_name": "__lambda__", "config": {}}})),
    "a class in a policy": sequential(layer("Dense", units=3, dtype=named("DTypePolicyMap", "keras.dtype_policies", policy_map={"a": named("E", "e")}))),
    "a function in a quantizer": sequential(layer("Dense", units=3, quantization_config=named("Int8", "keras.quantizers", f={"class_name": "__lambda__"}))),
    "a key that is there twice": json.dumps(sequential(layer("Dense", units=3))).replace('"Dense"', '"Dense", "class_name": "Lambda"', 1),
    "a column that reads a file": sequential(
        layer("DenseFeatures", feature_columns=[{"class_name": "VocabularyFileCategoricalColumn", "config": {"vocabulary_file": "/etc/passwd"}}]), second=True
    ),
    "an application of Keras'": named("ResNet50", "keras.applications", weights="imagenet"),
}  # fmt: skip


@pytest.mark.parametrize("name", CODE)
def test_code_in_other_places(name: str, tmp_path: Path, capsys: Any) -> None:
    assert "not run" in refused(archive(tmp_path / "m.keras", CODE[name]), capsys)


def calls(**changes: Any) -> dict[str, Any]:
    """A model of two calls, one after the other, with one thing changed."""
    made = circle()
    _, first, second = made["config"]["layers"]
    for one, giver in ((first, changes.pop("first", ["i", 0, 0])), (second, ["a", 0, 0])):
        one["inbound_nodes"][0]["args"][0]["config"]["keras_history"] = giver
    made["config"] |= changes
    return made


WRONG: dict[str, Any] = {
    **{f"built with {held}": sequential(built("Dense", held)) for held in ("x", [1], {"input_shape": "abc"}, {"input_shape": [None, 2**52]}, {"input_shape": None})},
    **{f"outputs {ends}": calls(output_layers=ends) for ends in ("x", None, [["nope", 0, 0]], [["a", 9, 0]], [["i", -1, 0]], [[["a"]]], {"a": ["a", 0, 0]}, 5)},
    **{f"named {name!r:.20}": sequential({**layer("Dense", units=3), "class_name": name}) for name in ("", "\x1b[31m", "a\n::error::", "a" * 10**6, "Dense\0", "object")},
    **{f"the policy {policy}": sequential(layer("Dense", units=3, dtype=policy)) for policy in ("float8", "bogus", 5, [])},
    **{f"the number {word}": json.dumps(sequential(layer("Dropout", rate="@"))).replace('"@"', word) for word in ("NaN", "-Infinity", "1e999", "9007199254740993")},
    **{
        f"numbers of type {kind}": sequential(layer("Dense", units=3, bias_initializer=named("Constant", "keras.initializers", value=tensor)))
        for kind in ("resource", "object", "M8[s]", "S2147483647", "\x1b[2J", 7)
        for tensor in [{"class_name": "__numpy__", "config": {"value": ["x"] * 50, "dtype": kind}}]
    },
    "a circle by an argument": calls(first=["b", 0, 0]),
    "a call that comes later": calls(first=["i", 7, 0]),
    "one object twice": sequential({**layer("Dense", units=4), "shared_object_id": 1}, {**layer("Dense", units=3), "shared_object_id": 1}),
    "a wrapper of nothing": sequential(layer("Wrapper", layer=None)),
    "a shape of names": sequential(layer("Reshape", target_shape={"a": 2, "b": 2})),
    "a Bidirectional of Dense": sequential(layer("Bidirectional", layer=layer("Dense", units=3))),
    "an equation of 100,000 letters": sequential(layer("EinsumDense", equation="a" * 100_000, output_shape=[3])),
    "padding of all memory": sequential(layer("Reshape", target_shape=[4, 1]), layer("ZeroPadding1D", padding=2**50)),
    "a bomb of quotes": '"' * (2**22),
    "a bomb of escapes": '{"a": "' + "\\" * (2**22),
    "a mark before the text": b"\xef\xbb\xbf" + json.dumps(good()).encode(),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_configuration_that_is_odd(name: str, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("TPUSHAPE_TIMEOUT", "5")
    checked(archive(tmp_path / "m.keras", WRONG[name]), capsys, 0, 1, 2)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux limits what a process may write to")
@pytest.mark.parametrize("place", ["metric", "layer"])
def test_one_call_in_c_cannot_take_all_memory(place: str, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    """Nobody looks at the memory while it is taken: the system says no."""
    import resource

    monkeypatch.setattr("jupyter_tpushape.saved.make.MEMORY", 256 << 20)
    before = resource.getrlimit(resource.RLIMIT_DATA)
    compiled = None
    layers = [layer("Reshape", target_shape=[4]), layer("Dense", units=3)]
    if place == "metric":
        compiled = {"optimizer": "sgd", "loss": "mse", "metrics": [{"class_name": "AUC", **K3, "module": "keras.metrics", "config": {"num_thresholds": 2**28}}]}
    else:
        layers.insert(1, layer("MelSpectrogram", fft_length=2**34))
    said = checked(archive(tmp_path / "m.keras", sequential(*layers, compiled=compiled)), capsys, 0, 1, 2)
    assert "only the loss can be read" in said if place == "metric" else said.count("\n") <= 1
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
