/**
 * A long level made short: what stands side by side and is alike, names that share a beginning, identical blocks, what lies between a
 * fork and its join, and what has one size of picture. Each group is an interval of a topological order, or lies between one source
 * and one reader, so that a closed group never closes a cycle.
 */

import { apart, byEnding, byName, made, shared } from "./bynames";
import { push, type FlowDoc } from "./doc";
import { distinct, fold, onePiece, same, timesRead } from "./folding";
import { LONG, readers, topological, wired, type Item, type Pair } from "./groups";
import { chosen, titleOf } from "./titles";

const WIDEST = 60;

export function regroup(doc: FlowDoc, pairs: readonly Pair[], path: string, children: Item[]): Item[] {
  const sorted = topological(children, pairs);
  if (!sorted) {
    return children;
  }
  const list = sorted.length > LONG ? sideBySide(doc, sorted, pairs, path) : sorted;
  const named = list.length > LONG ? byName(doc, list, 0, path) : list;
  let of = list;
  let groups = fold(doc, named, list, pairs, path);
  if (groups.length > READABLE) {
    // Where names say little, what repeats says more; and some names tell their block at the end.
    const branches = branchwise(list, pairs);
    const ends = byEnding(doc, branches, path);
    for (const [base, units] of [
      [list, named.length < list.length && list],
      [branches, ends],
    ] as const) {
      const other = units && fold(doc, units, base, pairs, path);
      if (other && other.length < groups.length) {
        [of, groups] = [base, other];
      }
    }
  }
  if (groups.length > LONG) {
    const branched = byBranches(doc, groups, wired(groups, pairs), path);
    groups = fold(doc, branched, of, pairs, path);
  }
  if (groups.length > LONG) {
    groups = bySize(doc, groups, wired(groups, pairs), path);
  }
  return chunk(doc, groups, path);
}

/** How many boxes of a level can be taken in. */
const READABLE = 30;

/** From how many alike ways into one node on they are drawn once. */
const MANY = 6;

/**
 * Ways of the same kind from one source into one reader, such as the columns of a table. Where each column's input has several readers,
 * as in a wide and deep model, the inputs stand together, and so do the ways from them into each join.
 */
function sideBySide(doc: FlowDoc, list: Item[], pairs: readonly Pair[], path: string): Item[] {
  const before = wired(list, pairs).map(distinct);
  if (!before.some((sources) => sources.length >= MANY)) {
    return list;
  }
  const after = readers(before);
  const taken = new Map<number, Item>();
  const sign = (i: number): string => {
    const one = list[i]!;
    const node = doc.node(one.node);
    const specs = [...new Set(doc.outOf[one.node]!.map((e) => doc.alike[doc.edges[e]!.spec]))];
    return `${node.kind}/${node.op}/${specs.join()}`;
  };
  const isInput = (i: number): boolean => doc.node(list[i]!.node).kind === "input";
  const own = (i: number): boolean => {
    const one = list[i]!;
    const { kind } = doc.node(one.node);
    return ["input", "layer", "op"].includes(kind) && !doc.nodeSeverity[one.node] && doc.status(one.node) === "ok" && !taken.has(i);
  };
  const gather = (id: string, ways: Map<string, number[][]>): void => {
    for (const alike of ways.values()) {
      if (alike.length < MANY) {
        continue;
      }
      alike.sort((a, b) => a[0]! - b[0]!);
      const blocks = alike.map((way) => {
        const inner = way.map((i) => list[i]!);
        return inner.length > 1 ? made(`${path}~way@${inner[0]!.id}`, inner[0]!.label, inner) : inner[0]!;
      });
      const names = alike.map((way) => list[way[0]!]!.label);
      const group = made(`${path}~beside@${id}@${list[alike[0]![0]!]!.id}`, shared(names), blocks);
      group.times = alike.length;
      group.same = same(doc, blocks);
      alike.flat().forEach((i) => taken.set(i, group));
    }
  };
  before.forEach((sources, join) => {
    if (sources.length < MANY) {
      return;
    }
    const ways = new Map<string, number[][]>();
    for (const end of sources) {
      const way: number[] = [];
      let at = end;
      while (own(at) && after[at]!.length === 1 && doc.outOf[list[at]!.node]!.length === 1) {
        way.unshift(at);
        const [above, other] = before[at]!;
        if (above === undefined || other !== undefined || after[above]!.length !== 1) {
          break;
        }
        at = above;
      }
      if (way.length) {
        // An input of its own counts as the source that it reads.
        const from = before[way[0]!]!;
        const source = from.length === 1 && isInput(from[0]!) ? `${sign(from[0]!)}<${before[from[0]!]!.join()}` : from.join();
        push(ways, `${way.map(sign).join(";")}<${source}`, way);
      }
    }
    gather(list[join]!.id, ways);
  });
  const inputs = new Map<string, number[][]>();
  after.forEach((joins, i) => {
    const groups = joins.map((j) => taken.get(j)?.id);
    if (isInput(i) && own(i) && groups.every(Boolean) && groups.length === doc.outOf[list[i]!.node]!.length) {
      push(inputs, `${sign(i)}<${before[i]!.join()}>${groups.join()}`, [i]);
    }
  });
  gather("", inputs);
  if (!taken.size) {
    return list;
  }
  const units = list.map((one, i) => taken.get(i) ?? one);
  return topological([...new Set(units)], lifted(units, list, pairs)) ?? list;
}

