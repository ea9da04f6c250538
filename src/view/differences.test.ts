import { describe, expect, it } from "vitest";

import { changesPane, stateOf, tally, wholly } from "./differences";
import { FlowDoc } from "./doc";
import { buildTree } from "./groups";
import { openingOf } from "./opening";
import { edge, node, report } from "./testing/flows";
import type { Mark, WireNode } from "./wire";

/** A chain of equal blocks of two layers, with marks by the layer's number. */
function chain(blocks: number, marks: Record<string, Mark>): FlowDoc {
  const nodes = Array.from({ length: 2 * blocks }, (_, i) => node(`n${i}`, i % 2 ? "ReLU" : "Conv2D"));
  const edges = nodes.slice(1).map((one, i) => edge(nodes[i]!.id, one.id));
  return new FlowDoc(report(nodes, edges, { difference: { before: "a", after: "b", nodes: marks, same: 3 } }));
}

const folds = (doc: FlowDoc): number[] => [...buildTree(doc).items.values()].filter((one) => one.times > 1).map((one) => one.times);

describe("two programs compared", () => {
  it("folds blocks that became other in the same way, and no others", () => {
    const same: Mark = { state: "changed", changes: [{ what: "units", before: "4", after: "8" }] };
    const whole = folds(chain(16, {}));
    expect(whole).toEqual([15]);
    expect(folds(chain(16, Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`n${i}`, same]))))).toEqual(whole);
    expect(folds(chain(16, { n20: same }))).not.toContain(15);
  });

  it("tells in a closed group how much of it is other", () => {
    const doc = chain(16, { n4: { state: "added" }, n7: { state: "changed" }, n8: { state: "removed" } });
    const tree = buildTree(doc);
    expect(tally(tree.root)).toBe("+1 −1 ±1");
    expect(stateOf(doc, tree.root)).toBe("changed");
    expect(stateOf(doc, tree.of[4]!)).toBe("added");
    expect(stateOf(doc, tree.of[5]!)).toBeUndefined();
  });

  it("opens the way to what is other, and leaves closed what is new as a whole", () => {
    const within = (parent: string): WireNode[] => Array.from({ length: 40 }, (_, i) => node(`${parent}${i}`, `Kind${i}`, { parent }));
    const nodes = [node("new", "Block"), ...within("new"), node("old", "Block"), ...within("old")];
    const leaves = nodes.filter((one) => one.parent);
    const marks: Record<string, Mark> = { old3: { state: "changed" } };
    for (const one of nodes.slice(0, 41)) {
      marks[one.id] = { state: "added" };
    }
    const links = leaves.slice(1).map((one, i) => edge(leaves[i]!.id, one.id));
    const doc = new FlowDoc(report(nodes, links, { difference: { before: "a", after: "b", nodes: marks } }));
    const tree = buildTree(doc);
    expect(wholly(tree.items.get("new")!)).toBe("added");
    const open = openingOf(doc, tree);
    expect(open.has("old")).toBe(true);
    expect(open.has("new")).toBe(false);
  });

  it("lists what is other in the order of the flow, with a way there", () => {
    const doc = chain(3, {
      n3: { state: "removed" },
      n1: { state: "changed", was: "m1", changes: [{ what: "units", before: "4", after: "8" }] },
    });
    const gone: number[] = [];
    const pane = changesPane(doc, (i) => gone.push(i));
    const entries = [...pane.querySelectorAll("button")];
    expect(entries.map((one) => one.textContent)).toEqual(["±n1 · changed · was m1", "−n3 · removed"]);
    entries[1]!.click();
    expect(gone).toEqual([3]);
    expect(pane.textContent).toContain("units 4 → 8");
    expect(pane.textContent).toContain("3 layers ");
  });
});
