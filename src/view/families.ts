/** Families of layers: a colour, a letter that says the same without colour, a word, and the legend of those that are there. */

import { push, type FlowDoc } from "./doc";
import { h, on, unread } from "./dom";
import type { Item } from "./groups";
import type { Family } from "./wire";
import * as trans from "./words";

/** In the order of the legend. What is neither layer nor operation has none. */
export const FAMILY_SIGN: Record<Exclude<Family, "">, string> = {
  convolution: "C",
  dense: "D",
  recurrent: "R",
  attention: "A",
  embedding: "E",
  normalization: "N",
  activation: "ƒ",
  shape: "S",
  merge: "+",
  other: "·",
  own: "M",
  op: "o",
  light: "o",
};

export function familyWord(family: Family): string {
  const words: Record<Family, string> = {
    "": "",
    convolution: trans.__("convolution"),
    dense: trans.__("dense"),
    recurrent: trans.__("recurrent"),
    attention: trans.__("attention"),
    embedding: trans.__("embedding"),
    normalization: trans.__("normalization"),
    activation: trans.__("activation"),
    shape: trans.__("pooling, reshape"),
    merge: trans.__("merge"),
    other: trans.__("other layer"),
    own: trans.__("custom code, model"),
    op: trans.__("operation"),
    light: trans.__("operation"),
  };
  return words[family];
}

/** Light operations look like the other ones. */
export function lookOf(family: Family): Exclude<Family, "light"> {
  return family === "light" ? "op" : family;
}

/** How many leaves of each family are in a group, most first. */
export function mixOf(doc: FlowDoc, item: Item): [Family, number][] {
  const counts = new Map<Family, number>();
  const walk = (one: Item): void => {
    if (one.members.length) {
      one.members.forEach(walk);
    } else if (one.node >= 0) {
      const family = lookOf(doc.family(one.node));
      counts.set(family, (counts.get(family) ?? 0) + 1);
    }
  };
  walk(item);
  counts.delete("");
  return [...counts].sort((a, b) => b[1] - a[1]);
}

/** The families that are there, a line each, each a button that shows where its layers are. */
export function familyList(doc: FlowDoc, show: (nodes: readonly number[]) => void): HTMLElement {
  const nodes = new Map<Family, number[]>();
  doc.nodes.forEach((node, i) => {
    const family = lookOf(doc.family(i));
    if (family && !doc.parents.has(node.id)) {
      push(nodes, family, i);
    }
  });
  const buttons: HTMLButtonElement[] = [];
  const rows = (Object.keys(FAMILY_SIGN) as Exclude<Family, "">[]).flatMap((family) => {
    const list = nodes.get(family);
    if (!list) {
      return [];
    }
    const row = h(
      "button",
      { type: "button", "aria-pressed": "false" },
      unread(`span.sample fam-${family}`, FAMILY_SIGN[family]),
      h("span", {}, familyWord(family)),
      h("span.muted", {}, ` ${list.length}`),
    );
    on(row, "click", () => {
      const pressed = row.getAttribute("aria-pressed") === "true";
      buttons.forEach((one) => one.setAttribute("aria-pressed", "false"));
      row.setAttribute("aria-pressed", String(!pressed));
      show(pressed ? [] : list);
    });
    buttons.push(row);
    return [h("li", {}, row)];
  });
  return h("ul", { "aria-label": trans.__("Families"), hidden: !rows.length }, ...rows);
}
