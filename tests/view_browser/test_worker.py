"""A level too large for the page's own thread is ordered in a worker, and without one just the same."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

from playwright.sync_api import Page

from .conftest import Open

COUNT = """() => {
  window.made = 0;
  const Own = window.Worker;
  window.Worker = class extends Own { constructor(url) { super(url); window.made++; } };
}"""
SHOW = """async (report) => {
  document.body.innerHTML = '<div id=big></div>';
  document.getElementById('big').style.height = '700px';
  const off = tpushape.mount(document.getElementById('big'), report, {fill: true});
  const root = document.getElementById('big').firstElementChild.shadowRoot;
  while (!root.querySelector('.node')) { await new Promise((done) => setTimeout(done, 20)); }
  const places = [...root.querySelectorAll('.node')].map((node) => [node.dataset.id, node.style.transform]);
  off();
  return [places, window.made];
}"""


def circle(flows: ModuleType) -> dict[str, Any]:
    """3,000 nodes on one level that nothing groups: the last leads back to the first."""
    report: dict[str, Any] = json.loads(flows.chain(3000, folded=False).to_json())
    flow = report["flow"]
    flow["edges"].append({**flow["edges"][1], "id": "back", "source": flow["nodes"][-2]["id"], "target": flow["nodes"][2]["id"]})
    return report


def shown(page: Page, report: dict[str, Any]) -> tuple[list[list[str]], int]:
    places, made = page.evaluate(SHOW, report)
    return places, made


def test_a_worker_and_the_page_itself_put_everything_in_the_same_place(page_of: Open, flows: ModuleType) -> None:
    page, report = page_of(flows.conv_lstm()), circle(flows)
    page.evaluate(COUNT)
    with_worker, made = shown(page, report)
    assert made == 1
    page.evaluate("() => { window.Worker = class { constructor() { setTimeout(() => this.onerror()); } postMessage() {} terminate() {} }; }")
    refused, _ = shown(page, report)
    page.evaluate("() => { window.Worker = undefined; }")
    without, _ = shown(page, report)
    assert len(with_worker) > 3
    assert with_worker == refused == without
