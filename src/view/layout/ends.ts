/** Where lines end: at the ports of open levels, and side by side where several meet. */

import type { Item } from "../groups";
import type { Severity, Status } from "../wire";
import type { Level } from "./levels";
import type { Placed } from "./place";

export interface Line {
  key: string;
  source: Item;
  target: Item;
  /** The edges of the flow that this line stands for. */
  edges: number[];
  status: Status;
  severity: Severity | undefined;
  /** x, y1, y2 of each upright part; between two of them the line bends. Empty for a lane's line. */
  parts: number[];
  /** Where a line leaves its source, or meets its target, at a side rather than below and above. */
  out: readonly [number, number] | null;
  into: readonly [number, number] | null;
  /** Whether it is drawn from left to right: all but its frame is then x for y. */
  flat: boolean;
  /** Whether its one bend has right angles. */
  elbow: boolean;
  /** A line of the pipeline's lane: its corners. */
  corners: [number, number][];
  left: number;
  top: number;
  right: number;
  bottom: number;
  /** Whether this line carries the words of its tensor. */
  labelled: boolean;
}

export interface LevelLayout {
  owner: Item;
  level: Level;
  placed: Placed;
  width: number;
  height: number;
  size: { w: number; h: number }[];
  inner: (LevelLayout | null)[];
  /** Shift of each edge's end where several meet at one node. */
  spread: Float64Array;
  sides: Sides;
  /** Edges that turn at right angles, as nothing else runs at the height where they do. */
  elbows: Uint8Array;
  /** Where it begins within its frame, of this width, along a row. */
  inset(width: number): number;
}

export function portX(inner: LevelLayout, port: number | undefined, width: number): number {
  if (port === undefined) {
    return 0;
  }
  return inner.inset(width) + inner.placed.x[port]! - width / 2;
}

/** For each edge 1 or -1 where it leaves, or meets, a node at its right or left side. */
export interface Sides {
  out: Int8Array;
  into: Int8Array;
}

/** Room that a line needs to turn beside a box; how far in it may come back to a way that runs under the box. */
const TURN = 14;
const BACK = 48;

/** A long edge goes from side to side where nothing stands between: its beginning and end lie apart from the short ones. */
export function sidesOf(level: Level, placed: Placed, inner: readonly (LevelLayout | null)[], size: readonly { w: number }[]): Sides {
  const { graph, ordered } = level;
  const { lane, span, bend, reversed, rank, starts, items } = ordered!;
  const edges = graph.from.length;
  const sides = { out: new Int8Array(edges), into: new Int8Array(edges) };
  const side = (v: number, x: number): number => {
    if (v >= level.children.length || inner[v]) {
      return 0;
    }
    const away = x - placed.x[v]!;
    const near = size[v]!.w / 2;
    if (Math.abs(away) < near - BACK) {
      return 0;
    }
    const reach = Math.max(Math.abs(away), near + TURN) + 6;
    for (let i = starts[rank[v]!]!; i < starts[rank[v]! + 1]!; i++) {
      const other = items[i]!;
      const beyond = Math.sign(away) * (placed.x[other]! - placed.x[v]!);
      if (other !== v && other < level.children.length && beyond > 0 && beyond - size[other]!.w / 2 < reach) {
        return 0;
      }
    }
    return Math.sign(away);
  };
  for (let p = 0; p < edges; p++) {
    if (reversed[p] || (span[p]! < 2 && !lane[p])) {
      continue;
    }
    sides.out[p] = side(graph.from[p]!, lane[p] ? placed.laneX[p]! : placed.x[bend[p]!]!);
    sides.into[p] = side(graph.to[p]!, lane[p] ? placed.laneX[p]! : placed.x[bend[p]! + span[p]! - 2]!);
  }
  return sides;
}

