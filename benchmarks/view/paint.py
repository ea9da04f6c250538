"""First paint and frames of the view in headless Chromium.

    python benchmarks/view/paint.py [--real]

Of each flow: the time from the report to the end of its first painted frame, and what of it is script; from a click
to everything opened, laid out and painted; the frames of a pan at reading size and of a zoom from the whole to the
parts, median and 95th percentile; the elements in the graph. The best of three. ``--real`` adds NASNetLarge and
EfficientNetB7, traced here.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import statistics
from pathlib import Path

from playwright.sync_api import sync_playwright

from jupyter_tpushape.views.html import bundle_script

ROOT = Path(__file__).parents[2]
HEAD = ("nodes", "script", "first paint", "all opened", "a frame of a pan: median, 95 %", "of a zoom", "elements")
MEASURE = """async (report) => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  // A task that is asked for within a frame runs when that frame has been painted.
  const painted = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(0);
  }));
  await frame();
  const root = document.getElementById('view');
  const parsed = JSON.parse(report);
  const start = performance.now();
  const off = tpushape.mount(root, parsed, {fill: true});
  const mounted = performance.now() - start;
  await painted();
  const first = performance.now() - start;
  const shadow = root.firstElementChild.shadowRoot;
  const svg = shadow.querySelector('svg.graph');
  const opening = performance.now();
  shadow.querySelector('[aria-label="Open everything"]').click();
  await painted();
  const opened = performance.now() - opening;
  const area = svg.getBoundingClientRect();
  const run = async (step, n = 120) => {
    const frames = [];
    let last = performance.now();
    for (let i = 0; i < n; i++) {
      step(i);
      await frame();
      const now = performance.now();
      frames.push(now - last);
      last = now;
    }
    return frames.slice(5);
  };
  const wheel = (more) => svg.dispatchEvent(new WheelEvent('wheel', {clientX: area.x + 300, clientY: area.y + 300, bubbles: true, cancelable: true, ...more}));
  const pan = await run((i) => wheel({deltaY: i < 60 ? 40 : -40}));
  shadow.querySelector('[aria-label^="Fit everything"]').click();
  await frame();
  const zoom = await run((i) => wheel({deltaY: i < 60 ? -25 : 25, ctrlKey: true}));
  const elements = svg.querySelectorAll('*').length;
  off();
  return {mounted, first, opened, pan, zoom, elements};
}"""


def flows(real: bool) -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("view_flows", ROOT / "tests" / "view_browser" / "flows.py")
    assert spec
    assert spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    reports = {f"chain of {n}": made.chain(n, folded=False).to_json() for n in (100, 1000, 10_000)}
    if real:
        import keras
        import numpy as np

        from jupyter_tpushape import trace

        for name, size in (("NASNetLarge", 331), ("EfficientNetB7", 600)):
            model = getattr(keras.applications, name)(weights=None)
            reports[name] = trace(model, np.zeros((16, size, size, 3), "float32")).to_json()
    return reports


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", action="store_true")
    arguments = parser.parse_args()
    found = next((path for name in ("chromium", "google-chrome", "chrome") if (path := shutil.which(name))), None)
    printed = False
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        for name, report in flows(arguments.real).items():
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.set_content("<!doctype html><style>html,body,#view{height:100%;margin:0}</style><div id=view></div>")
            page.add_script_tag(content=bundle_script())
            rows = [page.evaluate(MEASURE, report) for _ in range(4)][1:]
            best = {key: min(row[key] for row in rows) for key in ("mounted", "first", "opened", "elements")}
            frames = {key: statistics.median([t for row in rows for t in row[key]]) for key in ("pan", "zoom")}
            slow = {key: statistics.quantiles([t for row in rows for t in row[key]], n=20)[-1] for key in ("pan", "zoom")}
            nodes = len(json.loads(report)["flow"]["nodes"])
            if not printed:
                print(f"| flow | {' | '.join(HEAD)} |\n|---|{'---|' * len(HEAD)}")
                printed = True
            row = [
                f"{nodes:,}",
                *(f"{best[key]:.0f} ms" for key in ("mounted", "first", "opened")),
                *(f"{frames[key]:.1f} ms, {slow[key]:.1f}" for key in ("pan", "zoom")),
                str(best["elements"]),
            ]
            print(f"| {name} | {' | '.join(row)} |", flush=True)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
