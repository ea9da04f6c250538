import { describe, expect, test } from "vitest";

import { FlowDoc } from "./doc";
import { buildTree, type Item, type Tree } from "./groups";
import { noteOf, subtitle } from "./layout/sizes";
import { edge, node, report } from "./testing/flows";
import type { Family, WireEdge, WireNode, WireReport } from "./wire";

const FAMILIES: Record<string, Family> = { Cast: "light", StridedSlice: "light", Reshape: "light" };

function flow(nodes: WireNode[], edges: WireEdge[], more: Partial<WireReport> = {}): FlowDoc {
  const made = report(nodes, edges, more);
  made.flow.families = FAMILIES;
  return new FlowDoc(made);
}

const shown = (tree: Tree): string[] => tree.root.members.map((item) => item.label);
const folds = (tree: Tree): [string, number][] =>
  [...tree.items.values()].filter((item) => item.times > 1).map((item) => [item.label, item.times]);

describe("an operation that computes nothing", () => {
  const nodes = [
    node("ids", "Input", { kind: "input" }),
    node("mask", "Input", { kind: "input" }),
    node("slice", "StridedSlice", { kind: "op" }),
    node("cast", "Cast", { kind: "op" }),
    node("attention", "MultiHeadAttention"),
    node("back", "Reshape", { kind: "op" }),
    node("a", "Dense"),
    node("b", "Dense"),
  ];
  const edges = [
    edge("ids", "attention"),
    edge("mask", "slice"),
    edge("slice", "cast"),
    edge("cast", "attention"),
    edge("attention", "back"),
    edge("back", "a"),
    edge("back", "b"),
  ];

  test("stands in its one reader, or in what it alone reads", () => {
    const doc = flow(nodes, edges);
    const tree = buildTree(doc);
    expect(shown(tree)).toEqual(["ids", "mask", "attention", "a", "b"]);
    const box = tree.root.members[2]!;
    expect(box.members.map((item) => item.id)).toEqual(["slice", "cast", "attention", "back"]);
    expect(noteOf(doc, box)).toBe("after slice, cast, then back");
    expect(subtitle(doc, box)).toBe("MultiHeadAttention");
  });

  test("stays in sight where something is wrong with its tensor", () => {
    const finding = { rule: "r", severity: "error" as const, message: "m", edges: ["cast>attention"], nodes: ["cast"] };
    const tree = buildTree(flow(nodes, edges, { findings: [finding] }));
    expect(shown(tree)).toContain("cast");
    expect(tree.of[nodes.findIndex((one) => one.id === "cast")]!.parent).toBe(tree.root);
  });

  test("stays where several read it and it reads several", () => {
    const tree = buildTree(
      flow(
        [node("x"), node("y"), node("cast", "Cast", { kind: "op" }), node("a"), node("b")],
        [edge("x", "cast"), edge("y", "cast"), edge("cast", "a"), edge("cast", "b"), edge("x", "a")],
      ),
    );
    expect(shown(tree)).toContain("cast");
  });
});

/** Blocks of a transformer without a name; in some of them the mask is cast. */
function blocks(times: number): [WireNode[], WireEdge[]] {
  const nodes = [node("split", "", { kind: "split" }), node("mask", "Input", { kind: "input" }), node("x", "Input", { kind: "input" })];
  const edges = [edge("split", "mask"), edge("split", "x")];
  let last = "x";
  const ops = ["LayerNormalization", "MultiHeadAttention", "Add", "LayerNormalization", "Dense", "Dropout", "Dense", "Dropout", "Add"];
  for (let t = 0; t < times; t++) {
    const ids = ops.map((op, k) => `${op.replace(/([a-z])([A-Z])/g, "$1_$2").toLowerCase()}_${10 * t + k}`);
    ids.forEach((id, k) => {
      nodes.push(node(id, ops[k]));
      edges.push(edge(k ? ids[k - 1]! : last, id));
    });
    edges.push(edge(last, ids[2]!), edge(ids[2]!, ids[8]!));
    if (t % 2) {
      nodes.push(node(`cast${t}`, "Cast", { kind: "op" }));
      edges.push(edge("mask", `cast${t}`), edge(`cast${t}`, ids[1]!));
    } else {
      edges.push(edge("mask", ids[1]!));
    }
    last = ids[8]!;
  }
  nodes.push(node("loss", "Loss", { kind: "loss" }));
  edges.push(edge(last, "loss"), edge("split", "loss"));
  return [nodes, edges];
}

