"""The quickstart notebook of Keras on JAX runs from top to bottom, and only the cell that is meant to raise raises."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

import jupyter_tpushape as tpushape

NAME = "quickstart_jax.ipynb"
PLACES = [Path(__file__).with_name(NAME), *(parent / "examples" / NAME for parent in Path(__file__).parents[1:4])]


def test_the_notebook_tells_what_it_promises(capsys: pytest.CaptureFixture[str]) -> None:
    notebook = json.loads(next(place for place in PLACES if place.exists()).read_text(encoding="utf-8"))
    shell = InteractiveShell()
    shown, raised = {}, []
    try:
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                continue
            assert not cell["outputs"], "outputs are not kept in the repository"
            done = shell.run_cell("".join(cell["source"]))
            raised += [cell["id"]] if not done.success else []
            printed = capsys.readouterr()
            shown[cell["id"].rpartition("-")[2]] = printed.out + printed.err
    finally:
        tpushape.unload_ipython_extension(shell)
        InteractiveShell.clear_instance()
    assert raised == ["quickstart-jax-06"], shown
    assert "A batch of 100 rows" in shown["04"] and "8 devices" in shown["04"]
    assert "%tpushape" in shown["06"]
    assert "value-asked" in shown["07"]
    assert "model/4" in shown["10"]
