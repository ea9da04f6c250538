"""What a refusal says is what is wrong: the cause inside of a framework's words, and no code where there is none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from test_attacks_files import archive, layer, sequential

import jupyter_tpushape as tpushape
from jupyter_tpushape.cli import main
from jupyter_tpushape.trace.patience import patience

ROOT = Path(tpushape.__file__).parents[1]


def saved(path: Path, **dense: Any) -> Path:
    """A ``.keras`` archive of one Dense layer with this configuration."""
    layers = [
        {"class_name": "InputLayer", "config": {"batch_shape": [None, 4], "dtype": "float32", "name": "i"}, "module": "keras.layers"},
        {"class_name": "Dense", "config": {"name": "d", "units": 3} | dense, "module": "keras.layers"},
    ]
    with zipfile.ZipFile(path, "w") as file:
        config = {"class_name": "Sequential", "config": {"name": "m", "layers": layers}, "module": "keras", "registered_name": None}
        file.writestr("config.json", json.dumps(config))
    return path


CAUSES = {
    "an initializer by its path": ({"kernel_initializer": "os.system"}, "os.system)"),
    "an activation that is none": ({"activation": "deserialize it"}, "deserialize it"),
    "a type that is none": ({"dtype": "float33"}, "float33"),
    "a name with a slash": ({"name": "../../x"}, "cannot contain character `/`"),
    "a layer inside of an argument": ({"kernel_regularizer": {"class_name": "L2", "config": {"l2": "many"}, "module": "keras.regularizers"}}, "many"),
}


@pytest.mark.parametrize("name", CAUSES)
def test_the_cause_is_said_and_not_the_configuration_around_it(name: str, tmp_path: Path, capsys: Any) -> None:
    config, words = CAUSES[name]
    assert main(["check", str(saved(tmp_path / "m.keras", **config)), "--input-spec", "8,4:float32", "--tpu", "none"]) == 2
    said = capsys.readouterr().err
    assert words in said and "using config=" not in said and said.count("\n") == 1


@pytest.mark.parametrize("second", [False, True], ids=["keras", "tf_keras"])
def test_the_cause_is_said_and_not_the_layer_around_it(second: bool, tmp_path: Path, capsys: Any) -> None:
    config = sequential(layer("Dense", units=5), layer("Reshape", target_shape=[7]), second=second)
    assert main(["check", str(archive(tmp_path / "m.keras", config)), "--input-spec", "8,4:float32", "--tpu", "none"]) == 2
    said = capsys.readouterr().err
    assert "Exception encountered" not in said and "cannot build (" in said
    assert "must be unchanged" in said or "cannot be reshaped" in said, said


@pytest.mark.parametrize("units", [10**18, -(10**30)])
def test_a_number_is_not_called_code(units: int, tmp_path: Path, capsys: Any) -> None:
    assert main(["check", str(saved(tmp_path / "m.keras", units=units)), "--input-spec", "8,4:float32"]) == 2
    said = capsys.readouterr().err
    assert "describes what no model has (a number of" in said and "code" not in said


def test_what_is_in_the_place_of_a_file_is_named(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "folder.keras").mkdir()
    (tmp_path / "loop.keras").symlink_to("loop.keras")
    (tmp_path / "loops.keras").write_bytes(b"")
    (tmp_path / "large").mkdir()
    with (tmp_path / "large" / "saved_model.pb").open("wb") as file:
        file.truncate(2**36)
    for path, words in {
        "folder.keras": "is a folder without saved_model.pb",
        "loop.keras": "is a symbolic link that leads to no file",
        "large": "has a saved_model.pb of 68,719,476,736 bytes, but at most",
    }.items():
        assert main(["check", str(tmp_path / path), "--input-spec", "8,4:float32"]) == 2
        said = capsys.readouterr().err
        assert words in said and said.count("\n") == 1
    assert main(["check", ""]) == 2
    assert capsys.readouterr().err == "tpushape: The model has no name: use file.py:name, such as train.py:make_model.\n"


def test_a_backend_that_does_not_exist_is_no_fault_of_ours(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("import keras\n\ndef build():\n    return keras.Sequential()\n")
    done = subprocess.run(
        [sys.executable, "-m", "jupyter_tpushape.cli", "check", "x.py:build"],
        cwd=tmp_path, env={**os.environ, "KERAS_BACKEND": "evil\n::error::x", "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and done.stdout == ""
    assert "which it does not have: set KERAS_BACKEND=tensorflow or KERAS_BACKEND=jax." in done.stderr
    assert "\n::error" not in done.stderr


@pytest.mark.parametrize(("typed", "seconds"), [("inf", 1e6), ("1e400", 1e6), ("nan", 120.0), ("-1", 0.1), ("abc", 120.0), ("", 120.0)])
def test_a_time_limit_that_is_none(typed: str, seconds: float, monkeypatch: Any) -> None:
    monkeypatch.setenv("TPUSHAPE_TIMEOUT", typed)
    assert patience() == seconds
