import { describe, expect, test, vi } from "vitest";

import { curve } from "./curve";
import { FlowDoc } from "./doc";
import { broken } from "./testing/flows";
import { verdictsPane } from "./verdicts";
import type { Tried, Verdict } from "./wire";

const GIB = 2 ** 30;

function words(element: Element, selector: string): string[] {
  return [...element.querySelectorAll(selector)].map((one) => one.textContent);
}

describe("the curve of memory against batch", () => {
  const tried: Tried[] = [
    { rows: 64, fits: true, bytes: 4 * GIB, effort: "quick" },
    { rows: 128, fits: true, bytes: 8 * GIB, effort: "quick" },
    { rows: 256, fits: true, bytes: 15 * GIB, effort: "full" },
    { rows: 320, fits: false, effort: "full" },
  ];

  test("has a point for each batch that was compiled, and a line for each effort", () => {
    const svg = curve(tried, 16 * GIB);
    expect(words(svg, "circle title")).toEqual([
      "64 rows: 4.0 GiB, quick effort",
      "128 rows: 8.0 GiB, quick effort",
      "256 rows: 15.0 GiB, full effort",
    ]);
    expect(svg.querySelectorAll("polyline")).toHaveLength(2);
    expect(words(svg, ".refused title")).toEqual([expect.stringMatching(/^320 /)]);
    expect(words(svg, ".limit-text")).toEqual(["memory of one core, 16.0 GiB"]);
  });

  test("does not press its points to the floor where the limit is far above", () => {
    const svg = curve(
      [
        { rows: 8, fits: true, bytes: 10e6 },
        { rows: 16, fits: true, bytes: 20e6 },
      ],
      16 * GIB,
    );
    expect(words(svg, ".limit-text")).toEqual([expect.stringContaining("16.0 GiB")]);
    expect(Number(svg.querySelectorAll("circle")[1]!.getAttribute("cy"))).toBeLessThan(40);
  });
});

describe("a verdict", () => {
  const verdict: Verdict = {
    program: "train",
    compiler: "tpu",
    ok: true,
    arguments: 4 * GIB,
    hbm_bytes: 16 * GIB,
    moved: 1e9,
    intensity: 2.5,
    layers: [{ node: "conv2d", name: "conv2d", bytes: 4 * GIB, logical: GIB }],
    buffers: [
      {
        name: "x",
        kind: "temporary",
        dtype: "f32",
        shape: [64, 12],
        padded: [64, 128],
        bytes: 32768,
        logical: 3072,
        node: "conv2d",
      },
    ],
    tried: [{ rows: 64, fits: true, bytes: 4 * GIB }],
  };
  const act = { goTo: vi.fn(), choose: vi.fn(), toggle: vi.fn(), isOpen: () => false, wayTo: vi.fn(), follow: vi.fn() };

  test("shows its parts, its work and its largest tensors, and leads to their layers", () => {
    const pane = verdictsPane(new FlowDoc({ ...broken(), verdicts: [verdict] }), act);
    expect(words(pane, ".bar")[0]).toBe("of one core25.0 % of 16.0 GiB");
    expect(pane.textContent).toMatch(/estimate\)2\.5/);
    expect(pane.textContent).toContain("f32 (64, 12) as (64, 128)32.0 KiB");
    expect(pane.textContent).toContain("4.0 GiB (3.0 GiB padding)");
    pane.querySelector<HTMLButtonElement>("td button")!.click();
    expect(act.goTo).toHaveBeenCalled();
  });

  test("gives the largest batch twice: what compiles, and what leaves a run its memory", () => {
    const tried: Tried[] = [
      { rows: 64, fits: true, bytes: 8 * GIB, run: 9 * GIB },
      { rows: 96, fits: true, bytes: 12 * GIB, run: 13 * GIB },
      { rows: 120, fits: true, bytes: 15.5 * GIB, run: 17 * GIB },
      { rows: 128, fits: false },
    ];
    const pane = verdictsPane(new FlowDoc({ ...broken(), verdicts: [{ ...verdict, tried }] }), act);
    expect(words(pane, ".largest")).toEqual([
      "Largest that compiles: 120 rows. Largest that leaves enough memory for a run (an estimate): 96 rows.",
    ]);
    expect(pane.textContent).toContain("17.0 GiB");
  });

  test("has no curve of a single batch, and no charts where its host has none", () => {
    const pane = verdictsPane(new FlowDoc({ ...broken(), verdicts: [verdict] }), act);
    expect(pane.querySelector(".curve")).toBeNull();
    expect(words(pane, "button")).not.toContain("Charts to zoom into");
  });
});
