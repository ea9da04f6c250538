/** The hierarchy that the picture opens and closes: the model's own composites, and what the picture groups by itself. */

import type { FlowDoc } from "./doc";
import { STATES } from "./differences";
import { lists, push, put, worse } from "./doc";
import { regroup } from "./grouping";
import { sink } from "./sinking";
import type { Severity, Status } from "./wire";

export interface Item {
  id: string;
  /** Index of the wire node; -1 for a group that only the picture knows. */
  node: number;
  label: string;
  parent: Item | null;
  depth: number;
  members: Item[];
  /** For a fold: how many blocks it holds. */
  times: number;
  /** For a fold: the blocks are configured alike to the last fraction. */
  same: boolean;
  leaves: number;
  status: Status;
  severity: Severity | undefined;
  problems: number;
  /** A node with the light operations around it: it looks like the node, and its last way open shows them all. */
  wraps: boolean;
  /** How many nodes within, itself included, are added, removed and changed. */
  marked: [number, number, number];
  /** Only raw operations within: opened by hand, or by a problem. */
  raw: boolean;
  /** The place in the list that was wired last. */
  at: number;
}

export interface Tree {
  root: Item;
  items: Map<string, Item>;
  /** The item of each wire node. */
  of: Item[];
}

export type Pair = readonly [Item, Item, number];

/** From how many children on a level is grouped. */
export const LONG = 22;

const UNMARKED: Item["marked"] = [0, 0, 0];

export function item(id: string, node: number, label: string): Item {
  return {
    id,
    node,
    label,
    parent: null,
    depth: 0,
    members: [],
    times: 1,
    same: true,
    leaves: 0,
    status: "ok",
    severity: undefined,
    problems: 0,
    wraps: false,
    marked: UNMARKED,
    raw: false,
    at: -1,
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
    parent.members.push(one);
  });
  const items = new Map<string, Item>();
  const deepen = (one: Item): void => {
    for (const child of one.members) {
      child.depth = one.depth + 1;
      deepen(child);
    }
  };
  deepen(root);
  const links = between(doc, of);
  const shape = (level: Item): void => {
    const inner = level.members;
    if (!inner.length) {
      return;
    }
    const stage = (one: Item): boolean => level === root && doc.node(one.node).kind === "stage";
    const lane = inner.filter(stage);
    const rest = lane.length ? inner.filter((one) => !stage(one)) : inner;
    const sunk = sink(doc, rest, links.get(level) ?? []);
    if (sunk.members.length > LONG || sunk.members.some((child) => child.members.length)) {
      sunk.members = regroup(doc, sunk.pairs, level.id, sunk.members);
    }
    level.members = lane.concat(sunk.members);
    inner.forEach(shape);
  };
  shape(root);
  const finish = (one: Item, parent: Item | null): void => {
    one.parent = parent;
    one.depth = parent ? parent.depth + 1 : 0;
    if (one.id) {
      items.set(one.id, one);
    }
    one.members.forEach((child) => {
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
  one.leaves = one.members.length ? 0 : 1;
  const state = own && !one.wraps ? doc.marks[one.node]?.state : undefined;
  if (doc.report.difference) {
    one.marked = STATES.map((s) => Number(s === state)) as Item["marked"];
  }
  let unreached = one.members.length > 0;
  for (const child of one.members) {
    one.severity = worse(one.severity, child.severity);
    one.problems += one.wraps && child.node === one.node ? 0 : child.problems;
    one.leaves += child.leaves;
    if (doc.report.difference) {
      child.marked.forEach((n, s) => (one.marked[s]! += n));
    }
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
  one.raw =
    !one.wraps &&
    one.members.length > 0 &&
    one.members.every((child) => child.raw || (child.node >= 0 && doc.node(child.node).kind === "op"));
}

/** Edges of the flow between the children of each level, by the level that both ends share. */
function between(doc: FlowDoc, of: readonly Item[]): Map<Item, Pair[]> {
  const pairs = new Map<Item, Pair[]>();
  doc.edges.forEach((_, e) => {
    let a = of[doc.sourceOf[e]!]!;
    let b = of[doc.targetOf[e]!]!;
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

/** For each unit of a list the places of what it reads, one for each edge; what is in a group of the picture stands where the group does. */
export function wired(list: readonly Item[], pairs: readonly Pair[]): readonly (readonly number[])[] {
  const stand = (one: Item, i: number): void => {
    one.at = i;
    if (one.node < 0) {
      one.members.forEach((child) => {
        stand(child, i);
      });
    }
  };
  list.forEach(stand);
  // A level is looked at in several ways, and most leave its order as it was.
  const known = wirings.get(pairs);
  if (known?.list.length === list.length && list.every((one, i) => one === known.list[i])) {
    return known.before;
  }
  const before = lists(list.length);
  for (const [{ at: i }, { at: j }] of pairs) {
    if (i >= 0 && j >= 0 && i !== j) {
      put(before, j, i);
    }
  }
  wirings.set(pairs, { list: [...list], before });
  return before;
}

const wirings = new WeakMap<readonly Pair[], { list: readonly Item[]; before: number[][] }>();

/** For each unit the places of what reads it. */
export function readers(before: readonly (readonly number[])[]): number[][] {
  const after = lists(before.length);
  before.forEach((sources, j) => {
    for (const i of sources) {
      put(after, i, j);
    }
  });
  return after;
}

/** Children in a topological order that keeps the document's where it can. */
export function topological(children: readonly Item[], pairs: readonly Pair[]): Item[] | null {
  const before = wired(children, pairs);
  if (before.every((sources, j) => sources.every((i) => i < j))) {
    return [...children];
  }
  const out = readers(before);
  const waiting = before.map((sources) => sources.length);
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
