"""The standalone page in a real browser, as somebody would use it."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from .conftest import Open


def texts(page: Page, selector: str) -> list[str]:
    return page.locator(selector).all_text_contents()


def focused(page: Page) -> str:
    return str(
        page.evaluate(
            "() => { let at = document.activeElement; while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement; return at.textContent; }"
        )
    )


def test_the_keyboard_alone_finds_the_problem_reads_it_and_copies_the_fix(page_of: Open, flows: ModuleType) -> None:
    page = page_of(flows.conv_lstm())
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.querySelector('.tpushape-view').shadowRoot.activeElement?.classList.contains('graph')"):
            break
    page.keyboard.press("n")
    expect(page.locator(".spoken")).to_contain_text("lstm cannot take what conv2d gives")
    expect(page.locator(".node.selected .name")).to_have_text("lstm")
    page.keyboard.press("Enter")
    expect(page.get_by_role("tabpanel")).to_contain_text("expected ndim=3, found ndim=4")
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Findings").focus()
    page.keyboard.press("Enter")
    for _ in range(12):
        page.keyboard.press("Tab")
        if focused(page) == "Copy":
            break
    page.keyboard.press("Enter")
    expect(page.locator(".spoken")).to_have_text("Copied: Read the rows as time steps")
    assert page.evaluate("() => navigator.clipboard.readText()") == "    layers.Reshape((26, 26 * 32)),"


def test_arrows_walk_along_the_flow_and_tell_where_one_is(page_of: Open, flows: ModuleType) -> None:
    page = page_of(flows.conv_lstm())
    page.locator("svg.graph").focus()
    walked = []
    for key in ["ArrowDown"] + ["ArrowRight"] * 3 + ["ArrowDown"] * 2:
        page.keyboard.press(key)
        walked.append(texts(page, ".node.selected .name")[0])
    assert walked == ["from_tensor_slices", "map normalise", "batch(64)", "prefetch", "64 rows ÷ 8 replicas = 8 each", "conv2d"]
    said = texts(page, ".spoken")[0]
    assert re.fullmatch(r"conv2d, Conv2D · 32 · 3×3 · relu, \w+ f32 \(8, 28, 28, 1\), \w+ f32 \(8, 26, 26, 32\)", said)
    active = page.locator("svg.graph").get_attribute("aria-activedescendant")
    assert page.locator(f"[id='{active}'] .name").text_content() == "conv2d"


@pytest.mark.parametrize("name", ["conv_lstm", "uneven", "missing_flatten", "compiled", "compared"])
def test_axe_finds_nothing(page_of: Open, flows: ModuleType, axe: str, name: str) -> None:
    page = page_of(getattr(flows, name)(), strict=False)
    page.add_script_tag(content=axe)
    for width, scheme in ((1280, "light"), (360, "light"), (360, "dark")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        expect(page.locator(f".tps[data-theme={scheme}]{'.narrow' if width < 720 else ':not(.narrow)'}")).to_be_visible()
        for tab in page.get_by_role("tab").all():
            tab.click()
            if tab.text_content() == "Details":
                page.locator("svg.graph").focus()
                page.keyboard.press("n")
                tab.click()
            # Dark differs in its colours alone.
            rules = ["color-contrast"] if scheme == "dark" else ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
            found = page.evaluate("(rules) => axe.run(document, {runOnly: rules})", rules)
            assert [(one["id"], one["nodes"][0]["target"], one["nodes"][0]["failureSummary"]) for one in found["violations"]] == []


def test_axe_finds_nothing_in_what_opens(page_of: Open, flows: ModuleType, axe: str) -> None:
    """Menu, keys, legend and measures, a search and its part alone, a fix shown, everything open, afar, from left to right, an old report."""
    page = page_of(flows.missing_flatten(), strict=False)
    page.add_script_tag(content=axe)

    def clean(state: str) -> None:
        found = page.evaluate("(rules) => axe.run(document, {runOnly: rules})", ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"])
        assert [(state, one["id"], one["nodes"][0]["target"]) for one in found["violations"]] == []

    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 800})
        page.get_by_role("button", name="export").click()
        expect(page.get_by_role("menu")).to_be_visible()
        clean("menu")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Keys").click()
        expect(page.locator(".keys")).to_be_visible()
        clean("keys")
        page.get_by_role("button", name="Keys").click()
        page.locator(".legend").evaluate("(node) => { node.open = true; }")
        for measure in page.locator(".legend option").evaluate_all("(all) => all.map((one) => one.value)"):
            page.locator(".legend select").select_option(measure)
            clean(f"colored by {measure}")
        page.locator(".legend").evaluate("(node) => { node.open = false; }")
        page.get_by_role("searchbox").fill("conv")
        clean("search")
        page.get_by_role("button", name="Only matches").click()
        clean("matches alone")
        page.locator(".banner").get_by_role("button").first.click()
        page.get_by_role("tab", name="Findings").click()
        page.get_by_role("button", name="Before / after").first.click()
        clean("after the fix")
        page.get_by_role("button", name="Before / after").first.click()
        page.get_by_role("button", name="Expand everything").click()
        page.get_by_role("button", name="Left to right").click()
        clean("from left to right")
        for _ in range(12):
            page.get_by_role("button", name="Zoom out").click()
        clean("afar")
        page.get_by_role("button", name="Left to right").click()


def test_two_programs_stand_in_one_picture_with_signs_and_a_list(page_of: Open, flows: ModuleType) -> None:
    page = page_of(flows.compared())
    expect(page.get_by_role("heading", level=1)).to_contain_text("added")
    signs = page.locator(".node .diff-sign")
    assert set(signs.all_text_contents()) == {"+", "−", "±"}
    assert page.get_by_role("tab", name="Changes").get_attribute("aria-selected") == "true"
    entry = page.get_by_role("tabpanel").get_by_role("button", name="lstm · removed")
    entry.click()
    expect(page.locator(".node.selected.diff-removed .name")).to_have_text("lstm")
    expect(page.locator(".spoken")).to_contain_text("removed")
    page.locator(".banner.compared").get_by_role("button", name="added").click()
    expect(page.locator(".node.match.diff-added").first).to_be_visible()
    page.locator('.node[data-id="conv2d"]').click()
    expect(page.get_by_role("tabpanel").locator("table").first).to_contain_text("filters3216")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_in_the_graph_keep_their_contrast(page_of: Open, flows: ModuleType, scheme: str) -> None:
    page = page_of(flows.uneven(), color_scheme=scheme)
    ratios = page.evaluate(CONTRAST)
    assert ratios
    assert {words: ratio for words, ratio in ratios.items() if ratio < 4.5} == {}


# The fill of every text of the graph against the box it stands in, or the ground.
CONTRAST = """() => {
  const root = document.querySelector('.tpushape-view').shadowRoot;
  const rgb = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = getComputedStyle(root.querySelector('.tps')).backgroundColor;
  const ratios = {};
  for (const text of root.querySelectorAll('.graph text, .graph tspan')) {
    const own = text.closest('.badge')?.querySelector('circle') ?? text.closest('.node')?.querySelector('.body');
    const behind = own ? getComputedStyle(own).fill : ground;
    const [a, b] = [light(rgb(getComputedStyle(text).fill)), light(rgb(behind))];
    const key = text.textContent;
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    ratios[key] = Math.min(ratio, ratios[key] ?? 99);
  }
  return ratios;
}"""


def test_markup_in_names_is_shown_as_it_is_written(page_of: Open, flows: ModuleType) -> None:
    page = page_of(flows.hostile())
    assert flows.EVIL in texts(page, ".node .name")
    for tab in ("Details", "Outline", "Findings"):
        page.get_by_role("tab", name=tab).click()
    page.locator(f'.node[data-id="{flows.EVIL}"]').click()
    expect(page.get_by_role("tabpanel")).to_contain_text(flows.IMAGE)
    assert page.locator("img").count() == 0
    assert page.evaluate("() => document.scripts.length") == 2
    assert page.locator("a[href^='javascript']").count() == 0


def test_the_exports_hold_the_picture_and_its_text(page_of: Open, flows: ModuleType, tmp_path: Path) -> None:
    page = page_of(flows.hostile())

    def export(words: str, name: str) -> Path:
        page.get_by_role("button", name="export").click()
        with page.expect_download() as loading:
            page.get_by_role("menuitem", name=words).click()
        path = tmp_path / name
        loading.value.save_as(path)
        return path

    root = ET.fromstring(export("SVG of everything expanded", "a.svg").read_text())
    shown = ["".join(one.itertext()) for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert flows.EVIL in shown
    assert not [one.tag for one in root.iter() if one.tag.endswith(("script", "image", "foreignObject"))]
    assert export("PNG of the current view", "a.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert json.loads(export("Report as JSON", "a.json").read_text()) == json.loads(flows.hostile().to_json())
    again = export("Standalone HTML", "b.html")
    page.goto(again.as_uri())
    expect(page.locator("h2.title").first).to_contain_text(flows.EVIL)


def test_what_the_compiler_said_is_charted_with_no_network_and_within_the_policy(page_of: Open, flows: ModuleType) -> None:
    page = page_of(flows.compiled())
    page.get_by_role("tab", name="Compiler").click()
    assert page.locator(".curve circle").count() == 3 and page.locator(".curve .refused").count() == 1
    expect(page.get_by_role("tabpanel")).to_contain_text("✖ does not compile")
    # Plotly is not run before it is asked for.
    assert page.evaluate("() => typeof Plotly") == "undefined"
    page.get_by_role("button", name="Interactive charts").click()
    titles = page.locator("#charts .gtitle")
    expect(titles).to_have_count(3)
    assert [text.split(":")[0] for text in titles.all_text_contents()] == ["Memory by layer", "Padding by layer", "Memory by batch size"]
    page.get_by_role("button", name="Close", exact=True).click()
    expect(page.locator("#charts")).to_be_hidden()


def test_search_finds_a_shape_and_goes_there(page_of: Open, flows: ModuleType) -> None:
    page = page_of(flows.conv_lstm())
    page.locator("svg.graph").focus()
    page.keyboard.press("/")
    page.keyboard.type("26x26x32")
    expect(page.locator(".hits")).to_have_text("1 found")
    page.keyboard.press("Enter")
    expect(page.locator(".node.selected .name")).to_have_text("conv2d")
    page.keyboard.press("Escape")
    assert page.evaluate("() => document.querySelector('.tpushape-view').shadowRoot.activeElement.classList.contains('graph')")


def box(page: Page, name: str) -> dict[str, Any]:
    found = page.locator(".node", has=page.locator(".name", has_text=name)).last.bounding_box()
    assert found
    return dict(found)


def test_a_part_is_shown_alone_an_axis_is_followed_and_a_link_comes_back(page_of: Open, flows: ModuleType) -> None:
    page = page_of(flows.conv_lstm())
    search = page.get_by_role("searchbox")
    expect(page.get_by_role("button", name="Only matches")).to_be_hidden()
    search.fill("lstm")
    page.get_by_role("button", name="Only matches").click()
    expect(page.locator(".banner")).to_contain_text(["lstm"])
    assert set(texts(page, ".node:not(.open) .name")) == {"conv2d", "lstm", "dense"}
    page.get_by_role("button", name="Show all").click()
    expect(page.locator(".node.stage")).to_have_count(4)

    page.locator('.node[data-id="conv2d"]').click()
    page.get_by_role("button", name="Path from the data to here").click()
    expect(page.locator('.node[data-id="lstm"]')).to_have_count(0)
    expect(page.locator(".node.stage")).to_have_count(4)
    page.get_by_role("button", name="Show all").click()

    page.locator('.node[data-id="conv2d"]').click()
    page.get_by_role("tabpanel").get_by_role("button", name="rows", exact=True).click()
    expect(page.locator(".turns li", has_text="conv2d")).to_have_text("conv2d 28 → 26")
    expect(page.locator(".line.followed").first).to_be_visible()

    page.get_by_role("tab", name="Outline").click()
    page.get_by_role("button", name="Bookmark this view").click()
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator(".spoken")).to_have_text("Copied a link to this view")
    link = page.evaluate("() => navigator.clipboard.readText()")
    transform = page.locator("svg.graph .world").get_attribute("transform")
    page.get_by_role("button", name="Fit everything").click()
    page.locator("svg.graph").focus()
    page.keyboard.press("Escape")
    page.get_by_role("tabpanel").get_by_role("button", name="conv2d", exact=True).last.click()
    expect(page.locator("svg.graph .world")).to_have_attribute("transform", transform or "")
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator(".node.selected .name")).to_have_text("conv2d")
    expect(page.locator("svg.graph .world")).to_have_attribute("transform", transform or "")


def test_what_is_closed_stays_under_the_hand(page_of: Open, flows: ModuleType) -> None:
    page = page_of(flows.conv_lstm(), reduced_motion="reduce")
    before = box(page, "digits")
    page.locator(".toggle").click()
    after = box(page, "digits")
    assert page.locator(".node .name", has_text="conv2d").count() == 0
    assert abs(after["y"] - before["y"]) < 12
    assert abs(after["x"] + after["width"] / 2 - before["x"] - before["width"] / 2) < 12


@pytest.mark.parametrize("width", [320, 360, 700, 1920])
def test_it_fits_from_a_phone_to_a_wide_screen(page_of: Open, flows: ModuleType, width: int) -> None:
    page = page_of(flows.uneven(), width=width, height=740)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    inside = page.evaluate(
        "() => [...document.querySelector('.tpushape-view').shadowRoot.querySelectorAll('.head, .canvas, .side, .tabs, .card')]"
        ".map((one) => one.getBoundingClientRect()).every((area) => area.left >= -1 && area.right <= innerWidth + 1)"
    )
    assert inside
    expect(page.get_by_role("heading", name="12 rows do not split evenly")).to_be_visible()


def test_every_replica_has_its_row(page_of: Open, flows: ModuleType) -> None:
    page = page_of(flows.uneven())
    page.locator(".node.split").click()
    rows = page.locator("tr.odd")
    expect(rows).to_have_count(2)
    assert rows.first.locator("td").all_text_contents() == ["6", "(0, 28, 28, 1) ≠", "/replica:0/task:0/device:TPU:6"]


def test_the_wheel_moves_the_graph_and_with_control_zooms_it(page_of: Open, flows: ModuleType) -> None:
    page = page_of(flows.chain(200, folded=False))
    page.get_by_role("button", name="Expand everything").click()
    where = "() => document.querySelector('.tpushape-view').shadowRoot.querySelector('.world').getAttribute('transform')"
    page.mouse.move(400, 400)
    before = page.evaluate(where)
    page.mouse.wheel(0, 300)
    page.wait_for_function(f"(before) => ({where})() !== before", arg=before)
    moved = page.evaluate(where)
    assert moved.split("scale")[1] == before.split("scale")[1]
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    page.wait_for_function(f"(before) => ({where})().split('scale')[1] !== before", arg=moved.split("scale")[1])


def test_the_number_of_elements_does_not_grow_with_the_flow(page_of: Open, flows: ModuleType) -> None:
    counts = []
    for size in (500, 10_000):
        page = page_of(flows.chain(size, folded=False))
        page.get_by_role("button", name="Expand everything").click()
        expect(page.locator(".node.open").first).to_be_visible()
        counts.append(page.evaluate("() => document.querySelector('.tpushape-view').shadowRoot.querySelectorAll('.graph *').length"))
        page.get_by_role("button", name="Fit everything").click()
        expect(page.locator("canvas.far")).to_be_visible()
        counts.append(page.evaluate("() => document.querySelector('.tpushape-view').shadowRoot.querySelectorAll('.graph *').length"))
    assert max(counts) < 1500


def test_the_first_picture_is_drawn_once(page_of: Open, flows: ModuleType) -> None:
    report = flows.conv_lstm()
    page = page_of(report)
    drawn, gone = page.evaluate(
        """async (written) => {
            const report = JSON.parse(written);
            const root = document.body.appendChild(document.createElement('div'));
            root.style.height = '600px';
            const off = tpushape.mount(root, report, {fill: true});
            let gone = 0;
            const seen = new MutationObserver((all) => all.forEach((one) => { gone += one.removedNodes.length; }));
            seen.observe(root.firstElementChild.shadowRoot.querySelector('svg.graph'), {childList: true, subtree: true});
            for (let i = 0; i < 4; i++) { await new Promise((done) => requestAnimationFrame(done)); }
            const drawn = root.firstElementChild.shadowRoot.querySelectorAll('.node').length;
            off();
            return [drawn, gone];
        }""",
        report.to_json(),
    )
    assert drawn > 5 and gone == 0


def test_from_afar_it_is_one_image_that_moves_with_the_hand(page_of: Open, flows: ModuleType) -> None:
    page = page_of(flows.chain(3000, folded=False))
    page.get_by_role("button", name="Expand everything").click()
    expect(page.locator("canvas.far")).to_be_hidden()
    page.get_by_role("button", name="Fit everything").click()
    far = page.locator("canvas.far")
    expect(far).to_be_visible()
    expect(page.locator(".node, .line, .label")).to_have_count(0)
    # The rows of the image that something is painted in, the topmost first, as they stand on the page.
    rows = """(canvas) => {
      const copy = document.createElement('canvas');
      [copy.width, copy.height] = [canvas.width, canvas.height];
      const context = copy.getContext('2d', { willReadFrequently: true });
      context.drawImage(canvas, 0, 0);
      const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
      const rows = new Set();
      for (let i = 3; i < data.length; i += 4) if (data[i]) rows.add(Math.floor(i / 4 / canvas.width));
      const { top, height } = canvas.getBoundingClientRect();
      return [...rows].map((row) => top + (row * height) / canvas.height);
    }"""
    before = far.evaluate(rows)
    assert len(before) > 200
    box = page.locator("svg.graph").bounding_box()
    assert box
    page.mouse.move(box["x"] + 60, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 70, box["y"] + 80)
    page.mouse.move(box["x"] + 80, box["y"] + 110)
    page.mouse.up()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    after = far.evaluate(rows)
    assert [round(now - then) for now, then in zip(after, before, strict=True)] == [50] * len(before)
    page.locator("svg.graph").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".node.selected")).to_be_visible()
    expect(far).to_be_hidden()


def test_before_and_after_of_a_fix_share_their_place(page_of: Open, flows: ModuleType) -> None:
    page = page_of(flows.conv_lstm())
    before = box(page, "conv2d")
    page.get_by_role("button", name="Before / after: Read the rows as time steps").click()
    assert texts(page, ".node.changed .name") == ["Reshape"]
    assert texts(page, ".node.changed .note-text") == ["+ target_shape=(26, 832)"]
    assert page.locator(".node.not-reached, .node.failed").count() == 0
    expect(page.locator(".spoken")).to_have_text("Shown after the fix: Read the rows as time steps")
    assert abs(box(page, "conv2d")["y"] - before["y"]) < 80
    page.get_by_role("button", name="Back to the original").click()
    expect(page.locator(".node.failed .name").last).to_have_text("lstm")
    assert page.locator(".node.changed").count() == 0


@pytest.mark.parametrize("proof", ["source", "live", ""])
def test_every_fix_is_seen_however_it_was_tried(page_of: Open, flows: ModuleType, proof: str) -> None:
    report = flows.conv_lstm()
    for fix in report.findings[0].fixes:
        fix.proof, fix.verified = proof, bool(proof)
    cards = page_of(report).locator(".card")
    expect(cards).to_have_count(2)
    for card in cards.all():
        assert (card.bounding_box() or {"height": 0})["height"] > 100