test("blocks without names are folded, whatever light operations stand in some of them", () => {
  const tree = buildTree(flow(...blocks(8)));
  expect(folds(tree)).toEqual([["LayerNormalization → MultiHeadAttention → Add …", 8]]);
  expect(tree.root.members.length).toBeLessThan(6);
});

test("columns of a table are drawn once", () => {
  const nodes = [node("split", "", { kind: "split" })];
  const edges: WireEdge[] = [];
  for (let i = 0; i < 24; i++) {
    nodes.push(node(`number_${i}`, "Input", { kind: "input" }), node(`normalization_${i}`, "Normalization"));
    edges.push(edge("split", `number_${i}`), edge(`number_${i}`, `normalization_${i}`), edge(`normalization_${i}`, "join"));
  }
  nodes.push(node("join", "Concatenate"), node("dense", "Dense"));
  edges.push(edge("join", "dense"));
  const tree = buildTree(flow(nodes, edges));
  expect(shown(tree)).toEqual(["split", "number_…", "join", "dense"]);
  expect(folds(tree)).toEqual([["number_…", 24]]);
});

test("columns that two parts of a model read are drawn once in each", () => {
  const nodes = [node("split", "", { kind: "split" })];
  const edges: WireEdge[] = [];
  // In the order of their names, as Keras sorts the keys of a dict; each has a vocabulary of its own.
  const names = Array.from({ length: 24 }, (_, i) => `C${i + 1}`).sort();
  names.forEach((name, i) => {
    nodes.push(node(name, "Input", { kind: "input" }));
    edges.push(edge("split", name));
    const vocabulary = { params: 100 + i, config: { input_dim: 100 + i } };
    nodes.push(node(`deep_${i}`, "Embedding", vocabulary), node(`flat_${i}`, "Flatten"), node(`wide_${i}`, "Embedding", vocabulary));
    edges.push(edge(name, `deep_${i}`), edge(`deep_${i}`, `flat_${i}`), edge(`flat_${i}`, "deep_join"));
    edges.push(edge(name, `wide_${i}`), edge(`wide_${i}`, "wide_join"));
  });
  nodes.push(node("deep_join", "Concatenate"), node("wide_join", "Add"), node("sum", "Add"));
  edges.push(edge("deep_join", "sum"), edge("wide_join", "sum"));
  const tree = buildTree(flow(nodes, edges));
  expect(shown(tree).sort()).toEqual(["C1 … 24", "deep_join", "deep_…", "split", "sum", "wide_join", "wide_…"].sort());
  expect([...tree.items.values()].filter((one) => one.times > 1).map((one) => [one.label, one.times, one.same])).toEqual(
    expect.arrayContaining([
      ["C1 … 24", 24, true],
      ["deep_…", 24, false],
      ["wide_…", 24, false],
    ]),
  );
});

test("a long chain without names is grouped by the size of its pictures", () => {
  const nodes: WireNode[] = [];
  const edges: WireEdge[] = [];
  for (let i = 0; i < 40; i++) {
    nodes.push(node(`conv2d_${i}`, "Conv2D", { params: i }));
    if (i) {
      edges.push(edge(`conv2d_${i - 1}`, `conv2d_${i}`, { spec: Math.floor((i - 1) / 10) }));
    }
  }
  const doc = flow(nodes, edges);
  doc.report.flow.specs = [64, 32, 16, 8].map((n) => ({ shape: [4, n, n, 3], dtype: "float32" }));
  expect(shown(buildTree(doc)).filter((label) => label.includes("×"))).toEqual(["64×64", "32×32", "16×16", "8×8"]);
});

