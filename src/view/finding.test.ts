import { expect, test } from "vitest";

import { FlowDoc } from "./doc";
import { breakable, h } from "./dom";
import { frameOf, turnKeys } from "./frame";
import { cannot, sidesAt } from "./merges";
import { Minimap } from "./minimap";
import { search } from "./search";
import { changesOf } from "../changes";
import { edge, node, report } from "./testing/flows";
import { Viewport } from "./viewport";

const axes = (shape: readonly number[]): string[] => shape.map(String);

function merge(shapes: number[][], expected: number[], found: number[], op = "Concatenate"): FlowDoc {
  const nodes = [...shapes.map((_, i) => node(`branch${i}`, "Conv2D")), node("join", op, { status: "failed" })];
  const edges = shapes.map((_, i) => edge(`branch${i}`, "join", { spec: i, status: "failed" }));
  const wire = report(nodes, edges, {
    findings: [
      {
        rule: "merge-shapes",
        severity: "error",
        message: "m",
        edges: edges.map((one) => one.id),
        nodes: ["join"],
        expected: { text: `(${expected.join(", ")})`, axes: axes(expected), differs: [1] },
        found: { text: `(${found.join(", ")})`, axes: axes(found), differs: [1] },
      },
    ],
  });
  wire.flow.specs = shapes.map((shape) => ({ shape, dtype: "float32" }));
  return new FlowDoc(wire);
}

test("at a merge each branch says its own tensor", () => {
  const doc = merge(
    [
      [8, 65, 32],
      [8, 64, 64],
    ],
    [8, 65, 32],
    [8, 64, 64],
  );
  const [first, second] = [sidesAt(doc, 0), sidesAt(doc, 1)];
  expect([first.wants, first.gets?.text, first.gets?.differs]).toEqual([null, "(8, 65, 32)", [1]]);
  expect([second.wants, second.gets?.text, second.gets?.differs]).toEqual([null, "(8, 64, 64)", [1]]);
  expect(cannot(doc, doc.targetOf[0]!)).toMatch(/concat/);
});

test("a third branch marks where it differs from the others", () => {
  const doc = merge(
    [
      [8, 65, 32],
      [8, 64, 32],
      [8, 63, 32],
    ],
    [8, 65, 32],
    [8, 64, 32],
  );
  const third = sidesAt(doc, 2);
  expect([third.gets?.text, third.gets?.differs]).toEqual(["(8, 63, 32)", [1]]);
});

test("a single edge says what the finding does", () => {
  const doc = merge([[8, 65, 32]], [8, 60, 32], [8, 65, 32]);
  expect(sidesAt(doc, 0).wants?.text).toBe("(8, 60, 32)");
});

test("an operation that works element by element cannot be broadcast, and marks each axis", () => {
  const doc = merge(
    [
      [8, 65, 32],
      [8, 64, 64],
    ],
    [8, 65, 32],
    [8, 64, 64],
    "Add",
  );
  expect([0, 1].map((e) => sidesAt(doc, e).gets?.differs)).toEqual([
    [1, 2],
    [1, 2],
  ]);
  expect(cannot(doc, doc.targetOf[0]!)).toBe("cannot be broadcast");
});

test("a product marks the axes that it sums over, where the finding says them", () => {
  const doc = merge(
    [
      [8, 18, 128],
      [8, 20, 128],
    ],
    [8, 18, 128],
    [8, 20, 128],
    "BatchMatMulV2",
  );
  const [finding] = doc.findings;
  Object.assign(finding!.expected!, { differs: [2] });
  expect([0, 1].map((e) => sidesAt(doc, e).gets?.differs)).toEqual([[2], [1]]);
  expect(cannot(doc, doc.targetOf[0]!)).toBe("cannot be multiplied");
});

test("a merge that wants a shape of its own says it to each branch", () => {
  const doc = merge(
    [
      [8, 65, 32],
      [8, 64],
    ],
    [8, 65, 33],
    [8, 65, 32],
  );
  expect([sidesAt(doc, 0).wants?.text, sidesAt(doc, 0).gets?.text]).toEqual(["(8, 65, 33)", "(8, 65, 32)"]);
  expect(cannot(doc, doc.targetOf[0]!)).toBe("");
});

test("a search between slashes is a regular expression", () => {
  const doc = new FlowDoc(report([node("conv_1", "Conv2D"), node("conv_x", "Conv2D"), node("dense_2", "Dense")], []));
  expect(search(doc, "/_\\d$/")).toEqual([0, 2]);
  expect(search(doc, "/^dense/")).toEqual([2]);
  expect(search(doc, "/(/")).toEqual([]);
});

test("the keys are shown by a button and by their own key, and hidden again", () => {
  const viewport = new Viewport(new FlowDoc(report([node("a")], [])));
  const canvas = frameOf(
    viewport,
    new Minimap(viewport),
    "a flow",
    null,
    () => undefined,
    () => undefined,
  );
  const keys = canvas.querySelector<HTMLElement>(".keys")!;
  expect(keys.hidden).toBe(true);
  [...canvas.querySelectorAll("button")].find((one) => one.textContent === "?")!.click();
  expect(keys.hidden).toBe(false);
  turnKeys(canvas);
  expect(keys.hidden).toBe(true);
  turnKeys(canvas);
  // Wherever the focus is in the picture, and only once: the graph's own Escape comes after.
  const heard: string[] = [];
  viewport.svg.addEventListener("keydown", ({ key }) => heard.push(key));
  for (const one of [canvas.querySelector("button")!, viewport.svg]) {
    one.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    expect(keys.hidden).toBe(true);
  }
  expect(heard).toEqual(["Escape"]);
});

test("what stands between backticks is code, and a single backtick is itself", () => {
  const shown = (words: string): [string, string[]] => {
    const made = h("p", {}, ...breakable(words));
    return [made.textContent, [...made.querySelectorAll("code")].map((one) => one.textContent)];
  };
  expect(shown("Use `tf.shape(x)[0]`, or -1.")).toEqual(["Use tf.shape(x)[0], or -1.", ["tf.shape(x)[0]"]]);
  expect(shown("A ` alone, and a <b>")).toEqual(["A ` alone, and a <b>", []]);
});

test("what a fix changes is told by file or cell, and a snippet or an idea without code changes none", () => {
  const also = [{ patch: "--- In[3]\n+++ In[3]\n@@ -1 +1 @@\n-c\n+d", cell: "two", execution: 3 }];
  const first = "--- In[2]\n+++ In[2]\n@@ -1 +1 @@\n-a\n+b";
  expect(changesOf({ title: "t", patch: first, cell: "one", execution: 2, also })).toEqual([
    { patch: first, cell: "one", execution: 2 },
    ...also,
  ]);
  expect(changesOf({ title: "t", patch: first, file: "train.py" })).toEqual([{ patch: first, file: "train.py" }]);
  expect(changesOf({ title: "t", reason: "not tried" })).toEqual([]);
});
