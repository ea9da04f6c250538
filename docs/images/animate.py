"""Films the README's first code in a real JupyterLab: a cell raises, the fix is read, put in, and the cell runs.

python docs/images/animate.py    needs Pillow, a Chromium and a built extension; writes story.gif beside this file
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
from pathlib import Path

import readme
from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.ui.server import FLAGS, Window, chromium, serve

SIZE = {"width": 1180, "height": 760}
WIDE = 900


class Film:
    """Frames and how long each stands, in ms."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.frames: list[tuple[Image.Image, int]] = []

    def take(self, ms: int) -> None:
        self.page.wait_for_timeout(400)
        image = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        self.frames.append((image.resize((WIDE, round(WIDE * image.height / image.width)), Image.Resampling.LANCZOS), ms))

    def write(self, path: Path) -> None:
        flat = [flattened(frame) for frame, _ in self.frames]
        flat[0].save(path, save_all=True, append_images=flat[1:], duration=[ms for _, ms in self.frames], loop=0, optimize=True)


def flattened(frame: Image.Image) -> Image.Image:
    """A frame in few colors: those that cover most, and the bright ones of signs and lines, which cover little and say much."""
    found = frame.getcolors(frame.width * frame.height) or []
    kept: list[tuple[int, ...]] = []
    for room, bright in ((140, 0), (240, 2)):
        for _, color in sorted(((count * (1 + max(one) - min(one)) ** bright, one) for count, one in found), reverse=True):
            if len(kept) < room and all(sum(abs(a - b) for a, b in zip(color, other, strict=True)) > 16 for other in kept):
                kept.append(color)
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for color in kept for part in color])
    return frame.quantize(palette=palette, dither=Image.Dither.NONE)


def short_tracebacks(home: Path) -> Path:
    """The message alone: the frames of Keras have paths of this machine."""
    profile = home / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_config.py").write_text('c.InteractiveShell.xmode = "Minimal"\n', encoding="utf-8")
    return home


def main() -> None:
    with tempfile.TemporaryDirectory() as home, serve(short_tracebacks(Path(home))) as lab, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(60_000)
        expect.set_options(timeout=60_000)
        window, film = Window(page, lab), Film(page)
        window.open(lab.notebook("story.ipynb", *readme.cells("conv-lstm"), "%tpushape"))
        window.command("application:toggle-left-area")
        window.run_cell(0)
        expect(window.cell(0).locator(".jp-InputPrompt")).to_have_text("[1]:")
        # What TensorFlow says of this machine is no part of the story.
        window.command("notebook:clear-all-cell-outputs")
        film.take(1500)
        window.run_cell(1)
        hint = window.cell(1).locator(".tpushape-Hint")
        expect(hint).to_be_visible()
        hint.scroll_into_view_if_needed()
        film.take(2500)
        window.run_cell(2)
        fix = window.cell(2).get_by_role("button", name=re.compile("^Apply: ")).first
        expect(fix).to_be_visible()
        window.cell(2).evaluate("node => node.scrollIntoView({block: 'start'})")
        film.take(3500)
        fix.scroll_into_view_if_needed()
        fix.hover()
        film.take(1500)
        fix.click()
        dialog = page.locator(".jp-Dialog")
        expect(dialog.locator(".tpushape-Diff")).to_be_visible()
        film.take(2500)
        dialog.get_by_role("button", name="Apply, run and trace").click()
        panel = page.locator("#tpushape-panel")
        expect(panel.get_by_role("status")).to_contain_text("Fixed")
        film.take(4500)
        browser.close()
    film.write(Path(__file__).with_name("story.gif"))


if __name__ == "__main__":
    main()
