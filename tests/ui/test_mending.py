"""From the line under a traceback to a mended cell; what is old; what goes wrong on the way; what stays in the file."""

from __future__ import annotations

import re
import shutil

import nbformat
from nbconvert import HTMLExporter
from playwright.sync_api import expect

from .server import Lab, Window
from .test_story import BROKEN, DATA, ROWS, SETUP, SMALL

# Elements that scroll inside the panel, the shadow tree of the view included.
SCROLLERS = """(panel) => {
  const found = [];
  const walk = (root) => {
    for (const one of root.querySelectorAll("*")) {
      if (/auto|scroll/.test(getComputedStyle(one).overflowY) && one.scrollHeight > one.clientHeight + 1) { found.push(one.className); }
      if (one.shadowRoot) { walk(one.shadowRoot); }
    }
  };
  walk(panel);
  return found;
}"""
# Gives the panel a width, and ends when the view has been drawn in it.
WIDE = """async (width) => {
  const split = window.jupyterapp.shell._hsplitPanel;
  const part = width / split.node.clientWidth;
  const frame = () => new Promise(requestAnimationFrame);
  split.setRelativeSizes([0.15, 0.85 - part, part]);
  while (Math.abs(document.querySelector("#tpushape-panel").clientWidth - width) > 8) { await frame(); }
  for (let i = 0; i < 3; i++) { await frame(); }
}"""


def test_two_clicks_from_the_hint_mend_the_cell(window: Window, lab: Lab) -> None:
    window.open(lab.notebook("hint.ipynb", SETUP, BROKEN, BROKEN))
    window.run()
    hint = window.cell(1).locator(".tpushape-Hint")
    expect(hint).to_contain_text("(?, 26, 26, 8)")
    assert "tpushape" not in window.cell(1).locator(".jp-OutputArea-output[data-mime-type$=stderr]").all_inner_texts()
    hint.get_by_role("button", name="Apply the first fix").click()
    window.page.locator(".jp-Dialog").get_by_role("button", name="Apply, run and trace").click()
    panel = window.page.locator("#tpushape-panel")
    expect(panel.get_by_role("status")).to_contain_text("conv2d → lstm")
    expect(panel.locator(".about")).to_contain_text("model · declared inputs · v5e-8 · In[3]")
    expect(hint).to_have_count(0)

    # Dismissed, the line is gone from the notebook too.
    window.run_cell(2)
    second = window.cell(2).locator(".tpushape-Hint")
    expect(second).to_be_visible()
    second.get_by_role("button", name="Explain").click()
    expect(panel.locator(".title")).to_contain_text("lstm")
    second.get_by_role("button", name="Dismiss").click()
    expect(second).to_have_count(0)
    kinds = window.page.evaluate("window.jupyterapp.shell.currentWidget.content.widgets[2].model.outputs.toJSON().map((one) => one.output_type)")
    assert kinds == ["error"]

    # The narrow panel reads from the fix down: Apply in sight, one scroller, nothing cut off.
    for width in (250, 400):
        window.page.evaluate(WIDE, width)
        expect(panel.locator(".tps.narrow .lead .primary")).to_be_visible()
        apply, edge = panel.locator(".lead .primary").bounding_box(), panel.locator("svg.graph").bounding_box()
        assert apply and edge and apply["y"] < 700 and apply["y"] < edge["y"]
        assert panel.evaluate(SCROLLERS) == []
        assert panel.evaluate("(node) => node.scrollWidth <= node.clientWidth")
        right = panel.evaluate("(node) => node.getBoundingClientRect().right")
        label = panel.locator(".label.wrong").bounding_box()
        assert label and label["x"] + label["width"] <= right, "wants and gets beside the edge are whole"
        legend, tool = panel.locator(".legend").bounding_box(), panel.locator(".tools button").first.bounding_box()
        assert legend and tool and legend["x"] + legend["width"] <= tool["x"] + 1, "the legend covers no button"


