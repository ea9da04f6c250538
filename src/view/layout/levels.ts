/** The graph of one level: its children, the ports of tensors that come in and go out, and the edges. */

import type { FlowDoc } from "../doc";
import { push } from "../doc";
import type { Item, Tree } from "../groups";
import type { LevelGraph, LevelOrder } from "./order";

/** Readers from which on a source is drawn as a pill at each of them. */
const MANY = 7;

export interface Level {
  children: Item[];
  index: Map<Item, number>;
  /** Port numbers, by the wire node whose tensor passes. */
  entry: Map<number, number>;
  exit: Map<number, number>;
  graph: LevelGraph;
  pair: Map<number, number>;
  ordered: LevelOrder | undefined;
}

export class Levels {
  private readonly touched = new Map<Item, number[]>();
  private readonly made = new Map<Item, Level>();
  /** Edges that are drawn as pills, and for each reader the sources it names so. */
  readonly pilled: Uint8Array;

  constructor(
    readonly doc: FlowDoc,
    readonly tree: Tree,
    /** Whether the picture runs from left to right: it is laid out from top to bottom all the same, and turned at the end. */
    readonly flat = false,
  ) {
    const { edges } = doc;
    this.pilled = new Uint8Array(edges.length);
    doc.outOf.forEach((out, i) => {
      if (out.length < MANY || ["split", "stage"].includes(doc.node(i).kind) || new Set(out.map((e) => doc.targetOf[e])).size < MANY) {
        return;
      }
      for (const e of out) {
        if (!doc.edgeSeverity[e] && (edges[e]!.status ?? "ok") !== "failed") {
          this.pilled[e] = 1;
        }
      }
    });
    // Every level up to the one that both ends share draws a part of the edge.
    edges.forEach((_, e) => {
      if (this.pilled[e]) {
        return;
      }
      let a = this.source(e);
      let b = this.target(e);
      while (a.depth > b.depth) {
        a = a.parent!;
        push(this.touched, a, e);
      }
      while (b.depth > a.depth) {
        b = b.parent!;
        push(this.touched, b, e);
      }
      if (a === b) {
        return;
      }
      while (a.parent !== b.parent) {
        a = a.parent!;
        b = b.parent!;
        push(this.touched, a, e);
        push(this.touched, b, e);
      }
      if (a.parent) {
        push(this.touched, a.parent, e);
      }
    });
  }

  source(e: number): Item {
    return this.tree.of[this.doc.sourceOf[e]!]!;
  }

  target(e: number): Item {
    return this.tree.of[this.doc.targetOf[e]!]!;
  }

  edgesOf(owner: Item): readonly number[] {
    return this.touched.get(owner) ?? [];
  }

  private within(one: Item, level: Item): Item | null {
    let at: Item | null = one;
    while (at && at.parent !== level) {
      at = at.parent;
    }
    return at;
  }

  /** Both ends of an edge as numbers of the level's graph. */
  ends(level: Level, owner: Item, e: number): [number, number] | null {
    const s = this.doc.sourceOf[e]!;
    const a = this.within(this.source(e), owner);
    const b = this.within(this.target(e), owner);
    if (a === b) {
      return null;
    }
    const from = a ? level.index.get(a) : level.entry.get(s);
    const to = b ? level.index.get(b) : level.exit.get(s);
    return from === undefined || to === undefined ? null : [from, to];
  }

  of(owner: Item): Level {
    const known = this.made.get(owner);
    if (known) {
      return known;
    }
    const children = owner.members.filter((child) => !(owner === this.tree.root && this.isStage(child)));
    const index = new Map(children.map((child, i) => [child, i]));
    const level: Level = {
      children,
      index,
      entry: new Map(),
      exit: new Map(),
      graph: { count: 0, from: new Int32Array(), to: new Int32Array(), pin: new Int8Array(), longest: 24 },
      pair: new Map(),
      ordered: undefined,
    };
    const touched = this.touched.get(owner) ?? [];
    let count = children.length;
    const pins: number[] = [];
    for (const e of touched) {
      const s = this.doc.sourceOf[e]!;
      const a = this.within(this.source(e), owner);
      const b = this.within(this.target(e), owner);
      if (!a && b && index.has(b) && !level.entry.has(s)) {
        level.entry.set(s, count++);
        pins.push(-1);
      } else if (a && !b && index.has(a) && !level.exit.has(s)) {
        level.exit.set(s, count++);
        pins.push(1);
      }
    }
    const from: number[] = [];
    const to: number[] = [];
    for (const e of touched) {
      const ends = this.ends(level, owner, e);
      if (!ends) {
        continue;
      }
      const key = ends[0] * count + ends[1];
      if (level.pair.has(key)) {
        continue;
      }
      level.pair.set(key, from.length);
      from.push(ends[0]);
      to.push(ends[1]);
    }
    const pin = new Int8Array(count);
    pins.forEach((p, i) => (pin[children.length + i] = p));
    level.graph = { count, from: Int32Array.from(from), to: Int32Array.from(to), pin, longest: 24 };
    this.made.set(owner, level);
    return level;
  }

  /** Whether a part stands in the pipeline's lane; a picture from left to right is one row anyway. */
  isStage(one: Item): boolean {
    return !this.flat && one.node >= 0 && one.parent === this.tree.root && this.doc.node(one.node).kind === "stage";
  }
}
