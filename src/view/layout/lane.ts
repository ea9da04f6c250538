/** The pipeline's lane above the model: stages from left to right, in rows where it is narrow. */

import type { FlowDoc } from "../doc";
import type { Item } from "../groups";
import { topological } from "../groups";
import type { Levels } from "./levels";
import type { Scene } from "./scene";
import { boxSize } from "./sizes";

export interface Lane {
  boxes: { item: Item; x: number; y: number; w: number; h: number }[];
  x: number;
  width: number;
  height: number;
  /** The corners of a line between two stages. */
  corners(source: Item, target: Item, scene: Scene): [number, number][] | null;
}

const HEAD = 26;
const APART = 30;
const ROW = 30;

export function laneOf(doc: FlowDoc, levels: Levels, widest: number): Lane | null {
  const stages = levels.tree.root.members.filter((child) => levels.isStage(child));
  if (!stages.length) {
    return null;
  }
  const number = new Map(stages.map((one, i) => [one, i]));
  const pairs = doc.edges.flatMap((_, e): (readonly [Item, Item, number])[] => {
    const a = levels.source(e);
    const b = levels.target(e);
    return number.has(a) && number.has(b) && a !== b ? [[a, b, e] as const] : [];
  });
  const sorted = topological(stages, pairs) ?? stages;
  const column = new Map<Item, number>(sorted.map((one) => [one, 0]));
  for (const one of sorted) {
    for (const [a, b] of pairs) {
      if (a === one) {
        column.set(b, Math.max(column.get(b)!, column.get(a)! + 1));
      }
    }
  }
  const columns: Item[][] = [];
  for (const one of sorted) {
    (columns[column.get(one)!] ??= []).push(one);
  }

  const boxes: Lane["boxes"] = [];
  let x = 0;
  let top = HEAD;
  let width = 0;
  let bottom = 0;
  for (const list of columns) {
    const sizes = list.map((one) => boxSize(doc, one, 0));
    const w = Math.max(...sizes.map((size) => size.w));
    if (x && x + w > widest) {
      x = 0;
      top = bottom + ROW;
    }
    list.forEach((one, i) => {
      const y = top + i * 66;
      boxes.push({ item: one, x, y, w, h: sizes[i]!.h });
      bottom = Math.max(bottom, y + sizes[i]!.h);
    });
    width = Math.max(width, x + w);
    x += w + APART;
  }
  const corners = (source: Item, target: Item, scene: Scene): [number, number][] | null => {
    if (!number.has(source) || !number.has(target)) {
      return null;
    }
    const a = scene.byItem.get(source)!;
    const b = scene.byItem.get(target)!;
    // Boxes of one row begin at one height, and a straight line leaves and enters them.
    const level = a.y + Math.min(a.h, b.h) / 2;
    const ay = a.y === b.y ? level : a.y + a.h / 2;
    const by = a.y === b.y ? level : b.y + b.h / 2;
    if (b.x > a.x) {
      const middle = b.x - APART / 2;
      return ay === by
        ? [
            [a.x + a.w, ay],
            [b.x, by],
          ]
        : [
            [a.x + a.w, ay],
            [middle, ay],
            [middle, by],
            [b.x, by],
          ];
    }
    // Below the tallest box of the row above.
    const between = b.y - ROW / 2;
    const ax = a.x + a.w / 2;
    const bx = b.x + b.w / 2;
    return [
      [ax, a.y + a.h],
      [ax, between],
      [bx, between],
      [bx, b.y],
    ];
  };
  return { boxes, x: 0, width, height: bottom, corners };
}
