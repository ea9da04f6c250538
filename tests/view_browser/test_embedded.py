"""The widget on pages without a Jupyter server: a saved page by ipywidgets, and one that hosts it as Colab does."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import anywidget
import pytest
from ipywidgets.embed import dependency_state, embed_minimal_html
from playwright.sync_api import Browser, Page, Route, expect

from jupyter_tpushape.views.widget import ReportWidget

ROOT = Path(__file__).parents[2]
MODULES = Path(__file__).parent / "node_modules"
ANYWIDGET = Path(str(importlib.util.find_spec("anywidget").origin)).parent / "nbextension" / "index.js"  # type: ignore[union-attr]

# Colab puts an output into a frame of its own and carries what a widget says to the kernel over its own channel.
COLAB = """async ([source, state, codes]) => {
  const module = await import(URL.createObjectURL(new Blob([source], {type: 'text/javascript'})));
  const tell = (data) => window.toPython(JSON.stringify(data));
  const changed = {};
  const model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = changed[name] = value; },
    save_changes: () => tell({method: 'update', state: {...changed}, buffer_paths: []}),
    send: (content) => tell({method: 'custom', content}),
    on: () => {}, off: () => {},
    widget_manager: {get_model: async (id) => ({get: (name) => codes[id][name]})},
  };
  await module.default.render({model, el: document.getElementById('output-area')});
}"""


def served(route: Route) -> None:
    """What a page asks of a network, from this machine."""
    url = route.request.url
    if "require" in url and "cdnjs" in url:
        route.fulfill(path=MODULES / "requirejs" / "require.js", content_type="text/javascript")
    elif "html-manager" in url:
        route.fulfill(path=MODULES / "@jupyter-widgets" / "html-manager" / "dist" / "embed-amd.js", content_type="text/javascript")
    elif "anywidget@" in url:
        route.fulfill(path=ANYWIDGET, content_type="text/javascript")
    else:
        route.abort()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    page = chromium.new_page(viewport={"width": 900, "height": 800})
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.route(re.compile("^https?:"), served)
    yield page
    page.close()
    assert wrong == []


def saved(widget: ReportWidget, folder: Path) -> Path:
    path = folder / "saved.html"
    embed_minimal_html(path, [widget], state=dependency_state(widget, drop_defaults=False), title="saved")
    # The check is of the network's copy; the one here has another number.
    path.write_text(re.sub(r' (integrity|crossorigin)="[^"]*"', "", path.read_text(encoding="utf-8")), encoding="utf-8")
    return path


def test_a_saved_page_shows_the_view_without_a_kernel(page: Page, flows: ModuleType, tmp_path: Path) -> None:
    page.goto(saved(ReportWidget(flows.conv_lstm()), tmp_path).as_uri())
    expect(page.locator(".tps .verdict")).to_contain_text("problem")
    page.locator('.node[data-id="conv2d"]').click()
    expect(page.locator(".node.selected .name")).to_have_text("conv2d")


def test_hostile_names_stay_text_in_a_saved_page(page: Page, flows: ModuleType, tmp_path: Path) -> None:
    report = flows.conv_lstm()
    name = "</script><img src=x onerror=\"document.title='run'\">"
    report.flow.nodes[3].name = name
    page.goto(saved(ReportWidget(report), tmp_path).as_uri())
    expect(page.locator(".tps .verdict")).to_contain_text("problem")
    assert page.locator("img").count() == 0
    assert page.title() == "saved"
    assert any(name in words for words in page.locator("svg.graph title").all_text_contents())


@pytest.mark.parametrize(("theme", "ground"), [("dark", "rgb(21, 24, 29)"), ("light", "rgb(255, 255, 255)")])
def test_what_happens_in_colab_s_frame_reaches_python(page: Page, flows: ModuleType, tmp_path: Path, theme: str, ground: str) -> None:
    widget = ReportWidget(flows.conv_lstm())
    seen: list[str] = []
    applied: list[tuple[int, int]] = []
    widget.observe(lambda change: seen.append(change["new"]), "selected")
    widget.on_apply(lambda finding, fix: applied.append((finding, fix)))
    page.expose_function("toPython", lambda text: widget._handle_msg({"content": {"data": json.loads(text)}, "buffers": []}))
    page.set_content(f"<!doctype html><html lang=en theme={theme}><body style='margin:0'><div id=output-area></div>")
    state = {name: getattr(widget, name) for name in ("report", "selected", "finding", "can_apply")}
    state["code"] = f"IPY_MODEL_{widget.code.model_id}"
    codes = {widget.code.model_id: {"source": widget.code.source, "digest": widget.code.digest}}
    page.evaluate(COLAB, [str(widget._esm), state, codes])
    page.get_by_role("button", name="Apply: Read every position as a step").click()
    page.locator('.node[data-id="conv2d"]').click()
    # Python hears of a click when the page has sent it.
    page.expose_function("heard", lambda: widget.selected)
    page.evaluate("async () => { while (await window.heard() !== 'conv2d') { await new Promise(requestAnimationFrame); } }")
    assert (widget.selected, seen, applied) == ("conv2d", ["conv2d"], [(0, 1)])
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 900
    script = "() => getComputedStyle(document.querySelector('.tpushape-view').shadowRoot.querySelector('.tps')).backgroundColor"
    assert page.evaluate(script) == ground


def test_several_widgets_of_a_saved_page_share_one_script(page: Page, flows: ModuleType, tmp_path: Path) -> None:
    widgets = [ReportWidget(flows.conv_lstm()), ReportWidget(flows.uneven())]
    path = tmp_path / "saved.html"
    embed_minimal_html(path, widgets, state=dependency_state(widgets, drop_defaults=False), title="saved")
    text = re.sub(r' (integrity|crossorigin)="[^"]*"', "", path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")
    assert text.count("attachShadow") == widgets[0].code.source.count("attachShadow")
    page.goto(path.as_uri())
    expect(page.locator(".tps .verdict")).to_have_count(2)
    assert page.evaluate("() => Object.keys(tpushapeViews).length") == 1


def test_a_page_that_lost_the_script_says_what_to_do(page: Page, flows: ModuleType) -> None:
    widget = ReportWidget(flows.conv_lstm())
    page.set_content("<!doctype html><html lang=en><body><div id=output-area></div>")
    page.evaluate(COLAB, [str(widget._esm), {"code": "IPY_MODEL_gone"}, {}])
    assert page.locator("#output-area").text_content() == "The view's code is not saved in this notebook: run the cell again."


def test_the_page_asks_for_the_module_that_python_has(flows: ModuleType, tmp_path: Path) -> None:
    text = saved(ReportWidget(flows.conv_lstm()), tmp_path).read_text(encoding="utf-8")
    assert f'"_model_module_version": "~{anywidget.__version__.rpartition(".")[0]}.*"' in text
