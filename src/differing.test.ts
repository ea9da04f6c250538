import { expect, test } from "vitest";

import { differing } from "./differing";

const parts = (lines: string[]) => lines.map((line, i) => line.slice(...differing(lines, i)));

test("the changed part of a long line is known on both sides", () => {
  expect(parts(["-x = mean(t, axis=[2, 3])", "+x = mean(t, axis=[1, 2])"])).toEqual(["2, 3", "1, 2"]);
});

test("of several lines in a row each is compared with its own", () => {
  expect(parts([" a", "-keep(one, 1)", "-keep(two, 2)", "+keep(one, 3)", "+keep(two, 4)", " b"])).toEqual(["", "1", "2", "3", "4", ""]);
});

test("what is put in is marked where it stands, and nothing on the other side", () => {
  expect(parts(["-Sequential([Conv2D(8, 3), Dense(5)])", "+Sequential([Conv2D(8, 3), Flatten(), Dense(5)])"])).toEqual(["", "Flatten(), "]);
});

test("a line that has no counterpart, or little in common with it, is not marked", () => {
  expect(parts(["+a new line", " as it was"])).toEqual(["", ""]);
  expect(parts(["-first", "+another"])).toEqual(["", ""]);
  expect(parts(["@@ -3", "-only gone"])).toEqual(["", ""]);
});
