import { expect, test } from "vitest";

import { lineIn } from "../../src/lab/lines";

test("blank lines at the start of a cell are no lines to the kernel", () => {
  expect(lineIn("x = 1\ny = 2", 2)).toBe(2);
  expect(lineIn("\n  \nx = 1\ny = 2", 2)).toBe(4);
});

test("the body of a cell magic is counted from its own first line", () => {
  expect(lineIn("%%timeit\nx = 1\ny = 2", 2)).toBe(3);
  expect(lineIn("\n%%capture out\n\nx = 1\ny = 2", 2)).toBe(5);
});

test("our own cell magic and a timed cell's count their line", () => {
  expect(lineIn("%%time\nx = 1\ny = 2", 3)).toBe(3);
  expect(lineIn("%%tpushape --tpu none\nx = 1\ny = 2", 2)).toBe(2);
});

test("a line is known by its words where the text has moved", () => {
  expect(lineIn("# new\n# new\nx = 1\n  y = 2", 2, "y = 2")).toBe(4);
  expect(lineIn("a()\na()\na()\nb()", 3, "a()")).toBe(3);
});

test("a line that is gone is where it would be, and never behind the end", () => {
  expect(lineIn("x = 1\ny = 2", 2, "z = 3")).toBe(2);
  expect(lineIn("x = 1", 9)).toBe(1);
});
