"""``%tpushape model data`` on variables of a notebook: a fix of the data is a patch of the cell that gave the variable its value.

Each notebook is run, traced, patched in the cell that the fix names, run again from the start, and must then train.
"""

from __future__ import annotations

import contextlib
import io
import re

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import jupyter_tpushape as tpushape

IMPORTS = "%load_ext jupyter_tpushape\nimport {lib} as keras, numpy as np, tensorflow as tf\nlayers = keras.layers"
DIGITS = (
    "model = keras.Sequential([keras.Input((28, 28, 1)), layers.Conv2D(4, 3), layers.Flatten(), layers.Dense(10)])\n"
    "model.compile('sgd', keras.losses.SparseCategoricalCrossentropy(from_logits=True))"
)
TABLE = "model = keras.Sequential([keras.Input((4,)), layers.Dense(1)])\nmodel.compile('sgd', 'mse')"

STATES = """{i} = keras.Input((9, 3))
{o}, h, c = layers.LSTM(8, return_sequences=True, return_state=True)({i})
states = [h, c]
{o} = layers.LSTM(8, return_sequences=True)({o}, initial_state=states)
{o} = layers.Dense(3)({o})
model = keras.Model({i}, {o})
model.compile("sgd", "mse")"""

# name: (cells of data and model, what is typed, target, cell that changes, a line of the patch, what fit takes)
NOTEBOOKS = {
    "batch in the cell of the pipeline": (
        ["ds = tf.data.Dataset.from_tensor_slices((np.zeros((64, 4), 'float32'), np.zeros((64, 1), 'float32'))).batch(12)", TABLE],
        "model ds", "v5e-8", 0, "+ds = tf.data.Dataset.from_tensor_slices((np.zeros((64, 4), 'float32'), np.zeros((64, 1), 'float32'))).batch(16, drop_remainder=True)", "ds",
    ),
    "a pipeline built over two cells": (
        ["ds = tf.data.Dataset.from_tensor_slices((np.zeros((64, 4), 'float32'), np.zeros((64, 1), 'float32')))", "ds = ds.batch(12)\nds = ds.prefetch(1)", TABLE],
        "model ds", "v5e-8", 1, "+ds = ds.batch(16, drop_remainder=True)", "ds",
    ),
    "an array without its channel axis in a convolution's shape": (
        ["x = np.zeros((16, 28, 28), 'float32')[:, None]\ny = np.zeros((16,), 'int32')", DIGITS],
        "model (x, y)", "none", 0, None, "x, y",
    ),
    "several arrays from one call": (
        ["def load():\n    return np.zeros((16, 1, 4), 'float32'), np.zeros((16, 1), 'float32')\nx_train, y_train = load()", TABLE],
        "model (x_train, y_train)", "none", 0, None, "x_train, y_train",
    ),
    "an array that a later cell scaled": (
        ["x = np.ones((16, 1, 4))\ny = np.zeros((16, 1), 'float32')", "x = x / 255.0\nx /= 2  # halves", TABLE],
        "model (x, y)", "none", 1, None, "x, y",
    ),
    "labels in another cell than the images": (
        ["x = np.zeros((16, 28, 28, 1), 'float32')", "y = np.eye(10, dtype='float32')[np.arange(16) % 10]", DIGITS],
        "model (x, y)", "none", None, None, "x, y",
    ),
    "rows that a cell selects for the inputs alone": (
        ["x = np.zeros((24, 4), 'float32')\ny = np.zeros((24, 1), 'float32')", "x_train = x[:16]\ny_train = y", TABLE],
        "model (x_train, y_train)", "none", 1, "+y_train = y[:16]", "x_train, y_train",
    ),
    "parts of a split that a cell unpacks in another order": (
        ["def split(x, y):\n    return x[:16], x[16:], y[:16], y[16:]", "x, y = np.zeros((24, 4), 'float32'), np.zeros((24, 1), 'float32')\nx_train, y_train, x_test, y_test = split(x, y)", TABLE],
        "model (x_train, y_train)", "none", 1, "+x_train, x_test, y_train, y_test = split(x, y)", "x_train, y_train",
    ),
    "tensors of a model that a list holds": (
        ["x = np.zeros((16, 9, 3), 'float32')\ny = np.zeros((16, 9, 1), 'float32')", STATES.format(i="i", o="o"), "history = []"],
        "model (x, y)", "none", 1, "+o = layers.Dense(1)(o)", "x, y",
    ),
    "names of tensors that the data has after them": (
        [STATES.format(i="x", o="y"), "pairs = [np.zeros((16, 9, size), 'float32') for size in (3, 1)]\nx, y = pairs"],
        "model (x, y)", "none", 0, "+y = layers.Dense(1)(y)", "x, y",
    ),
    "tensors of a model that a dict holds": (
        ["x = np.zeros((16, 9, 3), 'float32')\ny = np.zeros((16, 9, 1), 'float32')", STATES.format(i="i", o="o").replace("states = [h, c]", "held = {'h': h, 'c': c}\nstates = [held['h'], held['c']]")],
        "model (x, y)", "none", 1, "+o = layers.Dense(1)(o)", "x, y",
    ),
    "named in the panel's way": (
        ["x = np.zeros((16, 1, 4), 'float32')\ny = np.zeros((16, 1), 'float32')", TABLE],
        "model (x,y)", "none", 0, None, "x, y",
    ),
}  # fmt: skip


