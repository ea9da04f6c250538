import { expect, test } from "vitest";

import { after } from "./preview";
import { broken } from "./testing/flows";
import { traced } from "./traced";
import type { After } from "./wire";

const fixed: After = {
  nodes: [{ id: "+n5", name: "reshape", kind: "layer", op: "Reshape", parent: "model", config: { target_shape: [26, 832] } }],
  edges: [
    { id: "+e6", source: "conv2d", target: "+n5", spec: 0, even: true },
    { id: "+e7", source: "+n5", target: "lstm", spec: 1, even: true },
    { id: "lstm>dense", source: "lstm", target: "dense", spec: 2, even: true },
  ],
  specs: [
    { shape: [1, 26, 26, 32], dtype: "float32" },
    { shape: [1, 26, 832], dtype: "float32" },
    { shape: [1, 64], dtype: "float32" },
  ],
  gone: ["conv2d>lstm"],
};

test("the flow after a fix has the shapes of the trace with the fix in it", () => {
  const { report, changed } = traced(broken(), fixed);
  const { nodes, edges, specs } = report.flow;
  const shape = (id: string): unknown => specs[edges.find((edge) => edge.id === id)!.spec]!.shape;
  expect(shape("+e7")).toEqual([1, 26, 832]);
  expect(shape("lstm>dense")).toEqual([1, 64]);
  expect(edges.some((edge) => edge.id === "conv2d>lstm")).toBe(false);
  expect(nodes.every((node) => node.status === "ok")).toBe(true);
  expect([...changed]).toEqual(["+n5", "lstm>dense", "+e6", "+e7"]);
});

test("a new node stands behind the one that feeds it, inside the same parent", () => {
  const { nodes } = traced(broken(), fixed).report.flow;
  const names = nodes.map((node) => node.id);
  expect(names.indexOf("+n5")).toBe(names.indexOf("conv2d") + 1);
  expect(nodes.find((node) => node.id === "+n5")!.parent).toBe("model");
});

test("tensors that every replica holds alike keep their strip", () => {
  const base = broken();
  base.flow.devices = ["TPU:0", "TPU:1"];
  const { edges, placements } = traced(base, fixed).report.flow;
  expect(placements![edges.find((edge) => edge.id === "+e7")!.placement!]).toEqual({ shapes: [[1, 26, 832]] });
});

test("what an edge was is kept where it was known, and the report itself stays as it is", () => {
  const base = broken();
  const copy = structuredClone(base);
  const first = base.flow.edges[0]!;
  const { was } = traced(base, { specs: [{ shape: [9], dtype: "int32" }], edges: [{ ...first, spec: 0 }] });
  expect([...was.keys()]).toEqual(base.flow.specs[first.spec]?.shape ? [first.id] : []);
  expect(base).toEqual(copy);
});

test("a fix that carries its trace needs no place for its edits", () => {
  const base = broken();
  const fix = { ...base.findings[0]!.fixes![0]!, verified: true, edits: [{ kind: "strategy" as const, target: "" }], after: fixed };
  expect(after(base, 0, fix)!.changed.has("+n5")).toBe(true);
});
