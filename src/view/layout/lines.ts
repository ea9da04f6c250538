/** The edges of a picture: which lines they make, and the ways these go through every open level. */

import type { FlowDoc } from "../doc";
import { worse } from "../doc";
import type { Item } from "../groups";
import { besideX, frame, portX, type LevelLayout, type Line } from "./ends";
import type { Levels } from "./levels";
import type { Scene } from "./scene";
import { GAP } from "./sizes";

/** Upright parts, and where the line leaves or meets a side. */
type Way = Pick<Line, "parts" | "out" | "into" | "elbow" | "corners">;

function none(): Way {
  return { parts: [], out: null, into: null, elbow: false, corners: [] };
}

const NEARLY = 8;

export class Lines {
  constructor(
    private readonly doc: FlowDoc,
    private readonly levels: Levels,
    private readonly scene: Scene,
    /** Where each open level stands. */
    private readonly at: ReadonlyMap<Item, [number, number, LevelLayout]>,
  ) {}

  /** Draws every edge between what stands for its ends. */
  draw(shown: readonly Item[]): void {
    const { scene } = this;
    const known = new Map<Item, Map<Item, Line>>();
    const told = new Map<Item, Set<number>>();
    this.doc.edges.forEach((edge, e) => {
      if (this.levels.pilled[e]) {
        return;
      }
      const s = this.doc.sourceOf[e]!;
      const t = this.doc.targetOf[e]!;
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
        const way = corners ? { ...none(), corners } : this.parts(s, e, source, target);
        if (!way) {
          return;
        }
        line = {
          key: `${source.id}>${target.id}`,
          source,
          target,
          edges: [],
          flat: this.levels.flat,
          status: "ok",
          severity: undefined,
          ...way,
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
    // A broken line shares its way with no other.
    const broken = new Set(scene.lines.flatMap((line) => ((line.severity ?? line.status === "failed") ? [line.source] : [])));
    for (const line of broken.size ? scene.lines : []) {
      line.elbow &&= !broken.has(line.source);
    }
  }

  /** The upright parts of an edge, through every open level between its ends. */
  private parts(s: number, e: number, source: Item, target: Item): Way | null {
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
        return this.fromStage(s, source, b, down, e);
      }
      up.push(a.parent!);
    }
    const way = none();
    const { parts } = way;
    for (const owner of up.concat(down.reverse())) {
      this.pass(way, owner, s, e);
    }
    // Levels round on their own: what is straight but for that is drawn straight.
    for (let i = 3; i < parts.length; i += 3) {
      if (Math.abs(parts[i]! - parts[i - 3]!) <= 2) {
        parts[i] = parts[i - 3]!;
      }
    }
    way.elbow &&= parts.length === 6;
    return parts.length ? way : null;
  }

  private fromStage(s: number, source: Item, top: Item, down: Item[], e: number): Way {
    const { scene, at } = this;
    const from = scene.byItem.get(source)!;
    const to = scene.byItem.get(top)!;
    const bottom = scene.lane!.height;
    const parts = [from.x + from.w / 2, from.y + from.h, bottom];
    const root = at.get(this.levels.tree.root)![2];
    const rank = root.level.ordered!.rank[root.level.index.get(top)!]!;
    const inner = at.get(top);
    const x = inner?.[2].level.entry.has(s) ? inner[0] + inner[2].placed.x[inner[2].level.entry.get(s)!]! : to.x + to.w / 2;
    if (!rank && !down.length) {
      const corners: [number, number][] = [
        [from.x + from.w / 2, from.y + from.h],
        [x, to.y],
      ];
      if (Math.abs(corners[0]![0] - x) > 2) {
        const middle = bottom + (to.y - bottom) / 2;
        corners.splice(1, 0, [corners[0]![0], middle], [x, middle]);
      }
      return { ...none(), corners };
    }
    if (rank > 0) {
      const beside = Math.max(scene.width, root.width + at.get(this.levels.tree.root)![0]) + 20;
      parts.push(beside, bottom + GAP, to.y - GAP + 8);
    }
    parts.push(x, to.y, to.y);
    const way: Way = { ...none(), parts };
    for (const owner of down.reverse()) {
      this.pass(way, owner, s, e);
    }
    return way;
  }

  /** Adds the way of an edge through one level. */
  private pass(way: Way, owner: Item, s: number, e: number): void {
    const here = this.at.get(owner);
    if (!here) {
      return;
    }
    const { parts } = way;
    const [dx, dy, layout] = here;
    const { level, placed, inner, size, sides, elbows } = layout;
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
    const end = dx + placed.x[ends[1]]! + (into ? portX(into, into.level.entry.get(s), size[ends[1]]!.w) : layout.spread[p]!);
    // Nearly straight is drawn straight, where nothing else ends beside it.
    const x1 = !into && ordered.span[p] === 1 && !layout.spread[p] && Math.abs(end - x0) <= NEARLY ? x0 : end;
    const rank0 = ordered.rank[ends[0]]!;
    const rank1 = ordered.rank[ends[1]]!;
    const height = ends[0] < n ? size[ends[0]]!.h : 0;
    if (turned) {
      parts.push(x0, dy + placed.rowTop[rank0]! + height, dy + placed.rowTop[rank0]! + height);
      parts.push(x1, dy + placed.rowTop[rank1]!, dy + placed.rowTop[rank1]!);
      return;
    }
    const runs = (bend: number): number => (ordered.lane[p] ? placed.laneX[p]! : placed.x[ordered.bend[p]! + bend]!);
    const beside = (v: number, side: number, bend: number): number => dx + Math.round(besideX(placed.x[v]!, size[v]!.w, side, runs(bend)));
    const middle = (v: number, rank: number): number => dy + placed.rowTop[rank]! + size[v]!.h / 2;
    const edge = (v: number, side: number): number => dx + Math.round(placed.x[v]! - size[v]!.w / 2) + (side > 0 ? size[v]!.w : 0);
    if (sides.out[p] && !parts.length) {
      way.out = [edge(ends[0], sides.out[p]), middle(ends[0], rank0)];
      parts.push(beside(ends[0], sides.out[p], 0), way.out[1], dy + placed.rowBottom[rank0]!);
    } else {
      parts.push(x0, dy + placed.rowTop[rank0]! + height, dy + placed.rowBottom[rank0]!);
    }
    if (ordered.lane[p]) {
      parts.push(dx + placed.laneX[p]!, dy + placed.rowTop[rank0 + 1]!, dy + placed.rowBottom[rank1 - 1]!);
    } else {
      for (let i = 1; i < ordered.span[p]!; i++) {
        const bend = ordered.bend[p]! + i - 1;
        parts.push(dx + placed.x[bend]!, dy + placed.rowTop[rank0 + i]!, dy + placed.rowBottom[rank0 + i]!);
      }
    }
    way.elbow = elbows[p] === 1;
    if (sides.into[p]) {
      way.into = [edge(ends[1], sides.into[p]), middle(ends[1], rank1)];
      parts.push(beside(ends[1], sides.into[p], ordered.span[p]! - 2), dy + placed.rowTop[rank1]!, way.into[1]);
    } else {
      parts.push(x1, dy + placed.rowTop[rank1]!, dy + placed.rowTop[rank1]!);
    }
  }
}
