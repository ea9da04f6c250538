"""The widget's module in a page that hosts it as notebooks do: a model with traits, an element, no styles of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import ModuleType

import pytest
from playwright.sync_api import Browser, Page, expect

from jupyter_tpushape.views.script import module

# What a host gives: traits that are read and set, messages to the kernel, an element in a cell's output.
HOST = """async ([source, reports]) => {
  const module = await import(URL.createObjectURL(new Blob([source], {type: 'text/javascript'})));
  window.hosts = reports.map((report) => {
    const heard = {};
    const state = {report, selected: '', finding: 0, can_apply: false};
    const model = {
      get: (name) => state[name],
      set: (name, value) => { state[name] = value; },
      save_changes: () => { model.saved.push(state.selected); },
      on: (name, act) => { (heard[name] ??= new Set()).add(act); },
      off: (name, act) => { heard[name]?.delete(act); },
      send: (content) => { model.sent.push(content); },
      saved: [], sent: [],
      push: (name, value) => { state[name] = value; heard[`change:${name}`]?.forEach((act) => act()); },
      listeners: () => Object.values(heard).reduce((sum, set) => sum + set.size, 0),
    };
    const el = document.createElement('div');
    el.className = 'output';
    document.body.append(el);
    return {model, el, dispose: module.default.render({model, el})};
  });
}"""


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    page = chromium.new_page(viewport={"width": 1000, "height": 900})
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.set_content("<!doctype html><html lang=en><body></body></html>")
    yield page
    page.close()
    assert wrong == []


def host(page: Page, *reports: str) -> None:
    page.evaluate(HOST, [module(), [json.loads(report) for report in reports]])


def test_what_is_selected_reaches_python_and_back(page: Page, flows: ModuleType) -> None:
    host(page, flows.conv_lstm().to_json())
    page.locator('.node[data-id="conv2d"]').click()
    assert page.evaluate("() => hosts[0].model.saved") == ["conv2d"]
    page.evaluate("() => hosts[0].model.push('selected', 'lstm')")
    expect(page.locator(".node.selected .name")).to_have_text("lstm")
    assert page.evaluate("() => hosts[0].model.saved") == ["conv2d"]


def test_apply_tells_the_kernel_which_fix(page: Page, flows: ModuleType) -> None:
    host(page, flows.conv_lstm().to_json())
    assert page.get_by_role("button", name="Apply: ").count() == 0
    page.evaluate("() => hosts[0].model.push('can_apply', true)")
    page.get_by_role("button", name="Apply: Read every position as a step").click()
    assert page.evaluate("() => hosts[0].model.sent") == [{"type": "apply", "finding": 0, "fix": 1}]


def test_several_widgets_stand_in_one_page_each_with_its_own(page: Page, flows: ModuleType) -> None:
    host(page, flows.conv_lstm().to_json(), flows.uneven().to_json())
    first, second = page.locator(".output").all()
    first.locator('.node[data-id="lstm"]').click()
    expect(first.locator(".node.selected")).to_have_count(1)
    expect(second.locator(".node.selected")).to_have_count(0)
    expect(second.locator(".verdict")).to_contain_text("on v5e-8")
    page.evaluate("() => hosts[1].model.push('finding', 1)")
    expect(second.locator("h2.title").first).to_contain_text("softmax is not applied")
    expect(first.locator("h2.title").first).to_contain_text("conv2d gives")


def test_another_report_comes_in_place_and_keeps_the_place(page: Page, flows: ModuleType) -> None:
    host(page, flows.conv_lstm().to_json())
    page.locator('.node[data-id="conv2d"]').click()
    report = json.loads(flows.conv_lstm().to_json()) | {"summary": "traced again"}
    page.evaluate("(report) => hosts[0].model.push('report', report)", report)
    expect(page.locator(".verdict")).to_contain_text("traced again")
    expect(page.locator(".node.selected .name")).to_have_text("conv2d")
    assert page.locator(".tpushape-view").count() == 1


def test_it_goes_without_a_trace(page: Page, flows: ModuleType) -> None:
    host(page, flows.conv_lstm().to_json())
    page.evaluate("() => hosts[0].dispose()")
    assert page.evaluate("() => [hosts[0].el.childElementCount, hosts[0].model.listeners()]") == [0, 0]


def test_an_empty_state_shows_nothing_until_a_report_comes(page: Page, flows: ModuleType) -> None:
    host(page, "{}")
    assert page.locator(".tpushape-view").count() == 0
    page.evaluate("(report) => hosts[0].model.push('report', report)", json.loads(flows.uneven().to_json()))
    expect(page.locator(".verdict")).to_contain_text("2 problems")


@pytest.mark.parametrize(("attribute", "theme"), [("dark", "dark"), ("light", "light")])
def test_colab_s_own_theme_is_followed_and_its_frame_is_kept(page: Page, flows: ModuleType, attribute: str, theme: str) -> None:
    page.set_viewport_size({"width": 640, "height": 700})
    page.evaluate("(theme) => document.documentElement.setAttribute('theme', theme)", attribute)
    host(page, flows.conv_lstm().to_json())
    assert page.locator(".tps").get_attribute("data-theme") == theme
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 640
    ground = page.evaluate("() => getComputedStyle(document.querySelector('.tpushape-view').shadowRoot.querySelector('.tps')).backgroundColor")
    assert ground == {"dark": "rgb(21, 24, 29)", "light": "rgb(255, 255, 255)"}[theme]


def test_lab_s_theme_is_followed_while_it_changes(page: Page, flows: ModuleType) -> None:
    page.evaluate("() => { document.body.dataset.jpThemeLight = 'true'; }")
    host(page, flows.conv_lstm().to_json())
    assert page.locator(".tps").get_attribute("data-theme") == "light"
    page.evaluate("() => { document.body.dataset.jpThemeLight = 'false'; document.body.style.setProperty('--jp-layout-color1', '#111111'); }")
    expect(page.locator(".tps")).to_have_attribute("data-theme", "dark")
    ground = page.evaluate("() => getComputedStyle(document.querySelector('.tpushape-view').shadowRoot.querySelector('.tps')).backgroundColor")
    assert ground == "rgb(17, 17, 17)"
