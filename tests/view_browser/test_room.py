"""What shares a frame with the graph leaves room for the rest, however small the frame is."""

from __future__ import annotations

from types import ModuleType

import pytest
from playwright.sync_api import expect

from .conftest import Open


@pytest.mark.parametrize("height", [340, 420, 480, 560, 800])
def test_the_small_map_covers_no_button(page_of: Open, flows: ModuleType, height: int) -> None:
    page = page_of(flows.chain(100, folded=False), height=height)
    buttons, small = page.locator(".tools"), page.locator(".map")
    expect(buttons).to_be_visible()
    tools, area = buttons.bounding_box(), small.bounding_box()
    assert tools
    assert area is None or area["y"] >= tools["y"] + tools["height"]
    assert (area is None) == (height <= 420)
