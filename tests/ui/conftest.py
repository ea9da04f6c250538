"""One JupyterLab and one Chromium for all browser tests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from .server import FLAGS, Lab, Window, chromium, serve

expect.set_options(timeout=60_000)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Says what the panel and the cells showed where a test failed."""
    report = yield
    window = getattr(item, "funcargs", {}).get("window")
    if report.when == "call" and report.failed and window is not None:
        with contextlib.suppress(Exception):
            panel = window.page.evaluate("document.querySelector('#tpushape-panel')?.innerText ?? 'no panel'")
            prompts = window.page.evaluate("[...document.querySelectorAll('.jp-InputPrompt')].map((one) => one.innerText).join(' ')")
            report.sections.append(("The page", f"panel: {panel}\nprompts: {prompts}\nerrors: {window.errors}"))
    return report


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with serve(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def window(browser: Browser, lab: Lab) -> Iterator[Window]:
    context = browser.new_context(viewport={"width": 1440, "height": 960})
    context.set_default_timeout(60_000)
    page = context.new_page()
    made = Window(page, lab)
    page.on("console", lambda message: made.errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: made.errors.append(str(error)))
    yield made
    page.evaluate("window.jupyterapp && window.jupyterapp.serviceManager.sessions.shutdownAll()")
    context.close()
