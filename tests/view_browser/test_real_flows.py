"""The layout of the gallery's models, from top to bottom and from left to right, read off the picture in a browser."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import pytest
from keras import layers
from playwright.sync_api import Page
from scripts_here import script

from jupyter_tpushape import trace
from jupyter_tpushape.report import Report

from .conftest import Open

GALLERY = script("tests/gallery_models.py").GALLERY

# What an exported picture is made of, in its own measure: boxes, the words beside lines, and lines as points that lie close together.
READ = """(text) => {
  const at = document.createElement("div");
  at.style.cssText = "position:absolute;left:0;top:0;visibility:hidden";
  at.innerHTML = text;
  document.body.append(at);
  const svg = at.querySelector("svg");
  const place = (one) => {
    const { x, y, width, height } = one.getBBox();
    return [x, y, x + width, y + height];
  };
  const boxes = [...svg.querySelectorAll(".node")].map((one) => {
    const { e, f } = one.transform.baseVal.consolidate().matrix;
    const [x, y, right, bottom] = place(one.querySelector(".body"));
    return { id: one.dataset.id, open: one.classList.contains("open"), area: [x + e, y + f, right + e, bottom + f] };
  });
  const labels = [...svg.querySelectorAll(".label")].map((one) => ({ line: one.dataset.line ?? "", text: one.querySelector("text").textContent, area: place(one) }));
  const lines = [...svg.querySelectorAll(".line")].map((one) => {
    const path = one.querySelector(".stroke");
    const base = path.transform.baseVal.consolidate();
    const length = path.getTotalLength();
    const steps = Math.max(2, Math.ceil(length / 6));
    const points = Array.from({ length: steps + 1 }, (_, i) => {
      const { x, y } = path.getPointAtLength((length * i) / steps);
      return base ? [y, x] : [x, y];
    });
    return { key: one.dataset.line, points };
  });
  at.remove();
  return { boxes, labels, lines };
}"""

Area = list[float]


def overlap(a: Area, b: Area, by: float = 0.0) -> bool:
    return a[0] < b[2] - by and b[0] < a[2] - by and a[1] < b[3] - by and b[1] < a[3] - by


def within(point: list[float], area: Area, by: float = 1.0) -> bool:
    return area[0] + by < point[0] < area[2] - by and area[1] + by < point[1] < area[3] - by


def faults(drawn: dict[str, Any]) -> list[str]:
    """What is wrong with a picture, in words."""
    wrong = []
    leaves = sorted((box for box in drawn["boxes"] if not box["open"]), key=lambda box: box["area"][1])
    for i, a in enumerate(leaves):
        for b in leaves[i + 1 :]:
            if b["area"][1] >= a["area"][3]:
                break
            if overlap(a["area"], b["area"]):
                wrong.append(f"{a['id']} lies over {b['id']}")
    rows: dict[int, list[dict[str, Any]]] = {}
    for box in leaves:
        for row in range(int(box["area"][1] // 100), int(box["area"][3] // 100) + 1):
            rows.setdefault(row, []).append(box)
    for line in drawn["lines"]:
        key, points = line["key"], line["points"]
        near = {box["id"]: box for row in {int(y // 100) for _, y in points} for box in rows.get(row, ())}
        for name, box in near.items():
            if not key.startswith(f"{name}>") and not key.endswith(f">{name}") and any(within(point, box["area"]) for point in points):
                wrong.append(f"{key} runs through {name}")
    words: dict[int, list[dict[str, Any]]] = {}
    for label in drawn["labels"]:
        for row in range(int(label["area"][1] // 100), int(label["area"][3] // 100) + 1):
            words.setdefault(row, []).append(label)
    for row, labels in words.items():
        for i, first in enumerate(labels):
            wrong += [f"{first['text']} lies over {second['text']}" for second in labels[i + 1 :] if overlap(first["area"], second["area"], 1)]
            wrong += [f"{first['text']} lies over {box['id']}" for box in rows.get(row, ()) if overlap(first["area"], box["area"], 2)]
    for line in drawn["lines"]:
        for point in line["points"]:
            for label in words.get(int(point[1] // 100), ()):
                if label["line"] and label["line"] != line["key"] and within(point, label["area"], 4):
                    wrong.append(f"{line['key']} runs through the words {label['text']}")
    return sorted(set(wrong))


@pytest.fixture(scope="module")
def traced() -> Callable[[str], Report]:
    known: dict[str, Report] = {}

    def report(name: str) -> Report:
        if name not in known:
            known[name] = trace(*GALLERY[name](), fixes=False)
        return known[name]

    return report


def picture(page: Page, to: Path, what: str = "SVG of everything expanded") -> str:
    page.get_by_role("button", name="export").click()
    with page.expect_download() as loading:
        page.get_by_role("menuitem", name=what).click()
    loading.value.save_as(to)
    return to.read_text(encoding="utf-8")


def ids(text: str) -> list[str]:
    return [str(one.get("data-id")) for one in ET.fromstring(text).iter("{http://www.w3.org/2000/svg}g") if (one.get("class") or "").startswith("node ")]


@pytest.mark.parametrize("name", sorted(GALLERY))
def test_the_pictures_of_the_gallery_are_in_order(page_of: Open, tmp_path: Path, traced: Callable[[str], Report], name: str) -> None:
    """Nothing overlaps, no edge runs through a box or through words: as it opens and with all open, in both directions, the same each time."""
    report = traced(name)
    page = page_of(report, strict=False)
    expand, lie = page.get_by_role("button", name="Expand everything"), page.get_by_role("button", name="Left to right")
    texts = [picture(page, tmp_path / "flow.svg")]
    lie.click()
    texts.append(picture(page, tmp_path / "flow.svg"))
    expand.click()
    texts.append(picture(page, tmp_path / "flow.svg"))
    assert {node.id for node in report.flow.nodes} <= set(ids(texts[2]))
    lie.click()
    texts.append(picture(page, tmp_path / "flow.svg"))
    for text, flat in zip(texts, (False, True, True, False), strict=True):
        drawn = page.evaluate(READ, text)
        assert faults(drawn) == []
        assert any(one["points"][0][0] < one["points"][-1][0] - 20 for one in drawn["lines"]) or not flat
    # Drawn once more from the beginning, and turned there and back, it is the same picture.
    page.reload()
    page.locator("svg.graph .node").first.wait_for()
    assert picture(page, tmp_path / "again.svg") == texts[0]
    expand.click()
    assert picture(page, tmp_path / "again.svg") == texts[3]


@pytest.mark.parametrize("name", sorted(GALLERY))
def test_opening_a_part_keeps_the_order_beside_it(page_of: Open, tmp_path: Path, traced: Callable[[str], Report], name: str) -> None:
    page = page_of(traced(name), strict=False)
    page.get_by_role("button", name="Collapse everything").click()

    def order() -> list[str]:
        drawn = page.evaluate(READ, picture(page, tmp_path / "flow.svg"))
        return [box["id"] for box in sorted(drawn["boxes"], key=lambda box: (box["area"][1], box["area"][0]))]

    before = order()
    toggle = page.locator("svg.graph .toggle").first
    if toggle.count():
        toggle.click()
        assert [one for one in order() if one in before] == before
        assert len(order()) > len(before)
    page.get_by_role("button", name="Collapse everything").click()
    assert order() == before


# Boxes in the rows that are in sight: how many, those that are cut off at a side, and those beyond it.
CUT = """(svg) => {
  const frame = svg.getBoundingClientRect();
  const boxes = [...svg.querySelectorAll(".node")].map((one) => [one.dataset.id, one.getBoundingClientRect()]);
  const seen = boxes.filter(([, { top, bottom }]) => bottom > frame.top && top < frame.bottom);
  const beyond = seen.filter(([, { left, right }]) => right < frame.left || left > frame.right);
  const cut = seen.filter((one) => !beyond.includes(one) && (one[1].left < frame.left || one[1].right > frame.right));
  return [seen.length, cut.map(([id]) => id), beyond.map(([id]) => id)];
}"""


@pytest.mark.parametrize("name", sorted(GALLERY))
def test_at_360_px_the_first_look_cuts_no_box_off(page_of: Open, traced: Callable[[str], Report], name: str) -> None:
    page = page_of(traced(name), width=360, height=740)
    page.locator(".tps.narrow").wait_for()
    seen, cut, beyond = page.locator("svg.graph").evaluate(CUT)
    assert seen > 2
    assert cut == []
    assert not beyond or name in ("gan", "vae"), "only what stands beside the problem in a step of several programs"
    # A place is its line where there is little room, and has its file's name again where there is more.
    places = page.locator("svg.graph .place")
    texts = places.all_text_contents()
    page.set_viewport_size({"width": 1280, "height": 800})
    page.locator(".tps:not(.narrow)").wait_for()
    assert all(text.startswith(":") for text in texts)
    assert all(text.startswith("gallery_models.py:") for text in places.all_text_contents())


def test_what_is_in_sight_is_exported_in_both_directions(page_of: Open, tmp_path: Path, traced: Callable[[str], Report]) -> None:
    page = page_of(traced("resnet50"))
    for flat in (False, True):
        page.get_by_role("button", name="Expand everything").click()
        whole = ids(picture(page, tmp_path / "all.svg"))
        seen = ids(picture(page, tmp_path / "seen.svg", "SVG of the current view"))
        assert 0 < len(seen) < len(whole) // 4
        with page.expect_download() as loading:
            page.get_by_role("button", name="export").click()
            page.get_by_role("menuitem", name="PNG of everything expanded").click()
        loading.value.save_as(tmp_path / "all.png")
        head = (tmp_path / "all.png").read_bytes()[:24]
        wide, tall = int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
        assert (wide > tall) == flat
        page.get_by_role("button", name="Left to right").click()


def _two_long_branches() -> keras.Model:
    picture, table = keras.Input((32, 32, 3), name="satellite_image_input"), keras.Input((12,), name="acquisition_metadata_input")
    x = picture
    for stage in range(6):
        x = layers.Conv2D(4 + stage, 3, padding="same", name=f"satellite_encoder_convolution_{stage}")(x)
    x = layers.GlobalAveragePooling2D(keepdims=True, name="satellite_global_average_pooling")(x)
    row = layers.Dense(32, name="acquisition_metadata_projection")(table)
    return keras.Model([picture, table], layers.Concatenate(name="satellite_and_metadata_fusion")([x, row]))


def test_in_250_px_shapes_stand_in_one_line_and_the_broken_box_is_in_the_picture(page_of: Open) -> None:
    report = trace(_two_long_branches, tpu=None)
    page = page_of(report, width=250, height=2400)
    page.locator(".tps.narrow").wait_for()
    shapes = page.locator(".branches .gets")
    assert [shapes.nth(i).inner_text() for i in range(2)] == ["(?, 1, 1, 9)", "(?, 32)"]
    line = page.locator(".branches dd").last.bounding_box()
    for i in range(2):
        box = shapes.nth(i).bounding_box()
        assert box
        assert line
        assert box["height"] < 1.5 * line["height"]
    # The branch that begins far away is not followed there.
    frame = page.locator("svg.graph").bounding_box()
    broken = page.locator("svg.graph .node.failed > .body").bounding_box()
    assert frame
    assert broken
    assert frame["x"] <= broken["x"] and broken["x"] + broken["width"] <= frame["x"] + frame["width"]
    assert frame["y"] <= broken["y"] and broken["y"] + broken["height"] <= frame["y"] + frame["height"]
    assert broken["width"] > 0.7 * frame["width"]
    near = page.locator(".lead .diff > div:not(.hunk)").all_inner_texts()
    assert sum(not one.startswith(("+", "-")) for one in near) <= 2
