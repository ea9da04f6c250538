"""Draws the models of ``tests/gallery_models.py``, light and dark, wide and 360 px, and writes ``docs/gallery.md``.

python scripts/gallery.py [name ...] [--again]

Traces are kept in ``out/gallery`` as JSON, so that drawing anew takes seconds; ``--again`` traces anew. With names, only these are
drawn, into ``out/gallery``, and the page is left as it is.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

from playwright.sync_api import Browser, sync_playwright

from jupyter_tpushape.report import Report

ROOT = Path(__file__).parents[1]
OUT = ROOT / "out" / "gallery"
PAGE = ROOT / "docs" / "gallery.md"
PICTURES = ROOT / "docs" / "images" / "gallery"
SIZES = {"wide": (1280, 760), "narrow": (360, 740)}

#: What each model is, as the page says it.
TITLES = {
    "bert": "BERT, subclassed, its mask cast in each block",
    "flat-bert": "The same without a class for its block",
    "gemma": "A decoder like Gemma: rotary positions, grouped queries, a gated feed-forward network",
    "vision-transformer": "A vision transformer, functional, with no name anywhere",
    "translator": "Sequence to sequence with attention",
    "gan": "A GAN's training step",
    "vae": "A variational autoencoder's training step",
    "unet": "U-Net",
    "siamese": "Siamese towers",
    "table": "A table of forty columns",
    "reviews": "Text through bidirectional LSTMs",
    "resnet50": "ResNet50",
    "mobilenet": "MobileNetV2",
    "efficientnet-v2": "EfficientNetV2B0",
    "convnext": "ConvNeXtTiny",
    "nasnet": "NASNetMobile",
    "broken-cnn": "A convolution that runs into an LSTM",
    "broken-merge": "Two branches that stop matching",
}


def reports(names: Iterable[str], again: bool = False) -> Iterator[tuple[str, Report]]:
    """Each model's report, traced where it is not kept."""
    OUT.mkdir(parents=True, exist_ok=True)
    for name in names:
        kept = OUT / f"{name}.json"
        if again or not kept.exists():
            sys.path.insert(0, str(ROOT / "tests"))
            from gallery_models import GALLERY

            from jupyter_tpushape import trace

            trace(*GALLERY[name]()).save(kept)
        yield name, Report.from_json(kept.read_bytes())


@contextmanager
def browser() -> Iterator[Browser]:
    found = next((path for name in ("chromium", "chromium-browser", "google-chrome", "chrome") if (path := shutil.which(name))), None)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


def draw(chromium: Browser, name: str, report: Report, folder: Path, sizes: Iterable[str] = SIZES) -> None:
    """The report's page as it opens, in each size and theme."""
    page_file = report.save(OUT / f"{name}.html")
    for size in sizes:
        width, height = SIZES[size]
        for theme in ("light", "dark"):
            page = chromium.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
            page.goto(page_file.as_uri())
            page.locator("svg.graph .node").first.wait_for()
            page.wait_for_timeout(300)
            page.screenshot(path=folder / f"{name}-{size}-{theme}.png")
            page.close()


def page_of(names: Iterable[str]) -> str:
    """The gallery as Markdown."""
    lines = [
        "# Gallery",
        "",
        "Models as people write them, as they open without a click, on a planned `v5e-8`. The programs are",
        "`tests/gallery_models.py`; `python scripts/gallery.py` redraws this page, and the dark and narrow pictures in `out/gallery`.",
        "",
    ]
    for name in names:
        lines += [f"## {TITLES[name]}", "", f"![{TITLES[name]}](images/gallery/{name}.png)", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Draws the gallery.")
    parser.add_argument("names", nargs="*", help="only these, into out/gallery")
    parser.add_argument("--again", action="store_true", help="trace the models anew")
    args = parser.parse_args()
    with browser() as chromium:
        for name, report in reports(args.names or TITLES, args.again):
            draw(chromium, name, report, OUT)
            print(name, flush=True)
    if not args.names:
        PICTURES.mkdir(parents=True, exist_ok=True)
        for name in TITLES:
            shutil.copyfile(OUT / f"{name}-wide-light.png", PICTURES / f"{name}.png")
        PAGE.write_text(page_of(TITLES), encoding="utf-8")


if __name__ == "__main__":
    main()
