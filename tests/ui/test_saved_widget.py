"""The widget in a real JupyterLab: several in a page with one script, and what a saved notebook shows before anything ran."""

from __future__ import annotations

import nbformat
from playwright.sync_api import expect

from .server import Lab, Window
from .test_lab import report

SAVE_STATE = "@jupyter-widgets/jupyterlab-manager:saveWidgetState"


def save_state(window: Window, wanted: bool) -> None:
    """Turns the setting that widgets are saved with the notebook on or off, and waits until it is."""
    window.command(SAVE_STATE)
    window.page.wait_for_function("([name, wanted]) => window.jupyterapp.commands.isToggled(name) === wanted", arg=[SAVE_STATE, wanted])


def test_two_widgets_share_one_script_and_tell_python_what_is_selected(window: Window, lab: Lab) -> None:
    made = f"from jupyter_tpushape.report import Report\nreport = Report.from_json({report().to_json()!r})\nfirst = report.show()"
    window.open(lab.notebook("widgets.ipynb", made, "second = report.show()", "print([first.selected, second.selected])"))
    window.run_cell(0)
    expect(window.cell(0).locator(".tps .verdict")).to_contain_text("1 problem")
    window.run_cell(1)
    expect(window.cell(1).locator(".tps .verdict")).to_contain_text("1 problem")
    window.cell(1).locator('.node[data-id="i"]').click()
    window.run_cell(2)
    expect(window.cell(2).locator(".jp-OutputArea-output")).to_contain_text("['', 'i']")
    assert window.page.evaluate("Object.keys(tpushapeViews).length") == 1
    assert not [error for error in window.errors if "tpushape" in error]


def test_a_saved_notebook_shows_the_view_before_anything_ran(window: Window, lab: Lab) -> None:
    made = f"from jupyter_tpushape.report import Report\nReport.from_json({report().to_json()!r}).show()"
    window.open(lab.notebook("reopened.ipynb", made))
    save_state(window, True)
    window.run_cell(0)
    expect(window.cell(0).locator(".tps .verdict")).to_contain_text("1 problem")
    window.ended()
    window.page.evaluate("async () => { await window.jupyterapp.commands.execute('docmanager:save'); }")
    state = nbformat.read(lab.folder / "reopened.ipynb", 4).metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    assert sum("source" in one["state"] for one in state.values()) == 1
    window.page.evaluate("() => window.jupyterapp.serviceManager.sessions.shutdownAll()")
    window.open("reopened.ipynb")
    expect(window.cell(0).locator(".tps .verdict")).to_contain_text("1 problem")
    window.cell(0).locator('.node[data-id="d"]').click()
    expect(window.cell(0).locator(".node.selected .name")).to_have_text("<img src=x onerror=alert(1)>")
    assert window.cell(0).locator("img").count() == 0
    save_state(window, False)
