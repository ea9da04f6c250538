"""Reports as files: each says the same, and what a model calls itself stays text in all of them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.util
import json
import re
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest

from jupyter_tpushape.flow import MIME, Flow
from jupyter_tpushape.report import Report
from jupyter_tpushape.views import render
from jupyter_tpushape.views.markdown import to_markdown
from jupyter_tpushape.views.mime import bundle, fragment
from jupyter_tpushape.views.svg import to_svg


def load(name: str) -> ModuleType:
    path = Path(__file__).parent / "view_browser" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"view_{name}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


flows = load("flows")
SVG = "{http://www.w3.org/2000/svg}"


class Seen(HTMLParser):
    """The elements, attributes and text of a page as a browser would take them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        (self.scripts if self.tags and self.tags[-1] == "script" else self.text).append(data)

    @property
    def words(self) -> str:
        return " ".join(self.text)


@pytest.mark.parametrize("suffix", [".html", ".HTML", ".json", ".svg", ".md"])
def test_a_report_is_saved_by_its_suffix(tmp_path: Path, suffix: str) -> None:
    path = flows.conv_lstm().save(tmp_path / f"flow{suffix}")
    assert "lstm cannot take what conv2d gives" in path.read_text() or suffix == ".svg"


@pytest.mark.parametrize(("suffix", "named"), [(".png", ".png"), ("", "a file without a suffix")])
def test_another_suffix_is_refused_in_one_sentence(suffix: str, named: str) -> None:
    with pytest.raises(ValueError, match=rf"'?{named}'?.*\.html, \.json, \.svg or \.md\.$"):
        render(flows.conv_lstm(), suffix)


def test_json_comes_back_as_it_was() -> None:
    for make in flows.ALL.values():
        report = make()
        assert Report.from_json(render(report, ".json")).to_json() == report.to_json()


class TestPage:
    def test_carries_the_report_in_a_form_that_ends_no_script(self) -> None:
        report = flows.hostile()
        page = render(report, ".html")
        seen = Seen(page)
        assert seen.tags.count("script") == 2
        assert not [name for name, _ in seen.attributes if name.startswith("on")]
        assert "img" not in seen.tags
        data = re.search(r'<script type="application/json" id="report">(.*?)</script>', page, re.DOTALL)
        assert data
        assert not set("<>&\u2028\u2029") & set(data[1])
        assert json.loads(data[1]) == json.loads(report.to_json())

    def test_says_what_was_found_without_a_script_too(self) -> None:
        words = Seen(render(flows.hostile(), ".html")).words
        assert f"{flows.EVIL} & {flows.IMAGE}" in words
        words = Seen(render(flows.conv_lstm(), ".html")).words
        for part in (flows.conv_lstm().summary, "lstm cannot take what conv2d gives", "wants (batch, time, features)", "layers.Reshape((26, 26 * 32)),"):
            assert part in words

    def test_allows_its_own_script_and_style_and_nothing_else(self) -> None:
        page = render(flows.conv_lstm(), ".html")
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
        assert policy
        rules = dict(part.strip().split(" ", 1) for part in policy[1].replace("&#39;", "'").split(";"))
        assert rules["default-src"] == "'none'"
        assert rules["base-uri"] == rules["form-action"] == "'none'"
        script = page[page.rindex("<script>") + len("<script>") : page.rindex("</script>")]
        style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
        assert style
        assert rules["script-src"] == f"'sha256-{digest(script)}'"
        assert rules["style-src"] == f"'sha256-{digest(style[1])}'"
        assert "connect-src" not in rules
        assert not re.search(r'(src|href)="(https?:)?//', page)

    def test_with_charts_allows_plotly_too_and_still_nothing_inline(self) -> None:
        page = render(flows.compiled(), ".html")
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
        assert policy and "unsafe" not in policy[1]
        packed = re.search(r'id="plotly">([^<]*)<', page)
        assert packed
        assert f"'sha256-{digest(gzip.decompress(base64.b64decode(packed[1])).decode())}'" in policy[1].replace("&#39;", "'")
        assert not re.search(r'(src|href)="(https?:)?//', page)
        assert 'id="plotly"' not in render(flows.conv_lstm(), ".html")

    def test_without_plotly_is_written_all_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "plotly", None)
        page = render(flows.compiled(), ".html")
        assert 'id="plotly"' not in page and "quick effort" in page


def digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


