"""A model that is written over several cells: the fix goes into the cell that has the fault, and the notebook then runs."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

import jupyter_tpushape as tpushape

BOTH = pytest.mark.parametrize("lib", ["keras", "tf_keras"])
START = "%load_ext jupyter_tpushape\nimport {lib} as keras, numpy as np\nfrom {lib}.layers import *"

# Cells, of which the last raises; the cell that the first fix changes, and the line that it writes.
SPREAD = {
    "branches that a loop collects": (
        (
            "words = Input(shape=(50,))\nemb = Embedding(1000, 8)(words)",
            "convs = []\nfor size in (3, 4, 5):\n    c = Conv1D(4, size)(emb)\n    convs.append(MaxPooling1D(2)(c))",
            "x = concatenate(convs)\nx = Flatten()(x)",
        ),
        (2, '    c = Conv1D(4, size, padding="same")(emb)'),
    ),
    "a class, a function that calls it, and a call beside a system command": (
        (
            """class Block(Layer):
    def __init__(self, dim):
        super().__init__()
        self.a = Dense(dim * 4)
        self.b = Dense(dim * 2)
    def call(self, x):
        return x + self.b(self.a(x))""",
            "def make(dim=16):\n    i = keras.Input((6, 8))\n    return keras.Model(i, Block(dim)(Dense(dim)(i)))",
            "!echo begins\nmodel = make()",
        ),
        (1, "        self.b = Dense(dim)"),
    ),
    "a Sequential that grows": (
        (
            "net = keras.Sequential()\nnet.add(keras.Input((12, 4)))",
            "net.add(LSTM(8))\nnet.add(Dropout(0.1))",
            "print('shown')\nnet.add(LSTM(8))",
        ),
        (2, "net.add(LSTM(8, return_sequences=True))"),
    ),
    "layers that are made before the graph": (
        (
            "left = Dense(16, activation='relu')\nright = Dense(8, activation='relu')",
            "a, b = keras.Input((4,)), keras.Input((5,))\nx, y = left(a), right(b)",
            "z = Add()([x, y])",
        ),
        (1, "right = Dense(16, activation='relu')"),
    ),
}


@pytest.fixture
def run():
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(colors="nocolor")

    def run(cell, place):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return shell.run_cell(cell, store_history=True, cell_id=f"cell-{place}")

    run.shell = shell
    yield run
    tpushape.unload_ipython_extension(shell)
    shell.run_line_magic("reset", "-f")
    InteractiveShell.clear_instance()


@BOTH
@pytest.mark.parametrize("name", SPREAD)
def test_the_fix_goes_into_the_cell_with_the_fault(run, name, lib):
    cells, (place, line) = SPREAD[name]
    cells = [START.format(lib=lib), *cells]
    held = {number: run(cell, number).success for number, cell in enumerate(cells)}
    assert [number for number, ran in held.items() if not ran] == [len(cells) - 1]
    before = {key: value for key, value in run.shell.user_ns.items() if not key.startswith("_")}
    run("%tpushape", "ask")
    # What the cells made is as it was: they ran in a copy.
    assert all(run.shell.user_ns[key] is value for key, value in before.items())
    fix = run.shell.user_ns["_tpushape_report"].findings[0].fixes[0]
    assert fix.verified and fix.proof == "source" and fix.cell == f"cell-{place}"
    assert f"+{line}" in fix.patch.splitlines()
    removed = [item[1:] for item in fix.patch.splitlines() if item.startswith("-") and not item.startswith("---")]
    assert len(removed) == 1 and cells[place].count(removed[0]) == 1
    cells[place] = cells[place].replace(removed[0], line)
    run.shell.run_line_magic("reset", "-f")
    assert all(run(cell, number).success for number, cell in enumerate(cells))


@BOTH
@pytest.mark.parametrize(
    "front",
    [
        "branches = [Dense(8)(i), Dense(4)(i)]\nopened = open({path!r}, 'a').write('again')",
        "branches = [Dense(8)(i), Dense(4)(i)]\nseen.append(1)",
    ],
    ids=["writes a file", "changes a list of another cell"],
)
def test_a_cell_that_does_more_than_build_is_not_run_again(run, lib, front, tmp_path):
    path = tmp_path / "log"
    for number, cell in enumerate(
        [START.format(lib=lib), "seen = []\ni = keras.Input((3,))", front.format(path=str(path)), "x = Add()(branches)"]
    ):
        run(cell, number)
    run("%tpushape", "ask")
    report = run.shell.user_ns["_tpushape_report"]
    assert report.findings[0].rule == "merge-shapes"
    assert len(run.shell.user_ns["seen"]) <= 1 and (not path.exists() or Path(path).read_text() == "again")
