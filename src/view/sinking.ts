/** Operations that compute nothing stand with the node that reads them, or with the one they read: one box, which opens. */

import { push, type FlowDoc } from "./doc";
import { item, readers, topological, wired, type Item, type Pair } from "./groups";

export interface Sunk {
  members: Item[];
  pairs: readonly Pair[];
}

/** Whether nothing is wrong with a node or with its tensors. */
function sound(doc: FlowDoc, i: number): boolean {
  const near = doc.into[i]!.concat(doc.outOf[i]!);
  return (
    !doc.nodeSeverity[i] &&
    doc.status(i) === "ok" &&
    !near.some((e) => doc.edgeSeverity[e] !== undefined || (doc.edges[e]!.status ?? "ok") !== "ok")
  );
}

/** Whether a node is an operation that makes masks and nothing else. */
function masks(doc: FlowDoc, i: number): boolean {
  const out = doc.outOf[i]!;
  return doc.node(i).kind === "op" && out.length > 0 && out.every((e) => doc.spec(doc.edges[e]!).dtype === "bool");
}

/** Whether a light operation may go out of sight. */
function light(doc: FlowDoc, one: Item): boolean {
  const i = one.node;
  return i >= 0 && !one.members.length && (doc.family(i) === "light" || masks(doc, i)) && sound(doc, i);
}

function host(doc: FlowDoc, one: Item): boolean {
  return ["layer", "op", "loss"].includes(doc.node(one.node).kind) && sound(doc, one.node);
}

export function sink(doc: FlowDoc, children: Item[], pairs: readonly Pair[]): Sunk {
  const unchanged: Sunk = { members: children, pairs };
  if (children.length < 3 || !children.some((one) => light(doc, one))) {
    return unchanged;
  }
  const list = topological(children, pairs);
  if (!list) {
    return unchanged;
  }
  const sources = wired(list, pairs);
  const after = readers(sources);
  const home = list.map((_, i) => i);
  const find = (i: number): number => (home[i] === i ? i : (home[i] = find(home[i]!)));
  /** The one host of a node's neighbours; -1 where there are several, or some on another level. */
  const only = (near: readonly number[], all: number): number => {
    const homes = new Set(near.map(find));
    const [first] = homes;
    return homes.size === 1 && near.length === all && host(doc, list[first!]!) ? first! : -1;
  };
  // To where all its readers are, else to where all it reads comes from: neither can close a cycle.
  for (let i = list.length - 1; i >= 0; i--) {
    const to = light(doc, list[i]!) ? only(after[i]!, doc.outOf[list[i]!.node]!.length) : -1;
    if (to >= 0) {
      home[i] = to;
    }
  }
  list.forEach((one, i) => {
    if (home[i] !== i || !light(doc, one)) {
      return;
    }
    const to = only(sources[i]!, doc.into[one.node]!.length);
    if (to >= 0 && to !== i) {
      home[i] = to;
    }
  });
  const members = new Map<number, Item[]>();
  list.forEach((one, i) => {
    push(members, find(i), one);
  });
  const shown = new Map<Item, Item>();
  for (const [at, inside] of members) {
    const main = list[at]!;
    let one = main;
    if (inside.length > 1) {
      one = item(`${main.id}~with`, main.node, main.label);
      one.wraps = true;
      one.members = inside;
    }
    inside.forEach((member) => shown.set(member, one));
  }
  return {
    members: [...new Set(list.map((one) => shown.get(one)!))],
    pairs: pairs.flatMap(([a, b, e]): Pair[] => {
      const [from, to] = [shown.get(a) ?? a, shown.get(b) ?? b];
      return from === to ? [] : [[from, to, e]];
    }),
  };
}

/** The operations around a wrapped node, in words. */
export function around(one: Item): [before: string[], after: string[]] {
  const at = one.members.findIndex((child) => child.node === one.node);
  const names = (list: readonly Item[]): string[] => list.map((child) => child.label);
  return [names(one.members.slice(0, at)), names(one.members.slice(at + 1))];
}
