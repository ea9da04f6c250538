"""A cell that is run again for a report finds the user's objects as they are, and leaves them so."""

from __future__ import annotations

import ast

import pytest
from shells import cells as shell_cells

from jupyter_tpushape.repair.text.cells import bound, used

DATA = "import keras, numpy as np\nx, y = np.zeros((32, 4), 'float32'), np.arange(32) % 6"
MODEL = "model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(6, activation='softmax')])"
COMPILE = "model.compile('adam', 'categorical_crossentropy')"
FIT = "model.fit(x, y, verbose=0)"

# What the cells after the data are, and the line that asks for the report.
CELLS = {
    "compiled in a cell of its own": ([MODEL, COMPILE, FIT], "%tpushape --text"),
    "compiled and trained in one cell": ([MODEL, f"{COMPILE}\n{FIT}"], "%tpushape --text"),
    "compiled twice by the same text": ([MODEL, COMPILE, MODEL, COMPILE, FIT], "%tpushape --text"),
    "a layer added where it is trained": ([MODEL, f"model.add(keras.layers.Softmax())\n{COMPILE}\n{FIT}"], "%tpushape --text"),
    "made by a function that sets a global": ([f"def make():\n    global model\n    {MODEL}\nmake()", COMPILE, FIT], "%tpushape --text"),
    "asked for": ([MODEL, COMPILE], "%tpushape model (x, y) --text"),
}


@pytest.fixture
def run():
    with shell_cells() as made:
        made(f"%load_ext jupyter_tpushape\n{DATA}")
        yield made


def state(model):
    return id(model.optimizer), model.loss, [id(layer) for layer in model.layers], int(model.optimizer.iterations)


@pytest.mark.parametrize("case", CELLS)
def test_the_model_keeps_its_optimizer_its_loss_and_its_layers(run, case):
    cells, asked = CELLS[case]
    for cell in cells:
        run(cell)
    model = run.shell.user_ns["model"]
    before = state(model)
    run(asked)
    assert run.report.findings[0].rule == "integer-labels"
    assert run.report.findings[0].fixes[0].verified
    assert run.shell.user_ns["model"] is model
    assert state(model) == before


def test_a_traced_cell_changes_a_model_once(run):
    """The cell runs after its trace: a layer that it adds is there once, and so is what it appends."""
    run("names = []\nmodel = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)])")
    run(
        "%%tpushape --text\nmodel.add(keras.layers.Dense(6, activation='softmax')); names.append(1)\n"
        "model.compile('adam', 'sparse_categorical_crossentropy')\nmodel.fit(x, y, verbose=0)"
    )
    assert [layer.units for layer in run.shell.user_ns["model"].layers] == [4, 6]
    assert run.shell.user_ns["names"] == [1]


@pytest.mark.parametrize(
    ("statement", "read", "given"),
    [
        ("y = [x for x in x if x > z]", {"x", "z"}, {"y"}),
        ("def f(a, b=c):\n    d = a + e\n    return [h for h in d if h > i]", {"c", "e", "i"}, {"f"}),
        ("def f():\n    global g\n    g = g + 1", {"g"}, {"f"}),
        ("z = lambda q, r=s: q + t", {"s", "t"}, {"z"}),
        ("class K(Base):\n    def m(self, x):\n        y = x\n        return y + w", {"Base", "w"}, {"K"}),
        ("for j in rows:\n    total += j", {"j", "rows", "total"}, {"total", "j"}),
    ],
)
def test_what_a_statement_reads_and_gives_a_value(statement, read, given):
    (parsed,) = ast.parse(statement).body
    assert (set(used(parsed)), set(bound(parsed))) == (read, given)


SCORER = """
class Scorer(keras.Model):
    def __init__(self):
        super().__init__()
        self.parts = [keras.layers.Dense(units) for units in (5, 3)]
    def call(self, h):
        for part in self.parts:
            h = part(h)
        pick = lambda logits: logits
        return keras.ops.softmax(pick(h), axis=0)
scorer = Scorer()
scorer.compile('adam', 'sparse_categorical_crossentropy')
"""


def test_the_own_names_of_a_function_are_no_variables_of_other_cells(run):
    """A cell that failed left tensors under the names that a method's parameters, a loop, a lambda and a comprehension have."""
    made = "h = part = logits = units = keras.Input((4,))\nh = keras.layers.Dense(2)(h)\nh = part = logits = units = "
    failed, *_ = run(f"{made}keras.layers.Concatenate(axis=0)([h, keras.Input((5,))])")
    assert failed.error_in_exec is not None
    run(SCORER)
    run("%tpushape scorer (x, y % 3) --text")
    finding = run.report.findings[0]
    assert (finding.rule, finding.fixes[0].verified, finding.fixes[0].proof) == ("softmax-over-batch", True, "source")
