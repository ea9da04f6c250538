import { expect, test } from "vitest";

import { FlowDoc } from "./doc";
import { drawBox } from "./draw";
import { FAMILY_SIGN, familyList, lookOf, mixOf } from "./families";
import { buildTree } from "./groups";
import { DARK, LIGHT } from "./style";
import { edge, node, report } from "./testing/flows";
import type { Family } from "./wire";

const doc = new FlowDoc(
  report(
    [
      node("model", "Sequential"),
      node("a", "Conv2D", { parent: "model" }),
      node("b", "Conv2D", { parent: "model" }),
      node("c", "Dense", { parent: "model" }),
      node("mine", "Dense", { family: "own" }),
      node("cast", "Cast", { kind: "op" }),
    ],
    [edge("a", "b"), edge("b", "c")],
  ),
);
doc.report.flow.families = { Sequential: "own", Conv2D: "convolution", Dense: "dense", Cast: "light" };

test("a node has the family of its class, or its own", () => {
  expect(doc.nodes.map((_, i) => doc.family(i))).toEqual(["own", "convolution", "convolution", "dense", "own", "light"]);
});

test("a box shows its family by colour and by letter", () => {
  const item = buildTree(doc).items.get("a")!;
  const element = drawBox(doc, { item, x: 0, y: 0, w: 200, h: 50, open: false, depth: 1, pills: [] }, true);
  expect(element.classList).toContain("fam-convolution");
  expect(element.querySelector(".family-text")?.textContent).toBe("C");
});

test("letters tell all families apart", () => {
  const signs = Object.entries(FAMILY_SIGN).filter(([name]) => lookOf(name as Family) === name);
  expect(new Set(signs.map(([, sign]) => sign)).size).toBe(signs.length);
});

test("a group says what it is made of", () => {
  expect(mixOf(doc, buildTree(doc).items.get("model")!)).toEqual([
    ["convolution", 2],
    ["dense", 1],
  ]);
});

test("the legend names what is there, and shows where", () => {
  const shown: (readonly number[])[] = [];
  const legend = familyList(doc, (nodes) => shown.push(nodes));
  const rows = [...legend.querySelectorAll("button")];
  expect(rows.map((row) => row.textContent)).toEqual(["Cconvolution 2", "Ddense 1", expect.stringMatching(/^M.* 1$/), "ooperation 1"]);
  rows[0]!.click();
  rows[0]!.click();
  expect(shown).toEqual([[1, 2], []]);
});

/** The contrast of two colours, as WCAG counts it. */
function contrast(a: string, b: string): number {
  const light = (colour: string): number =>
    [0.2126, 0.7152, 0.0722].reduce((sum, part, i) => {
      const v = parseInt(colour.slice(1 + 2 * i, 3 + 2 * i), 16) / 255;
      return sum + part * (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    }, 0);
  const [x, y] = [light(a), light(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

test.each([
  ["light", LIGHT, "#1b1f24", "#57606a"],
  ["dark", DARK, "#e9eef3", "#a9b3bf"],
])("in %s every word keeps its contrast on its family's colour", (_, set, text, muted) => {
  const colours = set as Record<string, string>;
  for (const name of Object.keys(FAMILY_SIGN).filter((one) => one !== "light")) {
    expect(contrast(colours[`f-${name}`]!, colours["on-accent"]!), name).toBeGreaterThan(4.5);
    expect(contrast(colours[`t-${name}`]!, text), name).toBeGreaterThan(4.5);
    expect(contrast(colours[`t-${name}`]!, muted), name).toBeGreaterThan(4.5);
  }
});