class TestPicture:
    def test_is_xml_whose_texts_are_the_names(self) -> None:
        report = flows.hostile()
        root = ET.fromstring(to_svg(report))
        assert {element.tag for element in root.iter()} <= {f"{SVG}{tag}" for tag in (
            "svg", "g", "title", "style", "defs", "pattern", "line", "rect", "path", "text", "tspan", "circle")}  # fmt: skip
        texts = ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]
        assert flows.EVIL in texts
        assert f"wants ({flows.IMAGE}, {flows.EVIL[:29]}…)" in texts

    def test_says_what_was_wanted_and_what_came(self) -> None:
        root = ET.fromstring(to_svg(flows.conv_lstm()))
        texts = ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]
        assert "wants (batch, time, features)" in texts
        assert "gets  (8, 26, 26, 32)" in texts
        assert [span.text for span in root.iter(f"{SVG}tspan") if span.get("class") == "differs"] == ["time", "features", "26", "32"]
        assert texts.count("not reached") == 2
        assert texts.count("✖") == 2

    def test_marks_silent_and_slow_edges_with_signs(self) -> None:
        texts = ["".join(element.itertext()) for element in ET.fromstring(to_svg(flows.uneven())).iter(f"{SVG}text")]
        assert {"✖", "≠", "◔"} <= set(texts)

    def test_of_an_empty_flow_is_a_picture_too(self) -> None:
        root = ET.fromstring(to_svg(Report(Flow(), [])))
        assert root.findtext(f"{SVG}title") == Report(Flow(), []).summary

    def test_leaves_out_characters_that_xml_forbids(self) -> None:
        report = flows.chain(3)
        report.flow.nodes[1].name = "bell\x07 \ud800"
        root = ET.fromstring(to_svg(report).encode("utf-8"))
        assert "bell\ufffd \ufffd" in ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


class TestBundle:
    def test_holds_words_a_still_and_the_document(self) -> None:
        report = flows.conv_lstm()
        made = bundle(report)
        assert set(made) == {"text/plain", "text/html", MIME}
        assert made[MIME] == json.loads(report.to_json())
        assert made["text/plain"] == repr(report)

    @pytest.mark.parametrize("name", list(flows.ALL))
    def test_html_has_no_script_no_style_element_and_no_address(self, name: str) -> None:
        seen = Seen(fragment(flows.ALL[name]()))
        assert set(seen.tags) <= {"div", "img", "table", "tr", "td", "b", "pre", "span"}
        assert {key for key, _ in seen.attributes} <= {"style", "alt", "src"}
        sources = [value for key, value in seen.attributes if key == "src"]
        assert [str(value)[:26] for value in sources] == ["data:image/svg+xml;base64,"]

    def test_html_says_the_finding_and_its_fixes(self) -> None:
        words = Seen(fragment(flows.conv_lstm())).words
        said = [f"✖ {flows.conv_lstm().summary}", " · In[4]:4", "lstm cannot take what conv2d gives", "verified"]
        for part in [*said, "+    layers.Reshape((26, 26 * 32)),"]:
            assert part in words

    def test_a_large_flow_stays_small(self) -> None:
        assert len(fragment(flows.chain(10_000))) < 60_000


class TestMarkdown:
    def test_says_what_the_compilers_said(self) -> None:
        text = to_markdown(flows.compiled())
        assert re.search(r"\n## .*\n\n\*\*✓ The TPU compiler\b.*train step for v5e-8\*\*: compiles", text)
        assert ": conv2d 3.00 GiB (67% padding), lstm 1.00 GiB; " in text
        assert "rows on one core: 64 (2.00 GiB), 128 (4.00 GiB), 256 (8.00 GiB) compile; 512 do not\n```" in text
        assert re.search(r"\*\*✓ XLA\b.*forward pass for v5e-8\*\*: compiles\n", to_markdown(flows.conv_lstm()))

    def test_says_the_finding_and_the_fix(self) -> None:
        text = to_markdown(flows.conv_lstm())
        assert text.startswith(f"# ✖ {flows.conv_lstm().summary}\n\nSequential digits · from\\_tensor\\_slices · keras 3.15.1 · v5e-8\n")
        assert "- wants `(batch, time, features)`\n- gets `(8, 26, 26, 32)`" in text
        assert "**Read the rows as time steps** (verified)\n\n```diff\n" in text

    def test_keeps_markup_of_the_model_as_text(self) -> None:
        outside = re.sub(r"^(`{3,})diff\n.*?^\1$", "", to_markdown(flows.hostile()), flags=re.DOTALL | re.MULTILINE)
        outside = re.sub(r"(`+) ?.*?\1", "", outside)
        assert "<" not in outside
        assert r"&lt;script&gt;alert\(2\)" in outside
