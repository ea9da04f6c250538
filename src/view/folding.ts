/** Runs of the same block, drawn once: `×12 identical`, or `×12 similar` where a rate or another fraction differs. */

import { changeText } from "./differences";
import type { FlowDoc } from "./doc";
import { item, LONG, wired, type Item, type Pair } from "./groups";
import { titleOf } from "./titles";
import type { WireNode } from "./wire";

/** The longest block that is looked for, in nodes. */
const LONGEST = 160;

/** How far back a reader's source still belongs to the pattern; beyond, it is merely "from outside". */
const REACH = 12;

/** From how many readers on a source belongs to no block. */
const SHARED = 6;

/** A list of units and what each of them reads. */
interface Wiring {
  of: readonly Item[];
  before: readonly (readonly number[])[];
  far(i: number): boolean;
}

export function distinct(list: readonly number[]): readonly number[] {
  return list.length < 2 || (list.length === 2 && list[0] !== list[1]) ? list : [...new Set(list)];
}

/** By how many units each unit is read. */
export function timesRead(before: readonly (readonly number[])[]): Int32Array {
  const times = new Int32Array(before.length);
  before.forEach((sources) => {
    distinct(sources).forEach((i) => times[i]!++);
  });
  return times;
}

/** The repetition that covers most from a place on. */
interface Run {
  period: number;
  times: number;
}

const NONE: Run = { period: 0, times: 0 };

export function fold(doc: FlowDoc, list: Item[], of: readonly Item[], pairs: readonly Pair[], path: string): Item[] {
  const before = wired(of, pairs);
  const times = timesRead(before);
  const wiring: Wiring = { of, before, far: (i) => times[i]! >= SHARED };
  // Numbers compare faster than the words they stand for; 0: like no other.
  const numbers = new Map([["", 0]]);
  const sign = Int32Array.from(list, (one) => {
    const words = alone(doc, one) ? "" : signature(doc, one, wiring);
    let number = numbers.get(words);
    if (number === undefined) {
      numbers.set(words, (number = numbers.size));
    }
    return number;
  });
  const best = runs(list, sign, before);
  const result: Item[] = [];
  let i = 0;
  while (i < list.length) {
    const run = best(i);
    // A block may begin a little further on, where more of the same follow.
    let ahead = false;
    for (let j = i + 1; j < i + run.period && !ahead; j++) {
      const later = best(j);
      ahead = later.times * later.period > run.times * run.period;
    }
    if (!run.period || ahead) {
      result.push(list[i++]!);
      continue;
    }
    const whole = list.slice(i, i + run.times * run.period);
    const blocks: Item[] = [];
    for (let t = 0; t < run.times; t++) {
      const part = whole.slice(t * run.period, (t + 1) * run.period);
      if (run.period === 1) {
        blocks.push(part[0]!);
      } else {
        const block = item(`${path}~part@${part[0]!.id}`, -1, titleOf(doc, part));
        block.members = part;
        blocks.push(block);
      }
    }
    const group = item(`${path}~fold@${whole[0]!.id}`, -1, run.period === 1 ? titleOf(doc, whole) : titleOf(doc, blocks));
    group.members = blocks;
    group.times = run.times;
    group.same = same(doc, blocks);
    result.push(group);
    i += whole.length;
  }
  return result;
}

type Before = readonly (readonly number[])[];

/** Whether a part follows another, or reads the same: two models that stand side by side are not one twice. */
function follows(next: Item, one: Item, before: Before): boolean {
  const [places, sources] = [placesOf(one), [one, next].map((part) => [...placesOf(part)].flatMap((at) => before[at]!))] as const;
  return sources[1]!.some((i) => places.has(i)) || sources[1]!.every((i) => sources[0]!.includes(i) || placesOf(next).has(i));
}

/** How many of these parts, from the first on, hang together: two calls of one generator do not. */
export function onePiece(parts: readonly Item[], before: Before): number {
  const pieces: Set<number>[] = [];
  let best = 1;
  parts.forEach((one, k) => {
    let own = placesOf(one);
    const read = [...own].flatMap((at) => before[at]!);
    for (const piece of [...pieces]) {
      if (read.some((i) => piece.has(i))) {
        pieces.splice(pieces.indexOf(piece), 1);
        own.forEach((i) => piece.add(i));
        own = piece;
      }
    }
    if (pieces.push(own) === 1) {
      best = k + 1;
    }
  });
  return best;
}