function lifted(units: readonly Item[], list: readonly Item[], pairs: readonly Pair[]): Pair[] {
  const unit = new Map(list.map((one, i) => [one, units[i]!]));
  return pairs.flatMap(([a, b, e]): Pair[] => {
    const [from, to] = [unit.get(a) ?? a, unit.get(b) ?? b];
    return from === to ? [] : [[from, to, e]];
  });
}

/** The same nodes with each right after what it reads, so that a branch stands in one piece. */
function branchwise(list: readonly Item[], pairs: readonly Pair[]): Item[] {
  const before = wired(list, pairs);
  const state = new Uint8Array(list.length);
  const result: Item[] = [];
  const stack: number[] = [];
  for (let start = 0; start < list.length; start++) {
    stack.push(start);
    while (stack.length) {
      const i = stack[stack.length - 1]!;
      const waits = (one: number): boolean => !state[one];
      if (!state[i] && before[i]!.some(waits)) {
        stack.push(...[...distinct(before[i]!.filter(waits))].sort((a, b) => b - a));
        continue;
      }
      stack.pop();
      if (!state[i]) {
        state[i] = 1;
        result.push(list[i]!);
      }
    }
  }
  return result;
}

/** What lies between a fork and its join. */
function byBranches(doc: FlowDoc, list: Item[], before: readonly (readonly number[])[], path: string): Item[] {
  // A place in the order is a cut where one tensor alone crosses it; labels and masks go past everything.
  const readBy = timesRead(before);
  const last = list.map(() => -1);
  before.forEach((edges, j) => {
    for (const i of edges) {
      if (!apart(doc, list[i]!) && readBy[i]! < MANY) {
        last[i] = Math.max(last[i]!, j);
      }
    }
  });
  const result: Item[] = [];
  let open = 0;
  const leaving = new Int32Array(list.length);
  last.forEach((j) => {
    if (j >= 0) {
      leaving[j]!++;
    }
  });
  let from = 0;
  for (let k = 0; k < list.length; k++) {
    open -= leaving[k]!;
    if (last[k]! >= 0) {
      open++;
    }
    if (open > 1) {
      continue;
    }
    const run = list.slice(from, k + 1);
    // Layers that begin at inputs of their own are ways into a join, and no fork lies before them.
    const begins = (one: Item, i: number): boolean =>
      !!i && one.node >= 0 && doc.node(one.node).kind === "layer" && before[from + i]!.every((j) => apart(doc, list[j]!));
    if (run.length >= 4 && run.length < 0.7 * list.length && !run.some((one) => apart(doc, one)) && run.filter(begins).length < 2) {
      result.push(made(`${path}~to@${run[run.length - 1]!.id}`, titleOf(doc, run), run));
    } else {
      result.push(...run);
    }
    from = k + 1;
  }
  return result.concat(list.slice(from));
}

/** The size of the picture, or volume, that a part gives: `56×56`. */
function sizeOf(doc: FlowDoc, one: Item): string {
  let at = one;
  while (at.members.length && !at.wraps) {
    at = at.members[at.members.length - 1]!;
  }
  const out = doc.outOf[at.node]![0];
  const shape = out === undefined ? null : doc.spec(doc.edges[out]!).shape;
  return shape && shape.length > 3
    ? shape
        .slice(1, -1)
        .map((n) => n ?? "?")
        .join("×")
    : "";
}

/** The longest run of one size, in boxes. */
const FARTHEST = 300;

/** Runs that work at one size of picture, such as the steps of an encoder. */
function bySize(doc: FlowDoc, list: Item[], before: readonly (readonly number[])[], path: string): Item[] {
  const own = (one: Item): boolean => apart(doc, one) || (one.members.length > 0 && !one.wraps && chosen(doc, one));
  const sizes = list.map((one) => (own(one) ? "" : sizeOf(doc, one)));
  const result: Item[] = [];
  let i = 0;
  while (i < list.length) {
    let j = i + 1;
    while (j < list.length && sizes[i] && sizes[j] === sizes[i]) {
      j++;
    }
    j = i + onePiece(list.slice(i, Math.min(j, i + FARTHEST)), before);
    const run = list.slice(i, j);
    if (run.length < 3 || run.length > 0.7 * list.length) {
      result.push(...run);
    } else {
      const named = run.some((one) => chosen(doc, one));
      const label = named ? `${sizes[i]} · ${titleOf(doc, run)}` : sizes[i]!;
      const group = made(`${path}~at@${run[0]!.id}`, label, run);
      group.members = chunk(doc, run, group.id);
      result.push(group);
    }
    i = j;
  }
  return result;
}

/** The last resort for a level that is still too long to read: even parts. */
function chunk(doc: FlowDoc, list: Item[], path: string): Item[] {
  if (list.length <= WIDEST) {
    return list;
  }
  const size = Math.min(Math.max(20, Math.ceil(list.length / 40)), Math.ceil(list.length / 3));
  const result: Item[] = [];
  let part: Item[] = [];
  const close = (): void => {
    if (part.length > 2) {
      result.push(made(`${path}~chunk@${part[0]!.id}`, titleOf(doc, part), part));
    } else {
      result.push(...part);
    }
    part = [];
  };
  for (const one of list) {
    if (apart(doc, one)) {
      close();
      result.push(one);
    } else if (part.push(one) >= size) {
      close();
    }
  }
  close();
  return result;
}
