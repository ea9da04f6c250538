"""axe-core finds nothing in the panel, whatever it shows."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .server import ROOT, Lab, Window
from .test_mending import WIDE
from .test_story import BROKEN, ROWS, SETUP, SMALL

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# JupyterLab names its own landmarks, and the panel is no page: what concerns a whole page is not the panel's.
PAGE = ["region", "page-has-heading-one", "landmark-one-main", "bypass", "document-title", "html-has-lang", "landmark-unique"]


def violations(window: Window, where: str) -> list[str]:
    """What axe-core finds in a part of the page, in words."""
    found = window.page.evaluate(
        "([where, rules, off]) => axe.run(where, {runOnly: rules, rules: Object.fromEntries(off.map((id) => [id, {enabled: false}]))})", [where, RULES, PAGE]
    )
    return [f"{one['id']}: {one['nodes'][0]['target']} {one['nodes'][0]['failureSummary']}" for one in found["violations"]]


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_axe_finds_nothing_in_the_panel(window: Window, lab: Lab, theme: str) -> None:
    page = window.page
    window.goto(f"/lab/workspaces/axe{theme}?reset")
    page.add_script_tag(path=ROOT / "tests" / "view_browser" / "node_modules" / "axe-core" / "axe.min.js")
    page.evaluate("(name) => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})", f"JupyterLab {theme}")
    page.wait_for_selector(f'body[data-jp-theme-name="JupyterLab {theme}"]', state="attached")
    panel = window.panel
    expect(panel).to_contain_text("Open a notebook or a console")
    assert violations(window, "#tpushape-panel") == []

    name = lab.notebook(f"axe{theme}.ipynb", SETUP, f"{SMALL}\n{ROWS}", BROKEN)
    window.front(name)
    expect(panel).to_contain_text("no Keras model")
    assert violations(window, "#tpushape-panel") == []

    window.run_cell(0)
    window.run_cell(1)
    panel.get_by_role("option", name=re.compile("^model")).click()
    expect(panel.get_by_role("status")).to_contain_text("No problems found")
    assert violations(window, "#tpushape-panel") == []
    window.choices()
    assert violations(window, "#tpushape-panel") == []

    window.run_cell(2)
    hint = window.cell(2).locator(".tpushape-Hint")
    expect(hint).to_be_visible()
    assert violations(window, ".tpushape-Hint") == []
    hint.get_by_role("button", name="Explain").click()
    expect(panel.locator(".title")).to_contain_text("lstm")
    for width in (250, 400, 900):
        page.evaluate(WIDE, width)
        expect(panel.locator(f".tps{'.narrow' if width < 900 else ':not(.narrow)'}")).to_be_visible()
        for tab in panel.get_by_role("tab").all():
            tab.click()
            assert violations(window, "#tpushape-panel") == [], (width, tab.text_content())

    # An old report says so, and offers another trace.
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    expect(panel.get_by_role("note")).to_contain_text("the kernel has restarted")
    assert violations(window, "#tpushape-panel") == []
