import { describe, expect, test } from "vitest";

import { FlowDoc } from "../doc";
import { buildTree, type Item } from "../groups";
import { labelsOf } from "../labels";
import { broken, chain, edge, node, report, seeded, wild } from "../testing/flows";
import type { WireReport } from "../wire";
import { Levels } from "./levels";
import { SceneBuilder, turned, type Box, type Scene } from "./scene";
import { tensorWidth } from "./sizes";

function builder(report: WireReport, flat = false): SceneBuilder {
  const doc = new FlowDoc(report);
  return new SceneBuilder(doc, new Levels(doc, buildTree(doc), flat));
}

/** Some composites open, chosen by a seed. */
function someOpen(made: SceneBuilder, seed: number): Set<string> {
  const next = seeded(seed);
  const open = new Set<string>();
  for (const item of made.levels.tree.items.values()) {
    if (item.members.length && next() < 0.7) {
      open.add(item.id);
    }
  }
  return open;
}

function contains(outer: Box, inner: Box): boolean {
  return outer.x <= inner.x && outer.y <= inner.y && outer.x + outer.w >= inner.x + inner.w && outer.y + outer.h >= inner.y + inner.h;
}

function within(one: Item, other: Item): boolean {
  for (let up: Item | null = one; up; up = up.parent) {
    if (up === other) {
      return true;
    }
  }
  return false;
}

function overlaps(a: Box, b: Box): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

/** What is wrong with a picture, in words; one from left to right is read as it was laid out. */
function faults({ boxes: drawn, lines, flat }: Scene): string[] {
  const found: string[] = [];
  const boxes = drawn.map((box) => turned(box, flat));
  boxes.forEach((a, i) => {
    for (const b of boxes.slice(i + 1)) {
      if (within(b.item, a.item)) {
        if (!contains(a, b)) {
          found.push(`${b.item.id} leaves ${a.item.id}`);
        }
      } else if (!within(a.item, b.item) && overlaps(a, b)) {
        found.push(`${a.item.id} lies over ${b.item.id}`);
      }
    }
  });
  for (const line of lines) {
    const n = line.parts.length;
    for (const [end, x] of [
      [line.out, line.parts[0]!],
      [line.into, line.parts[n - 3]!],
    ] as const) {
      for (const box of end ? boxes : []) {
        const own = box.open || box.item === line.source || box.item === line.target;
        const [left, right] = [Math.min(end![0], x), Math.max(end![0], x)];
        if (!own && left < box.x + box.w && right > box.x && end![1] > box.y && end![1] < box.y + box.h) {
          found.push(`${line.key} turns through ${box.item.id}`);
        }
      }
    }
    for (let i = 0; i < line.parts.length; i += 3) {
      const [x, top, bottom] = [line.parts[i]!, line.parts[i + 1]!, line.parts[i + 2]!];
      if (bottom < top || (i && top < line.parts[i - 1]!)) {
        found.push(`${line.key} goes up`);
      }
      for (const box of boxes) {
        const own = box.open || box.item === line.source || box.item === line.target;
        if (!own && x > box.x && x < box.x + box.w && top < box.y + box.h - 1 && bottom > box.y + 1) {
          found.push(`${line.key} runs through ${box.item.id}`);
        }
      }
    }
  }
  return found;
}

describe("for every flow and whatever is open", () => {
  for (let seed = 1; seed <= 40; seed++) {
    test(`no overlap, no upward edge, no edge through a box (seed ${seed})`, () => {
      for (const made of [builder(wild(seed, 20 + seed * 2)), builder(wild(seed, 20 + seed * 2), true)]) {
        for (const open of [someOpen(made, seed), new Set<string>(), new Set(made.levels.tree.items.keys())]) {
          expect(faults(made.build(open, 800))).toEqual([]);
        }
      }
    });
  }
});

test("from left to right every reader stands beside what it reads, and the words have their room between", () => {
  const made = builder(chain(12), true);
  const scene = made.build(new Set(made.levels.tree.items.keys()), 800);
  expect(scene.width).toBeGreaterThan(3 * scene.height);
  for (const { source, target, edges } of scene.lines) {
    const [from, to] = [scene.byItem.get(source)!, scene.byItem.get(target)!];
    expect(to.x - from.x - from.w).toBeGreaterThanOrEqual(tensorWidth(made.doc, edges[0]!));
  }
  const labels = labelsOf(made.doc, scene);
  expect(labels.length).toBeGreaterThan(8);
  expect(labels.flatMap((label) => scene.boxes.filter((box) => !box.open && overlaps({ ...box, ...label }, box)))).toEqual([]);
});

