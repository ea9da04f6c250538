/**
 * Layered layout of one level of the hierarchy, top to bottom.
 *
 * Two steps: `order` gives every node a rank and a place in it and depends on the graph alone, so it
 * is kept between openings and closings; `place` gives coordinates for the sizes of the moment.
 * Every function here stands alone in this file (no import, no module constant): a worker is made
 * from their source.
 */

export interface LevelGraph {
  count: number;
  from: Int32Array;
  to: Int32Array;
  /** -1 first rank, 1 last rank, 0 free. */
  pin: Int8Array;
  /** Edges over more ranks than this run in a lane beside the level. */
  longest: number;
}

export interface LevelOrder {
  rank: Int32Array;
  ranks: number;
  /** Items (nodes, then bends of long edges) rank by rank, left to right. */
  starts: Int32Array;
  items: Int32Array;
  rankOf: Int32Array;
  /** First bend of each edge (-1: none); its bends are consecutive. */
  bend: Int32Array;
  span: Int32Array;
  /** Edges that close a cycle and are laid out the other way round. */
  reversed: Uint8Array;
  lane: Uint8Array;
  total: number;
  /** Neighbours above and below of each item. */
  upStart: Int32Array;
  up: Int32Array;
  downStart: Int32Array;
  down: Int32Array;
}

