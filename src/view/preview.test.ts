import { expect, test } from "vitest";

import { mount, type Mounted } from "./index";
import { after } from "./preview";
import { broken } from "./testing/flows";
import type { Edit, WireReport } from "./wire";

function withEdit(edit: Edit): WireReport {
  const report = broken();
  report.findings[0]!.fixes![0]!.edits = [edit];
  return report;
}

const reshape: Edit = {
  kind: "insert-layer",
  target: "lstm",
  detail: { layer: "Reshape", config: { target_shape: [26, 832] }, position: "before" },
};

test("a layer that a fix inserts stands on the broken edge, and everything is reached", () => {
  const report = withEdit(reshape);
  const shown = after(report, 0, report.findings[0]!.fixes![0]!)!;
  const { nodes, edges, specs } = shown.report.flow;
  const [id] = [...shown.changed] as [string];
  expect(nodes.find((node) => node.id === id)).toMatchObject({ name: "Reshape", parent: "model", note: "+ target_shape=(26, 832)" });
  expect(edges.find((edge) => edge.id === "conv2d>lstm")).toMatchObject({ source: "conv2d", target: id, status: "ok" });
  expect(edges.some((edge) => edge.source === id && edge.target === "lstm")).toBe(true);
  expect(nodes.every((node) => node.status === "ok")).toBe(true);
  // What only another trace could tell is left open.
  const later = edges.find((edge) => edge.source === "lstm")!;
  expect(specs[later.spec]?.shape).toBeNull();
  expect(specs[edges.find((edge) => edge.source === "split")!.spec]?.shape).toEqual([8, 28, 28, 1]);
});

test("what a fix changes in place is marked with what it says", () => {
  const report = withEdit({ kind: "layer-config", target: "dense", detail: { units: 3 } });
  const shown = after(report, 0, report.findings[0]!.fixes![0]!)!;
  expect([...shown.changed]).toEqual(["dense"]);
  expect(shown.report.flow.nodes.find((node) => node.id === "dense")?.note).toBe("± units=3");
  expect(report.flow.nodes.find((node) => node.id === "dense")?.status).toBe("not-reached");
});

test("a fix that was not tried, or that has no place in the graph, has no picture", () => {
  const report = withEdit({ kind: "strategy", target: "somewhere" });
  const fixes = report.findings[0]!.fixes!;
  expect(after(report, 0, fixes[0]!)).toBeNull();
  expect(after(report, 0, { ...fixes[0]!, edits: [reshape], verified: false })).toBeNull();
});

test("a click turns to the flow after a fix, and back", () => {
  const el = document.createElement("div");
  document.body.append(el);
  const view: Mounted = mount(el, withEdit(reshape));
  const root = el.firstElementChild!.shadowRoot!;
  const names = (): (string | null)[] => [...root.querySelectorAll(".node.changed .name")].map((one) => one.textContent);
  const turn = (): void => root.querySelector<HTMLButtonElement>('[aria-label^="Before / after"]')!.click();
  expect(root.querySelectorAll('[aria-label^="Before / after"]')).toHaveLength(1);
  expect(names()).toEqual([]);
  turn();
  expect(names()).toEqual(["Reshape"]);
  expect(root.querySelector(".banner")!.textContent).toContain("Read the rows as time steps");
  expect(root.querySelector('[aria-label^="Before / after"]')!.getAttribute("aria-pressed")).toBe("true");
  expect(root.querySelectorAll(".node.not-reached")).toHaveLength(0);
  turn();
  expect(names()).toEqual([]);
  expect(root.querySelectorAll(".node.not-reached")).toHaveLength(1);
  view();
});
