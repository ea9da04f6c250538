/** From the hierarchy, and what of it is open, to boxes and lines with coordinates. */

import type { FlowDoc } from "../doc";
import type { Item } from "../groups";
import { order, type LevelOrder } from "./order";
import { place, type Sizes } from "./place";
import { elbowsOf, meet, portX, sidesOf, type LevelLayout, type Line } from "./ends";
import { laneOf, type Lane } from "./lane";
import { Lines } from "./lines";
import type { Levels } from "./levels";
import { boxSize, columnWidth, FRAME, GAP, headWidth, tensorWidth, wordsWidth } from "./sizes";

export interface Box {
  item: Item;
  x: number;
  y: number;
  w: number;
  h: number;
  open: boolean;
  depth: number;
  /** Sources with many readers that are named in the box rather than drawn as edges. */
  pills: number[];
}

export type { Line } from "./ends";

export interface Scene {
  boxes: Box[];
  byItem: Map<Item, Box>;
  lines: Line[];
  width: number;
  height: number;
  lane: Lane | null;
  /** Whether it runs from left to right. */
  flat: boolean;
}

/** A place with x for y, where a picture from left to right is read as one from top to bottom, or the other way round. */
export function turned<T extends Pick<Box, "x" | "y" | "w" | "h">>(one: T, flat: boolean): T {
  return flat ? { ...one, x: one.y, y: one.x, w: one.h, h: one.w } : one;
}

const APART = 30;

export class SceneBuilder {
  private readonly sizes = new Map<Item, { w: number; h: number }>();

  constructor(
    readonly doc: FlowDoc,
    readonly levels: Levels,
  ) {}

  build(open: ReadonlySet<string>, laneWidth: number): Scene {
    const { flat, tree } = this.levels;
    const { root } = tree;
    const pills = this.pills(open);
    const layout = this.layout(root, open, pills);
    const scene: Scene = { boxes: [], byItem: new Map(), lines: [], width: 0, height: 0, lane: null, flat };
    const lane = laneOf(this.doc, this.levels, laneWidth);
    // The lane stands over the part that it feeds.
    const over = lane ? this.entryX(layout) - lane.width / 2 : 0;
    const dx = Math.round(Math.max(0, -over));
    const dy = lane ? lane.height + GAP + 8 : 0;
    const at = new Map<Item, [number, number, LevelLayout]>();
    this.spreadOut(scene, layout, dx, dy, 0, pills, at);
    if (lane) {
      const shift = Math.round(Math.max(0, over));
      lane.x = shift;
      for (const stage of lane.boxes) {
        const box: Box = { item: stage.item, x: stage.x + shift, y: stage.y, w: stage.w, h: stage.h, open: false, depth: 1, pills: [] };
        scene.boxes.push(box);
        scene.byItem.set(stage.item, box);
      }
      scene.lane = lane;
    }
    new Lines(this.doc, this.levels, scene, at).draw(tree.of.map((one) => this.visible(one, open)));
    scene.width = Math.max(dx + layout.width, lane ? lane.x + lane.width : 0);
    scene.height = dy + layout.height;
    for (const line of scene.lines) {
      scene.width = Math.max(scene.width, line.right);
    }
    if (flat) {
      scene.boxes.forEach((box) => {
        [box.x, box.y, box.w, box.h] = [box.y, box.x, box.h, box.w];
      });
      scene.lines.forEach((line) => {
        [line.left, line.top, line.right, line.bottom] = [line.top, line.left, line.bottom, line.right];
      });
      [scene.width, scene.height] = [scene.height, scene.width];
    }
    return scene;
  }

  private sizeOf(item: Item, pills: number): { w: number; h: number } {
    const known = pills ? undefined : this.sizes.get(item);
    if (known) {
      return known;
    }
    const size = boxSize(this.doc, item, pills);
    if (!pills) {
      this.sizes.set(item, size);
    }
    return size;
  }

  /** The middle of the box that the pipeline feeds first. */
  private entryX(root: LevelLayout): number {
    const { levels } = this;
    for (const e of this.doc.edges.keys()) {
      let top = levels.target(e);
      if (!levels.isStage(levels.source(e)) || levels.isStage(top)) {
        continue;
      }
      while (top.depth > 1) {
        top = top.parent!;
      }
      return root.placed.x[root.level.index.get(top)!]!;
    }
    return root.width / 2;
  }

  visible(one: Item, open: ReadonlySet<string>): Item {
    let shown = one;
    for (let up = one.parent; up?.parent; up = up.parent) {
      if (!open.has(up.id)) {
        shown = up;
      }
    }
    return shown;
  }

  private pills(open: ReadonlySet<string>): Map<Item, Set<number>> {
    const pills = new Map<Item, Set<number>>();
    this.doc.edges.forEach((_, e) => {
      if (!this.levels.pilled[e]) {
        return;
      }
      const target = this.visible(this.levels.target(e), open);
      const source = this.doc.sourceOf[e]!;
      if (this.visible(this.levels.source(e), open) === target) {
        return;
      }
      if (open.has(target.id) && target.members.length) {
        return;
      }
      let set = pills.get(target);
      if (!set) {
        pills.set(target, (set = new Set()));
      }
      set.add(source);
    });
    return pills;
  }

