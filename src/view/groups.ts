/**
 * The hierarchy that the picture opens and closes: the model's own composites, and, where a level is
 * long, groups of neighbours (by the names they share, by the branches between a fork and its join)
 * and folds of identical blocks. Groups are intervals of a topological order, so that a closed
 * group never closes a cycle.
 */

import type { FlowDoc } from "./doc";
import { push, worse } from "./doc";
import type { Severity, Status } from "./wire";

export interface Item {
  id: string;
  /** Index of the wire node; -1 for a group that only the picture knows. */
  node: number;
  label: string;
  parent: Item | null;
  depth: number;
  children: Item[];
  /** For a fold: how many identical blocks it holds. */
  times: number;
  leaves: number;
  status: Status;
  severity: Severity | undefined;
  problems: number;
  /** Only raw operations within: opened by hand, or by a problem. */
  raw: boolean;
}

export interface Tree {
  root: Item;
  items: Map<string, Item>;
  /** The item of each wire node. */
  of: Item[];
}

type Pair = readonly [Item, Item, number];

const LONG = 22;
const WIDEST = 60;

export function item(id: string, node: number, label: string): Item {
  return {
    id,
    node,
    label,
    parent: null,
    depth: 0,
    children: [],
    times: 1,
    leaves: 0,
    status: "ok",
    severity: undefined,
    problems: 0,
    raw: false,
  };
}

export function buildTree(doc: FlowDoc): Tree {
  const root = item("", -1, doc.report.title || "flow");
  const of = doc.nodes.map((node, i) => item(node.id, i, node.name || node.op));
  of.forEach((one, i) => {
    const p = doc.byId.get(doc.node(i).parent ?? "");
    let parent = p === undefined || p === i ? root : of[p]!;
    for (let up: Item | null = parent; up; up = up.parent) {
      if (up === one) {
        parent = root;
      }
    }
    one.parent = parent;
    parent.children.push(one);
  });
  const items = new Map<string, Item>();
  const deepen = (one: Item): void => {
    for (const child of one.children) {
      child.depth = one.depth + 1;
      deepen(child);
    }
  };
  deepen(root);
  const links = between(doc, of);
  const shape = (level: Item): void => {
    const inner = [...level.children];
    if (level.children.length > LONG || level.children.some((child) => child.children.length)) {
      const lane = level === root ? level.children.filter((c) => doc.node(c.node).kind === "stage") : [];
      const rest = level.children.filter((child) => !lane.includes(child));
      level.children = lane.concat(regroup(doc, links.get(level) ?? [], level.id, rest));
    }
    inner.forEach(shape);
  };
  shape(root);
  const finish = (one: Item, parent: Item | null): void => {
    one.parent = parent;
    one.depth = parent ? parent.depth + 1 : 0;
    if (one.id) {
      items.set(one.id, one);
    }
    one.children.forEach((child) => {
      finish(child, one);
    });
    summarise(doc, one);
  };
  finish(root, null);
  return { root, items, of };
}

function summarise(doc: FlowDoc, one: Item): void {
  const own = one.node >= 0;
  one.severity = own ? doc.nodeSeverity[one.node] : undefined;
  one.problems = own ? (doc.nodeFindings.get(one.node)?.length ?? 0) : 0;
  one.status = own ? doc.status(one.node) : "ok";
  one.leaves = one.children.length ? 0 : 1;
  let unreached = one.children.length > 0;
  for (const child of one.children) {
    one.severity = worse(one.severity, child.severity);
    one.problems += child.problems;
    one.leaves += child.leaves;
    if (child.status === "failed") {
      one.status = "failed";
    }
    if (child.status !== "not-reached") {
      unreached = false;
    }
  }
  if (unreached && one.status === "ok") {
    one.status = "not-reached";
  }
  one.raw = one.children.length > 0 && one.children.every((child) => child.raw || (child.node >= 0 && doc.node(child.node).kind === "op"));
}

/** Edges of the flow between the children of each level, by the level that both ends share. */
function between(doc: FlowDoc, of: readonly Item[]): Map<Item, Pair[]> {
  const pairs = new Map<Item, Pair[]>();
  doc.edges.forEach((edge, e) => {
    let a = of[doc.byId.get(edge.source)!]!;
    let b = of[doc.byId.get(edge.target)!]!;
    while (a.depth > b.depth) {
      a = a.parent!;
    }
    while (b.depth > a.depth) {
      b = b.parent!;
    }
    while (a.parent !== b.parent) {
      a = a.parent!;
      b = b.parent!;
    }
    if (a !== b && a.parent) {
      push(pairs, a.parent, [a, b, e]);
    }
  });
  return pairs;
}

