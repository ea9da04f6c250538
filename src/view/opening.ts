/** What is open at first: the way to the first problem, and as much as can be read at once. */

import { wholly } from "./differences";
import type { FlowDoc } from "./doc";
import type { Item, Tree } from "./groups";
import type { Scene } from "./layout/scene";

export function ancestors(item: Item): Item[] {
  const up: Item[] = [];
  for (let at = item.parent; at?.parent; at = at.parent) {
    up.push(at);
  }
  return up;
}

/** What the first look is for: the first problem, or where two programs are compared the first part that is other. */
export function firstOf(doc: FlowDoc): number | undefined {
  const found = doc.findings[0] && doc.focusOf(doc.findings[0]);
  if (!doc.report.difference) {
    return found;
  }
  const other = ["added", "removed", "changed"].map((state) => doc.marks.findIndex((mark) => mark?.state === state));
  return other.find((i) => i >= 0) ?? found;
}

/** The ids of all that can be opened. */
export function groupsOf(tree: Tree): string[] {
  return [...tree.items.values()].flatMap((item) => (item.members.length ? [item.id] : []));
}

/** `most`: how many boxes can be read at once. */
export function openingOf(doc: FlowDoc, tree: Tree, most = 30): Set<string> {
  const open = new Set<string>();
  const first = doc.findings.map((finding) => doc.focusOf(finding)).find((i) => i !== undefined);
  if (first !== undefined) {
    for (const up of ancestors(tree.of[first]!)) {
      open.add(up.id);
    }
  }
  const mixed = new Set(doc.marks.flatMap((mark, i) => (mark ? ancestors(tree.of[i]!).filter((up) => !wholly(up)) : [])));
  if (mixed.size <= most) {
    mixed.forEach((up) => open.add(up.id));
  }
  let level = tree.root.members;
  const only = level.filter((item) => item.node >= 0 && item.members.length);
  if (only.length === 1 && !only[0]!.raw && !only[0]!.wraps && only[0]!.members.length <= 2 * most) {
    open.add(only[0]!.id);
  }
  const seen = (items: readonly Item[]): number => items.reduce((sum, item) => sum + (open.has(item.id) ? 1 + seen(item.members) : 1), 0);
  while (level.length) {
    const next: Item[] = [];
    for (const item of level) {
      // What stands with light operations opens where the node itself would.
      const main = item.wraps ? item.members.find((child) => child.node === item.node)! : item;
      if (!item.members.length) {
        continue;
      }
      const wanted = item.node >= 0 && main.members.length > 0 && !main.raw && seen(tree.root.members) + item.members.length <= most;
      if (wanted || open.has(item.id)) {
        open.add(item.id);
        next.push(...item.members);
      }
    }
    level = next;
  }
  return open;
}

/** Nodes and edges of a finding, and the way from where it began to where it broke. */
export function pathOf(doc: FlowDoc, index: number): { nodes: Set<number>; edges: Set<number> } {
  const finding = doc.findings[index];
  const nodes = new Set<number>();
  const edges = new Set<number>();
  if (!finding) {
    return { nodes, edges };
  }
  for (const id of finding.nodes ?? []) {
    const i = doc.byId.get(id);
    if (i !== undefined) {
      nodes.add(i);
    }
  }
  for (const id of finding.edges ?? []) {
    const e = doc.edgeById.get(id);
    if (e === undefined) {
      continue;
    }
    edges.add(e);
    nodes.add(doc.sourceOf[e]!);
    nodes.add(doc.targetOf[e]!);
  }
  const end = doc.focusOf(finding);
  if (end === undefined || nodes.size < 2) {
    return { nodes, edges };
  }
  // Backwards from where it broke, until every named node above it is met.
  const from = new Map<number, number>();
  const queue = [end];
  for (let at = 0; at < queue.length && at < 20_000; at++) {
    for (const e of doc.into[queue[at]!]!) {
      const before = doc.sourceOf[e]!;
      if (before === end || from.has(before)) {
        continue;
      }
      from.set(before, e);
      queue.push(before);
    }
  }
  for (const start of [...nodes]) {
    let at = start;
    for (let e = from.get(at); e !== undefined && at !== end; e = from.get(at)) {
      edges.add(e);
      nodes.add(at);
      at = doc.targetOf[e]!;
    }
  }
  return { nodes, edges };
}

/** What of the picture belongs to a finding's way. */
export function litOf(
  doc: FlowDoc,
  index: number,
  scene: Scene,
  shown: (node: number) => Item,
): { items: Set<Item>; lines: Set<string> } | null {
  const { nodes, edges } = pathOf(doc, index);
  if (!nodes.size && !edges.size) {
    return null;
  }
  const lines = scene.lines.filter((line) => line.edges.some((e) => edges.has(e)));
  return { items: new Set([...nodes].map(shown)), lines: new Set(lines.map((line) => line.key)) };
}
