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
}

export function portX(inner: LevelLayout, port: number | undefined, width: number): number {
  if (port === undefined) {
    return 0;
  }
  return Math.round((width - inner.width) / 2) + inner.placed.x[port]! - width / 2;
}

/** Edges that meet at the top of a node, side by side; the straightest one keeps the middle. */
export function meet(level: Level, placed: Placed, inner: readonly (LevelLayout | null)[], size: readonly { w: number }[]): Float64Array {
  const { graph, ordered } = level;
  const edges = graph.from.length;
  const shift = new Float64Array(edges);
  const into: number[][] = [];
  for (let p = 0; p < edges; p++) {
    (into[graph.to[p]!] ??= []).push(p);
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
  for (const [x, y] of line.corners) {
    xs.push(x);
    ys.push(y);
  }
  line.left = Math.min(...xs);
  line.right = Math.max(...xs);
  line.top = Math.min(...ys);
  line.bottom = Math.max(...ys);
}
