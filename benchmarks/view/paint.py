"""First paint and frames of the view in headless Chromium.

    python benchmarks/view/paint.py [--real] [--script FILE]

Of each flow: the time from the report to the end of its first painted frame, and what of it is script; from a click
to everything opened, laid out and painted; the frames of a pan at reading size, of pans at several scales down to the
whole picture (the slowest of them), and of a zoom from the whole to the parts, median and 95th percentile; the most
elements that any of these had in the graph. The best of three. ``--real`` adds NASNetLarge and
EfficientNetB7, traced here. The first row is a page without a view: what the machine itself shows.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import statistics
from pathlib import Path

from playwright.sync_api import sync_playwright

from jupyter_tpushape.views.script import script

ROOT = Path(__file__).parents[2]
IDLE = """async () => {
  const frames = [];
  let last = performance.now();
  for (let i = 0; i < 360; i++) {
    await new Promise((done) => requestAnimationFrame(done));
    const now = performance.now();
    frames.push(now - last);
    last = now;
  }
  return frames.slice(5);
}"""
HEAD = ("nodes", "script", "first paint", "all opened", "a frame of a pan: median, 95 %", "at the worst scale", "of a zoom", "elements")
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
  shadow.querySelector('[aria-label="Expand everything"]').click();
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
  const wheel = (more) => svg.dispatchEvent(new WheelEvent('wheel', {clientX: area.x + area.width / 2 - 12, clientY: area.y + 300, bubbles: true, cancelable: true, ...more}));
  const pan = await run((i) => wheel({deltaY: i < 60 ? 40 : -40}));
  shadow.querySelector('[aria-label^="Fit everything"]').click();
  await frame();
  let elements = 0;
  const count = () => { elements = Math.max(elements, svg.querySelectorAll('*').length); };
  const scale = () => Number(/scale\\((\\S+)\\)/.exec(svg.querySelector('.world').getAttribute('transform'))[1]);
  const drag = (type, x, y) => svg.dispatchEvent(new PointerEvent(type, {pointerId: 1, clientX: area.x + x, clientY: area.y + y, bubbles: true, button: 0}));
  const whole = scale();
  const afar = {};
  for (const k of new Set([whole, ...[0.03, 0.08, 0.12, 0.2, 0.3, 0.41, 0.5].filter((k) => k > whole)])) {
    wheel({deltaY: -Math.log(k / scale()) / 0.0035, ctrlKey: true});
    await frame();
    svg.setPointerCapture = () => undefined;
    drag('pointerdown', 300, 300);
    afar[k] = await run((i) => { drag('pointermove', 300 + 5 * Math.abs(30 - (i % 60)), 300 - 8 * Math.abs(30 - (i % 60))); }, 65);
    drag('pointerup', 300, 300);
    count();
  }
  shadow.querySelector('[aria-label^="Fit everything"]').click();
  await frame();
  const zoom = await run((i) => wheel({deltaY: i < 60 ? -25 : 25, ctrlKey: true}));
  count();
  off();
  return {mounted, first, opened, pan, afar: Object.entries(afar), zoom, elements};
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


def _slow(times: list[float]) -> float:
    """The 95th percentile."""
    return statistics.quantiles(times, n=20)[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--scales", action="store_true", help="also each scale by itself")
    parser.add_argument("--script", type=Path, help="the script of another build")
    parser.add_argument("--only", default="", help="flows whose names hold this")
    arguments = parser.parse_args()
    view = arguments.script.read_text(encoding="utf-8") if arguments.script else script()
    found = next((path for name in ("chromium", "google-chrome", "chrome") if (path := shutil.which(name))), None)
    print(f"| flow | {' | '.join(HEAD)} |\n|---|{'---|' * len(HEAD)}", flush=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_content("<!doctype html>")
        still = page.evaluate(IDLE)
        page.close()
        print(f"| empty page | 0 | - | - | - | {statistics.median(still):.1f} ms, {_slow(still):.1f} | - | - | 0 |", flush=True)
        for name, report in flows(arguments.real).items():
            if arguments.only not in name:
                continue
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.set_content("<!doctype html><style>html,body,#view{height:100%;margin:0}</style><div id=view></div>")
            page.add_script_tag(content=view)
            rows = [page.evaluate(MEASURE, report) for _ in range(4)][1:]
            best = {key: min(row[key] for row in rows) for key in ("mounted", "first", "opened", "elements")}
            worst = max(([t for row in rows for t in dict(row["afar"])[k]] for k, _ in rows[0]["afar"]), key=_slow)
            frames = {key: statistics.median([t for row in rows for t in row[key]]) for key in ("pan", "zoom")}
            slow = {key: _slow([t for row in rows for t in row[key]]) for key in ("pan", "zoom")}
            frames["afar"], slow["afar"] = statistics.median(worst), _slow(worst)
            if arguments.scales:
                for k, _ in rows[0]["afar"]:
                    times = [t for row in rows for t in dict(row["afar"])[k]]
                    print(f"{name} at {float(k):.3f}: {statistics.median(times):.1f} ms, {_slow(times):.1f}", flush=True)
            nodes = len(json.loads(report)["flow"]["nodes"])
            row = [
                f"{nodes:,}",
                *(f"{best[key]:.0f} ms" for key in ("mounted", "first", "opened")),
                *(f"{frames[key]:.1f} ms, {slow[key]:.1f}" for key in ("pan", "afar", "zoom")),
                str(best["elements"]),
            ]
            print(f"| {name} | {' | '.join(row)} |", flush=True)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
