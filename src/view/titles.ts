/** What is written on a group that the picture makes. */

import type { FlowDoc } from "./doc";
import type { Item } from "./groups";

/** For each operation the names that a framework gives by itself: its letters, whatever numbers and underscores stand between. */
const given = new Map<string, RegExp>();

function givenBy(op: string): RegExp {
  let names = given.get(op);
  if (!names) {
    const letters = op.toLowerCase().replace(/[_\d]/g, "");
    names = new RegExp(`^${letters.replace(/./gs, (c) => `[_\\d]*\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`)}[_\\d]*$`);
    given.set(op, names);
  }
  return names;
}

/** Whether somebody chose a node's name: what the framework gives by itself says nothing of the structure. */
export function chosen(doc: FlowDoc, one: Item): boolean {
  if (one.node < 0) {
    return false;
  }
  const { name, op } = doc.node(one.node);
  return name !== op && !givenBy(op).test(name);
}

function leaves(list: readonly Item[], found: Item[] = []): Item[] {
  for (const one of list) {
    if (one.members.length && !one.wraps) {
      leaves(one.members, found);
    } else {
      found.push(one);
    }
  }
  return found;
}

/** The kinds of operation within, in the order in which they come first. */
export function about(doc: FlowDoc, list: readonly Item[], most = 3): string {
  const ops = new Set(
    leaves(list).map((one) => {
      const node = doc.node(one.node);
      return node.op || node.kind;
    }),
  );
  const shown = [...ops].slice(0, most).join(" → ");
  return ops.size > most ? `${shown} …` : shown;
}

/** `first … last` by the names that somebody chose, or what they share; without such, what the group is made of. */
export function titleOf(doc: FlowDoc, list: readonly Item[]): string {
  const inner = leaves(list);
  const composites = list.every((one) => one.node >= 0 && one.members.length > 0);
  if (
    !composites &&
    !inner.some((one) => chosen(doc, one)) &&
    list.every((one) => one.node >= 0 || one.label.includes("→") || !one.label.includes("…"))
  ) {
    const words = about(doc, list);
    return list.every((one) => one.node < 0 && one.label === list[0]!.label) ? list[0]!.label : words;
  }
  // Groups tell more of the structure than layers beside them.
  const groups = list.filter((one) => one.members.length && !one.wraps);
  const named = groups.length > 1 ? groups : list;
  return span(named[0]!.label, named[named.length - 1]!.label);
}

/** From one name to another: `block 4 … 8` where only their numbers differ; either may be such a span itself. */
export function span(from: string, to: string): string {
  const [first] = from.split(" … ") as [string];
  const [begin, end = begin] = to.split(" … ") as [string, string?];
  const last = +end ? begin.replace(/\d+$/, end) : end;
  const head = first.replace(/\d+$/, "");
  const number = last.slice(head.length);
  return first === last ? first : `${first} … ${head !== first && head + number === last && +number ? number : last}`;
}
