/** What is written on a group that the picture makes. */

import type { FlowDoc } from "./doc";
import type { Item } from "./groups";

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

/** Whether somebody chose a node's name: what the framework gives by itself says nothing of the structure. */
export function chosen(doc: FlowDoc, one: Item): boolean {
  if (one.node < 0) {
    return false;
  }
  const { name, op } = doc.node(one.node);
  return plain(name) !== givenBy(op) && name !== op;
}

function leaves(one: Item): Item[] {
  return one.children.length && !one.wraps ? one.children.flatMap(leaves) : [one];
}

/** The kinds of operation within, in the order in which they come first. */
export function about(doc: FlowDoc, list: readonly Item[], most = 3): string {
  const ops = new Set(
    list.flatMap(leaves).map((one) => {
      const node = doc.node(one.node);
      return node.op || node.kind;
    }),
  );
  const shown = [...ops].slice(0, most).join(" → ");
  return ops.size > most ? `${shown} …` : shown;
}

/** `first … last` by the names that somebody chose, or what they share; without such, what the group is made of. */
export function titleOf(doc: FlowDoc, list: readonly Item[]): string {
  const inner = list.flatMap(leaves);
  const composites = list.every((one) => one.node >= 0 && one.children.length > 0);
  if (
    !composites &&
    !inner.some((one) => chosen(doc, one)) &&
    list.every((one) => one.node >= 0 || one.label.includes("→") || !one.label.includes("…"))
  ) {
    const words = about(doc, list);
    return list.every((one) => one.node < 0 && one.label === list[0]!.label) ? list[0]!.label : words;
  }
  const first = list[0]!.label.split(" … ")[0]!;
  const last = list[list.length - 1]!.label.split(" … ").pop()!;
  return first === last ? first : `${first} … ${last}`;
}