export interface Sizes {
  width: Float64Array;
  height: Float64Array;
  /** Where an edge leaves and enters, from the middle of its node. */
  fromOffset: Float64Array;
  toOffset: Float64Array;
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

/** Rows of neighbours: for each item of `keys`, the `values` that stand beside it. */
export function adjacency(total: number, keys: ArrayLike<number>, values: ArrayLike<number>, size: number): [Int32Array, Int32Array] {
  const start = new Int32Array(total + 1);
  for (let i = 0; i < size; i++) start[keys[i]! + 1]!++;
  for (let i = 0; i < total; i++) start[i + 1]! += start[i]!;
  const fill = start.slice(0, total);
  const list = new Int32Array(size);
  for (let i = 0; i < size; i++) list[fill[keys[i]!]!++] = values[i]!;
  return [start, list];
}

/** Edges that point backwards in a depth-first walk, marked. */
export function breakCycles(graph: LevelGraph): Uint8Array {
  const { count, from, to } = graph;
  const edges = from.length;
  const reversed = new Uint8Array(edges);
  const ids = new Int32Array(edges);
  for (let e = 0; e < edges; e++) ids[e] = e;
  const [start, out] = adjacency(count, from, ids, edges);
  const state = new Uint8Array(count);
  const cursor = start.slice(0, count);
  const stack = new Int32Array(count);
  for (let root = 0; root < count; root++) {
    if (state[root]) continue;
    let top = 0;
    stack[0] = root;
    state[root] = 1;
    while (top >= 0) {
      const node = stack[top]!;
      if (cursor[node]! < start[node + 1]!) {
        const edge = out[cursor[node]!++]!;
        const next = to[edge]!;
        if (state[next] === 1) reversed[edge] = 1;
        else if (!state[next]) {
          state[next] = 1;
          stack[++top] = next;
        }
      } else {
        state[node] = 2;
        top--;
      }
    }
  }
  return reversed;
}

/** Longest-path ranks; nodes with more ways out than in are then drawn down to their readers. */
export function rankNodes(count: number, a: Int32Array, b: Int32Array, pin: Int8Array): Int32Array {
  const edges = a.length;
  const rank = new Int32Array(count);
  const waiting = new Int32Array(count);
  for (let e = 0; e < edges; e++) waiting[b[e]!]!++;
  const indegree = waiting.slice();
  const [start, out] = adjacency(count, a, b, edges);
  const queue = new Int32Array(count);
  let head = 0;
  let tail = 0;
  for (let v = 0; v < count; v++) if (!waiting[v]) queue[tail++] = v;
  while (head < tail) {
    const v = queue[head++]!;
    for (let i = start[v]!; i < start[v + 1]!; i++) {
      const w = out[i]!;
      if (rank[w]! < rank[v]! + 1) rank[w] = rank[v]! + 1;
      if (!--waiting[w]!) queue[tail++] = w;
    }
  }
  for (let i = tail - 1; i >= 0; i--) {
    const v = queue[i]!;
    const degree = start[v + 1]! - start[v]!;
    if (degree <= indegree[v]! || pin[v]) continue;
    let least = -1;
    for (let j = start[v]!; j < start[v + 1]!; j++) {
      const r = rank[out[j]!]!;
      if (least < 0 || r < least) least = r;
    }
    if (least > rank[v]! + 1) rank[v] = least - 1;
  }
  let lowest = Infinity;
  let highest = -Infinity;
  for (let v = 0; v < count; v++) {
    if (pin[v]) continue;
    lowest = Math.min(lowest, rank[v]!);
    highest = Math.max(highest, rank[v]!);
  }
  if (lowest === Infinity) {
    lowest = 1;
    highest = 0;
  }
  let first = lowest;
  for (let v = 0; v < count; v++) if (pin[v] === -1) first = lowest - 1;
  for (let v = 0; v < count; v++) {
    if (pin[v] === -1) rank[v] = 0;
    else if (pin[v] === 1) rank[v] = highest + 1 - first;
    else rank[v]! -= first;
  }
  return rank;
}

/** One sweep: items of each rank sorted by the mean place of their neighbours in the rank before. */
export function sweep(starts: Int32Array, items: Int32Array, place: Float64Array, near: Int32Array, nearStart: Int32Array, downwards: boolean): void {
  const ranks = starts.length - 1;
  const key = new Float64Array(place.length);
  for (let step = 1; step < ranks; step++) {
    const r = downwards ? step : ranks - 1 - step;
    const begin = starts[r]!;
    const end = starts[r + 1]!;
    if (end - begin === 1) {
      place[items[begin]!] = 0;
      continue;
    }
    for (let i = begin; i < end; i++) {
      const v = items[i]!;
      let sum = 0;
      const n = nearStart[v + 1]! - nearStart[v]!;
      for (let j = nearStart[v]!; j < nearStart[v + 1]!; j++) sum += place[near[j]!]!;
      key[v] = n ? sum / n : place[v]!;
    }
    // Insertion sort: ranks are short and nearly sorted, and equal items keep their order.
    for (let i = begin + 1; i < end; i++) {
      const v = items[i]!;
      let j = i - 1;
      while (j >= begin && key[items[j]!]! > key[v]!) {
        items[j + 1] = items[j]!;
        j--;
      }
      items[j + 1] = v;
    }
    const middle = (end - begin - 1) / 2;
    for (let i = begin; i < end; i++) place[items[i]!] = i - begin - middle;
  }
}

export function order(graph: LevelGraph): LevelOrder {
  const { count, pin } = graph;
  const edges = graph.from.length;
  const reversed = breakCycles(graph);
  const a = graph.from.slice();
  const b = graph.to.slice();
  for (let e = 0; e < edges; e++) {
    if (reversed[e]) {
      a[e] = graph.to[e]!;
      b[e] = graph.from[e]!;
    }
  }
  const rank = rankNodes(count, a, b, pin);
  const span = new Int32Array(edges);
  const bend = new Int32Array(edges).fill(-1);
  const lane = new Uint8Array(edges);
  let total = count;
  let links = 0;
  for (let e = 0; e < edges; e++) {
    span[e] = rank[b[e]!]! - rank[a[e]!]!;
    if (span[e]! > graph.longest) lane[e] = 1;
    else {
      if (span[e]! > 1) {
        bend[e] = total;
        total += span[e]! - 1;
      }
      links += span[e]!;
    }
  }
  const rankOf = new Int32Array(total);
  rankOf.set(rank);
  const upper = new Int32Array(links);
  const lower = new Int32Array(links);
  let l = 0;
  for (let e = 0; e < edges; e++) {
    if (lane[e]) continue;
    let last = a[e]!;
    for (let i = 1; i < span[e]!; i++) {
      const id = bend[e]! + i - 1;
      rankOf[id] = rank[a[e]!]! + i;
      upper[l] = last;
      lower[l++] = id;
      last = id;
    }
    upper[l] = last;
    lower[l++] = b[e]!;
  }
  let ranks = 0;
  for (let i = 0; i < total; i++) ranks = Math.max(ranks, rankOf[i]! + 1);
  const all = new Int32Array(total);
  for (let i = 0; i < total; i++) all[i] = i;
  const [starts, items] = adjacency(ranks, rankOf, all, total);
  const [upStart, up] = adjacency(total, lower, upper, links);
  const [downStart, down] = adjacency(total, upper, lower, links);
  const place = new Float64Array(total);
  for (let r = 0; r < ranks; r++) {
    const middle = (starts[r + 1]! - starts[r]! - 1) / 2;
    for (let i = starts[r]!; i < starts[r + 1]!; i++) place[items[i]!] = i - starts[r]! - middle;
  }
  for (let pass = 0; pass < 3; pass++) {
    sweep(starts, items, place, up, upStart, true);
    sweep(starts, items, place, down, downStart, false);
  }
  sweep(starts, items, place, up, upStart, true);
  return { rank, ranks, starts, items, rankOf, bend, span, reversed, lane, total, upStart, up, downStart, down };
}

/** Nearest places to the wished ones that keep the order and the distances (pooled neighbours). */
export function settle(items: Int32Array, begin: number, end: number, wish: Float64Array, weight: Float64Array, half: Float64Array, apart: number, x: Float64Array): void {
  const n = end - begin;
  const sum = new Float64Array(n);
  const mass = new Float64Array(n);
  const size = new Int32Array(n);
  let blocks = 0;
  let offset = 0;
  for (let i = 0; i < n; i++) {
    const v = items[begin + i]!;
    if (i) offset += half[items[begin + i - 1]!]! + half[v]! + apart;
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
      if (i) offset += half[items[begin + i - 1]!]! + half[v]! + apart;
      x[v] = base + offset;
    }
  }
}