test("where two tensors leave at one place, each is written on the side that its line turns to", () => {
  for (const flat of [false, true]) {
    const parts = [node("x", "Fork"), node("a"), node("b"), node("c", "Add")];
    const made = builder(report(parts, [edge("x", "a"), edge("x", "b", { spec: 1 }), edge("a", "c"), edge("b", "c")]), flat);
    made.doc.report.flow.specs = [
      { shape: [4, 1], dtype: "float32" },
      { shape: [4, 2], dtype: "int32" },
    ];
    const scene = made.build(new Set(), 800);
    const labels = labelsOf(made.doc, scene).filter(({ line }) => line.source.id === "x");
    expect(labels).toHaveLength(2);
    const middle = (one: Pick<Box, "x" | "y" | "w" | "h">): number => (flat ? one.y + one.h / 2 : one.x + one.w / 2);
    const from = middle(scene.byItem.get(labels[0]!.line.source)!);
    for (const label of labels) {
      expect(Math.sign(middle(label) - from)).toBe(Math.sign(middle(scene.byItem.get(label.line.target)!) - from));
    }
  }
});

test("no label crosses the border of an open part", () => {
  let labels = 0;
  for (let seed = 1; seed <= 12; seed++) {
    const made = builder(wild(seed));
    const scene = made.build(new Set(made.levels.tree.items.keys()), 800);
    const open = scene.boxes.filter((box) => box.open);
    const ordinary = labelsOf(made.doc, scene).filter(({ line }) => !line.severity && line.status !== "failed");
    labels += ordinary.length;
    for (const { x, y, w, h } of ordinary) {
      // A line's width of air beside the words may touch.
      const words = { ...open[0]!, x, y: y + 2, w: w - 3, h: h - 4 };
      expect(open.filter((box) => overlaps(words, box) && !contains(box, words))).toEqual([]);
    }
  }
  expect(labels).toBeGreaterThan(20);
});

test("the pipeline's stages stand in the row of a picture from left to right", () => {
  const made = builder(broken(), true);
  const scene = made.build(new Set(["model"]), 800);
  const places = ["slices", "batch", "split", "conv2d", "lstm"].map((id) => scene.byItem.get(made.levels.tree.items.get(id)!)!);
  expect(places.map(({ x }) => x)).toEqual(places.map(({ x }) => x).sort((a, b) => a - b));
  expect(scene.lane).toBeNull();
});

test("the same flow gives the same picture", () => {
  const places = (): string => {
    const made = builder(wild(7));
    return JSON.stringify(made.build(someOpen(made, 7), 800).boxes.map(({ item, x, y, w, h }) => [item.id, x, y, w, h]));
  };
  expect(places()).toBe(places());
});

test("opening one part keeps the order of everything beside it", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const made = builder(wild(seed, 70));
    const closed = made.build(new Set(), 800);
    const composite = made.levels.tree.root.members.find((item) => item.members.length > 1);
    if (!composite) {
      continue;
    }
    const opened = made.build(new Set([composite.id]), 800);
    const order = (scene: Scene): string[] =>
      scene.boxes
        .filter((box) => box.depth === 1)
        .sort((a, b) => a.y - b.y || a.x - b.x)
        .map((box) => box.item.id);
    expect(order(opened)).toEqual(order(closed));
  }
});

test("what hangs together stands together, apart from the rest", () => {
  const ids = (name: string, n: number): string[] => Array.from({ length: n }, (_, i) => `${name}${i}`);
  const parts = [ids("a", 8), ids("b", 3), ids("c", 3), ids("d", 1)];
  const edges = parts.flatMap((part) => part.slice(1).map((id, i) => edge(part[i]!, id)));
  const { boxes } = builder(
    report(
      parts.flat().map((id) => node(id)),
      edges,
    ),
  ).build(new Set(), 800);
  const area = (letter: string): Box[] => boxes.filter((box) => box.item.id.startsWith(letter));
  const [left, right] = [
    (list: Box[]) => Math.min(...list.map((box) => box.x)),
    (list: Box[]) => Math.max(...list.map((box) => box.x + box.w)),
  ];
  for (const letter of ["b", "c", "d"]) {
    expect(left(area(letter))).toBeGreaterThan(right(area("a")));
  }
  // The small parts stand below one another, no lower than the large one ends.
  expect(new Set(["b", "c", "d"].map((letter) => left(area(letter)))).size).toBe(1);
  expect(Math.max(...boxes.map((box) => box.y))).toBe(area("a")[7]!.y);
});

test("a level that closes and opens again looks as before", () => {
  const made = builder(wild(3, 80));
  const open = someOpen(made, 3);
  const first = JSON.stringify(made.build(open, 800).boxes.map((box) => [box.item.id, box.x, box.y]));
  made.build(new Set(), 800);
  expect(JSON.stringify(made.build(open, 800).boxes.map((box) => [box.item.id, box.x, box.y]))).toBe(first);
});

test("a long edge goes from side to side, apart from the short ones", () => {
  const made = builder(chain(11));
  const scene = made.build(new Set(made.levels.tree.items.keys()), 800);
  const skips = scene.lines.filter((line) => line.out ?? line.into);
  expect(skips.length).toBeGreaterThan(0);
  for (const { out, into, source, target, parts } of skips) {
    const [from, to] = [scene.byItem.get(source)!, scene.byItem.get(target)!];
    expect(out![1]).toBe(from.y + from.h / 2);
    expect(into![1]).toBe(to.y + to.h / 2);
    expect(parts[0]! < from.x || parts[0]! > from.x + from.w).toBe(true);
  }
});