def test_a_mended_cell_that_raises_says_so_and_the_fix_can_be_taken_back(window: Window, lab: Lab) -> None:
    cell = BROKEN + "print(limit)"
    window.open(lab.notebook("raises.ipynb", SETUP + "\nlimit = 3", cell, "del limit"))
    panel = window.panel
    window.run()
    panel.get_by_role("button", name="Explain").click()
    expect(panel.get_by_role("status")).to_contain_text("1 problem")
    window.run_cell(2)
    expect(window.cell(2).locator(".jp-InputPrompt")).to_have_text("[3]:")
    panel.get_by_role("button", name=re.compile("^Apply: ")).first.click()
    window.page.locator(".jp-Dialog").get_by_role("button", name="Apply, run and trace").click()
    expect(panel.get_by_role("alert")).to_contain_text("NameError: name 'limit' is not defined")
    expect(panel.get_by_role("note")).to_contain_text("In[4].")
    assert "Reshape" in window.source(1)
    panel.get_by_role("button", name="Undo the fix").click()
    assert window.source(1) == cell
    expect(panel.get_by_role("alert")).to_be_hidden()
    expect(panel.locator(".tpushape-Panel-hint")).to_be_hidden()


def test_a_fix_of_the_data_goes_into_its_cell_and_the_same_model_is_traced_again(window: Window, lab: Lab) -> None:
    data = "x, y = np.ones((96, 4), 'float32'), np.arange(96.0)[:, None]\nx_train = x[:64]\ny_train = y"
    model = "model = keras.Sequential([keras.Input((4,)), layers.Dense(1)])\nmodel.compile('sgd', 'mse')"
    window.open(lab.notebook("rows.ipynb", SETUP + "\nimport numpy as np", data, model, "model.fit(x_train, y_train, verbose=0)"))
    window.run()
    hint = window.cell(3).locator(".tpushape-Hint")
    expect(hint).to_contain_text("different numbers of rows (x: 64, y: 96)")
    expect(hint).to_contain_text("In[2]:2")
    hint.get_by_role("button", name="Apply the first fix").click()
    window.page.locator(".jp-Dialog").get_by_role("button", name="Apply, run and trace").click()
    panel = window.page.locator("#tpushape-panel")
    expect(panel.get_by_role("status")).to_contain_text("No serious problem is left")
    expect(panel.locator(".about")).to_contain_text("model · x_train, y_train")
    assert "y_train = y[:64]" in window.source(1)


def test_a_fix_of_several_cells_goes_into_each_of_them_and_is_taken_back_from_each(window: Window, lab: Lab) -> None:
    cells = (
        "left = keras.Input((28, 28), name='left')\na = layers.GlobalAveragePooling1D()(left)",
        "right = keras.Input((20, 20), name='right')\nb = layers.GlobalAveragePooling1D()(right)",
        "model = keras.Model([left, right], layers.Dense(1)(layers.concatenate([a, b])))\nmodel.compile('adam', 'mse')",
    )
    fit = "x = [np.zeros((16, 28, 30), 'float32'), np.zeros((16, 20, 24), 'float32')]\nmodel.fit(x, np.zeros((16, 1), 'float32'), verbose=0)"
    window.open(lab.notebook("doors.ipynb", SETUP, *cells, fit))
    window.run()
    panel = window.panel
    window.cell(4).locator(".tpushape-Hint").get_by_role("button", name="Explain").click()
    expect(panel.locator(".card.verified").first).to_contain_text("In[2], line 1")
    expect(panel.locator(".card.verified").first).to_contain_text("In[3], line 1")
    expect(panel.get_by_role("button", name=re.compile("^Apply: ")).first).to_have_text("Apply to the cells")

    # The other cell of the fix has changed since: what the panel shows is old.
    window.write(2, cells[1].replace("20, 20", "20, 22"))
    expect(panel.get_by_role("button", name=re.compile("^Apply: "))).to_have_count(0)
    window.write(2, cells[1])

    window.cell(4).locator(".tpushape-Hint").get_by_role("button", name="Apply the first fix").click()
    dialog = window.page.locator(".jp-Dialog")
    expect(dialog).to_contain_text("In[2], line 1")
    expect(dialog).to_contain_text("In[3], line 1")
    dialog.get_by_role("button", name="Apply, run and trace").click()
    expect(panel.get_by_role("status")).to_contain_text(re.compile("ran without an error|No serious problem is left"))
    assert "keras.Input((28, 30)" in window.source(1) and "keras.Input((20, 24)" in window.source(2)


