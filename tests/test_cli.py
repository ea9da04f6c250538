"""The command line: what it prints, and how it exits."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

import jupyter_tpushape as tpushape
from jupyter_tpushape.cli import main
from jupyter_tpushape.command.early import check_place

PROGRAM = """
import keras, numpy as np
L = keras.layers

def broken():
    m = keras.Sequential([keras.Input((8, 8, 1)), L.Conv2D(4, 3), L.Dense(3, activation="softmax")])
    m.compile("sgd", "sparse_categorical_crossentropy")
    return m

def good():
    m = keras.Sequential([keras.Input((8, 8, 1)), L.Conv2D(4, 3), L.Flatten(), L.Dense(3, activation="softmax")])
    m.compile("sgd", "sparse_categorical_crossentropy")
    return m

def data():
    return np.zeros((16, 8, 8, 1), "float32"), np.arange(16) % 3
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    return path


def test_check_exits_1_on_something_serious_and_shows_the_fix(program, capsys):
    assert main(["check", f"{program}:broken", "--data", f"{program}:data", "--tpu", "none"]) == 1
    text = capsys.readouterr().out
    assert all(fact in text for fact in ("missing-flatten", "conv2d", "sparse_categorical_crossentropy"))
    assert re.search(r"✓ fix.*?Flatten before dense", " ".join(text.split()))
    assert "+" in text and "L.Flatten()" in text


def test_check_exits_0_on_a_clean_program(program, capsys):
    assert main(["check", f"{program}:good", "--data", f"{program}:data", "--tpu", "none"]) == 0
    assert capsys.readouterr().out.startswith("✓ ")


def test_json_goes_to_a_file(program, tmp_path):
    out = tmp_path / "report.json"
    main(["check", f"{program}:broken", "--data", f"{program}:data", "--tpu", "none", "--format", "json", "--output", str(out)])
    assert json.loads(out.read_text())["findings"][0]["rule"] == "missing-flatten"


@pytest.mark.parametrize(("place", "said"), [("train.py", ("train.py", "file.py:name")), ("nowhere.py:model", ("nowhere.py", "Python file"))])
def test_usage_errors_are_one_line_that_says_what_to_type(place, said, capsys):
    assert main(["check", place]) == 2
    one_line(capsys.readouterr().err, said)


def one_line(text, said):
    """A usage error is one line of ours that names what was typed and what to type."""
    assert text.startswith("tpushape: ") and text.count("\n") == 1, text
    assert not [part for part in said if part not in text], text


LIGHT = """
import sys
from jupyter_tpushape.cli import main
code = main(sys.argv[1:])
heavy = {"numpy", "tensorflow", "jax", "keras", "tf_keras", "networkx", "jinja2"} & set(sys.modules)
sys.exit(f"imported {sorted(heavy)}" if heavy else code)
"""


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["train.py:brokne"], ("train.py", "brokne", "broken, good, data", "broken?")),
        (["trian.py:broken"], ("trian.py", "train.py?")),
        (["train.py:broken", "--data", "train.py:dta"], ("train.py", "dta", "broken, good, data", "data?")),
        (["model.keras"], ("model.keras", ".h5", "SavedModel")),
        (["train.py:broken", "--data", "train.py:data", "--input-spec", "2:int8"], ("--data", "--input-spec")),
    ],
)
def test_a_slip_is_answered_before_anything_heavy_is_imported(program, typed, said):
    done = subprocess.run([sys.executable, "-c", LIGHT, "check", *typed], cwd=program.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    one_line(done.stderr, said)


@pytest.mark.parametrize("text", ["from os import *", "globals()['made'] = open", "def __getattr__(name): return open", "made = ("])
def test_a_name_that_the_text_does_not_show_is_looked_for_by_running(tmp_path, text):
    (tmp_path / "odd.py").write_text(text)
    check_place(f"{tmp_path / 'odd.py'}:made")


def test_an_unknown_name_lists_what_there_is(program, capsys):
    assert main(["check", f"{program}:nosuch"]) == 2
    one_line(capsys.readouterr().err, ("train.py", "nosuch", "broken, good, data"))


def test_targets_and_rules_are_listed(capsys):
    assert main(["targets"]) == 0
    assert "v5e-8" in capsys.readouterr().out
    assert main(["rules", "missing-flatten"]) == 0
    title = next(rule.title for rule in tpushape.rules() if rule.id == "missing-flatten")
    assert title in capsys.readouterr().out
    assert main(["doctor"]) == 0
    assert "tensorflow" in capsys.readouterr().out


def test_a_file_alone_and_an_option_that_does_not_exist_are_answered_with_what_was_meant(tmp_path, capsys):
    file = tmp_path / "train.py"
    file.write_text("def data():\n    pass\ndef make_model():\n    pass\n")
    assert main(["check", str(file)]) == 2
    assert f"It defines data, make_model. Use {file}:make_model." in capsys.readouterr().err
    with pytest.raises(SystemExit) as left:
        main(["check", f"{file}:make_model", "--fromat=json"])
    assert left.value.code == 2 and "Did you mean --format?" in capsys.readouterr().err


def test_a_script_whose_pipeline_raises_is_told_its_line_and_the_message_alone(tmp_path, capsys):
    file = tmp_path / "pipe.py"
    file.write_text(
        "import tensorflow as tf\n\n\ndef decode(row):\n    return tf.reshape(row, (4, 4))\n\n\ndata = tf.data.Dataset.from_tensors(tf.zeros((15,))).map(decode)\n"
    )
    assert main(["check", f"{file}:data"]) == 2
    said = capsys.readouterr().err
    assert "pipe.py:5" in said and "node" not in said and said.count("\n") == 1