class Cells:
    """A notebook's cells in one shell."""

    def __init__(self, lib):
        InteractiveShell.clear_instance()
        self.shell = InteractiveShell.instance(colors="nocolor")
        self.run(IMPORTS.format(lib=lib))

    def run(self, cell, cell_id=None):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return self.shell.run_cell(cell, store_history=True, cell_id=cell_id)

    def end(self):
        tpushape.unload_ipython_extension(self.shell)
        self.shell.run_line_magic("reset", "-f")
        InteractiveShell.clear_instance()


@pytest.fixture
def cells(request):
    made = []

    def start(lib):
        made.append(Cells(lib))
        return made[-1]

    yield start
    for book in made:
        book.end()


def patched(text, patch):
    """A cell with a unified diff applied."""
    lines, out, at = text.split("\n"), [], 0
    for line in patch.split("\n")[2:]:
        hunk = re.match(r"@@ -(\d+)", line)
        if hunk:
            out += lines[at : int(hunk[1]) - 1]
            at = int(hunk[1]) - 1
        elif line.startswith("+"):
            out.append(line[1:])
        else:
            assert lines[at] == line[1:], (lines[at], line)
            out += [] if line.startswith("-") else [line[1:]]
            at += 1
    return "\n".join([*out, *lines[at:]])


def traced(book, notebook, typed, target):
    for i, cell in enumerate(notebook):
        result = book.run(cell, cell_id=f"cell-{i}")
        assert result.success, result.error_in_exec
    book.run(f"%tpushape {typed} --tpu {target}")
    return book.shell.user_ns["_tpushape_report"]


@pytest.mark.parametrize("lib", ["keras", "tf_keras"])
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_fix_of_the_data_is_a_patch_of_the_cell_that_made_it(cells, name, lib):
    notebook, typed, target, changed, line, fed = NOTEBOOKS[name]
    book = cells(lib)
    report = traced(book, notebook, typed, target)
    held = {key: np.copy(value) for key, value in book.shell.user_ns.items() if isinstance(value, np.ndarray)}
    finding = next(one for one in report.findings if one.serious)
    fix = finding.fixes[0]
    assert fix.verified and fix.proof == "source", (finding, fix.title, fix.reason)
    assert changed is None or fix.cell == f"cell-{changed}"
    assert line is None or line in fix.patch.split("\n"), fix.patch
    for key, value in held.items():
        assert np.array_equal(book.shell.user_ns[key], value), f"{key} was changed by the trial"
    book.end()

    again = cells(lib)
    index = int(fix.cell.removeprefix("cell-"))
    mended = [patched(text, fix.patch) if i == index else text for i, text in enumerate(notebook)]
    report = traced(again, mended, typed, target)
    assert not [one for one in report.findings if one.serious], fix.patch
    result = again.run(f"model.fit({fed}, verbose=0)")
    assert result.success, (fix.patch, result.error_in_exec)