/** A gap between two rows in which no two sources' ways aside run over one another is drawn with right angles. */
export function elbowsOf({ graph, ordered }: Level, { x }: Placed, sides: Sides): Uint8Array {
  const { ranks, rank, span, lane, bend, reversed } = ordered!;
  const edges = graph.from.length;
  const elbows = new Uint8Array(edges);
  const gaps: { from: number; left: number; right: number }[][] = Array.from({ length: ranks }, () => []);
  for (let p = 0; p < edges; p++) {
    if (lane[p]) {
      continue;
    }
    let last = (reversed[p] ? graph.to : graph.from)[p]!;
    const first = rank[last]!;
    for (let i = 1; i <= span[p]!; i++) {
      const next = i === span[p]! ? (reversed[p] ? graph.from : graph.to)[p]! : bend[p]! + i - 1;
      const beside = i === 1 ? sides.out[p] !== 0 : i === span[p]! && sides.into[p] !== 0;
      if (!beside && Math.abs(x[last]! - x[next]!) > 2) {
        gaps[first + i - 1]!.push({ from: last, left: Math.min(x[last]!, x[next]!), right: Math.max(x[last]!, x[next]!) });
      }
      last = next;
    }
  }
  const clear = gaps.map((gap) => {
    gap.sort((a, b) => a.left - b.left);
    let [from, right] = [-1, -Infinity];
    for (const one of gap) {
      if (one.left < right - 2 && one.from !== from) {
        return false;
      }
      if (one.right > right) {
        [from, right] = [one.from, one.right];
      }
    }
    return true;
  });
  for (let p = 0; p < edges; p++) {
    elbows[p] = Number(span[p] === 1 && !lane[p] && !reversed[p] && clear[rank[graph.from[p]!]!]);
  }
  return elbows;
}

/** Where a line stands that leaves or meets a side: beside the box, or where it runs anyway. */
export function besideX(middle: number, width: number, side: number, runs: number): number {
  return side > 0 ? Math.max(runs, middle + width / 2 + TURN) : Math.min(runs, middle - width / 2 - TURN);
}

/** Edges that meet at the top of a node, side by side; the straightest one keeps the middle. */
export function meet(
  level: Level,
  placed: Placed,
  inner: readonly (LevelLayout | null)[],
  size: readonly { w: number }[],
  { into: beside }: Sides,
): Float64Array {
  const { graph, ordered } = level;
  const edges = graph.from.length;
  const shift = new Float64Array(edges);
  const into: number[][] = [];
  for (let p = 0; p < edges; p++) {
    if (!beside[p]) {
      (into[graph.to[p]!] ??= []).push(p);
    }
  }
  const cameFrom = (p: number): number => {
    if (ordered!.lane[p]) {
      return placed.laneX[p]!;
    }
    return placed.x[ordered!.span[p]! > 1 ? ordered!.bend[p]! + ordered!.span[p]! - 2 : graph.from[p]!]!;
  };
  into.forEach((list, v) => {
    if (list.length < 2 || v >= level.children.length || inner[v]) {
      return;
    }
    const x = placed.x[v]!;
    list.sort((a, b) => cameFrom(a) - cameFrom(b) || a - b);
    const step = Math.min(22, (size[v]!.w - 24) / list.length);
    let straight = (list.length - 1) / 2;
    list.forEach((p, i) => {
      if (Math.abs(cameFrom(p) - x) < 2) {
        straight = i;
      }
    });
    list.forEach((p, i) => (shift[p] = (i - straight) * step));
  });
  return shift;
}

/** The corners of the area that a line crosses. */
export function frame(line: Line): void {
  const xs: number[] = [];
  const ys: number[] = [];
  for (let i = 0; i < line.parts.length; i += 3) {
    xs.push(line.parts[i]!);
    ys.push(line.parts[i + 1]!, line.parts[i + 2]!);
  }
  for (const [x, y] of [...line.corners, line.out, line.into].filter((one) => one !== null)) {
    xs.push(x);
    ys.push(y);
  }
  line.left = Math.min(...xs);
  line.right = Math.max(...xs);
  line.top = Math.min(...ys);
  line.bottom = Math.max(...ys);
}