/** Children in a topological order that keeps the document's where it can; null on a cycle. */
export function topological(children: readonly Item[], pairs: readonly Pair[]): Item[] | null {
  const index = new Map(children.map((one, i) => [one, i]));
  const waiting = new Int32Array(children.length);
  const out: number[][] = children.map(() => []);
  let ordered = true;
  for (const [a, b] of pairs) {
    const i = index.get(a);
    const j = index.get(b);
    if (i === undefined || j === undefined) {
      continue;
    }
    out[i]!.push(j);
    waiting[j]!++;
    if (i > j) {
      ordered = false;
    }
  }
  if (ordered) {
    return [...children];
  }
  const ready = children.map((_, i) => i).filter((i) => !waiting[i]);
  const done: Item[] = [];
  while (ready.length) {
    let least = 0;
    for (let k = 1; k < ready.length; k++) {
      if (ready[k]! < ready[least]!) {
        least = k;
      }
    }
    const i = ready.splice(least, 1)[0]!;
    done.push(children[i]!);
    for (const j of out[i]!) {
      if (!--waiting[j]!) {
        ready.push(j);
      }
    }
  }
  return done.length === children.length ? done : null;
}

function regroup(doc: FlowDoc, pairs: readonly Pair[], path: string, children: Item[]): Item[] {
  const list = topological(children, pairs);
  if (!list) {
    return children;
  }
  const position = new Map(list.map((one, i) => [one, i]));
  const before: number[][] = list.map(() => []);
  for (const [a, b] of pairs) {
    const i = position.get(a);
    const j = position.get(b);
    if (i !== undefined && j !== undefined) {
      before[j]!.push(i);
    }
  }
  let groups = list;
  if (groups.length > LONG) {
    groups = byName(doc, groups, 0, path);
  }
  if (groups.length > LONG && groups.every((one) => one.node >= 0)) {
    groups = byBranches(doc, groups, before, path);
  }
  groups = fold(doc, groups, position, before, path);
  return chunk(doc, groups, path);
}

/** Inputs, splits, losses and the like have a place of their own, never within a group. */
function apart(doc: FlowDoc, one: Item): boolean {
  return one.node >= 0 && !["layer", "op"].includes(doc.node(one.node).kind);
}

const plain = (text: string): string => text.replace(/[_\d]/g, "");

/** For each operation the letters of the name that a framework gives by itself. */
const given = new Map<string, string>();

