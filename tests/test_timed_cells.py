"""Cells under ``%%time``: what they make has its lines, and the fix goes into the cell as it is typed."""

from __future__ import annotations

import pytest
from shells import cells as shell_cells

from jupyter_tpushape.repair.patch import patched

FIRST = "%load_ext jupyter_tpushape"
START = "import {lib} as keras, numpy as np\nL = keras.layers\nx, y = np.zeros((48, 8, 8, 1), 'float32'), np.arange(48) % 4"
MODEL = "model = keras.Sequential([keras.Input((8, 8, 1)), L.Conv2D(4, 3), L.Dense(4, activation='softmax')])\nmodel.compile('sgd', 'sparse_categorical_crossentropy')"
MADE = "def make():\n    model = keras.Sequential([keras.Input((8, 8, 1)), L.Conv2D(4, 3), L.Dense(4, activation='softmax')])\n    model.compile('sgd', 'sparse_categorical_crossentropy')\n    return model"
FIT = "model.fit(x, y, verbose=0)"
ADD = "a = keras.Input((8, 8, 1))\nb = L.Conv2D(4, 3)(a)\nc = L.Add()([L.Conv2D(4, 1)(a), b])"

# Cells, of which the last raises; the cell that the fix changes, and the line that is named.
TIMED = {
    "all in one": ((f"%%time\n{START}\n{MODEL}\n{FIT}",), 0, 5),
    "model and training apart": ((START, f"%%time\n{MODEL}", f"%%time\nh = {FIT}"), 1, 2),
    "a function of a timed cell": ((f"%%time\n\n\n{START}\n{MADE}", "model = make()", FIT), 0, 8),
    "only the training is timed": ((START, MODEL, f"%%time\n{FIT}"), 1, 1),
    "a graph that does not join": ((START, f"%%time\n{ADD}"), 1, 4),
    "options": ((START, f"%%time --no-raise-error\n{MODEL}", FIT), 1, 2),
}


@pytest.fixture
def run():
    with shell_cells() as made:
        yield made


# What a magic runs has nothing of a framework: each case on one of the two.
@pytest.mark.parametrize(("name", "lib"), list(zip(TIMED, ("keras", "tf_keras") * len(TIMED), strict=False)))
def test_a_timed_cell_is_a_cell(run, name, lib):
    cells, place, line = TIMED[name]
    cells = [text.replace("{lib}", lib) for text in cells]
    run(FIRST, 99)
    held = [run(text, number)[0].success for number, text in enumerate(cells)]
    assert held == [True] * (len(cells) - 1) + [False]
    run("%tpushape", "ask")
    finding = run.report.findings[0]
    assert finding.location is not None and finding.location.line == line
    fix = finding.fixes[0]
    assert fix.verified and fix.proof == "source" and fix.cell == f"cell-{place}" and "# %%time" not in fix.patch
    cells[place] = patched(cells[place], fix.patch)
    assert all(run(text, number)[0].success for number, text in enumerate(cells))


def test_the_magic_is_put_back(run):
    before = run.shell.find_cell_magic("time")
    run(FIRST)
    run("%%time\nvalue = 3\nvalue + 1")
    assert run.shell.user_ns["value"] == 3 and run.shell.find_cell_magic("time") is not before
    result, out, _ = run("%%time\nvalue + 4")
    assert result.result == 7 and "Wall time" in out
    run("%unload_ext jupyter_tpushape")
    assert run.shell.find_cell_magic("time") == before
