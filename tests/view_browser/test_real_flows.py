"""The layout of the gallery's models with everything open, read off the exported picture."""

from __future__ import annotations

import importlib.util
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

from jupyter_tpushape import trace

from .conftest import ROOT, Open

SVG = "{http://www.w3.org/2000/svg}"


#: Those of the gallery whose pictures are hardest to lay out: blocks within blocks, steps with several models, skips, branches, ways side by side.
MODELS = ("bert", "vision-transformer", "translator", "gan", "unet", "siamese", "table", "nasnet")


def boxes_of(root: ET.Element) -> list[tuple[str, bool, tuple[float, float, float, float]]]:
    found = []
    for group in root.iter(f"{SVG}g"):
        kinds = (group.get("class") or "").split()
        if not kinds or kinds[0] != "node":
            continue
        x, y = (float(value) for value in re.findall(r"-?[\d.]+", group.get("transform") or ""))
        body = next(one for one in group.iter(f"{SVG}rect") if one.get("class") == "body")
        found.append(
            (str(group.get("data-id")), "open" in kinds, (x, y, x + float(body.get("width", 0)), y + float(body.get("height", 0))))
        )
    return found


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gallery_models", ROOT / "tests" / "gallery_models.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", MODELS)
def test_nothing_overlaps_and_no_edge_goes_up(page_of: Open, tmp_path: Path, gallery: ModuleType, name: str) -> None:
    report = trace(*gallery.GALLERY[name](), fixes=False)
    page = page_of(report)
    page.get_by_role("button", name="Expand everything").click()
    page.get_by_role("button", name="export").click()
    with page.expect_download() as loading:
        page.get_by_role("menuitem", name="SVG of everything expanded").click()
    loading.value.save_as(tmp_path / "flow.svg")
    root = ET.parse(tmp_path / "flow.svg").getroot()
    boxes = boxes_of(root)
    shown = {name for name, _, _ in boxes}
    assert {node.id for node in report.flow.nodes} <= shown
    leaves = sorted(((area, node) for node, is_open, area in boxes if not is_open), key=lambda one: one[0][1])
    over = []
    for i, (a, first) in enumerate(leaves):
        for b, second in leaves[i + 1 :]:
            if b[1] >= a[3]:
                break
            if a[0] < b[2] and b[0] < a[2]:
                over.append((first, second))
    assert over == []
    up = []
    for path in root.iter(f"{SVG}path"):
        if path.get("class") != "stroke" or "L" in str(path.get("d")):
            continue
        ys = [float(y) for y in re.findall(r"(?:[M ][-\d.]+ |V)(-?[\d.]+)(?=[A-Z]|$)", str(path.get("d")))]
        assert len(ys) >= 2
        if any(later < earlier - 0.01 for earlier, later in pairwise(ys)):
            up.append(path.get("d"))
    assert up == []
