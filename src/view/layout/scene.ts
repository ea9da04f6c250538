/** From the hierarchy, and what of it is open, to boxes and lines with coordinates. */

import type { FlowDoc } from "../doc";
import { worse } from "../doc";
import type { Item } from "../groups";
import { order } from "./order";
import { place, type Sizes } from "./place";
import { frame, meet, portX, type LevelLayout, type Line } from "./ends";
import { laneOf, type Lane } from "./lane";
import type { Levels } from "./levels";
import { boxSize, FRAME, headWidth, wordsWidth } from "./sizes";

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
}

const GAP = 46;
const APART = 30;

export class SceneBuilder {
  private readonly sizes = new Map<Item, { w: number; h: number }>();

  constructor(
    readonly doc: FlowDoc,
    readonly levels: Levels,
  ) {}

  build(open: ReadonlySet<string>, laneWidth: number): Scene {
    const root = this.levels.tree.root;
    const pills = this.pills(open);
    const layout = this.layout(root, open, pills);
    const scene: Scene = { boxes: [], byItem: new Map(), lines: [], width: 0, height: 0, lane: null };
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
    this.lines(scene, open, at);
    scene.width = Math.max(dx + layout.width, lane ? lane.x + lane.width : 0);
    scene.height = dy + layout.height;
    for (const line of scene.lines) {
      scene.width = Math.max(scene.width, line.right);
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
    for (const edge of this.doc.edges) {
      if (!this.levels.isStage(this.levels.item(edge.source)) || this.levels.isStage(this.levels.item(edge.target))) {
        continue;
      }
      let top = this.levels.item(edge.target);
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
    this.doc.edges.forEach((edge, e) => {
      if (!this.levels.pilled[e]) {
        return;
      }
      const target = this.visible(this.levels.item(edge.target), open);
      const source = this.doc.byId.get(edge.source)!;
      if (this.visible(this.levels.tree.of[source]!, open) === target) {
        return;
      }
      if (open.has(target.id) && target.children.length) {
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
    const level = this.levels.of(owner);
    const { graph, children } = level;
    level.ordered ??= order(graph);
    const inner = children.map((child) => (child.children.length && open.has(child.id) ? this.layout(child, open, pills) : null));
    const size = children.map((child, i) => {
      const within = inner[i];
      if (!within) {
        return this.sizeOf(child, Math.min(3, pills.get(child)?.size ?? 0));
      }
      return { w: Math.max(within.width + 2 * FRAME.side, headWidth(this.doc, child)), h: within.height + FRAME.head + FRAME.foot };
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
      const ends = this.levels.ends(level, owner, e);
      if (!ends) {
        return;
      }
      const p = level.pair.get(ends[0] * graph.count + ends[1])!;
      const source = this.doc.byId.get(this.doc.edges[e]!.source)!;
      const out = ends[0] < children.length ? inner[ends[0]] : null;
      const into = ends[1] < children.length ? inner[ends[1]] : null;
      if (out) {
        sizes.fromOffset[p] = portX(out, out.level.exit.get(source), size[ends[0]]!.w);
      }
      if (into) {
        sizes.toOffset[p] = portX(into, into.level.entry.get(source), size[ends[1]]!.w);
      }
      if (this.doc.edgeSeverity[e] || this.doc.edges[e]!.status === "failed") {
        sizes.pull[p] = 60;
        // What was wanted and what came stand beside the edge's end, where nothing else may pass.
        if (ends[1] >= children.length || into) {
          return;
        }
        sizes.room[p] = 92;
        width[ends[1]] = Math.max(width[ends[1]]!, 2 * wordsWidth(this.doc, e));
      }
    });
    const placed = place(graph, level.ordered, sizes);
    const spread = meet(level, placed, inner, size);
    return { owner, level, placed, width: placed.width, height: placed.height, size, inner, spread };
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
        this.spreadOut(scene, inner, x + Math.round((w - inner.width) / 2), y + FRAME.head, depth + 1, pills, at);
      }
    });
  }

  private lines(scene: Scene, open: ReadonlySet<string>, at: ReadonlyMap<Item, [number, number, LevelLayout]>): void {
    const known = new Map<Item, Map<Item, Line>>();
    const told = new Map<Item, Set<number>>();
    const shown = this.levels.tree.of.map((one) => this.visible(one, open));
    this.doc.edges.forEach((edge, e) => {
      if (this.levels.pilled[e]) {
        return;
      }
      const s = this.doc.byId.get(edge.source)!;
      const t = this.doc.byId.get(edge.target)!;
      const source = shown[s]!;
      const target = shown[t]!;
      if (source === target) {
        return;
      }
      let row = known.get(source);
      if (!row) {
        known.set(source, (row = new Map<Item, Line>()));
      }
      let line = row.get(target);
      if (!line) {
        const corners = scene.lane ? scene.lane.corners(source, target, scene) : null;
        const parts = corners ? [] : this.parts(s, e, source, target, at, scene);
        if (!parts) {
          return;
        }
        line = {
          key: `${source.id}>${target.id}`,
          source,
          target,
          edges: [],
          status: "ok",
          severity: undefined,
          parts,
          corners: corners ?? [],
          left: 0,
          top: 0,
          right: 0,
          bottom: 0,
          labelled: false,
        };
        frame(line);
        row.set(target, line);
        scene.lines.push(line);
      }
      line.edges.push(e);
      line.severity = worse(line.severity, this.doc.edgeSeverity[e]);
      if (edge.status === "failed") {
        line.status = "failed";
      } else if (edge.status === "not-reached" && line.status === "ok") {
        line.status = "not-reached";
      }
      // One tensor is written once, where it leaves.
      let specs = told.get(source);
      if (!specs) {
        told.set(source, (specs = new Set()));
      }
      if (!specs.has(edge.spec)) {
        specs.add(edge.spec);
        line.labelled = true;
      }
    });
  }

  /** The upright parts of an edge, through every open level between its ends. */
  private parts(
    s: number,
    e: number,
    source: Item,
    target: Item,
    at: ReadonlyMap<Item, [number, number, LevelLayout]>,
    scene: Scene,
  ): number[] | null {
    const up: Item[] = [];
    const down: Item[] = [];
    let a: Item = source;
    let b: Item = target;
    while (a.depth > b.depth) {
      up.push((a = a.parent!));
    }
    while (b.depth > a.depth) {
      down.push((b = b.parent!));
    }
    if (a !== b) {
      while (a.parent !== b.parent) {
        up.push((a = a.parent!));
        down.push((b = b.parent!));
      }
      if (this.levels.isStage(source)) {
        return this.fromStage(s, source, b, down, e, at, scene);
      }
      up.push(a.parent!);
    }
    const parts: number[] = [];
    for (const owner of up.concat(down.reverse())) {
      const here = at.get(owner);
      if (here) {
        this.pass(parts, here, owner, s, e);
      }
    }
    // Levels round on their own: what is straight but for that is drawn straight.
    for (let i = 3; i < parts.length; i += 3) {
      if (Math.abs(parts[i]! - parts[i - 3]!) <= 2) {
        parts[i] = parts[i - 3]!;
      }
    }
    return parts.length ? parts : null;
  }

  private fromStage(
    s: number,
    source: Item,
    top: Item,
    down: Item[],
    e: number,
    at: ReadonlyMap<Item, [number, number, LevelLayout]>,
    scene: Scene,
  ): number[] {
    const from = scene.byItem.get(source)!;
    const to = scene.byItem.get(top)!;
    const bottom = scene.lane!.height;
    const parts = [from.x + from.w / 2, from.y + from.h, bottom];
    const root = at.get(this.levels.tree.root)![2];
    const rank = root.level.ordered!.rank[root.level.index.get(top)!]!;
    const inner = at.get(top);
    const x = inner?.[2].level.entry.has(s) ? inner[0] + inner[2].placed.x[inner[2].level.entry.get(s)!]! : to.x + to.w / 2;
    if (rank > 0) {
      const beside = Math.max(scene.width, root.width + at.get(this.levels.tree.root)![0]) + 20;
      parts.push(beside, bottom + GAP, to.y - GAP + 8);
    }
    parts.push(x, to.y, to.y);
    for (const owner of down.reverse()) {
      const here = at.get(owner);
      if (here) {
        this.pass(parts, here, owner, s, e);
      }
    }
    return parts;
  }

  /** Adds the way of an edge through one level. */
  private pass(parts: number[], here: [number, number, LevelLayout], owner: Item, s: number, e: number): void {
    const [dx, dy, layout] = here;
    const { level, placed, inner, size } = layout;
    const ends = this.levels.ends(level, owner, e);
    if (!ends) {
      return;
    }
    const p = level.pair.get(ends[0] * level.graph.count + ends[1])!;
    const ordered = level.ordered!;
    const n = level.children.length;
    const turned = ordered.reversed[p] === 1;
    const out = ends[0] < n ? inner[ends[0]] : null;
    const into = ends[1] < n ? inner[ends[1]] : null;
    const x0 = dx + placed.x[ends[0]]! + (out ? portX(out, out.level.exit.get(s), size[ends[0]]!.w) : 0);
    const x1 = dx + placed.x[ends[1]]! + (into ? portX(into, into.level.entry.get(s), size[ends[1]]!.w) : layout.spread[p]!);
    const rank0 = ordered.rank[ends[0]]!;
    const rank1 = ordered.rank[ends[1]]!;
    const height = ends[0] < n ? size[ends[0]]!.h : 0;
    if (turned) {
      parts.push(x0, dy + placed.rowTop[rank0]! + height, dy + placed.rowTop[rank0]! + height);
      parts.push(x1, dy + placed.rowTop[rank1]!, dy + placed.rowTop[rank1]!);
      return;
    }
    parts.push(x0, dy + placed.rowTop[rank0]! + height, dy + placed.rowBottom[rank0]!);
    if (ordered.lane[p]) {
      parts.push(dx + placed.laneX[p]!, dy + placed.rowTop[rank0 + 1]!, dy + placed.rowBottom[rank1 - 1]!);
    } else {
      for (let i = 1; i < ordered.span[p]!; i++) {
        const bend = ordered.bend[p]! + i - 1;
        parts.push(dx + placed.x[bend]!, dy + placed.rowTop[rank0 + i]!, dy + placed.rowBottom[rank0 + i]!);
      }
    }
    parts.push(x1, dy + placed.rowTop[rank1]!, dy + placed.rowTop[rank1]!);
  }
}
