/** Layered layout of one level, the second step: coordinates for the sizes of the moment. */

import type { LevelGraph, LevelOrder } from "./order";

export interface Sizes {
  width: Float64Array;
  height: Float64Array;
  /** Where an edge leaves and enters, from the middle of its node. */
  fromOffset: Float64Array;
  toOffset: Float64Array;
  /** How much each edge wishes to be straight. */
  pull: Float64Array;
  /** Least room that an edge needs above its target. */
  room: Float64Array;
  apart: number;
  gap: number;
  /** Gaps after the tensors that come in, and before those that go out. */
  portGap: number;
  bendWidth: number;
  laneWidth: number;
}

export interface Placed {
  /** Middles of the items. */
  x: Float64Array;
  rowTop: Float64Array;
  rowBottom: Float64Array;
  width: number;
  height: number;
  /** Middle of the lane of each edge that has one. */
  laneX: Float64Array;
}

/** Nearest places to the wished ones that keep the order and the distances (pooled neighbours). */
export function settle(
  items: Int32Array,
  begin: number,
  end: number,
  wish: Float64Array,
  weight: Float64Array,
  half: Float64Array,
  apart: number,
  x: Float64Array,
): void {
  const n = end - begin;
  const sum = new Float64Array(n);
  const mass = new Float64Array(n);
  const size = new Int32Array(n);
  let blocks = 0;
  let offset = 0;
  for (let i = 0; i < n; i++) {
    const v = items[begin + i]!;
    if (i) {
      offset += half[items[begin + i - 1]!]! + half[v]! + apart;
    }
    sum[blocks] = (wish[v]! - offset) * weight[v]!;
    mass[blocks] = weight[v]!;
    size[blocks++] = 1;
    while (blocks > 1 && sum[blocks - 2]! / mass[blocks - 2]! >= sum[blocks - 1]! / mass[blocks - 1]!) {
      sum[blocks - 2]! += sum[blocks - 1]!;
      mass[blocks - 2]! += mass[blocks - 1]!;
      size[blocks - 2]! += size[blocks - 1]!;
      blocks--;
    }
  }
  offset = 0;
  let i = 0;
  for (let k = 0; k < blocks; k++) {
    const base = sum[k]! / mass[k]!;
    for (let j = 0; j < size[k]!; j++, i++) {
      const v = items[begin + i]!;
      if (i) {
        offset += half[items[begin + i - 1]!]! + half[v]! + apart;
      }
      x[v] = base + offset;
    }
  }
}

/** Moves each column to the right of the one before. */
function beside(column: Int32Array, columns: number, half: Float64Array, x: Float64Array, apart: number): void {
  const left = new Float64Array(columns).fill(Infinity);
  const right = new Float64Array(columns).fill(-Infinity);
  for (let v = 0; v < x.length; v++) {
    const c = column[v]!;
    left[c] = Math.min(left[c]!, x[v]! - half[v]!);
    right[c] = Math.max(right[c]!, x[v]! + half[v]!);
  }
  const shift = new Float64Array(columns);
  for (let c = 1; c < columns; c++) {
    shift[c] = right[c - 1]! + shift[c - 1]! + apart - left[c]!;
  }
  for (let v = 0; v < x.length; v++) {
    x[v]! += shift[column[v]!]!;
  }
}

/** A way that goes further aside than this from one row to the next goes round something. */
const KINK = 160;

