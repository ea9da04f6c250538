"""The extension in a real JupyterLab: it loads, renders reports, lists what lives in the kernel, traces, leads to code."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from playwright.sync_api import expect

from jupyter_tpushape.flow import Edge, Finding, Fix, Flow, Location, Node, Spec
from jupyter_tpushape.report import Report

from .server import Lab, Window

MODEL = """\
import keras
import numpy as np
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)], name="small")
model.compile("sgd", "mse")
"""
DATA = 'x_train, y_train = np.zeros((64, 8), "float32"), np.zeros((64, 3), "float32")'


def report(location: Location | None = None, patch: str = "") -> Report:
    """A hand-made report with one problem and a hostile name."""
    spec = Spec((32, 8), "float32")
    flow = Flow(
        [Node("i", "in", "input", "InputLayer"), Node("d", "<img src=x onerror=alert(1)>", "layer", "Dense", status="failed", location=location)],
        [Edge("e", "i", "d", spec, status="failed")],
    )
    fixes = [Fix("Insert Flatten", verified=True, proof="source", patch=patch, cell=location.cell if location else "")] if patch else []
    return Report(flow, [Finding("dense-rank", "error", "The shapes part here", nodes=("d",), location=location, fixes=fixes)])


def test_the_extension_loads_without_a_complaint_and_shows_a_report(window: Window, lab: Lab) -> None:
    code = (
        "import json\nfrom IPython.display import display\n"
        f"report = json.loads({report().to_json()!r})\n"
        "display({'application/vnd.tpushape.report.v1+json': report, 'text/plain': 'plain'}, raw=True)"
    )
    window.open(lab.notebook("loads.ipynb", code))
    plugins = window.page.evaluate("window.jupyterapp.listPlugins().filter(id => id.startsWith('jupyter_tpushape:')).sort()")
    assert plugins == [f"jupyter_tpushape:{name}" for name in ("commands", "hint", "locator", "panel", "plugin", "renderer", "tracer")]
    window.run()
    expect(window.page.locator(".jp-OutputArea .tpushape-Report").get_by_text("The shapes part here").first).to_be_visible()
    assert not [error for error in window.errors if "tpushape" in error]


def test_a_report_file_opens_in_the_interactive_view(window: Window, lab: Lab) -> None:
    (lab.folder / "saved.tpushape.json").write_text(report().to_json())
    window.open("saved.tpushape.json")
    view = window.page.locator(".jp-MimeDocument .tpushape-Report")
    expect(view.get_by_text("The shapes part here").first).to_be_visible()
    assert view.locator("img").count() == 0


def test_a_file_of_another_version_says_so(window: Window, lab: Lab) -> None:
    (lab.folder / "old.tpushape.json").write_text(report().to_json().replace('"version":1', '"version":99'))
    window.open("old.tpushape.json")
    expect(window.page.locator(".jp-MimeDocument .tpushape-Report")).to_contain_text("different version of jupyter_tpushape")


def test_the_panel_lists_and_traces_and_survives_a_restart(window: Window, lab: Lab) -> None:
    window.open(lab.notebook("panel.ipynb", MODEL, DATA))
    panel = window.panel
    expect(panel.get_by_text("no Keras model")).to_be_visible()
    window.run()
    row = panel.get_by_role("option", name=re.compile("^model"))
    expect(row).to_contain_text("27 parameters")
    expect(row).to_contain_text("(?, 8) → (?, 3)")
    expect(row).to_have_attribute("aria-selected", "true")
    expect(panel.get_by_role("option", name=re.compile("x_train, y_train"))).to_have_attribute("aria-selected", "true")
    panel.get_by_role("button", name="Trace", exact=True).click()
    expect(panel.get_by_role("status")).to_contain_text("No problems found")
    expect(panel.locator(".tpushape-Report")).to_contain_text("dense")
    panel.get_by_role("button", name="Open as tab").click()
    expect(window.page.locator("#tpushape-tab .tpushape-Report")).to_contain_text("dense")
    window.front("panel.ipynb")
    window.restart()
    expect(panel).to_contain_text("no Keras model")
    window.run()
    window.choices()
    expect(row).to_be_visible()
    panel.get_by_role("button", name="Trace", exact=True).click()
    expect(panel.get_by_role("status")).to_contain_text("No problems found")
    assert not [error for error in window.errors if "tpushape" in error]


def test_a_click_leads_to_the_cell_and_a_fix_goes_into_it(window: Window, lab: Lab) -> None:
    build = (
        "def make_model():\n"
        "    inputs = keras.Input((28, 28, 1))\n"
        "    x = keras.layers.MaxPooling2D()(inputs)\n"
        "    outputs = keras.layers.Dense(10)(x)\n"
        "    model = keras.Model(inputs, outputs)\n"
        '    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))\n'
        "    return model"
    )
    window.open(
        lab.notebook(
            "apply.ipynb",
            "%load_ext jupyter_tpushape\nimport keras, numpy as np",
            build,
            'net = make_model()\nx, y = np.zeros((64, 28, 28, 1), "float32"), np.zeros(64, "int64")',
        )
    )
    window.command("tpushape:open-panel")
    panel = window.page.locator("#tpushape-panel")
    window.run()
    panel.get_by_role("option", name=re.compile("^net")).click()
    expect(panel.get_by_role("status")).to_contain_text("problem")
    cell = window.page.locator(".jp-Notebook .jp-CodeCell").nth(1)
    expect(cell.locator(".tpushape-Mark")).to_be_visible()

    # A cell that changed since the trace is left alone.
    window.command("tpushape:apply-fix")
    dialog = window.page.locator(".jp-Dialog")
    expect(dialog.locator(".tpushape-Diff")).to_contain_text("+")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    expect(cell.locator(".cm-content")).not_to_contain_text("Flatten")

    window.command("tpushape:apply-fix")
    dialog.get_by_role("button", name="Apply", exact=True).click()
    expect(dialog).to_have_count(0)
    expect(cell.locator(".cm-content")).to_contain_text(re.compile("Flatten|Pooling2D.*Pooling2D", re.DOTALL))

    window.command("tpushape:apply-fix")
    expect(dialog).to_contain_text("has changed since it was traced")
    dialog.get_by_role("button").first.click()


def test_a_program_is_ported_beside_its_file_and_opened(window: Window, lab: Lab) -> None:
    program = (Path(__file__).parents[1] / "port_programs" / "custom_loop.py").read_text(encoding="utf-8")
    (lab.folder / "train.py").write_text(program, encoding="utf-8")
    (lab.folder / "train_jax.py").write_text("mine = 1\n", encoding="utf-8")
    window.open(lab.notebook("ports.ipynb", "1"))
    window.run()
    window.page.evaluate("window.jupyterapp.commands.execute('tpushape:port', {path: 'train.py'})")
    expect(window.page.locator(".lm-TabBar-tabLabel", has_text="train_jax_2.py")).to_be_visible()
    expect(window.page.get_by_text(re.compile(r"Wrote train_jax_2\.py: \d+ lines")).first).to_be_attached()
    assert "keras.distribution" in (lab.folder / "train_jax_2.py").read_text(encoding="utf-8")
    assert (lab.folder / "train_jax.py").read_text(encoding="utf-8") == "mine = 1\n"
    assert (lab.folder / "train.py").read_text(encoding="utf-8") == program


def test_a_browser_that_kept_the_view_of_an_older_version_asks_for_the_new_one(window: Window, lab: Lab, tmp_path: Path) -> None:
    window.open(lab.notebook("kept.ipynb", MODEL))
    installed = lab.folder.parent / "share" / "labextensions" / "jupyter_tpushape"
    built = installed.resolve()
    newer = tmp_path / "newer"
    shutil.copytree(built, newer)
    script = newer / "static" / "view.js"
    script.write_text(f"{script.read_text()}\nwindow.newerView = true;")
    assert window.page.evaluate("window.newerView") is None
    try:
        installed.unlink()
        installed.symlink_to(newer)
        window.open("kept.ipynb")
        expect(window.panel).to_be_visible()
        window.page.wait_for_function("() => window.newerView")
    finally:
        installed.unlink()
        installed.symlink_to(built)
