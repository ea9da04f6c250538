import { expect, test } from "vitest";

import { applyDiff, isDiff } from "../../src/lab/diff";

const cell = "x = layers.Conv2D(8, 3)(x)\nx = layers.Dense(10)(x)\nmodel = keras.Model(i, x)";
const patch = [
  "--- cell",
  "+++ cell",
  "@@ -1,3 +1,4 @@",
  " x = layers.Conv2D(8, 3)(x)",
  "+x = layers.Flatten()(x)",
  " x = layers.Dense(10)(x)",
  " model = keras.Model(i, x)",
].join("\n");

test("a diff goes in where it was made", () => {
  expect(applyDiff(cell, patch)).toMatchObject({
    ok: true,
    line: 0,
    text: "x = layers.Conv2D(8, 3)(x)\nx = layers.Flatten()(x)\nx = layers.Dense(10)(x)\nmodel = keras.Model(i, x)",
  });
});

test("a diff follows its lines when others came before them", () => {
  const moved = applyDiff(`# a new line\n\n${cell}`, patch);
  expect(moved.ok && moved.text.split("\n")[3]).toBe("x = layers.Flatten()(x)");
});

test("a cell that changed in the meantime is refused", () => {
  expect(applyDiff(cell.replace("Dense(10)", "Dense(11)"), patch)).toEqual({ ok: false, reason: "changed" });
});

test("two places that fit are refused, unless one is where the diff was made", () => {
  expect(applyDiff(`# one\n${cell}\n${cell}`, patch)).toEqual({ ok: false, reason: "ambiguous" });
  expect(applyDiff(`${cell}\n${cell}`, patch).ok).toBe(true);
});

test("a snippet is not a diff", () => {
  expect(isDiff("# in front of dense:\n+layers.Flatten(),")).toBe(false);
  expect(applyDiff(cell, "+layers.Flatten(),")).toEqual({ ok: false, reason: "not-a-diff" });
  expect(isDiff(patch)).toBe(true);
});

test("the diff is shown with the lines of the text as it is", () => {
  const moved = applyDiff(`# one\n# two\n${cell}`, patch);
  expect(moved.ok && moved.shown.split("\n")[0]).toBe("@@ -1 +3 @@");
});

test("lines above what the kernel counts as the first tell two equal places apart", () => {
  const twice = `${cell}\n${cell}`;
  expect(applyDiff(twice, patch, 1)).toEqual({ ok: false, reason: "ambiguous" });
  expect(applyDiff(twice, patch, 3)).toMatchObject({ ok: true, line: 3 });
});