function givenBy(op: string): string {
  let letters = given.get(op);
  if (letters === undefined) {
    letters = plain(op.replace(/([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, "$1$3_$2").toLowerCase());
    given.set(op, letters);
  }
  return letters;
}

function tokens(doc: FlowDoc, one: Item): string[] {
  const node = doc.node(one.node);
  // Names that the framework gave by itself say nothing of the structure, nor do those of one word.
  if (!/[/_.]/.test(node.name) || plain(node.name) === givenBy(node.op)) {
    return [];
  }
  return node.name.split(/[/_.]/).flatMap((word) => {
    const lettered = /^(\D+\d+)([a-z])$/.exec(word);
    return lettered ? [lettered[1]!, lettered[2]!] : [word];
  });
}

/** Runs of neighbours whose names share a numbered beginning: `block2`, and in it `block2a`. */
function byName(doc: FlowDoc, list: Item[], skip: number, path: string): Item[] {
  const beginning = (one: Item): { key: string; used: number } | null => {
    if (one.node < 0 || apart(doc, one)) {
      return null;
    }
    const words = tokens(doc, one);
    for (let i = skip; i < words.length - 1; i++) {
      if (/\d/.test(words[i]!) || (skip && words[i]!.length === 1)) {
        return { key: words.slice(0, i + 1).join("_"), used: i + 1 };
      }
    }
    return null;
  };
  const result: Item[] = [];
  const begun = list.map(beginning);
  let i = 0;
  while (i < list.length) {
    const start = begun[i];
    let j = i + 1;
    while (start && j < list.length && begun[j]?.key === start.key) {
      j++;
    }
    if (!start || j - i < 3 || j - i === list.length) {
      result.push(...list.slice(i, j));
    } else {
      const label = start.key.replace(/^(.*\D\d+)_([a-z])$/, "$1$2");
      const group = item(`${path}~${label}@${list[i]!.id}`, -1, label);
      const inner = list.slice(i, j);
      group.children = inner.length > 14 ? byName(doc, inner, start.used, group.id) : inner;
      result.push(group);
    }
    i = j;
  }
  return result;
}

/** What lies between a fork and its join, as one group that has the join's name. */
function byBranches(doc: FlowDoc, list: Item[], before: readonly (readonly number[])[], path: string): Item[] {
  // A place in the order is a cut where one tensor alone crosses it.
  const last = list.map(() => -1);
  before.forEach((edges, j) => {
    for (const i of edges) {
      last[i] = Math.max(last[i]!, j);
    }
  });
  const result: Item[] = [];
  let open = 0;
  const leaving: number[][] = list.map(() => []);
  last.forEach((j, i) => {
    if (j >= 0) {
      leaving[j]!.push(i);
    }
  });
  let run: Item[] = [];
  for (let k = 0; k < list.length; k++) {
    open -= leaving[k]!.length;
    if (last[k]! >= 0) {
      open++;
    }
    run.push(list[k]!);
    if (open > 1) {
      continue;
    }
    if (run.length >= 4 && !run.some((one) => apart(doc, one))) {
      const join = run[run.length - 1]!;
      const group = item(`${path}~to@${join.id}`, -1, `${run[0]!.label} … ${join.label}`);
      group.children = run;
      result.push(group);
    } else {
      result.push(...run);
    }
    run = [];
  }
  return result.concat(run);
}

/** Runs of the same block, once: `×12 identical`. */
function fold(
  doc: FlowDoc,
  list: Item[],
  position: ReadonlyMap<Item, number>,
  before: readonly (readonly number[])[],
  path: string,
): Item[] {
  // Numbers compare faster than the words they stand for; 0: like no other.
  const numbers = new Map([["", 0]]);
  const sign = Int32Array.from(list, (one) => {
    const words = signature(doc, one, position, before);
    let number = numbers.get(words);
    if (number === undefined) {
      numbers.set(words, (number = numbers.size));
    }
    return number;
  });
  const result: Item[] = [];
  let i = 0;
  while (i < list.length) {
    let best = { period: 0, times: 0 };
    for (let period = 1; period <= 8 && i + 2 * period <= list.length; period++) {
      if (period === 1 && !list[i]!.children.length) {
        continue;
      }
      let times = 1;
      while (same(sign, i, i + times * period, period)) {
        times++;
      }
      const least = period === 1 ? 2 : list.length > LONG ? 3 : Infinity;
      if (times >= least && times * period > best.times * best.period) {
        best = { period, times };
      }
    }
    if (!best.period) {
      result.push(list[i++]!);
      continue;
    }
    const blocks: Item[] = [];
    for (let t = 0; t < best.times; t++) {
      const part = list.slice(i + t * best.period, i + (t + 1) * best.period);
      if (best.period === 1) {
        blocks.push(part[0]!);
      } else {
        const block = item(`${path}~part@${part[0]!.id}`, -1, spanOf(part));
        block.children = part;
        blocks.push(block);
      }
    }
    const group = item(`${path}~fold@${list[i]!.id}`, -1, spanOf(list.slice(i, i + best.times * best.period)));
    group.children = blocks;
    group.times = best.times;
    result.push(group);
    i += best.times * best.period;
  }
  return result;
}

/** `first … last`, by what is written on them. */
function spanOf(list: readonly Item[]): string {
  const first = list[0]!.label.split(" … ")[0]!;
  const last = list[list.length - 1]!.label.split(" … ").pop()!;
  return `${first} … ${last}`;
}

function same(sign: Int32Array, a: number, b: number, period: number): boolean {
  if (b + period > sign.length) {
    return false;
  }
  for (let k = 0; k < period; k++) {
    if (sign[a + k] !== sign[b + k] || !sign[a + k]) {
      return false;
    }
  }
  return true;
}

/** How far back a reader's source still belongs to the pattern; beyond, it is merely "from outside". */
const REACH = 12;

/** What makes two blocks identical; empty where a problem makes a block worth its own place. */
function signature(
  doc: FlowDoc,
  one: Item,
  position: ReadonlyMap<Item, number>,
  before: readonly (readonly number[])[],
  first = -1,
): string {
  if (one.node >= 0) {
    const node = doc.node(one.node);
    if (doc.nodeSeverity[one.node] || doc.status(one.node) === "failed") {
      return "";
    }
    const out = doc.outOf[one.node]![0];
    const at = position.get(one) ?? -1;
    const least = first < 0 ? at - REACH : first;
    const spec = out === undefined ? "" : doc.alike[doc.edges[out]!.spec];
    let words = `${node.op}/${node.params ?? 0}/${node.status ?? ""}/${spec}/`;
    if (one.children.length) {
      return `${words}in[${one.children.map((child) => signature(doc, child, position, before)).join(";")}]`;
    }
    for (const i of at < 0 ? [] : before[at]!) {
      words += i < least ? "outside," : `${at - i},`;
    }
    return words;
  }
  const start = first < 0 ? firstOf(one, position) : first;
  const inner = one.children.map((child) => signature(doc, child, position, before, start));
  return inner.includes("") ? "" : `group[${inner.join(";")}]`;
}

function firstOf(one: Item, position: ReadonlyMap<Item, number>): number {
  return position.get(one) ?? firstOf(one.children[0]!, position);
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
      const group = item(`${path}~chunk@${part[0]!.id}`, -1, spanOf(part));
      group.children = part;
      result.push(group);
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
