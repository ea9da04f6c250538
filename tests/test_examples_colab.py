"""The Colab notebook runs from top to bottom with Colab's own module stubbed, and its outputs are what Colab shows."""

from __future__ import annotations

import re
from pathlib import Path

import nbclient
import nbformat
import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples" / "colab.ipynb"
WIDGET = "application/vnd.jupyter.widget-view+json"

# What a Colab runtime has and this one has not: its module, and an address from which it serves widgets.
COLAB = """
import sys, types
import google  # where protobuf lives too
colab, output = (types.ModuleType(name) for name in ("google.colab", "google.colab.output"))
google.colab, colab.output = colab, output
output._widgets = types.SimpleNamespace(_installed_url=None)
def enable_custom_widget_manager():
    output._widgets._installed_url = "https://example.com/manager.js"
output.enable_custom_widget_manager = enable_custom_widget_manager
sys.modules.update({module.__name__: module for module in (colab, output)})
"""


@pytest.fixture(scope="module")
def ran() -> dict[str, nbformat.NotebookNode]:
    """The cells by their id, after a run; installing and what Colab brings are not the notebook's own."""
    notebook = nbformat.read(NOTEBOOK, 4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "outputs are not kept in the repository"
    for cell in notebook.cells:
        if cell.id == "install":
            assert cell.source == "%pip install -q jupyter_tpushape"
            cell.source = COLAB
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", allow_errors=True).execute()
    return {cell.id: cell for cell in notebook.cells}


def words(cell: nbformat.NotebookNode) -> str:
    return "\n".join(str(text) for output in cell.outputs for text in (output.get("text", ""), *output.get("data", {}).values(), *output.get("traceback", [])))


def test_only_the_cell_that_is_meant_to_raise_raises(ran: dict[str, nbformat.NotebookNode]) -> None:
    raised = [name for name, cell in ran.items() for output in cell.get("outputs", []) if output.output_type == "error"]
    assert raised == ["broken"]
    assert "%tpushape" in re.sub(r"\x1b\[[\d;]*m", "", words(ran["broken"]))


@pytest.mark.parametrize("cell", ["explain", "trace", "show"])
def test_a_widget_is_shown_through_colab_s_manager_with_a_still_beside_it(ran: dict[str, nbformat.NotebookNode], cell: str) -> None:
    shown = [output for output in ran[cell].outputs if WIDGET in output.get("data", {})]
    assert len(shown) == 1
    assert shown[0].metadata[WIDGET] == {"colab": {"custom_widget_manager": {"url": "https://example.com/manager.js"}}}
    assert "data:image/svg+xml;base64," in shown[0].data["text/html"]


def test_the_break_is_explained_and_the_model_that_flows_is_said_to_flow(ran: dict[str, nbformat.NotebookNode]) -> None:
    assert re.search(r"lstm\w* .*\(batch, time, features\)", words(ran["explain"]))
    assert "✓ verified" in words(ran["explain"])
    assert "v5e-8" in words(ran["trace"])
    assert "1 problem" not in words(ran["trace"])


def test_what_is_selected_is_known_to_python(ran: dict[str, nbformat.NotebookNode]) -> None:
    assert words(ran["selected"]).strip() == "''"


def test_the_notebook_and_the_readme_carry_the_badge() -> None:
    first = nbformat.read(NOTEBOOK, 4).cells[0].source
    assert "https://colab.research.google.com/assets/colab-badge.svg" in first
    readme = (NOTEBOOK.parents[1] / "README.md").read_text(encoding="utf-8")
    assert "https://colab.research.google.com/assets/colab-badge.svg" in readme