@pytest.mark.parametrize("lib", ["keras", "tf_keras"])
def test_faults_in_two_cells_are_fixed_in_both_by_one_fix(cells, lib):
    notebook = [
        "ds = tf.data.Dataset.from_tensor_slices((np.zeros((64, 8, 8, 3), 'float32'), np.zeros((64,), 'int32'))).batch(12)",
        """model = keras.Sequential([keras.Input((8, 8, 3)), layers.Conv2D(4, 3), layers.Dense(3, activation='softmax')])
model.compile('sgd', 'categorical_crossentropy')""",
    ]
    report = traced(cells(lib), notebook, "model ds", "v5e-8")
    found = {one.rule: one.fixes[0] for one in report.findings if one.serious}
    assert len(found) > 1 and "uneven-replicas" in found
    for fix in found.values():
        assert fix.verified and fix.proof == "source"
        patches = {part.cell: part.patch for part in (fix, *fix.also)}
        assert "batch(16, drop_remainder=True)" in patches["cell-0"]
        assert "+" in patches["cell-1"] and "sparse_categorical_crossentropy" in patches["cell-1"] and "layers.Flatten()" in patches["cell-1"]


@pytest.mark.parametrize("lib", ["keras", "tf_keras"])
def test_faults_of_model_and_data_in_one_file_are_mended_by_one_patch(tmp_path, monkeypatch, lib):
    file = tmp_path / f"trained_{lib}.py"
    file.write_text(
        f"import {lib} as keras, numpy as np, tensorflow as tf\nlayers = keras.layers\n\n\n"
        "def make_data():\n"
        "    ds = tf.data.Dataset.from_tensor_slices((np.zeros((64, 8, 8, 3), 'float32'), np.zeros((64,), 'int32')))\n"
        "    return ds.batch(12)\n\n\n"
        "def make_model():\n"
        "    model = keras.Sequential([keras.Input((8, 8, 3)), layers.Conv2D(4, 3), layers.Dense(3, activation='softmax')])\n"
        "    model.compile('sgd', 'categorical_crossentropy')\n"
        "    return model\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module = __import__(file.stem)
    report = tpushape.trace(module.make_model, module.make_data, tpu="v5e-8")
    for finding in (one for one in report.findings if one.serious):
        fix = finding.fixes[0]
        assert fix.verified and fix.proof == "source", (finding.rule, fix.title)
        kinds = [edit.kind for edit in fix.edits]
        assert "batching" in kinds and "loss" in kinds and "insert-layer" in kinds
    tpushape.apply(report.findings[0].fixes[0], file)
    names = {}
    exec(file.read_text(encoding="utf-8"), names)
    names["make_model"]().fit(names["make_data"](), verbose=0)


def test_a_batch_that_was_typed_with_the_magic_is_looked_for_in_no_cell(cells):
    """The cell says nothing of that batch: its text stays, and the fix is tried on the live pipeline."""
    notebook = [
        "rows = 12  # a cell of its own, longer than what is typed",
        "ds = tf.data.Dataset.from_tensor_slices((np.zeros((64, 4), 'float32'), np.zeros((64, 1), 'float32')))",
        TABLE,
    ]
    report = traced(cells("keras"), notebook, "model ds.batch(12)", "v5e-8")
    fix = next(one for one in report.findings if one.serious).fixes[0]
    assert fix.verified and fix.proof == "live" and not fix.cell


def test_a_magic_beside_the_change_stands_in_the_diff_as_it_was_typed(cells):
    book = cells("keras")
    made = (
        "ds = tf.data.Dataset.from_tensor_slices((np.zeros((64, 4), 'float32'), np.zeros((64, 1), 'float32')))\n"
        "if True:\n    %precision 3\n"
        "ds = ds.batch(12)\n"
        "%tpushape  model ds --tpu v5e-8 # as typed"
    )
    assert book.run(TABLE).success
    assert book.run(made, cell_id="cell-1").success
    fix = book.shell.user_ns["_tpushape_report"].findings[0].fixes[0]
    assert fix.cell == "cell-1"
    assert {"     %precision 3", "-ds = ds.batch(12)", " %tpushape  model ds --tpu v5e-8 # as typed"} <= set(fix.patch.split("\n"))
    assert patched(made, fix.patch).endswith("\n%tpushape  model ds --tpu v5e-8 # as typed")
