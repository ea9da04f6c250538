"""The notebooks on TPU topics run from top to bottom, and end with a clean report."""

from __future__ import annotations

from pathlib import Path

import nbclient
import nbformat
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("name", ["tpu_images", "tpu_text", "tpu_bert", "tpu_custom_loop"])
def test_the_notebook_runs(name):
    notebook = nbformat.read(EXAMPLES / f"{name}.ipynb", 4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "outputs are not kept in the repository"
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    last = notebook.cells[-1].source
    assert "assert" in last
    assert "ok" in last
