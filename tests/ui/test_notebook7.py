"""The same extension in Notebook 7: the panel at the right, the tab below the one document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from . import test_mending as mending
from . import test_story as story
from .server import Lab, Window, serve
from .test_lab import DATA, MODEL
from .test_story import BROKEN

# What does not depend on where Notebook 7 puts the panel and its tab.
STORIES: tuple[Callable[[Window, Lab], None], ...] = (
    mending.test_a_mended_cell_that_raises_says_so_and_the_fix_can_be_taken_back,
    mending.test_an_edit_keeps_line_ends_and_blanks,
    mending.test_an_output_outlives_its_kernel,
    mending.test_a_restart_makes_outputs_and_the_panel_old,
    story.test_a_cell_raises_it_is_explained_a_fix_goes_in_and_the_cell_runs,
    story.test_the_panel_explains_marks_refuses_and_forgets_with_the_kernel,
    story.test_watching_says_what_changed,
    story.test_a_watched_trace_makes_way_for_the_next_cell,
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    pytest.importorskip("notebook", reason="Notebook 7 is not installed")
    with serve(tmp_path_factory.mktemp("seven"), "notebook") as running:
        yield running


@pytest.mark.parametrize("told", STORIES, ids=lambda one: one.__name__.removeprefix("test_"))
def test_a_story_of_jupyterlab_is_the_same_here(window: Window, lab: Lab, told: Callable[[Window, Lab], None]) -> None:
    told(window, lab)


def test_a_cell_is_mended_the_panel_traces_and_its_tab_stands_below_the_notebook(browser: Browser, tmp_path: Path) -> None:
    pytest.importorskip("notebook", reason="Notebook 7 is not installed")
    with serve(tmp_path, "notebook") as server:
        name = server.notebook("seven.ipynb", f"%load_ext jupyter_tpushape\n{MODEL}", DATA, f"from keras import layers\n{BROKEN.replace('model', 'net')}")
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
