import { describe, expect, test } from "vitest";

import { FlowDoc } from "./doc";
import { buildTree, topological, type Item } from "./groups";
import { openingOf, pathOf } from "./opening";
import { broken, chain, edge, node, report, wild } from "./testing/flows";

function leaves(item: Item): string[] {
  return item.members.length ? item.members.flatMap(leaves) : [item.id];
}

test("every node has one place in the hierarchy, whatever is grouped", () => {
  for (let seed = 1; seed <= 25; seed++) {
    const doc = new FlowDoc(wild(seed, 90));
    const tree = buildTree(doc);
    for (const one of doc.nodes) {
      expect(tree.items.get(one.id)?.node).toBe(doc.byId.get(one.id));
    }
    const all = leaves(tree.root);
    expect(new Set(all).size).toBe(all.length);
  }
});

test("identical blocks are folded, and say how many they are", () => {
  const tree = buildTree(new FlowDoc(chain(101)));
  const folds = [...tree.items.values()].filter((item) => item.times > 1);
  expect(folds.map((item) => item.times)).toEqual([18]);
});

test("blocks are identical where they are configured alike, and similar where a rate differs", () => {
  const folds = (last: Record<string, unknown>): [number, boolean][] => {
    const nodes = [node("input", "InputLayer")];
    const edges = [];
    for (let i = 0; i < 48; i++) {
      const config = i % 2 ? { units: 8, activation: "relu" } : { rate: 0.1 };
      const changed = Object.fromEntries(Object.entries(last).filter(([key]) => i > 43 && key in config));
      nodes.push(node(`dense_${i}`, i % 2 ? "Dense" : "Dropout", { config: { ...config, ...changed, name: `n${i}` } }));
      edges.push(edge(nodes[i]!.id, nodes[i + 1]!.id));
    }
    const tree = buildTree(new FlowDoc(report(nodes, edges)));
    return [...tree.items.values()].filter((item) => item.times > 1).map((item) => [item.times, item.same]);
  };
  // Nothing reads the last block.
  expect(folds({})).toEqual([[23, true]]);
  expect(folds({ rate: 0.2 })).toEqual([[23, false]]);
  expect(folds({ activation: "tanh" })).toEqual([[22, true]]);
});

test("blocks that read one far source are still identical", () => {
  const nodes = [node("mask", "NotEqual")];
  const edges = [];
  for (let i = 0; i < 12; i++) {
    const parts = ["attention", "add", "norm", "dense"].map((part, k) =>
      node(`layer_${i}_${part}`, ["MultiHeadAttention", "Add", "LayerNormalization", "Dense"][k]),
    );
    parts.forEach((part, k) => edges.push(edge(k ? parts[k - 1]!.id : (nodes[nodes.length - 1]?.id ?? "mask"), part.id)));
    if (i) {
      edges.push(edge("mask", parts[0]!.id));
    }
    nodes.push(...parts);
  }
  const tree = buildTree(new FlowDoc(report([...nodes, node("end", "Dense")], [...edges, edge("layer_11_dense", "end")])));
  expect([...tree.items.values()].filter((item) => item.times > 1).map((item) => [item.label, item.times])).toEqual([["layer_1 … 11", 11]]);
});

test("operations that make a mask alone stand with what reads it", () => {
  const bool = { spec: 1 };
  const flow = report(
    [
      node("x", "Input", { kind: "input" }),
      node("same", "NotEqual", { kind: "op" }),
      node("either", "LogicalOr", { kind: "op" }),
      node("embedding", "Embedding"),
      node("lstm", "LSTM"),
      node("check", "Less", { kind: "op" }),
    ],
    [
      edge("x", "same"),
      edge("same", "either", bool),
      edge("x", "embedding"),
      edge("embedding", "lstm"),
      edge("either", "lstm", bool),
      edge("lstm", "check"),
    ],
  );
  flow.flow.specs.push({ shape: [8, 28], dtype: "bool" });
  const { root } = buildTree(new FlowDoc(flow));
  expect(root.members.map((one) => [one.label, leaves(one)])).toEqual([
    ["x", ["x"]],
    ["embedding", ["embedding"]],
    ["lstm", ["same", "either", "lstm"]],
    ["check", ["check"]],
  ]);
});

test("a block with a problem is not folded away", () => {
  const flow = chain(101);
  flow.findings = [{ rule: "r", severity: "error", message: "m", nodes: ["n52"] }];
  const tree = buildTree(new FlowDoc(flow));
  const fold = [...tree.items.values()].filter((item) => item.times > 1);
  expect(fold.length).toBeGreaterThan(1);
  for (const item of fold) {
    expect(leaves(item)).not.toContain("n52");
  }
});

describe("names", () => {
  const named = (names: string[]): Item[] => {
    const nodes = names.map((name, i) =>
      node(name, i % 2 ? "Conv2D" : "BatchNormalization", { name, params: name.startsWith("block3") ? 1 : 0 }),
    );
    const edges = names.slice(1).map((name, i) => edge(names[i]!, name));
    return buildTree(new FlowDoc(report(nodes, edges))).root.members;
  };

  test("that share a numbered beginning make a group, in two steps", () => {
    const names = ["stem"];
    for (const block of ["2a", "2b", "3a", "3b"]) {
      names.push(...["expand", "dw", "bn", "se", "project", "drop", "add", "out"].map((part) => `block${block}_${part}`));
    }
    const top = named([...names, "head"]);
    expect(top.map((item) => item.label)).toEqual(["stem", "block2", "block3", "head"]);
    expect(top[1]!.members.flatMap((item) => (item.times > 1 ? item.members : [item])).map((item) => item.label)).toEqual([
      "block2a",
      "block2b",
    ]);
  });

  test("that the framework gave by itself make none", () => {
    const nodes = Array.from({ length: 30 }, (_, i) => node(`conv2d_${i}`, "Conv2D", { params: i }));
    const edges = nodes.slice(1).map((one, i) => edge(nodes[i]!.id, one.id));
    const top = buildTree(new FlowDoc(report(nodes, edges))).root.members;
    expect(top).toHaveLength(30);
  });
});

test("a level in the wrong order is sorted by its edges, and a cycle is told", () => {
  const tree = buildTree(new FlowDoc(report([node("b"), node("a")], [])));
  const [b, a] = tree.root.members as [Item, Item];
  expect(topological([b, a], [[a, b, 0]])?.map((item) => item.id)).toEqual(["a", "b"]);
  expect(
    topological(
      [b, a],
      [
        [a, b, 0],
        [b, a, 1],
      ],
    ),
  ).toBeNull();
});

test("the ancestors of the first problem open by themselves", () => {
  const flow = broken();
  flow.flow.nodes.push(...Array.from({ length: 60 }, (_, i) => node(`x${i}`, "Dense", { parent: "model" })));
  const doc = new FlowDoc(flow);
  const tree = buildTree(doc);
  const open = openingOf(doc, tree);
  for (let up = tree.items.get("lstm")!.parent; up?.parent; up = up.parent) {
    expect(open.has(up.id)).toBe(true);
  }
});

test("a finding's way runs from where it began to where it broke", () => {
  const flow = broken();
  flow.findings[0]!.nodes = ["split", "lstm"];
  const doc = new FlowDoc(flow);
  const { nodes, edges } = pathOf(doc, 0);
  expect([...nodes].map((i) => doc.node(i).id).sort()).toEqual(["conv2d", "lstm", "split"]);
  expect([...edges].map((e) => doc.edges[e]!.id).sort()).toEqual(["conv2d>lstm", "split>conv2d"]);
});
