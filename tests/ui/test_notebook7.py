"""The same extension in Notebook 7: the panel at the right, the tab below the one document."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from .server import Window, serve
from .test_lab import DATA, MODEL


def test_the_panel_traces_and_its_tab_stands_below_the_notebook(browser: Browser, tmp_path: Path) -> None:
    pytest.importorskip("notebook", reason="Notebook 7 is not installed")
    with serve(tmp_path, "notebook") as server:
        name = server.notebook("seven.ipynb", MODEL, DATA)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        window = Window(page, server)
        page.on("pageerror", lambda error: window.errors.append(str(error)))
        page.goto(f"{server.url}/notebooks/{name}")
        page.wait_for_selector(".jp-Notebook .jp-CodeCell .cm-content", timeout=60_000)
        page.wait_for_function("async () => { await window.jupyterapp.shell.currentWidget.sessionContext.ready; return true; }")
        window.run()
        panel = window.panel
        expect(panel.get_by_role("option", name=re.compile("^model"))).to_contain_text("27 parameters")
        panel.get_by_role("button", name="Trace", exact=True).click()
        expect(panel.get_by_role("status")).to_contain_text("Flows to the end")
        assert panel.evaluate("(node) => node.scrollWidth <= node.clientWidth"), "nothing of the panel is cut off at the right"
        panel.get_by_role("button", name="Open as tab").click()
        tab = page.locator("#tpushape-tab")
        expect(tab.locator(".tpushape-Report")).to_contain_text("dense")
        box, window_height = tab.bounding_box(), 900
        assert box is not None and box["height"] > 300 and box["y"] + box["height"] <= window_height
        assert not [error for error in window.errors if "tpushape" in error]
        page.screenshot(path=str(tmp_path / "seven.png"))
        page.close()