def test_an_edit_keeps_line_ends_and_blanks(window: Window, lab: Lab) -> None:
    # Trailing blanks in lines that the fix leaves alone, and lines that end as on Windows.
    cell = BROKEN.replace("layers.LSTM(16),", "layers.LSTM(16),   ").replace("\n", "\r\n")
    window.open(lab.notebook("ends.ipynb", SETUP, "1"))
    window.write(1, cell)
    kept = window.source(1)
    panel = window.panel
    window.run()
    panel.get_by_role("button", name="Explain").click()
    panel.get_by_role("button", name=re.compile("^Apply: Treat the rows")).click()
    window.page.locator(".jp-Dialog").get_by_role("button", name="Apply", exact=True).click()
    window.written(1, "Reshape")
    end = "\r\n" if "\r\n" in kept else "\n"
    assert window.source(1) == kept.replace("    layers.LSTM", f"    layers.Reshape((26, 208)),{end}    layers.LSTM")


def test_an_output_outlives_its_kernel(window: Window, lab: Lab) -> None:
    window.open(lab.notebook("kept.ipynb", SETUP, SMALL, ROWS, "%tpushape model (x,y)"))
    window.run()
    shown = window.cell(3)
    expect(shown.locator(".about")).to_contain_text("model · x, y · v5e-8 · In[4]")
    window.ended()
    window.page.evaluate("async () => { await window.jupyterapp.commands.execute('docmanager:save'); }")
    # The same file in hands that do not trust it, and as a page.
    shutil.copy(lab.folder / "kept.ipynb", lab.folder / "strange.ipynb")
    made = nbformat.read(lab.folder / "strange.ipynb", 4)
    (output,) = made.cells[3].outputs
    assert {"application/vnd.tpushape.report.v1+json", "application/vnd.jupyter.widget-view+json", "text/html", "text/plain"} <= set(output.data)
    made.cells[0].source += "\n# strange"
    made.metadata.pop("widgets", None)
    nbformat.write(made, lab.folder / "strange.ipynb")
    page, _ = HTMLExporter().from_notebook_node(made)
    assert "data:image/svg+xml;base64" in page
    window.page.evaluate("() => window.jupyterapp.serviceManager.sessions.shutdownAll()")
    for name in ("kept.ipynb", "strange.ipynb"):
        window.open(name)
        view = window.cell(3)
        expect(view.locator(".tps .verdict")).to_contain_text("No problems found")
        expect(view.locator(".about")).to_contain_text("model · x, y · v5e-8 · In[4]")
        view.locator(".node").first.click()
        expect(view.get_by_role("tab", name="Details")).to_have_attribute("aria-selected", "true")


def test_a_restart_makes_outputs_and_the_panel_old(window: Window, lab: Lab) -> None:
    window.open(lab.notebook("aged.ipynb", SETUP, DATA, BROKEN, "%tpushape"))
    window.run()
    expect(window.cell(2).locator(".tpushape-Hint")).to_be_visible()
    window.run_cell(3)
    shown = window.cell(3)
    fix = shown.get_by_role("button", name=re.compile("^Apply: ")).first
    expect(fix).to_be_visible()
    window.restart()
    expect(shown.get_by_role("note")).to_contain_text("the kernel has restarted")
    expect(fix).to_have_count(0)


def test_an_old_output_is_traced_again_when_its_model_is_there(window: Window, lab: Lab) -> None:
    other = "other = keras.Sequential([keras.Input((4,)), layers.Dense(2)])"
    window.open(lab.notebook("retraced.ipynb", SETUP, other, SMALL, ROWS, "%tpushape model (x,y)"))
    panel = window.panel
    window.run()
    shown = window.cell(4)
    expect(shown.locator(".about")).to_contain_text("model · x, y")
    window.restart()
    window.run_cell(0)
    window.run_cell(1)
    expect(panel.get_by_role("option", name=re.compile("^other"))).to_be_visible()
    shown.get_by_role("button", name="Trace again").click()
    expect(panel.get_by_role("status")).to_contain_text("model is not in this kernel")
    expect(panel.get_by_role("option", name=re.compile("^other"))).to_be_visible()
    window.run_cell(2)
    expect(panel.get_by_role("status")).to_have_text("")
    window.run_cell(3)
    expect(panel.get_by_role("option", name=re.compile("^x, y"))).to_be_visible()
    shown.get_by_role("button", name="Trace again").click()
    expect(panel.locator(".about")).to_contain_text("model · x, y · v5e-8")


