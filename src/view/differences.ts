/** What two compared programs have otherwise: signs that need no colour, and the pane that lists it. */

import type { FlowDoc } from "./doc";
import { button, h, unread } from "./dom";
import type { Item } from "./groups";
import { section, table } from "./pane";
import { count } from "./text";
import type { Change, Mark } from "./wire";
import * as trans from "./words";

export type State = Mark["state"];
export const STATES: readonly State[] = ["added", "removed", "changed"];
export const STATE_SIGN: Record<State, string> = { added: "+", removed: "−", changed: "±" };

export function stateWord(state: State): string {
  return { added: trans.__("added"), removed: trans.__("removed"), changed: trans.__("changed") }[state];
}

/** The mark of what an item stands for; of a closed group, what is within. */
export function stateOf(doc: FlowDoc, item: Item): State | undefined {
  const own = item.node >= 0 ? doc.marks[item.node]?.state : undefined;
  if (own || !item.members.length) {
    return own;
  }
  return wholly(item) ?? (item.marked.some(Boolean) ? "changed" : undefined);
}

/** What became of all that is in a group, where that is the same. */
export function wholly(item: Item): State | undefined {
  const within = STATES.filter((_, s) => item.marked[s]);
  return within.length === 1 && Math.max(...item.marked) >= item.leaves ? within[0] : undefined;
}

/** `+2 −1 ±3`: what is other within a group. */
export function tally(item: Item): string {
  return STATES.map((state, s) => (item.marked[s] ? `${STATE_SIGN[state]}${item.marked[s]}` : ""))
    .filter(Boolean)
    .join(" ");
}

/** The changes of a node or an edge in one text, for telling alike ones. */
export function changeText(mark: Mark | undefined): string {
  return mark ? `${mark.state}${(mark.changes ?? []).map((one) => `${one.what}:${one.before}>${one.after}`).join(";")}` : "";
}

/** For changed edges the tensor that they had. */
export function formerly(doc: FlowDoc): [string, string][] {
  return doc.edgeMarks.flatMap((mark, e): [string, string][] => {
    const tensor = mark?.changes?.find((one) => one.what === "shape" || one.what === "dtype");
    return tensor ? [[doc.edges[e]!.id, tensor.before]] : [];
  });
}

export function changeTable(changes: readonly Change[]): HTMLElement {
  return table(
    [trans.__("what"), trans.__("before"), trans.__("after")],
    changes.map((one) => [one.what, one.before, one.after]),
  );
}

/** The line over a comparison: which two, and what the signs mean. */
export function differenceBanner(doc: FlowDoc, mark: (nodes: readonly number[]) => void): HTMLElement | null {
  const { difference } = doc.report;
  if (!difference) {
    return null;
  }
  const line = h("div.banner compared", {}, h("span", {}, `${difference.before} → ${difference.after}`));
  for (const state of STATES) {
    const nodes = doc.marks.flatMap((one, i) => (one?.state === state ? [i] : []));
    if (nodes.length) {
      const words = `${STATE_SIGN[state]} ${nodes.length} ${stateWord(state)}`;
      line.append(button(words, { class: `state diff-${state}` }, () => mark(nodes)));
    }
  }
  return line;
}

/** Everything that is other: of the whole, then part by part in the order of the flow. */
export function changesPane(doc: FlowDoc, goTo: (node: number) => void): HTMLElement {
  const pane = h("div", {});
  const difference = doc.report.difference!;
  pane.append(h("h2.title", {}, trans.__("From %1 to %2", difference.before, difference.after)));
  if (difference.totals?.length) {
    section(pane, trans.__("Totals"), changeTable(difference.totals));
  }
  const list = h("ul.list", {});
  doc.marks.forEach((mark, i) => {
    if (!mark) {
      return;
    }
    const node = doc.node(i);
    const entry = button("", { class: "entry" }, () => goTo(i));
    entry.append(
      unread(`span.state diff-${mark.state}`, STATE_SIGN[mark.state]),
      h("span", {}, `${node.name || node.op} · ${stateWord(mark.state)}${mark.was ? ` · ${trans.__("was %1", mark.was)}` : ""}`),
    );
    const changes = (mark.changes ?? []).slice(0, 3).map((one) => `${one.what} ${one.before} → ${one.after}`);
    list.append(h("li", {}, entry, changes.length ? h("p.muted changes", {}, changes.join("; ")) : null));
  });
  if (list.childElementCount) {
    section(pane, trans.__("By node"), list);
  }
  pane.append(h("p.muted", {}, trans.__("%1 unchanged", count(difference.same ?? 0, "layer"))));
  return pane;
}
