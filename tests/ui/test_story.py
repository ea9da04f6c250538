"""What a person lives through in JupyterLab: a cell raises, the fault is explained, a fix goes in, the cell runs."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from jupyter_tpushape.compilers import bridge

from .server import Lab, Window

SETUP = "%load_ext jupyter_tpushape\nimport numpy as np, keras\nfrom keras import layers"
# Blank lines above: the kernel does not count them, a person does.
BROKEN = """\


model = keras.Sequential([
    keras.Input((28, 28, 1)),
    layers.Conv2D(8, 3, activation="relu"),
    layers.LSTM(16),
    layers.Dense(10, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy")
"""
DATA = 'x, y = np.zeros((64, 28, 28, 1), "float32"), np.arange(64) % 10'
SMALL = 'model = keras.Sequential([keras.Input((8,)), layers.Dense(3)])\nmodel.compile("sgd", "mse")'
ROWS = 'x, y = np.zeros((64, 8), "float32"), np.zeros((64, 3), "float32")'
NETS = """\
import keras
from keras import layers


def make_net():
    model = keras.Sequential([
        keras.Input((28, 28, 1)),
        layers.MaxPooling2D(4),
        layers.Dense(10, activation="softmax"),
    ])
    model.compile("adam", "sparse_categorical_crossentropy")
    return model
"""


def cursor_comes_to(window: Window, line: int) -> None:
    window.page.wait_for_function("(line) => window.jupyterapp.shell.currentWidget.content.activeCell?.editor?.getCursorPosition().line === line - 1", arg=line)


def test_a_cell_raises_it_is_explained_a_fix_goes_in_and_the_cell_runs(window: Window, lab: Lab) -> None:
    window.open(lab.notebook("story.ipynb", SETUP, DATA, BROKEN, "%tpushape"))
    window.run()
    broken = window.cell(2)
    expect(broken.locator(".tpushape-Hint")).to_contain_text("lstm")

    # The run stopped at the cell that raised: the magic is run by itself.
    window.run_cell(3)
    shown = window.cell(3)
    expect(shown.get_by_text("wants").first).to_be_visible()
    shown.get_by_role("button", name="In[3]:4").first.click()
    cursor_comes_to(window, 6)

    shown.get_by_role("button", name="Apply: Treat the rows as time steps").click()
    dialog = window.page.locator(".jp-Dialog")
    expect(dialog.locator(".tpushape-Diff")).to_contain_text("line 4")
    expect(dialog.locator(".tpushape-Diff .tpushape-mod-added")).to_contain_text("+    layers.Reshape((26, 208)),")
    dialog.get_by_role("button", name="Apply, run and trace").click()
    expect(dialog).to_have_count(0)
    expect(window.panel.get_by_role("status")).to_contain_text("conv2d → lstm")
    expect(window.panel.locator(".tpushape-Report")).to_contain_text("No problems found on v5e-8")
    expect(broken.locator(".tpushape-Hint")).to_have_count(0)

    # What went in is one step to undo.
    assert window.source(2) == BROKEN.replace("    layers.LSTM", "    layers.Reshape((26, 208)),\n    layers.LSTM")
    window.command("notebook:undo-cell-action")
    window.page.evaluate("window.jupyterapp.shell.currentWidget.content.widgets[2].editor.undo()")
    assert window.source(2) == BROKEN

    # The report is old then, and nobody goes on saying that the fault is mended.
    expect(window.panel.get_by_role("note")).to_contain_text("its cell was edited")
    expect(window.panel.get_by_role("status")).to_have_text("")


def test_what_waits_for_a_kernel_that_restarts_is_asked_of_the_new_one(window: Window, lab: Lab) -> None:
    window.open(lab.notebook("waits.ipynb", "import time\ntime.sleep(600)"))
    window.run()
    expect(window.page.locator(".jp-InputPrompt").first).to_contain_text("*")
    window.command("tpushape:explain-last-error")
    expect(window.panel.get_by_role("status")).to_contain_text("Waiting for the kernel")
    window.restart()
    expect(window.panel.get_by_role("status")).to_contain_text("run the cell again")


def test_the_panel_explains_marks_refuses_and_forgets_with_the_kernel(window: Window, lab: Lab) -> None:
    window.open(lab.notebook("explain.ipynb", SETUP, BROKEN))
    panel = window.panel
    window.run()
    expect(panel.locator(".tpushape-Panel-failed")).to_contain_text("lstm")
    expect(panel.locator(".tpushape-Panel-failed")).not_to_contain_text("%tpushape")

    # A new kernel knows nothing of it.
    window.restart()
    expect(panel.locator(".tpushape-Panel-failed")).to_be_hidden()
    window.command("tpushape:explain-last-error")
    expect(panel.get_by_role("status")).to_contain_text("run the cell again")

    window.run()
    panel.get_by_role("button", name="Explain").click()
    expect(panel.get_by_role("status")).to_contain_text("1 problem")
    mark = window.cell(1).get_by_role("button", name=re.compile("^Shape problem: lstm"))
    # What failed is named, and not called by another model's name.
    expect(panel.locator(".about")).to_contain_text(re.compile(r"^model · .*In\[\d\]"))
    expect(panel.get_by_role("button", name="Trace", exact=True)).to_be_hidden()
    panel.get_by_role("tab", name="Details").click()
    mark.click()
    expect(panel.get_by_role("tab", name="Findings 1")).to_have_attribute("aria-selected", "true")

    # A line that the fix speaks of has changed since: the report is old, and nothing is put in.
    edited = BROKEN.replace("LSTM(16)", "LSTM(32)")
    fix = panel.get_by_role("button", name=re.compile("^Apply: ")).first
    expect(fix).to_be_visible()
    window.write(1, edited)
    expect(panel.get_by_role("note")).to_contain_text("its cell was edited")
    expect(fix).to_have_count(0)
    window.write(1, BROKEN)
    expect(fix).to_be_visible()
    window.write(1, edited)
    window.command("tpushape:apply-fix")
    dialog = window.page.locator(".jp-Dialog")
    expect(dialog).to_contain_text("has changed since it was traced")
    dialog.get_by_role("button").first.click()
    assert window.source(1) == edited

    # A line elsewhere has changed: the fix still fits. The mark goes when the cell has run well.
    window.write(1, "# a remark\n" + BROKEN)
    window.command("tpushape:apply-fix")
    expect(dialog.locator(".tpushape-Diff")).to_contain_text("line 5")
    dialog.get_by_role("button", name="Apply", exact=True).click()
    window.written(1, "Reshape")
    window.run_cell(1)
    expect(mark).to_have_count(0)
    expect(panel.get_by_role("note")).to_contain_text("In[3].")
    window.choices()
    expect(panel.get_by_role("option", name=re.compile("^model"))).to_contain_text("parameters")
    panel.get_by_role("button", name="Trace again").click()
    expect(panel.locator(".about")).to_contain_text("model · declared inputs · v5e-8 · In[3]")
    expect(panel.get_by_role("note")).to_be_hidden()


def test_the_panel_follows_the_notebook_in_front_and_stays_after_a_reload(window: Window, lab: Lab) -> None:
    lab.notebook("second.ipynb", SETUP, SMALL.replace("model", "other").replace("(3)", "(5)"))
    window.open(lab.notebook("first.ipynb", SETUP, SMALL, ROWS))
    panel = window.panel
    window.run()
    panel.get_by_role("option", name=re.compile("^model")).click()
    expect(panel.get_by_role("status")).to_contain_text("No problems found")

    window.front("second.ipynb")
    expect(panel.locator(".tpushape-Panel-place")).to_have_text("second.ipynb")
    expect(panel.locator(".tpushape-Report")).not_to_contain_text("No problems found")
    expect(panel.get_by_text("no Keras model")).to_be_visible()
    window.run()
    expect(panel.get_by_role("option", name=re.compile("^other"))).to_contain_text("(?, 8) → (?, 5)")
    expect(panel.get_by_role("option", name=re.compile("^model"))).to_have_count(0)

    # Back in front, the first notebook has its own models and its own report.
    window.front("first.ipynb")
    window.choices()
    expect(panel.get_by_role("option", name=re.compile("^model"))).to_have_attribute("aria-selected", "true")
    expect(panel.locator(".tpushape-Report")).to_contain_text("No problems found")

    window.command("docmanager:save-all")
    # What a reload begins with is on the server: the panel, and the first notebook in front.
    window.page.evaluate(
        """async () => {
            const there = async () => {
                const saved = await fetch('/lab/api/workspaces/first');
                const text = saved.ok ? JSON.stringify(await saved.json()) : '';
                return text.includes('tpushape-panel') && text.includes('"current":"notebook:first.ipynb"');
            };
            for (let tries = 0; !(await there()); tries++) {
                if (tries > 600) { throw new Error('the workspace was not saved'); }
                await new Promise((done) => setTimeout(done, 100));
            }
        }"""
    )
    window.goto("/lab/workspaces/first")
    expect(window.page.locator("#tpushape-panel")).to_be_visible()
    expect(window.page.locator("#tpushape-panel").get_by_role("option", name=re.compile("^model"))).to_be_visible()


def test_watching_says_what_changed(window: Window, lab: Lab) -> None:
    flat = SMALL.replace("(8,)", "(6, 8)")
    window.open(lab.notebook("watch.ipynb", SETUP, flat, ROWS.replace("(64, 8)", "(64, 6, 8)"), "%tpushape watch model (x,y) --tpu none", SMALL))
    panel = window.panel
    window.run()
    expect(window.cell(3).locator(".tpushape-view")).to_be_visible()
    window.ended()
    window.write(4, ROWS)
    panel.get_by_role("button", name="Watch").click()
    # No data here fits any more, which is said; what is chosen all the same is traced.
    expect(panel).to_contain_text("matches model")
    panel.get_by_role("option", name=re.compile("^x, y")).click()
    panel.get_by_role("option", name=re.compile("^model")).click()
    expect(panel.locator(".tpushape-Report .tps")).to_be_visible()
    window.run_cell(4)
    expect(window.cell(4)).to_contain_text("tpushape ▸")
    said = re.compile(r"Fixed: .* → ")
    expect(window.cell(4).locator(".jp-OutputArea")).to_have_text(said)
    expect(panel.get_by_role("status")).to_have_text(said)
    expect(window.cell(4).locator(".jp-InputPrompt .tpushape-Change, .jp-InputArea-prompt .tpushape-Change").first).to_have_text(said)


def test_watching_traces_every_model_that_has_a_report(window: Window, lab: Lab) -> None:
    small = f"{SMALL}\n{ROWS}"
    window.open(lab.notebook("both.ipynb", SETUP, small, f"other = model\n{small}", "%tpushape other (x,y) --tpu v5e-8", small))
    panel = window.panel
    for index in range(3):
        window.run_cell(index)
    window.run_cell(3)
    expect(window.cell(3).locator(".tpushape-view")).to_be_visible()
    panel.get_by_role("option", name=re.compile("^model")).click()
    expect(panel.get_by_role("status")).to_contain_text("No problems found")
    panel.get_by_role("button", name="Watch").click()
    window.write(4, f"{SMALL.replace('model', 'other').replace('Dense(3)', 'Dense(7)')}\n{SMALL.replace('Dense(3)', 'Dense(5)')}\n40 + 2")
    window.run_cell(4)
    gutter = window.cell(4).locator(".tpushape-Change").first
    expect(gutter).to_have_text(re.compile(r"^model: .*5.* · other: .*7"))
    expect(window.cell(4).locator(".jp-OutputArea-output")).to_have_text("42")
    # The panel stays with what was chosen.
    expect(panel.locator(".about")).to_contain_text("model · x, y")
    expect(panel.get_by_role("status")).to_contain_text("outputs 5 values")


def test_a_trace_that_waits_outlives_a_cell_that_raises(window: Window, lab: Lab) -> None:
    waits = "from pathlib import Path\nwhile not Path('traced').exists():\n    pass\nraise ValueError"
    window.open(lab.notebook("behind.ipynb", SETUP, SMALL, ROWS, waits))
    panel = window.panel
    for cell in range(3):
        window.run_cell(cell)
    model = panel.get_by_role("option", name=re.compile("^model"))
    expect(model).to_be_visible()
    window.run_cell(3)
    model.click()
    expect(panel.get_by_role("status")).to_contain_text("Waiting for the kernel")
    (lab.folder / "traced").touch()
    expect(window.cell(3)).to_contain_text("ValueError")
    expect(panel.locator(".tpushape-Report .tps")).to_be_visible()


def test_explain_opens_a_tab_where_a_setting_says_so(window: Window, lab: Lab) -> None:
    lab.setting('{"explainIn": "tab"}')
    try:
        window.open(lab.notebook("wide.ipynb", SETUP, f"{SMALL}\n{ROWS}", BROKEN.replace("model", "net")))
        window.run()
        hint = window.cell(2).locator(".tpushape-Hint")
        hint.get_by_role("button", name="Explain").click()
        tab = window.page.locator("#tpushape-tab")
        expect(tab.locator(".title")).to_contain_text("lstm")
        expect(tab.locator(".about")).to_contain_text(re.compile(r"^net · .*In\[3\]"))
        expect(window.page.locator("#tpushape-panel")).to_be_hidden()
        # Another model has nothing to do with what failed.
        panel = window.panel
        window.choices()
        panel.get_by_role("option", name=re.compile("^model")).click()
        expect(panel.locator(".about")).to_contain_text("model · x, y · v5e-8")
        expect(panel.get_by_role("status")).to_have_text("No problems found on v5e-8")
    finally:
        lab.setting("{}")


def test_a_watched_trace_makes_way_for_the_next_cell(window: Window, lab: Lab) -> None:
    made = "model = keras.Sequential([keras.Input((8,)), Slow(), layers.Dense(3)])"
    slow = (
        "import time\nclass Slow(layers.Layer):\n    def call(self, x):\n"
        "        for _ in range(1200):\n            time.sleep(0.1 if patient else 0)\n        return x\n"
        f"patient = False\n{made}"
    )
    window.open(lab.notebook("way.ipynb", SETUP, slow, f"{made}\npatient = True", "patient = False\n40 + 2"))
    panel = window.panel
    window.run_cell(0)
    window.run_cell(1)
    panel.get_by_role("option", name=re.compile("^model")).click()
    expect(panel.get_by_role("status")).to_contain_text("No problems found")
    panel.get_by_role("button", name="Watch").click()
    window.run_cell(2)
    expect(panel.get_by_role("status")).to_have_text("model: Tracing")
    # The trace would take two minutes: the cell has its answer while it is owed, and then it comes.
    window.run_cell(3)
    expect(window.cell(3).locator(".jp-OutputArea-output")).to_have_text("42", timeout=90_000)
    expect(panel.get_by_role("status")).to_contain_text("No problems found")
    expect(panel.locator(".about")).to_contain_text("In[4]")
    assert "KeyboardInterrupt" not in window.cell(3).inner_text()


def test_a_fix_goes_into_a_python_file(window: Window, lab: Lab) -> None:
    (lab.folder / "nets.py").write_text(NETS)
    window.open(lab.notebook("file.ipynb", SETUP, "from nets import make_net", DATA))
    panel = window.panel
    window.run()
    panel.get_by_role("option", name=re.compile("^make_net")).click()
    expect(panel.get_by_role("status")).to_contain_text("1 problem")
    panel.get_by_role("button", name=re.compile("Apply")).first.click()
    dialog = window.page.locator(".jp-Dialog")
    expect(dialog.locator(".tpushape-Diff")).to_contain_text("+")
    dialog.get_by_role("button", name="Apply", exact=True).click()
    expect(window.page.locator(".jp-FileEditor .cm-content")).to_contain_text("Flatten()")
    expect(window.page.get_by_text("The fix is in nets.py.")).to_be_visible()


def test_a_console_is_followed_too(window: Window, lab: Lab) -> None:
    window.open(lab.notebook("aside.ipynb", "1"))
    panel = window.panel
    window.page.evaluate("async () => { await window.jupyterapp.commands.execute('console:create', {kernelPreference: {name: 'python3'}, activate: true}); }")
    expect(panel.locator(".tpushape-Panel-place")).to_have_text(re.compile("Console"))
    expect(panel.get_by_text("no Keras model")).to_be_visible()
    window.page.evaluate(
        """(code) => {
            const {path} = window.jupyterapp.shell.currentWidget.console.sessionContext;
            window.jupyterapp.commands.execute('console:inject', {path, code});
        }""",
        f"{SETUP}\n{SMALL}\n{ROWS}",
    )
    expect(panel.get_by_role("option", name=re.compile("^model"))).to_contain_text("27 parameters")
    panel.get_by_role("button", name="Trace", exact=True).click()
    expect(panel.get_by_role("status")).to_contain_text("No problems found")


def test_a_kernel_that_cannot_be_asked_is_told_of(window: Window, lab: Lab) -> None:
    window.open(lab.notebook("bare.ipynb", "1", kernel="bare"))
    panel = window.panel
    expect(panel).to_contain_text("jupyter_tpushape is not installed in this kernel")
    expect(panel.locator("code")).to_have_text("%pip install jupyter_tpushape")
    window.page.evaluate("async () => { await window.jupyterapp.shell.currentWidget.sessionContext.changeKernel({name: 'echo'}); }")
    expect(panel).to_contain_text("This kernel does not run Python")
    window.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    expect(panel).to_contain_text("No kernel is running")
    # A kernel that never answers is told of after a while, and what was asked of it can be taken back.
    window.page.evaluate("() => { window.jupyterapp.shell.currentWidget.sessionContext.changeKernel({name: 'mute'}); }")
    expect(panel).to_contain_text("The kernel is not responding")
    window.command("tpushape:explain-last-error")
    expect(panel.get_by_role("status")).to_have_text("Waiting for the kernel")
    panel.get_by_role("button", name="Cancel").click()
    expect(panel.get_by_role("status")).to_have_text("Cancelled")
    # Another kernel is a change of the file, which closing would ask about.
    window.page.evaluate(
        "() => { const {context} = window.jupyterapp.shell.currentWidget; context.model.dirty = false; window.jupyterapp.shell.currentWidget.close(); }"
    )
    expect(panel).to_contain_text("Open a notebook or a console")
    expect(panel.get_by_role("button")).to_have_count(0)


def test_a_long_trace_is_taken_back_and_the_kernel_goes_on(window: Window, lab: Lab) -> None:
    slow = (
        "import time\nclass Slow(layers.Layer):\n    def call(self, x):\n"
        "        for _ in range(600): time.sleep(0.1 if patient else 0)\n        return x\n"
        "patient = False\nmodel = keras.Sequential([keras.Input((8,)), Slow(), layers.Dense(3)])\npatient = True"
    )
    window.open(lab.notebook("slow.ipynb", SETUP, slow, "1 + 41"))
    panel = window.panel
    window.run()
    panel.get_by_role("option", name=re.compile("^model")).click()
    expect(panel.get_by_role("status")).to_have_text("model: Tracing")
    panel.get_by_role("button", name="Cancel").click()
    expect(panel.get_by_role("status")).to_have_text("model: Cancelled")
    expect(panel.get_by_role("button", name="Trace", exact=True)).to_be_enabled()

    # While a cell runs, the list is still answered, a trace waits its turn, and taking it back leaves the cell alone.
    window.write(2, "import pathlib\nwhile not pathlib.Path('slow.go').exists():\n    time.sleep(0.05)\n1 + 41")
    window.run_cell(2)
    expect(window.cell(2).locator(".jp-InputPrompt")).to_contain_text("*")
    panel.get_by_role("button", name="Refresh the list").click()
    expect(panel.get_by_role("option", name=re.compile("^model"))).to_be_visible()
    panel.get_by_role("button", name="Trace", exact=True).click()
    expect(panel.get_by_role("status")).to_have_text("Waiting for the kernel")
    panel.get_by_role("button", name="Cancel").click()
    expect(panel.get_by_role("status")).to_have_text("model: Cancelled")
    (lab.folder / "slow.go").touch()
    expect(window.cell(2).locator(".jp-OutputArea-output")).to_have_text("42")


@pytest.mark.skipif(bool(bridge.check()), reason="needs the TPU compiler")
def test_a_long_compile_is_taken_back_and_leaves_no_process(window: Window, lab: Lab) -> None:
    large = (
        "model = keras.applications.MobileNetV2(weights=None, input_shape=(96, 96, 3), alpha=0.35)\n"
        'model.compile("sgd", "sparse_categorical_crossentropy")\n'
        'x, y = np.zeros((64, 96, 96, 3), "float32"), np.zeros(64, "int64")'
    )
    window.open(lab.notebook("compile.ipynb", SETUP, large, "import psutil; print('left:', len(psutil.Process().children()))"))
    panel = window.panel
    window.run()
    panel.get_by_label("Compile").select_option("tpu")
    panel.get_by_role("option", name=re.compile("^model")).click()
    expect(panel.get_by_role("status")).to_contain_text(re.compile("compil", re.IGNORECASE), timeout=240_000)
    panel.get_by_role("button", name="Cancel").click()
    expect(panel.get_by_role("status")).to_have_text("model: Cancelled")
    window.run_cell(2)
    expect(window.cell(2).locator(".jp-OutputArea")).to_contain_text("left: 0")
