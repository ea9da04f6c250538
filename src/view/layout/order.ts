/**
 * Layered layout of one level of the hierarchy, top to bottom.
 *
 * The first of two steps: `order` gives every node a rank and a place in it. It depends on the graph
 * alone, so it is kept between openings and closings. Every function here stands alone in this file (no import, no module constant): a worker is made
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
  /** The column of each item: what hangs together stands together, and apart from the rest. */
  column: Int32Array;
  columns: number;
  total: number;
  /** Neighbours above and below of each item. */
  upStart: Int32Array;
  up: Int32Array;
  downStart: Int32Array;
  down: Int32Array;
}

/** Rows of neighbours: for each item of `keys`, the `values` that stand beside it. */
export function adjacency(total: number, keys: ArrayLike<number>, values: ArrayLike<number>, size: number): [Int32Array, Int32Array] {
  const start = new Int32Array(total + 1);
  for (let i = 0; i < size; i++) {
    start[keys[i]! + 1]!++;
  }
  for (let i = 0; i < total; i++) {
    start[i + 1]! += start[i]!;
  }
  const fill = start.slice(0, total);
  const list = new Int32Array(size);
  for (let i = 0; i < size; i++) {
    list[fill[keys[i]!]!++] = values[i]!;
  }
  return [start, list];
}

