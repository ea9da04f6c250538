"""``%tpushape`` over a mesh, in a notebook with Keras on JAX."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell

import jupyter_tpushape as tpushape

CELL = """
import keras, numpy as np
L = keras.layers
x = inputs = keras.Input((256,))
model = keras.Model(inputs, L.Dense(8, name="head")(L.Dense(512, name="up")(x)))
model.compile("adam", "mse")
data = (np.zeros((64, 256), "float32"), np.zeros((64, 8), "float32"))
LAYOUT = {".*up/kernel": (None, "model"), ".*head/kernel": ("model", None)}
def by_mesh(mesh):
    made = keras.distribution.LayoutMap(mesh)
    made[".*up/kernel"] = (None, mesh.axis_names[-1])
    return made
"""


@pytest.fixture
def shell():
    made = InteractiveShell()
    made.run_cell("%load_ext jupyter_tpushape")
    made.run_cell(CELL)
    yield made
    tpushape.unload_ipython_extension(made)
    InteractiveShell.clear_instance()


def shares(report):
    return {f"{node.name}/{weight.name}": weight.shard for node in report.flow.nodes for weight in node.weights if weight.name == "kernel"}


@pytest.mark.parametrize(
    ("typed", "head"),
    [
        ('--tpu v5e-8 --mesh "batch=2,model=4" --layout LAYOUT', (128, 8)),
        ("--tpu v5e-8 --mesh 'batch=2, model=4' --layout by_mesh", (512, 8)),
        ("--tpu none --mesh batch=2,model=4 --layout LAYOUT", (128, 8)),
        ("--mesh batch=2,model=4 --layout LAYOUT", (128, 8)),
    ],
)
def test_a_mesh_and_a_layout_are_typed(shell, capsys, typed, head):
    shell.run_line_magic("tpushape", f"model data --text --no-fixes {typed}")
    report = shell.user_ns["_tpushape_report"]
    assert "model/4" in capsys.readouterr().out
    assert shares(report) == {"up/kernel": (256, 128), "head/kernel": head}
    assert [(axis.name, axis.size) for axis in report.target.mesh] == [("batch", 2), ("model", 4)]


def test_a_distribution_brings_its_own_mesh(shell):
    shell.run_cell(
        "D = keras.distribution\n"
        "mesh = D.DeviceMesh((4, 2), ['batch', 'model'], devices=[f'tpu:{i}' for i in range(8)])\n"
        "planned = D.ModelParallel(layout_map=by_mesh(mesh))"
    )
    shell.run_line_magic("tpushape", "model data --text --layout planned")
    assert shares(shell.user_ns["_tpushape_report"])["up/kernel"] == (256, 256)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("--tpu v5e-8 --mesh batch=2,model=2", "v5e-8 has 8 devices, but the mesh (batch 2 × model 2) has 4."),
        ("--mesh batch=2,model=4 --layout model", "A layout must be a keras.distribution.LayoutMap or a dict of its entries, but got Functional."),
        ("--mesh batch=2,model=4 --layout none_such", "There is no variable none_such. Use the name of a variable that holds a layout map."),
    ],
)
def test_what_cannot_be_laid_is_one_line(shell, capsys, typed, said):
    shell.run_cell(f"%tpushape model data {typed}")
    printed = capsys.readouterr()
    assert (printed.out + printed.err).strip().removeprefix("UsageError: ") == said


def test_a_cell_brings_its_own_layout(shell, capsys):
    # Another one of that name is there from an earlier cell.
    assert "LAYOUT" in shell.user_ns
    cell = CELL.replace('(None, "model"), ".*head', '("model", None), ".*head').replace("by_mesh", "other_mesh")
    shell.run_cell_magic("tpushape", "--tpu v5e-8 --mesh batch=2,model=4 --layout LAYOUT --text --no-fixes", cell)
    assert shares(shell.user_ns["_tpushape_report"]) == {"up/kernel": (64, 512), "head/kernel": (128, 8)}
    shell.run_cell_magic("tpushape", "--tpu v5e-8 --mesh batch=2,model=4 --layout third --text --no-fixes", cell.replace("LAYOUT =", "third ="))
    assert shares(shell.user_ns["_tpushape_report"]) == {"up/kernel": (64, 512), "head/kernel": (128, 8)}
    capsys.readouterr()
    shell.run_cell("%%tpushape --tpu v5e-8 --mesh batch=2,model=4 --layout none_such --text\n" + cell)
    printed = capsys.readouterr()
    assert "none_such" in printed.out + printed.err