function placesOf(one: Item): Set<number> {
  return new Set(one.node < 0 ? one.members.flatMap((child) => [...placesOf(child)]) : [one.at]);
}

/** For each place the repetition that covers most from there on, of the shortest block. */
function runs(list: readonly Item[], sign: Int32Array, before: Before): (i: number) => Run {
  const n = sign.length;
  const longest = Math.min(LONGEST, Math.floor(n / 2));
  const found = new Map<number, Run>();
  const best = (i: number): Run => found.get(i) ?? NONE;
  for (let period = nearest(sign); period <= longest; period++) {
    const least = period === 1 ? 2 : n <= LONG ? Infinity : period < 6 ? 3 : 2;
    // How many in a row are as the ones a block further on.
    let alike = 0;
    for (let i = n - period - 1; i >= 0; i--) {
      if (!sign[i] || sign[i] !== sign[i + period] || (period < 2 && !follows(list[i + 1]!, list[i]!, before))) {
        alike = 0;
        continue;
      }
      const times = Math.floor(++alike / period) + 1;
      const whole = (): boolean =>
        period > 1 ? onePiece(list.slice(i, i + period), before) === period : list[i]!.members.length > 0 && !list[i]!.wraps;
      if (times >= least && times * period > best(i).times * best(i).period && whole()) {
        found.set(i, { period, times });
      }
    }
  }
  return best;
}

/** How far the nearest two of one kind are from each other. */
function nearest(sign: Int32Array): number {
  const last = new Map<number, number>();
  let least = Infinity;
  sign.forEach((kind, i) => {
    if (kind) {
      least = Math.min(least, i - (last.get(kind) ?? -Infinity));
      last.set(kind, i);
    }
  });
  return least;
}

/** What makes two blocks identical. */
function signature(doc: FlowDoc, one: Item, wiring: Wiring, first = -1): string {
  if (one.node >= 0) {
    const node = doc.node(one.node);
    if (doc.nodeSeverity[one.node] || doc.status(one.node) === "failed") {
      return "";
    }
    const out = doc.outOf[one.node]![0];
    const { before, far } = wiring;
    const at = placeOf(wiring, one);
    const least = first < 0 ? at - REACH : first;
    const spec = out === undefined ? "" : doc.alike[doc.edges[out]!.spec];
    let words = `${node.op}/${node.params ?? 0}/${node.status ?? ""}/${spec}/${changeText(doc.marks[one.node])}/${configured(node)}/`;
    if (one.members.length && !one.wraps) {
      return `${words}in[${one.members.map((child) => signature(doc, child, wiring)).join(";")}]`;
    }
    for (const i of at < 0 ? [] : before[at]!) {
      words += i < least || far(i) ? "outside," : `${at - i},`;
    }
    return words;
  }
  const start = first < 0 ? firstOf(one, wiring) : first;
  const inner: string[] = [];
  for (const child of one.members) {
    const words = alone(doc, child) ? "" : signature(doc, child, wiring, start);
    if (!words) {
      return "";
    }
    inner.push(words);
  }
  return `group[${inner.join(";")}]`;
}

/** What a node was configured with, its name apart; fractions only where they are asked for. */
function configured({ config }: WireNode, fractions = false): string {
  return config
    ? JSON.stringify(config, (key, value: unknown) => (key === "name" || (!fractions && Number(value) % 1) ? undefined : value))
    : "";
}

/** Whether blocks that are alike are configured alike to the last fraction. */
export function same(doc: FlowDoc, blocks: readonly Item[]): boolean {
  const words = ({ node, members: children }: Item): string =>
    (node < 0 ? "" : configured(doc.node(node), true)) + children.map(words).join(";");
  return new Set(blocks.map(words)).size < 2;
}

/** Whether nothing can be like it. */
function alone(doc: FlowDoc, one: Item): boolean {
  return one.node >= 0 && doc.lonely(one.node);
}

function placeOf({ of }: Wiring, one: Item): number {
  return of[one.at] === one ? one.at : -1;
}

function firstOf(one: Item, wiring: Wiring): number {
  const at = placeOf(wiring, one);
  return at < 0 ? firstOf(one.members[0]!, wiring) : at;
}