/** Edges that point backwards in a depth-first walk, marked. */
export function breakCycles(graph: LevelGraph): Uint8Array {
  const { count, from, to } = graph;
  const edges = from.length;
  const reversed = new Uint8Array(edges);
  const ids = new Int32Array(edges);
  for (let e = 0; e < edges; e++) {
    ids[e] = e;
  }
  const [start, out] = adjacency(count, from, ids, edges);
  const state = new Uint8Array(count);
  const cursor = start.slice(0, count);
  const stack = new Int32Array(count);
  for (let root = 0; root < count; root++) {
    if (state[root]) {
      continue;
    }
    let top = 0;
    stack[0] = root;
    state[root] = 1;
    while (top >= 0) {
      const node = stack[top]!;
      if (cursor[node]! < start[node + 1]!) {
        const edge = out[cursor[node]!++]!;
        const next = to[edge]!;
        if (state[next] === 1) {
          reversed[edge] = 1;
        } else if (!state[next]) {
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
  for (let e = 0; e < edges; e++) {
    waiting[b[e]!]!++;
  }
  const indegree = waiting.slice();
  const [start, out] = adjacency(count, a, b, edges);
  const queue = new Int32Array(count);
  let head = 0;
  let tail = 0;
  for (let v = 0; v < count; v++) {
    if (!waiting[v]) {
      queue[tail++] = v;
    }
  }
  while (head < tail) {
    const v = queue[head++]!;
    for (let i = start[v]!; i < start[v + 1]!; i++) {
      const w = out[i]!;
      if (rank[w]! < rank[v]! + 1) {
        rank[w] = rank[v]! + 1;
      }
      if (!--waiting[w]!) {
        queue[tail++] = w;
      }
    }
  }
  for (let i = tail - 1; i >= 0; i--) {
    const v = queue[i]!;
    const degree = start[v + 1]! - start[v]!;
    if (degree <= indegree[v]! || pin[v]) {
      continue;
    }
    let least = -1;
    for (let j = start[v]!; j < start[v + 1]!; j++) {
      const r = rank[out[j]!]!;
      if (least < 0 || r < least) {
        least = r;
      }
    }
    if (least > rank[v]! + 1) {
      rank[v] = least - 1;
    }
  }
  let lowest = Infinity;
  let highest = -Infinity;
  for (let v = 0; v < count; v++) {
    if (pin[v]) {
      continue;
    }
    lowest = Math.min(lowest, rank[v]!);
    highest = Math.max(highest, rank[v]!);
  }
  if (lowest === Infinity) {
    lowest = 1;
    highest = 0;
  }
  let first = lowest;
  for (let v = 0; v < count; v++) {
    if (pin[v] === -1) {
      first = lowest - 1;
    }
  }
  for (let v = 0; v < count; v++) {
    if (pin[v] === -1) {
      rank[v] = 0;
    } else if (pin[v] === 1) {
      rank[v] = highest + 1 - first;
    } else {
      rank[v]! -= first;
    }
  }
  return rank;
}

/**
 * The column of each node: the largest part that hangs together is the first, and the others stand beside it, one below the other
 * while there is room: their ranks are moved down for that.
 */
export function columnsOf(count: number, a: Int32Array, b: Int32Array, pin: Int8Array, rank: Int32Array): [Int32Array, number] {
  const home = new Int32Array(count);
  for (let v = 0; v < count; v++) {
    home[v] = v;
  }
  const find = (v: number): number => {
    while (home[v] !== v) {
      home[v] = home[home[v]!]!;
      v = home[v]!;
    }
    return v;
  };
  for (let e = 0; e < a.length; e++) {
    home[Math.max(find(a[e]!), find(b[e]!))] = Math.min(find(a[e]!), find(b[e]!));
  }
  const size = new Map<number, number>();
  const deep = new Map<number, number>();
  const pinned = new Set<number>();
  for (let v = 0; v < count; v++) {
    const part = find(v);
    size.set(part, (size.get(part) ?? 0) + 1);
    deep.set(part, Math.max(deep.get(part) ?? 0, rank[v]! + 1));
    if (pin[v]) {
      pinned.add(part);
    }
  }
  const parts = [...size.keys()].sort((p, q) => size.get(q)! - size.get(p)! || p - q);
  const column = new Map<number, number>();
  const shift = new Map<number, number>();
  let columns = 0;
  let bottom = Infinity;
  for (const part of parts) {
    const tall = deep.get(part)!;
    if (!columns || pinned.has(part) || pinned.size || bottom + tall > deep.get(parts[0]!)!) {
      column.set(part, columns++);
      bottom = columns > 1 ? tall : Infinity;
    } else {
      column.set(part, columns - 1);
      shift.set(part, bottom);
      bottom += tall;
    }
  }
  const result = new Int32Array(count);
  for (let v = 0; v < count; v++) {
    const part = find(v);
    result[v] = column.get(part)!;
    rank[v]! += shift.get(part) ?? 0;
  }
  return [result, columns];
}

/** One sweep: items of each rank sorted by the mean place of their neighbours in the rank before. */
export function sweep(
  starts: Int32Array,
  items: Int32Array,
  place: Float64Array,
  near: Int32Array,
  nearStart: Int32Array,
  downwards: boolean,
  column: Int32Array,
): void {
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
      for (let j = nearStart[v]!; j < nearStart[v + 1]!; j++) {
        sum += place[near[j]!]!;
      }
      key[v] = n ? sum / n : place[v]!;
    }
    // Insertion sort: ranks are short and nearly sorted, and equal items keep their order.
    for (let i = begin + 1; i < end; i++) {
      const v = items[i]!;
      let j = i - 1;
      while (j >= begin && (column[items[j]!]! > column[v]! || (column[items[j]!] === column[v] && key[items[j]!]! > key[v]!))) {
        items[j + 1] = items[j]!;
        j--;
      }
      items[j + 1] = v;
    }
    const middle = (end - begin - 1) / 2;
    for (let i = begin; i < end; i++) {
      place[items[i]!] = i - begin - middle;
    }
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
  const [columnOf, columns] = columnsOf(count, a, b, pin, rank);
  const span = new Int32Array(edges);
  const bend = new Int32Array(edges).fill(-1);
  const lane = new Uint8Array(edges);
  let total = count;
  let links = 0;
  for (let e = 0; e < edges; e++) {
    span[e] = rank[b[e]!]! - rank[a[e]!]!;
    if (span[e]! > graph.longest) {
      lane[e] = 1;
    } else {
      if (span[e]! > 1) {
        bend[e] = total;
        total += span[e]! - 1;
      }
      links += span[e]!;
    }
  }
  const rankOf = new Int32Array(total);
  rankOf.set(rank);
  const column = new Int32Array(total);
  column.set(columnOf);
  const upper = new Int32Array(links);
  const lower = new Int32Array(links);
  let l = 0;
  for (let e = 0; e < edges; e++) {
    if (lane[e]) {
      continue;
    }
    let last = a[e]!;
    for (let i = 1; i < span[e]!; i++) {
      const id = bend[e]! + i - 1;
      rankOf[id] = rank[a[e]!]! + i;
      column[id] = columnOf[a[e]!]!;
      upper[l] = last;
      lower[l++] = id;
      last = id;
    }
    upper[l] = last;
    lower[l++] = b[e]!;
  }
  let ranks = 0;
  for (let i = 0; i < total; i++) {
    ranks = Math.max(ranks, rankOf[i]! + 1);
  }
  const all = new Int32Array(total);
  for (let i = 0; i < total; i++) {
    all[i] = i;
  }
  const [starts, items] = adjacency(ranks, rankOf, all, total);
  const [upStart, up] = adjacency(total, lower, upper, links);
  const [downStart, down] = adjacency(total, upper, lower, links);
  const place = new Float64Array(total);
  for (let r = 0; r < ranks; r++) {
    const middle = (starts[r + 1]! - starts[r]! - 1) / 2;
    for (let i = starts[r]!; i < starts[r + 1]!; i++) {
      place[items[i]!] = i - starts[r]! - middle;
    }
  }
  for (let pass = 0; pass < 3; pass++) {
    sweep(starts, items, place, up, upStart, true, column);
    sweep(starts, items, place, down, downStart, false, column);
  }
  sweep(starts, items, place, up, upStart, true, column);
  return { rank, ranks, starts, items, rankOf, bend, span, reversed, lane, column, columns, total, upStart, up, downStart, down };
}