test("names that share their last number make a group, in whatever order they are given", () => {
  const nodes: WireNode[] = [];
  const edges: WireEdge[] = [];
  const ops = ["Conv2D", "BatchNormalization", "Activation", "Add", "SeparableConv2D", "AveragePooling2D", "Dense", "Concatenate"];
  for (let cell = 0; cell < 10; cell++) {
    ops.forEach((op, k) => {
      nodes.push(node(`${["left", "right"][k % 2]}_part${k}x_of_${cell}`, op, { params: cell * 10 + k }));
      const before = nodes[nodes.length - 2];
      if (before) {
        edges.push(edge(before.id, nodes[nodes.length - 1]!.id));
      }
    });
  }
  const cells = (items: readonly Item[]): string[] =>
    items.flatMap((item) => (/^block \d+$/.test(item.label) ? [item.label] : cells(item.members)));
  expect(cells(buildTree(flow(nodes, edges)).root.members)).toEqual(Array.from({ length: 10 }, (_, i) => `block ${i}`));
});

test("calls of two generators stay apart, whatever size of picture they share", () => {
  const nodes = [node("x", "Input", { kind: "input" }), node("y", "Input", { kind: "input" })];
  const edges: WireEdge[] = [];
  const call = (id: string, name: string, source: string): void => {
    nodes.push(node(id, "Functional", { name }));
    for (const part of ["a", "b", "c"]) {
      nodes.push(node(`${id}/${part}`, "Conv2D", { parent: id, name: part }));
    }
    edges.push(edge(source, `${id}/a`), edge(`${id}/a`, `${id}/b`), edge(`${id}/b`, `${id}/c`));
  };
  call("G1", "G", "x");
  call("F1", "F", "y");
  call("F2", "F", "G1/c");
  call("G2", "G", "F1/c");
  // Losses: what makes the level long.
  for (const made of ["G1", "F1", "F2", "G2"]) {
    for (let i = 0; i < 6; i++) {
      nodes.push(node(`${made}_${i}`, ["Sub", "Abs", "Mean", "Mul", "Square", "Sum"][i], { kind: "op" }));
      edges.push(edge(i ? `${made}_${i - 1}` : `${made}/c`, `${made}_${i}`));
    }
  }
  const doc = flow(nodes, edges);
  doc.report.flow.specs = [{ shape: [4, 64, 64, 3], dtype: "float32" }];
  expect(shown(buildTree(doc)).filter((label) => /^[FG]$/.test(label))).toEqual(["G", "F", "F", "G"]);
});

test("ways that begin at inputs of their own are not closed into one box at their join", () => {
  const nodes: WireNode[] = [];
  const edges: WireEdge[] = [];
  for (const tower of ["user", "item"]) {
    const columns = (tower === "user" ? ["id", "age", "city"] : ["id", "brand", "kind", "price"]).map((name) => `${tower}_${name}`);
    for (const one of columns) {
      nodes.push(node(one, "Input", { kind: "input" }), node(`${one}_embedding`, "Embedding"), node(`flat_${one}`, "Flatten"));
      edges.push(edge(one, `${one}_embedding`), edge(`${one}_embedding`, `flat_${one}`), edge(`flat_${one}`, `${tower}_join`));
    }
    nodes.push(node(`${tower}_join`, "Concatenate"), node(`${tower}_up`, "Dense"), node(`${tower}_down`, "Dense"));
    edges.push(edge(`${tower}_join`, `${tower}_up`), edge(`${tower}_up`, `${tower}_down`), edge(`${tower}_down`, "dot"));
  }
  // In the order in which Keras gives them: by how far they are from the end.
  const far = ["Input", "Embedding", "Flatten", "Concatenate", "Dense"];
  nodes.sort((one, other) => far.indexOf(one.op) - far.indexOf(other.op));
  for (const [i, one] of ["dot", "a", "b", "c", "d", "e", "f", "g", "h"].entries()) {
    nodes.push(node(one, i ? "Dense" : "Dot", { params: i }));
    if (i) {
      edges.push(edge(["dot", "a", "b", "c", "d", "e", "f", "g"][i - 1]!, one));
    }
  }
  const labels = shown(buildTree(flow(nodes, edges)));
  expect(labels).toEqual(expect.arrayContaining(["user_id_embedding", "item_id_embedding", "user_join", "item_join", "dot"]));
});
