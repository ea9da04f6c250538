"""A browser with the standalone page of a report in it."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from jupyter_tpushape.report import Report

ROOT = Path(__file__).parents[2]
Open = Callable[..., Page]


@pytest.fixture(scope="session")
def flows() -> ModuleType:
    spec = importlib.util.spec_from_file_location("view_flows", Path(__file__).parent / "flows.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def axe() -> str:
    return (Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    found = next((path for name in ("chromium", "chromium-browser", "google-chrome", "chrome") if (path := shutil.which(name))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
        )
        yield browser
        browser.close()


@pytest.fixture
def page_of(chromium: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens a report's own page; at the end nothing may have gone wrong in it, nor been asked of a network."""
    wrong: list[str] = []
    pages: list[Page] = []

    def open_page(report: Report, *, width: int = 1280, height: int = 800, strict: bool = True, **options: Any) -> Page:
        path = report.save(tmp_path / "report.html")
        context = chromium.new_context(viewport={"width": width, "height": height}, bypass_csp=not strict, **options)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("dialog", lambda dialog: (wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: wrong.append(request.url) if not request.url.startswith(("file:", "data:", "blob:")) else None)
        page.goto(path.as_uri())
        page.locator("svg.graph .node").first.wait_for()
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.context.close()
    assert wrong == []
