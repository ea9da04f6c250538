import { expect, test } from "vitest";

import { applyDiff } from "./diff";

const PATCH = ["--- a", "+++ b", "@@ -1,3 +1,4 @@", " first", "+new", " second", "-third", "+THIRD"].join("\n");

test("what a hunk keeps stays as it stands", () => {
  const made = applyDiff("first  \nsecond\t\nthird", PATCH);
  expect(made.ok && made.text).toBe("first  \nnew\nsecond\t\nTHIRD");
});

test("lines end as those around them do", () => {
  const made = applyDiff("zero\r\nfirst\r\nsecond\r\nthird\r\nlast\r\n", PATCH);
  expect(made.ok && made.text).toBe("zero\r\nfirst\r\nnew\r\nsecond\r\nTHIRD\r\nlast\r\n");
});

test("a text without what the diff expects is left alone", () => {
  expect(applyDiff("first\nsecond\nfourth", PATCH)).toEqual({ ok: false, reason: "changed" });
  expect(applyDiff("0\nfirst\nsecond\nthird\nfirst\nsecond\nthird", PATCH)).toEqual({ ok: false, reason: "ambiguous" });
});