test("a chain is straight", () => {
  const made = builder(broken());
  const scene = made.build(new Set(["model"]), 800);
  const middles = ["split", "conv2d", "lstm", "dense"].map((id) => {
    const box = scene.byItem.get(made.levels.tree.items.get(id)!)!;
    return Math.round(box.x + box.w / 2);
  });
  expect(Math.max(...middles) - Math.min(...middles)).toBeLessThanOrEqual(2);
});

test("a long way beside a wide box, and beside another way, runs straight", () => {
  const names = ["a", "b", "a_name_that_makes_its_box_wide", "d", "e", "f", "g"];
  const chained = names.slice(1).map((name, i) => edge(names[i]!, name));
  const made = builder(
    report(
      names.map((name) => node(name)),
      [...chained, edge("a", "g"), edge("d", "f")],
    ),
  );
  const scene = made.build(new Set(), 800);
  const long = scene.lines.find(({ key }) => key === "a>g")!;
  const way = long.parts.filter((_, i) => i % 3 === 0);
  expect(way.length).toBeGreaterThan(5);
  expect(new Set(way.slice(1, -1)).size).toBe(1);
});

test("stages stand in a lane above, in rows where it is narrow", () => {
  const made = builder(broken());
  const wide = made.build(new Set(), 800);
  const narrow = made.build(new Set(), 200);
  const at = (scene: Scene, id: string): Box => scene.byItem.get(made.levels.tree.items.get(id)!)!;
  expect(at(wide, "slices").y).toBe(at(wide, "batch").y);
  expect(at(narrow, "batch").y).toBeGreaterThan(at(narrow, "slices").y);
  expect(at(wide, "split").y).toBeGreaterThan(at(wide, "batch").y + at(wide, "batch").h);
});

test("a tall stage moves no line of its row, and no line runs behind it", () => {
  const names = ["slices", "map", "cache", "batch"];
  const made = builder(
    report(
      names.map((id) => node(id, id, { kind: "stage", note: id === "map" ? "parse" : "" })),
      names.slice(1).map((id, i) => edge(names[i]!, id)),
    ),
  );
  const scene = made.build(new Set(), 520);
  const at = (id: string): Box => scene.byItem.get(made.levels.tree.items.get(id)!)!;
  expect(at("map").h).toBeGreaterThan(at("cache").h);
  expect(at("batch").y).toBeGreaterThan(at("map").y);
  for (const line of scene.lines) {
    for (const box of scene.boxes.filter((one) => one.item !== line.source && one.item !== line.target)) {
      for (const [x, y] of line.corners) {
        expect(x > box.x && x < box.x + box.w && y > box.y - 1 && y < box.y + box.h + 1).toBe(false);
      }
    }
    if (at(line.source.id).y === at(line.target.id).y) {
      expect(new Set(line.corners.map(([, y]) => y)).size).toBe(1);
    }
  }
  const [, below] = scene.lines.find((line) => line.source.id === "cache")!.corners;
  expect(below![1]).toBeGreaterThan(at("map").y + at("map").h);
});

test("a source with many readers becomes a pill at each of them", () => {
  const report = chain(12);
  report.flow.nodes.push({ id: "mask", name: "mask", kind: "layer", op: "NotEqual" });
  for (let i = 2; i < 11; i++) {
    report.flow.edges.push({ id: `m${i}`, source: "mask", target: `n${i}`, spec: 0 });
  }
  const made = builder(report);
  const scene = made.build(new Set(made.levels.tree.items.keys()), 800);
  expect(scene.lines.some((line) => line.source.id === "mask")).toBe(false);
  const named = scene.boxes.filter((box) => box.pills.length).map((box) => box.item.id);
  expect(named).toContain("n5");
});

test("a cycle between composites is drawn and ends", () => {
  const report = wild(1, 6);
  report.flow.nodes = ["a", "b"].map((id) => ({ id, name: id, kind: "layer" as const, op: "Block" }));
  report.flow.nodes.push(
    ...["a1", "b1", "a2"].map((id) => ({ id, name: id, kind: "layer" as const, op: "Dense", parent: id.slice(0, 1) })),
  );
  report.flow.edges = [
    { id: "1", source: "a1", target: "b1", spec: 0 },
    { id: "2", source: "b1", target: "a2", spec: 0 },
  ];
  const made = builder(report);
  expect(made.build(new Set(), 800).lines).toHaveLength(2);
  expect(made.build(new Set(["a", "b"]), 800).boxes).toHaveLength(5);
});

test("ten thousand nodes, all open, lie side by side without overlap in their ranks", () => {
  const made = builder(chain(10_000));
  const scene = made.build(new Set(made.levels.tree.items.keys()), 800);
  const leaves = scene.boxes.filter((box) => !box.open).sort((a, b) => a.y - b.y);
  expect(leaves.length).toBeGreaterThanOrEqual(10_000);
  for (let i = 1; i < leaves.length; i++) {
    expect(overlaps(leaves[i - 1]!, leaves[i]!)).toBe(false);
  }
});