def test_a_cell_that_raises_later_makes_no_report_old(window: Window, lab: Lab) -> None:
    """What asks the kernel who it is waits behind the cells, and is taken back with them when one raises."""
    waits = "from pathlib import Path\nwhile not Path('waits.go').exists():\n    pass\nraise ValueError"
    model = "model = keras.Sequential([keras.Input((4,)), layers.Dense(2)])"
    window.open(lab.notebook("fresh.ipynb", SETUP, model, "%tpushape model", waits, "done = 1"))
    window.run()
    shown = window.cell(2)
    expect(shown.locator(".about")).to_contain_text("model")
    (lab.folder / "waits.go").touch()
    expect(window.cell(3)).to_contain_text("ValueError")
    window.run_cell(4)
    window.ended()
    expect(window.cell(4).locator(".jp-InputPrompt")).to_contain_text("[5]")
    expect(shown.get_by_role("note").filter(has_text="Outdated")).to_have_count(0)


def test_a_model_that_the_failed_fit_left_half_built_is_created_again_before_the_fixed_cell(window: Window, lab: Lab) -> None:
    data = "x, y = np.ones((64, 1, 1, 4), 'float32'), np.ones((64, 1), 'float32')"
    model = "model = keras.Sequential([keras.Input((4,)), layers.Dense(1)])"
    cells = (SETUP + "\nimport numpy as np", data, model, "model.compile('adam', 'mse')", "model.fit(x, y, verbose=0)")
    window.open(lab.notebook("spoiled.ipynb", *cells))
    window.run()
    window.cell(4).locator(".tpushape-Hint").get_by_role("button", name="Apply the first fix").click()
    window.page.locator(".jp-Dialog").get_by_role("button", name="Apply, run and trace").click()
    alert = window.panel.get_by_role("alert")
    expect(alert).to_contain_text("left model half built")
    expect(alert.get_by_role("button")).to_have_text(["Create it again"])
    button = alert.get_by_role("button")
    assert button.evaluate("(node) => node.scrollWidth <= node.clientWidth")
    button.click()
    expect(window.panel).to_contain_text("The fixed cell ran without an error.")
    expect(alert).to_be_hidden()
    # Both cells of the model, and then the fixed one.
    for place, number in ((2, 7), (3, 8), (4, 9)):
        expect(window.cell(place).locator(".jp-InputPrompt")).to_have_text(f"[{number}]:")
    expect(window.cell(1).locator(".jp-InputPrompt")).to_have_text("[2]:")
    expect(window.cell(4).locator(".jp-OutputArea")).to_contain_text("History")


def test_a_fix_in_an_earlier_cell_runs_the_cells_up_to_the_one_that_failed(window: Window, lab: Lab) -> None:
    cells = (
        SETUP,
        "words = keras.Input((50,))\nemb = layers.Embedding(100, 8)(words)",
        "convs = []\nfor size in (3, 4, 5):\n    c = layers.Conv1D(4, size)(emb)\n    convs.append(layers.MaxPooling1D(2)(c))",
        "other = 1",
        "x = layers.concatenate(convs)\nx = layers.Flatten()(x)",
    )
    window.open(lab.notebook("spread.ipynb", *cells))
    window.run()
    window.cell(4).locator(".tpushape-Hint").get_by_role("button", name="Apply the first fix").click()
    window.page.locator(".jp-Dialog").get_by_role("button", name="Apply, run and trace").click()
    expect(window.panel).to_contain_text("The fixed cell and those after it ran without an error.")
    assert 'padding="same"' in window.source(2)
    for place, number in ((1, 2), (2, 6), (3, 4), (4, 7)):
        expect(window.cell(place).locator(".jp-InputPrompt")).to_have_text(f"[{number}]:")
