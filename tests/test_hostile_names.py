"""A real model whose names are markup: every form of its report shows them as they are written."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import keras
import numpy as np
import pytest

import jupyter_tpushape as tpushape
from jupyter_tpushape.flow import MIME
from jupyter_tpushape.report import Report
from jupyter_tpushape.views.sarif import to_annotations, to_sarif
from jupyter_tpushape.views.widget import ReportWidget

IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = "<script>alert(2)<!--"  # Keras refuses a slash in a layer's name


class Page(HTMLParser):
    """The elements of a page, their attributes, and the words between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.handlers += [name for name, value in attrs if name.startswith("on") or "javascript:" in (value or "")]

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.fixture(scope="module")
def report() -> Report:
    evil: Any = type(IMAGE, (keras.layers.Layer,), {"call": lambda self, x: x})

    def build() -> keras.Model:
        return keras.Sequential([keras.Input((4, 4, 3)), evil(name=SCRIPT), keras.layers.LSTM(3, name=IMAGE)])

    made = tpushape.trace(build, np.zeros((8, 4, 4, 3), "float32"), tpu=None)
    assert {SCRIPT, IMAGE} <= {node.name for node in made.flow.nodes}
    assert any(IMAGE in finding.message for finding in made.findings)
    return made


def test_the_page(report: Report, tmp_path: Path) -> None:
    text = report.save(tmp_path / "flow.html").read_text(encoding="utf-8")
    page = Page(text)
    assert "img" not in page.tags
    assert page.tags.count("script") == 2
    assert page.handlers == []
    assert IMAGE in page.words
    held = re.search(r'<script type="application/json" id="report">(.*?)</script>', text, re.DOTALL)
    assert held
    assert "<" not in held[1]
    assert json.loads(held[1]) == json.loads(report.to_json())


def test_the_picture(report: Report, tmp_path: Path) -> None:
    root = ET.fromstring(report.save(tmp_path / "flow.svg").read_text(encoding="utf-8"))
    space = "{http://www.w3.org/2000/svg}"
    assert {one.tag.removeprefix(space) for one in root.iter()} <= {
        "svg", "title", "style", "defs", "pattern", "line", "rect", "g", "path", "circle", "text", "tspan",
    }  # fmt: skip
    words = ["".join(text.itertext()) for text in root.iter(f"{space}text")]
    assert {SCRIPT, IMAGE} <= set(words)


def test_what_a_notebook_keeps(report: Report) -> None:
    for bundle in (report._repr_mimebundle_(), ReportWidget(report)._repr_mimebundle_()):
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        assert data is not None
        page = Page(data["text/html"])
        assert page.tags.count("img") == 1
        assert not {"script", "style"} & set(page.tags)
        assert page.handlers == []
        assert IMAGE in page.words
        assert IMAGE in data["text/plain"]
        if MIME in data:
            assert data[MIME] == json.loads(report.to_json())


def test_words_for_terminals_and_code_scanners(report: Report, tmp_path: Path) -> None:
    assert IMAGE in repr(report)
    assert IMAGE in str(json.loads(to_sarif(report))["runs"][0]["results"][0]["message"]["text"])
    assert IMAGE in to_annotations(report)
    # Markdown in which no tag is left outside of code.
    markdown = report.save(tmp_path / "flow.md").read_text(encoding="utf-8")
    markdown = re.sub(r"^(`{3,})(?:diff|python)\n.*?^\1$", "", markdown, flags=re.DOTALL | re.MULTILINE)
    assert "<" not in re.sub(r"(`+) ?.*?\1", "", markdown)
    assert r"&lt;img src=x onerror=alert\(1\)&gt;" in markdown