/** Takes small kinks out of long ways as far as what stands beside them leaves room; twice, for ways that stand beside each other. */
function straighten({ items, rankOf, column, bend, span }: LevelOrder, half: Float64Array, apart: number, x: Float64Array): void {
  const at = new Int32Array(x.length);
  items.forEach((v, i) => (at[v] = i));
  const limit = (v: number, side: number): number => {
    const w = items[at[v]! + side];
    const beside = w !== undefined && rankOf[w] === rankOf[v] && column[w] === column[v];
    return beside ? x[w]! - side * (half[w]! + half[v]! + apart) : side * Infinity;
  };
  for (let turn = 0; turn < 2 * bend.length; turn++) {
    const e = turn % bend.length;
    const end = bend[e]! + span[e]! - 1;
    for (let first = bend[e]!, next; first >= 0 && first < end; first = next) {
      let [low, high, sum] = [limit(first, -1), limit(first, 1), x[first]!];
      for (next = first + 1; next < end && Math.abs(x[next]! - x[next - 1]!) < KINK; next++) {
        const [more, less] = [Math.max(low, limit(next, -1)), Math.min(high, limit(next, 1))];
        if (more > less) {
          break;
        }
        [low, high] = [more, less];
        sum += x[next]!;
      }
      x.fill(Math.max(low, Math.min(high, sum / (next - first))), first, next);
    }
  }
}

