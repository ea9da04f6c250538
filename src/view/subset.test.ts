import { describe, expect, it, vi } from "vitest";

import { FlowDoc } from "./doc";
import { alongAxis, axesPane, turnsOf } from "./following";
import { Bookmarks, read, written, type Place } from "./places";
import { subsetOf, upstream, withNeighbours } from "./subset";
import { edge, node, report } from "./testing/flows";

const diamond = (): FlowDoc => {
  const nodes = [
    node("data"),
    node("block", "Block"),
    ...["a", "b"].map((id) => node(id, "Dense", { parent: "block" })),
    node("join", "Add"),
    node("loss"),
  ];
  const edges = [edge("data", "a"), edge("data", "b"), edge("a", "join"), edge("b", "join"), edge("join", "loss")];
  return new FlowDoc(report(nodes, edges));
};

describe("a part of the flow", () => {
  it("holds what was found, what it reads, what reads it, and the parts that these are in", () => {
    const doc = diamond();
    const ids = withNeighbours(doc, [doc.byId.get("a")!]);
    expect([...ids].sort()).toEqual(["a", "data", "join"]);
    const { flow } = subsetOf(doc.report, { words: "", ids });
    expect(flow.nodes.map((one) => one.id)).toEqual(["data", "block", "a", "join"]);
    expect(flow.edges.map((one) => one.id)).toEqual(["data>a", "a>join"]);
  });

  it("takes with a part what is in it, and with what raises all that it was given", () => {
    const doc = diamond();
    expect(withNeighbours(doc, [doc.byId.get("block")!]).sort()).toEqual(["a", "b", "block", "data", "join"]);
    const broken = new FlowDoc({
      ...doc.report,
      flow: { ...doc.report.flow, nodes: doc.nodes.map((one) => (one.id === "join" ? { ...one, status: "failed" as const } : one)) },
    });
    expect(withNeighbours(broken, [broken.byId.get("a")!]).sort()).toEqual(["a", "b", "data", "join"]);
  });

  it("is the way from the data to a node", () => {
    const doc = diamond();
    expect(upstream(doc, doc.byId.get("join")!).sort()).toEqual(["a", "b", "data", "join"]);
    expect(upstream(doc, doc.byId.get("a")!).sort()).toEqual(["a", "data"]);
  });
});

describe("an axis", () => {
  const doc = (() => {
    const nodes = ["data", "conv", "flat", "dense"].map((id) => node(id));
    const edges = [edge("data", "conv", { spec: 0 }), edge("conv", "flat", { spec: 1 }), edge("flat", "dense", { spec: 2 })];
    const wire = report(nodes, edges);
    wire.flow.specs = [
      { shape: [8, 28, 1], dtype: "float32", axes: ["batch", "rows", "channels"] },
      { shape: [8, 26, 4], dtype: "float32", axes: ["batch", "rows", "channels"] },
      { shape: [8, 104], dtype: "float32", axes: ["batch", "features"] },
    ];
    return new FlowDoc(wire);
  })();

  it("is followed to where it begins and ends, with its sizes on the way", () => {
    const edges = alongAxis(doc, 1, "rows");
    expect([...edges].sort()).toEqual([0, 1]);
    expect(turnsOf(doc, edges, "rows").map(({ node: i, before, after }) => [doc.node(i).id, before, after])).toEqual([
      ["data", "", "28"],
      ["conv", "28", "26"],
      ["flat", "26", ""],
    ]);
    expect(alongAxis(doc, 0, "batch").size).toBe(3);
  });

  it("is chosen by its name and let go by another click", () => {
    const pane = document.createElement("div");
    const act = { goTo: vi.fn(), follow: vi.fn() };
    axesPane(pane, doc, 1, act);
    const rows = [...pane.querySelectorAll("button")].find((one) => one.textContent === "rows")!;
    rows.click();
    expect(act.follow).toHaveBeenLastCalledWith(new Set([1, 0]));
    expect(rows.getAttribute("aria-pressed")).toBe("true");
    expect(pane.querySelector("ol")!.textContent).toMatch(/^data \w+ → 28conv 28 → 26flat 26 → \w+$/);
    rows.click();
    expect(act.follow).toHaveBeenLastCalledWith(null);
    expect(pane.querySelector("ol")!.textContent).toBe("");
  });
});

describe("a place", () => {
  const place: Place = { open: ["a b", "c&d"], selected: "ü#", x: 1.5, y: -2, k: 0.5, only: { words: "w", ids: ["a"] }, flat: true };

  it("comes back from an address, whatever its names are", () => {
    expect(read(`#${written(place)}`)).toEqual(place);
    expect(read(`#other=1&${written({ ...place, only: null })}`)?.only).toBeNull();
  });

  it("is none where the address holds anything else", () => {
    const broken = [{}, null, { ...place, k: 0 }, { ...place, x: "1" }, { ...place, open: [1] }, { ...place, selected: 3 }];
    for (const value of broken) {
      expect(read(`#view=${encodeURIComponent(JSON.stringify(value))}`)).toBeNull();
    }
    expect(read("#view=%E0%A4%A")).toBeNull();
    expect(read("")).toBeNull();
  });

  it("is kept as a bookmark until it is removed", () => {
    const act = { now: () => place, go: vi.fn(), say: vi.fn() };
    const pane = new Bookmarks(act).element();
    const press = (words: string): void => [...pane.querySelectorAll("button")].find((one) => one.textContent === words)!.click();
    press("Bookmark this view");
    press("ü#");
    expect(act.go).toHaveBeenCalledWith(place);
    press("✕");
    expect(pane.textContent).not.toContain("ü#");
  });
});