  private layout(owner: Item, open: ReadonlySet<string>, pills: ReadonlyMap<Item, Set<number>>): LevelLayout {
    const { doc, levels } = this;
    const { flat } = levels;
    const level = levels.of(owner);
    const { graph, children } = level;
    level.ordered ??= order(graph);
    const inner = children.map((child) => (child.members.length && open.has(child.id) ? this.layout(child, open, pills) : null));
    const alone = aloneInRow(level.ordered, children.length);
    const plain = children.map((child, i) => (inner[i] ? null : this.sizeOf(child, Math.min(3, pills.get(child)?.size ?? 0))));
    const column = columnWidth(plain.filter((one, i) => one && alone[i]).map((one) => one!.w));
    const size = children.map((child, i) => {
      const within = inner[i];
      if (!within) {
        const { w, h } = plain[i]!;
        return flat ? { w: h, h: w } : { w: alone[i] ? Math.max(w, column) : w, h };
      }
      const [across, along] = flat ? [within.height, within.width] : [within.width, within.height];
      const [w, h] = [Math.max(across + 2 * FRAME.side, headWidth(doc, child)), along + FRAME.head + FRAME.foot];
      return flat ? { w: h, h: w } : { w, h };
    });
    const width = new Float64Array(graph.count).fill(16);
    const height = new Float64Array(graph.count);
    size.forEach((one, i) => {
      width[i] = one.w;
      height[i] = one.h;
    });
    const edges = graph.from.length;
    const sizes: Sizes = {
      width,
      height,
      fromOffset: new Float64Array(edges),
      toOffset: new Float64Array(edges),
      room: new Float64Array(edges),
      apart: APART,
      gap: owner === this.levels.tree.root ? GAP + 6 : GAP,
      pull: new Float64Array(edges).fill(1),
      portGap: 24,
      bendWidth: 4,
      laneWidth: 14,
    };
    this.touchedEdges(owner).forEach((e) => {
      const ends = levels.ends(level, owner, e);
      if (!ends) {
        return;
      }
      const p = level.pair.get(ends[0] * graph.count + ends[1])!;
      if (flat) {
        // The words stand along the line.
        sizes.room[p] = Math.max(sizes.room[p]!, tensorWidth(doc, e));
      }
      const source = doc.sourceOf[e]!;
      const out = ends[0] < children.length ? inner[ends[0]] : null;
      const into = ends[1] < children.length ? inner[ends[1]] : null;
      if (out) {
        sizes.fromOffset[p] = portX(out, out.level.exit.get(source), size[ends[0]]!.w);
      }
      if (into) {
        sizes.toOffset[p] = portX(into, into.level.entry.get(source), size[ends[1]]!.w);
      }
      if (doc.edgeSeverity[e] || doc.edges[e]!.status === "failed") {
        sizes.pull[p] = 60;
        // What was wanted and what came stand beside the edge's end, where nothing else may pass.
        if (ends[1] >= children.length || into) {
          return;
        }
        const [room, wide] = flat ? [wordsWidth(doc, e), 116] : [92, 2 * wordsWidth(doc, e)];
        sizes.room[p] = room;
        width[ends[1]] = Math.max(width[ends[1]]!, wide);
      }
    });
    const placed = place(graph, level.ordered, sizes);
    const sides = sidesOf(level, placed, inner, size);
    const spread = meet(level, placed, inner, size, sides);
    const elbows = elbowsOf(level, placed, sides);
    const inset = (w: number): number => (flat ? FRAME.head : Math.round((w - placed.width) / 2));
    return { owner, level, placed, width: placed.width, height: placed.height, size, inner, spread, sides, elbows, inset };
  }

  private touchedEdges(owner: Item): readonly number[] {
    return this.levels.edgesOf(owner);
  }

  private spreadOut(
    scene: Scene,
    layout: LevelLayout,
    dx: number,
    dy: number,
    depth: number,
    pills: ReadonlyMap<Item, Set<number>>,
    at: Map<Item, [number, number, LevelLayout]>,
  ): void {
    at.set(layout.owner, [dx, dy, layout]);
    const { placed, level } = layout;
    level.children.forEach((child, i) => {
      const { w, h } = layout.size[i]!;
      const x = dx + Math.round(placed.x[i]! - w / 2);
      const y = dy + placed.rowTop[level.ordered!.rank[i]!]!;
      const inner = layout.inner[i];
      const box: Box = { item: child, x, y, w, h, open: Boolean(inner), depth: depth + 1, pills: [...(pills.get(child) ?? [])] };
      scene.boxes.push(box);
      scene.byItem.set(child, box);
      if (inner) {
        const down = scene.flat ? Math.round((h - inner.height) / 2) : FRAME.head;
        this.spreadOut(scene, inner, x + inner.inset(w), y + down, depth + 1, pills, at);
      }
    });
  }
}

/** Children that no other stands beside. */
function aloneInRow({ ranks, starts, items }: LevelOrder, children: number): Uint8Array {
  const alone = new Uint8Array(children);
  for (let r = 0; r < ranks; r++) {
    let [count, one] = [0, -1];
    for (let i = starts[r]!; i < starts[r + 1]!; i++) {
      if (items[i]! < children) {
        count++;
        one = items[i]!;
      }
    }
    if (count === 1) {
      alone[one] = 1;
    }
  }
  return alone;
}
