"""The layout of one level, ours beside dagre and elk, one after the other in one page of a headless Chromium.

    python benchmarks/view/layout.py

Ours is the best of three. The others run once, and not where they are known to take minutes (``-``).
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
SIZES = (100, 1000, 5000, 10_000)


def most(engine: str, hub: bool) -> int:
    """The largest graph that an engine is given."""
    return SIZES[-1] if engine == "ours" else 100 if hub and engine == "dagre" else 1000


def bundled() -> str:
    """The engines as one script."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "engines.js"
        tool = HERE.parents[1] / "node_modules" / ".bin" / "esbuild"
        command = [str(tool), str(HERE / "engines.mjs"), "--bundle", "--format=iife", "--global-name=engines", f"--outfile={out}"]
        subprocess.run([*command, "--log-level=error"], check=True)
        return out.read_text(encoding="utf-8")


def main() -> None:
    found = next((path for name in ("chromium", "google-chrome", "chrome") if (path := shutil.which(name))), None)
    print(f"| graph | engine | {' | '.join(f'{n:,} nodes' for n in SIZES)} |")
    print(f"|---|---|{'---|' * len(SIZES)}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.add_script_tag(content=bundled())
        for name, hub in (("residual chain", False), ("one mask read by every block", True)):
            for engine in ("ours", "dagre", "elk"):
                times = 3 if engine == "ours" else 1
                row = [
                    f"{page.evaluate('([e, h, n, t]) => engines.run(e, h, n, t)', [engine, hub, n, times]):.0f} ms" if n <= most(engine, hub) else "-"
                    for n in SIZES
                ]
                print(f"| {name} | {engine} | {' | '.join(row)} |", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
