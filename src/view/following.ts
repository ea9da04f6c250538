/** An axis followed along the flow: up to where it begins and down to where it ends, with the sizes that it has on the way. */

import type { FlowDoc } from "./doc";
import { button, h } from "./dom";
import { section } from "./pane";
import * as trans from "./words";

/** Edges whose tensors have the axis, as far as they hang together with one that has it. */
export function alongAxis(doc: FlowDoc, edge: number, axis: string): Set<number> {
  const found = new Set([edge]);
  for (const e of found) {
    for (const i of [doc.sourceOf[e]!, doc.targetOf[e]!]) {
      for (const next of [...doc.into[i]!, ...doc.outOf[i]!]) {
        if (sizeOf(doc, next, axis)) {
          found.add(next);
        }
      }
    }
  }
  return found;
}

/** The size that an edge's axis of this name has. */
function sizeOf(doc: FlowDoc, e: number, axis: string): string {
  const spec = doc.spec(doc.edges[e]!);
  const at = spec.axes?.indexOf(axis) ?? -1;
  return at < 0 || !spec.shape ? "" : String(spec.shape[at] ?? "?");
}

/** Where the axis changes its size or ends, in the order of the flow: the node, the size before and after. */
export function turnsOf(doc: FlowDoc, edges: ReadonlySet<number>, axis: string): { node: number; before: string; after: string }[] {
  const said = (list: readonly number[]): string => [...new Set(list.map((e) => sizeOf(doc, e, axis)).filter(Boolean))].join("/");
  return doc.nodes.flatMap((_, node) => {
    const into = doc.into[node]!;
    const outOf = doc.outOf[node]!;
    if (!into.some((e) => edges.has(e)) && !outOf.some((e) => edges.has(e))) {
      return [];
    }
    const [before, after] = [said(into.filter((e) => edges.has(e))), said(outOf.filter((e) => edges.has(e)))];
    return before === after || (!outOf.length && before) ? [] : [{ node, before, after }];
  });
}

export interface Following {
  goTo(node: number): void;
  follow(edges: ReadonlySet<number> | null): void;
}

/** The axes of a tensor, each to be followed; below them where its size changes. */
export function axesPane(pane: HTMLElement, doc: FlowDoc, e: number, act: Following): void {
  const { axes, shape } = doc.spec(doc.edges[e]!);
  const named = (axes ?? []).filter((axis, i) => axis && shape && axes!.indexOf(axis) === i);
  if (!named.length) {
    return;
  }
  const list = h("ol.turns", {});
  const buttons = named.map((axis) =>
    button(axis, { "aria-pressed": "false" }, () => {
      const on = chosen.getAttribute("aria-pressed") !== "true" || chosen.dataset.axis !== axis;
      chosen.dataset.axis = axis;
      chosen.setAttribute("aria-pressed", String(on));
      buttons.forEach((one) => one.setAttribute("aria-pressed", String(on && one.textContent === axis)));
      const edges = on ? alongAxis(doc, e, axis) : null;
      act.follow(edges);
      const turns = edges ? turnsOf(doc, edges, axis) : [];
      list.replaceChildren(
        ...turns.map(({ node, before, after }) => {
          const words = `${before || trans.__("starts")} → ${after || trans.__("ends")}`;
          return h(
            "li",
            {},
            button(doc.node(node).name, { class: "link mono" }, () => act.goTo(node)),
            ` ${words}`,
          );
        }),
      );
    }),
  );
  const chosen: HTMLElement = h("div.row way", {}, ...buttons);
  section(pane, trans.__("Follow an axis"), chosen, list);
}