export function place(graph: LevelGraph, ordered: LevelOrder, sizes: Sizes): Placed {
  const { count } = graph;
  const { ranks, starts, items, total, rankOf, bend, span, lane, reversed, column, columns } = ordered;
  const edges = graph.from.length;
  const half = new Float64Array(total).fill(sizes.bendWidth / 2);
  for (let v = 0; v < count; v++) {
    half[v] = sizes.width[v]! / 2;
  }

  // What a node wishes: to stand where its edges meet it straight.
  const outShift = new Float64Array(ordered.down.length);
  const cursor = ordered.downStart.slice(0, total);
  const inCursor = ordered.upStart.slice(0, total);
  const inShift = new Float64Array(ordered.up.length);
  const outPull = new Float64Array(ordered.down.length);
  const inPull = new Float64Array(ordered.up.length);
  for (let e = 0; e < edges; e++) {
    if (lane[e]) {
      continue;
    }
    const turned = reversed[e];
    const head = (turned ? graph.to : graph.from)[e]!;
    const tail = (turned ? graph.from : graph.to)[e]!;
    const leave = (turned ? sizes.toOffset : sizes.fromOffset)[e]!;
    const enter = (turned ? sizes.fromOffset : sizes.toOffset)[e]!;
    let last = head;
    for (let i = 1; i <= span[e]!; i++) {
      const next = i === span[e]! ? tail : bend[e]! + i - 1;
      const shift = (last === head ? leave : 0) - (next === tail ? enter : 0);
      outPull[cursor[last]!] = sizes.pull[e]!;
      inPull[inCursor[next]!] = sizes.pull[e]!;
      outShift[cursor[last]!++] = shift;
      inShift[inCursor[next]!++] = shift;
      last = next;
    }
  }
  const x = new Float64Array(total);
  const wish = new Float64Array(total);
  const weight = new Float64Array(total);
  const drift = 140;
  const visit = (r: number, near: Int32Array, nearStart: Int32Array, shift: Float64Array, pull: Float64Array, sign: number): void => {
    for (let i = starts[r]!; i < starts[r + 1]!; i++) {
      const v = items[i]!;
      let direct = 0;
      let directSum = 0;
      let any = 0;
      let anySum = 0;
      for (let j = nearStart[v]!; j < nearStart[v + 1]!; j++) {
        const at = x[near[j]!]! + sign * shift[j]!;
        any += pull[j]!;
        anySum += at * pull[j]!;
        if (near[j]! < count) {
          direct += pull[j]!;
          directSum += at * pull[j]!;
        }
      }
      // The straight way from node to node counts before the bends of what passes by.
      wish[v] = direct ? directSum / direct : any ? anySum / any : x[v]!;
      weight[v] = v < count ? (direct ? 1000 * direct : any ? 10 : 0.1) : 1;
    }
    // Ports off the middle would let a long column drift aside: where it is one box wide it comes back.
    const first = items[starts[r]!]!;
    const end = starts[r + 1]!;
    const alone = end - starts[r]! < 2;
    if (alone && Math.abs(wish[first]!) > drift) {
      wish[first] = 0;
    }
    for (let from = starts[r]!, to = from; from < end; from = to) {
      while (to < end && column[items[to]!] === column[items[from]!]) {
        to++;
      }
      settle(items, from, to, wish, weight, half, sizes.apart, x);
    }
  };
  for (let r = 0; r < ranks; r++) {
    visit(r, ordered.up, ordered.upStart, inShift, inPull, 1);
  }
  for (let pass = 0; pass < 2; pass++) {
    for (let r = ranks - 2; r >= 0; r--) {
      visit(r, ordered.down, ordered.downStart, outShift, outPull, -1);
    }
    for (let r = 1; r < ranks; r++) {
      visit(r, ordered.up, ordered.upStart, inShift, inPull, 1);
    }
  }
  straighten(ordered, half, sizes.apart, x);

  const rowTop = new Float64Array(ranks);
  const rowBottom = new Float64Array(ranks);
  const need = new Float64Array(ranks + 1).fill(sizes.gap);
  for (let v = 0; v < count; v++) {
    if (graph.pin[v] === -1) {
      need[1] = sizes.portGap;
    } else if (graph.pin[v] === 1) {
      need[rankOf[v]!] = sizes.portGap;
    }
  }
  for (let e = 0; e < edges; e++) {
    const below = rankOf[(reversed[e] ? graph.from : graph.to)[e]!]!;
    if (sizes.room[e]! > need[below]!) {
      need[below] = sizes.room[e]!;
    }
  }
  // Edges that go far sideways get a taller gap, so that they do not lie flat.
  for (let v = 0; v < total; v++) {
    for (let j = ordered.downStart[v]!; j < ordered.downStart[v + 1]!; j++) {
      const w = ordered.down[j]!;
      const wide = Math.abs(x[v]! - x[w]!) / 9;
      const r = rankOf[w]!;
      if (wide > need[r]!) {
        need[r] = Math.max(need[r]!, Math.round(Math.min(wide, 2.6 * sizes.gap)));
      }
    }
  }
  let y = 0;
  for (let r = 0; r < ranks; r++) {
    let tall = 0;
    for (let i = starts[r]!; i < starts[r + 1]!; i++) {
      if (items[i]! < count) {
        tall = Math.max(tall, sizes.height[items[i]!]!);
      }
    }
    if (r) {
      y += need[r]!;
    }
    rowTop[r] = y;
    y += tall;
    rowBottom[r] = y;
  }
  beside(column, columns, half, x, 2 * sizes.apart);
  let left = Infinity;
  let right = -Infinity;
  for (let v = 0; v < total; v++) {
    left = Math.min(left, x[v]! - half[v]!);
    right = Math.max(right, x[v]! + half[v]!);
  }
  if (left === Infinity) {
    left = right = 0;
  }
  for (let v = 0; v < total; v++) {
    x[v] = Math.round(x[v]! - left);
  }
  let width = Math.ceil(right - left) + 1;

  // Lanes at the right, one beside the other where they run at the same height.
  const laneX = new Float64Array(edges);
  const lanes: number[] = [];
  const longest: number[] = [];
  for (let e = 0; e < edges; e++) {
    if (lane[e]) {
      longest.push(e);
    }
  }
  const top = (e: number): number => rankOf[(reversed[e] ? graph.to : graph.from)[e]!]!;
  longest.sort((p, q) => span[p]! - span[q]! || top(p) - top(q) || p - q);
  const taken: [number, number][][] = [];
  for (const e of longest) {
    const t = top(e);
    const u = t + span[e]!;
    let k = 0;
    while (k < taken.length && taken[k]!.some(([s, f]) => s < u && t < f)) {
      k++;
    }
    if (k === taken.length) {
      taken.push([]);
      lanes.push(k);
    }
    taken[k]!.push([t, u]);
    laneX[e] = width + sizes.laneWidth * (k + 0.8);
  }
  if (lanes.length) {
    width = Math.ceil(width + sizes.laneWidth * (lanes.length + 0.6));
  }
  return { x, rowTop, rowBottom, width, height: y, laneX };
}
