"""What check takes: notebooks, which it runs only when told to, and saved models, whose code it never runs."""

from __future__ import annotations

import json

import keras
import pytest
import tf_keras

from jupyter_tpushape.cli import main
from jupyter_tpushape.command.early import UsageError
from jupyter_tpushape.command.load import input_spec
from jupyter_tpushape.flow import Spec

CELLS = [
    "import keras, numpy as np\nL = keras.layers",
    "x = np.zeros((64, 8, 8, 1), 'float32')\ny = np.arange(64) % 3",
    (
        "model = keras.Sequential([\n    keras.Input((8, 8, 1)),\n    L.Conv2D(4, 3),\n    L.Dense(3, activation='softmax'),\n])\n"
        "model.compile('sgd', 'sparse_categorical_crossentropy')"
    ),
    "model.fit(x, y, epochs=2)\nopen('trained', 'w')",
]


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(cells):
        made = [
            {"cell_type": "code", "id": f"c{i}", "metadata": {}, "outputs": [], "execution_count": None, "source": cell.splitlines(True)}
            for i, cell in enumerate(cells)
        ]
        (tmp_path / "train.ipynb").write_text(json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1))
        return tmp_path

    return write


def test_a_notebook_is_not_run_unasked(notebook, capsys):
    folder = notebook(["open('ran', 'w')"])
    assert main(["check", "train.ipynb"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "--execute" in err and "train.ipynb" in err
    assert not (folder / "ran").exists()


def test_a_notebook_runs_up_to_its_training_call_and_its_findings_point_into_the_file(notebook, capsys):
    folder = notebook(CELLS)
    assert main(["check", "train.ipynb", "--execute", "--tpu", "none", "--format", "github"]) == 1
    line = capsys.readouterr().out.splitlines()[0]
    number = next(i for i, text in enumerate((folder / "train.ipynb").read_text().splitlines(), 1) if "L.Conv2D" in text)
    assert line.startswith(f"::error title=tpushape%3A missing-flatten,file=train.ipynb,line={number}::")
    assert not (folder / "trained").exists()


def test_a_cell_that_ends_its_kernel_is_named(notebook, capsys):
    notebook(["x = 1", "import os; os._exit(0)"])
    assert main(["check", "train.ipynb", "--execute"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "Code cell 2 " in err and "train.ipynb" in err


def test_a_cell_that_raises_for_reasons_of_its_own_is_named(notebook, capsys):
    notebook(["1 / 0"])
    assert main(["check", "train.ipynb", "--execute"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "ode cell 1 of train.ipynb" in err and "ZeroDivisionError: division by zero" in err


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    layers = keras.layers
    model = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(4, 3), layers.Dense(3)])
    model.compile("sgd", "mse")
    model.save(folder / "new.keras")
    model.save(folder / "new.h5")
    model.export(folder / "exported", verbose=False)
    old = tf_keras.Sequential([tf_keras.Input((8, 8, 1)), tf_keras.layers.Conv2D(4, 3)])
    old.save(folder / "old.keras")
    old.save(folder / "old.h5")
    keras.Sequential([keras.Input((4,)), layers.Lambda(lambda x: x * 2)]).save(folder / "code.keras")
    return folder


@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("new.keras", "keras on tensorflow"),
        ("new.h5", "keras on tensorflow"),
        ("old.keras", "tf_keras"),
        ("old.h5", "tf_keras"),
        ("exported", "keras on tensorflow"),
    ],
)
def test_a_saved_model_is_read_by_the_keras_that_wrote_it(saved, name, by, capsys):
    assert main(["check", str(saved / name), "--input-spec", "32,8,8,1:float32"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("✓ ") and " v5e-8" in out.splitlines()[0]
    assert f"· {by} ·" in " ".join(out.split())


def test_a_saved_model_that_the_data_does_not_fit(saved, capsys):
    assert main(["check", str(saved / "new.keras"), "--input-spec", "32,9,9,2:float32", "--tpu", "none"]) == 1
    assert "input-axis" in capsys.readouterr().out


def test_code_that_a_saved_model_carries_is_not_run(saved, capsys):
    assert main(["check", str(saved / "code.keras"), "--input-spec", "8,4:float32"]) == 2
    assert "(a Lambda layer)" in capsys.readouterr().err


def test_an_exported_model_does_not_know_its_batch(saved, capsys):
    assert main(["check", str(saved / "exported")]) == 2
    assert '--input-spec "32,224,224,3:float32"' in capsys.readouterr().err


def test_specs_are_read():
    assert input_spec(["32,224,224,3:float32"]) == Spec((32, 224, 224, 3), "float32")
    assert input_spec(["ids=8,?:int32", "mask=8,?:bool"]) == {"ids": Spec((8, None), "int32"), "mask": Spec((8, None), "bool")}
    assert input_spec(["(8, 4):float32", "8,2:float32"]) == [Spec((8, 4), "float32"), Spec((8, 2), "float32")]
    assert input_spec(["  a/b-1.c=8 , ?\t: bool "]) == {"a/b-1.c": Spec((8, None), "bool")}
    for wrong in ("32", "a,b:float32", "3:quux32", ":float32", "3:float32; import os"):
        with pytest.raises(UsageError, match=r"32,224,224,3:float32"):
            input_spec([wrong])
