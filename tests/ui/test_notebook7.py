"""The same extension in Notebook 7: the panel at the right, the tab below the one document."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from .server import Window, serve
from .test_lab import DATA, MODEL
from .test_story import BROKEN


def test_a_cell_is_mended_the_panel_traces_and_its_tab_stands_below_the_notebook(browser: Browser, tmp_path: Path) -> None:
    pytest.importorskip("notebook", reason="Notebook 7 is not installed")
    with serve(tmp_path, "notebook") as server:
        name = server.notebook(
            "seven.ipynb", f"%load_ext jupyter_tpushape\n{MODEL}", DATA, f"from keras import layers\n{BROKEN.replace('model', 'net')}"
        )
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        window = Window(page, server)
        page.on("pageerror", lambda error: window.errors.append(str(error)))
        page.set_default_timeout(60_000)
        window.goto(f"/notebooks/{name}")
        window.answered(name)
        window.run()
        hint = window.cell(2).locator(".tpushape-Hint")
        hint.get_by_role("button", name="Explain").click()
        panel = page.locator("#tpushape-panel")
        expect(panel.locator(".title")).to_contain_text("lstm")
        expect(panel.locator(".about")).to_contain_text(re.compile(r"^net · .*In\[3\]"))
        hint.get_by_role("button", name="Apply the first fix").click()
        page.locator(".jp-Dialog").get_by_role("button", name="Apply, run and trace").click()
        expect(panel.get_by_role("status")).to_contain_text("Fixed: ")
        expect(hint).to_have_count(0)
        window.choices()
        expect(panel.get_by_role("option", name=re.compile("^model"))).to_contain_text("27 parameters")
        panel.get_by_role("option", name=re.compile("^model")).click()
        expect(panel.locator(".about")).to_contain_text("model · x_train, y_train · v5e-8")
        expect(panel.get_by_role("status")).to_contain_text("No problems found")
        assert panel.evaluate("(node) => node.scrollWidth <= node.clientWidth"), "nothing of the panel is cut off at the right"
        panel.get_by_role("button", name="Open as tab").click()
        tab = page.locator("#tpushape-tab")
        expect(tab.locator(".tpushape-Report")).to_contain_text("dense")
        box, window_height = tab.bounding_box(), 900
        assert box is not None and box["height"] > 300 and box["y"] + box["height"] <= window_height
        assert not [error for error in window.errors if "tpushape" in error]
        page.close()