export function place(graph: LevelGraph, ordered: LevelOrder, sizes: Sizes): Placed {
  const { count } = graph;
  const { ranks, starts, items, total, rankOf, bend, span, lane, reversed } = ordered;
  const edges = graph.from.length;
  const half = new Float64Array(total).fill(sizes.bendWidth / 2);
  for (let v = 0; v < count; v++) half[v] = sizes.width[v]! / 2;

  // What a node wishes: to stand where its edges meet it straight.
  const outShift = new Float64Array(ordered.down.length);
  const cursor = ordered.downStart.slice(0, total);
  const inCursor = ordered.upStart.slice(0, total);
  const inShift = new Float64Array(ordered.up.length);
  for (let e = 0; e < edges; e++) {
    if (lane[e]) continue;
    const turned = reversed[e];
    const head = (turned ? graph.to : graph.from)[e]!;
    const tail = (turned ? graph.from : graph.to)[e]!;
    const leave = (turned ? sizes.toOffset : sizes.fromOffset)[e]!;
    const enter = (turned ? sizes.fromOffset : sizes.toOffset)[e]!;
    let last = head;
    for (let i = 1; i <= span[e]!; i++) {
      const next = i === span[e]! ? tail : bend[e]! + i - 1;
      const shift = (last === head ? leave : 0) - (next === tail ? enter : 0);
      outShift[cursor[last]!++] = shift;
      inShift[inCursor[next]!++] = shift;
      last = next;
    }
  }
  const x = new Float64Array(total);
  const wish = new Float64Array(total);
  const weight = new Float64Array(total);
  const visit = (r: number, near: Int32Array, nearStart: Int32Array, shift: Float64Array, sign: number): void => {
    for (let i = starts[r]!; i < starts[r + 1]!; i++) {
      const v = items[i]!;
      let direct = 0;
      let directSum = 0;
      let any = 0;
      let anySum = 0;
      for (let j = nearStart[v]!; j < nearStart[v + 1]!; j++) {
        const at = x[near[j]!]! + sign * shift[j]!;
        any++;
        anySum += at;
        if (near[j]! < count) {
          direct++;
          directSum += at;
        }
      }
      // The straight way from node to node counts before the bends of what passes by.
      wish[v] = direct ? directSum / direct : any ? anySum / any : x[v]!;
      weight[v] = v < count ? (direct ? 1000 : any ? 10 : 0.1) : 1;
    }
    settle(items, starts[r]!, starts[r + 1]!, wish, weight, half, sizes.apart, x);
  };
  for (let r = 0; r < ranks; r++) visit(r, ordered.up, ordered.upStart, inShift, 1);
  for (let pass = 0; pass < 2; pass++) {
    for (let r = ranks - 2; r >= 0; r--) visit(r, ordered.down, ordered.downStart, outShift, -1);
    for (let r = 1; r < ranks; r++) visit(r, ordered.up, ordered.upStart, inShift, 1);
  }

  const rowTop = new Float64Array(ranks);
  const rowBottom = new Float64Array(ranks);
  const need = new Float64Array(ranks + 1).fill(sizes.gap);
  for (let v = 0; v < count; v++) {
    if (graph.pin[v] === -1) need[1] = sizes.portGap;
    else if (graph.pin[v] === 1) need[rankOf[v]!] = sizes.portGap;
  }
  for (let e = 0; e < edges; e++) {
    const below = rankOf[(reversed[e] ? graph.from : graph.to)[e]!]!;
    if (sizes.room[e]! > need[below]!) need[below] = sizes.room[e]!;
  }
  // Edges that go far sideways get a taller gap, so that they do not lie flat.
  for (let v = 0; v < total; v++) {
    for (let j = ordered.downStart[v]!; j < ordered.downStart[v + 1]!; j++) {
      const w = ordered.down[j]!;
      const wide = Math.abs(x[v]! - x[w]!) / 9;
      const r = rankOf[w]!;
      if (wide > need[r]!) need[r] = Math.max(need[r]!, Math.min(wide, 2.6 * sizes.gap));
    }
  }
  let y = 0;
  for (let r = 0; r < ranks; r++) {
    let tall = 0;
    for (let i = starts[r]!; i < starts[r + 1]!; i++) if (items[i]! < count) tall = Math.max(tall, sizes.height[items[i]!]!);
    if (r) y += need[r]!;
    rowTop[r] = y;
    y += tall;
    rowBottom[r] = y;
  }
  let left = Infinity;
  let right = -Infinity;
  for (let v = 0; v < total; v++) {
    left = Math.min(left, x[v]! - half[v]!);
    right = Math.max(right, x[v]! + half[v]!);
  }
  if (left === Infinity) left = right = 0;
  for (let v = 0; v < total; v++) x[v] = Math.round(x[v]! - left);
  let width = Math.ceil(right - left) + 1;

  // Lanes at the right, one beside the other where they run at the same height.
  const laneX = new Float64Array(edges);
  const lanes: number[] = [];
  const longest: number[] = [];
  for (let e = 0; e < edges; e++) if (lane[e]) longest.push(e);
  const top = (e: number): number => rankOf[(reversed[e] ? graph.to : graph.from)[e]!]!;
  longest.sort((p, q) => span[p]! - span[q]! || top(p) - top(q) || p - q);
  const taken: Array<Array<[number, number]>> = [];
  for (const e of longest) {
    const t = top(e);
    const u = t + span[e]!;
    let k = 0;
    while (k < taken.length && taken[k]!.some(([s, f]) => s < u && t < f)) k++;
    if (k === taken.length) {
      taken.push([]);
      lanes.push(k);
    }
    taken[k]!.push([t, u]);
    laneX[e] = width + sizes.laneWidth * (k + 0.8);
  }
  if (lanes.length) width = Math.ceil(width + sizes.laneWidth * (lanes.length + 0.6));
  return { x, rowTop, rowBottom, width, height: y, laneX };
}
