/** One node in full: where it stands, its config, tensors, weights, replicas and memory. */

import { changeTable, stateWord } from "./differences";
import { SEVERITY_SIGN, type FlowDoc, type Held } from "./doc";
import { button, h, unread } from "./dom";
import { axesPane, type Following } from "./following";
import type { Item } from "./groups";
import { weightText } from "./placed";
import { axesText, bytesText, count, numberText, placeText, plain, shapeText, shortDtype } from "./text";
import { bar, section, table } from "./pane";
import type { Location } from "./wire";
import * as trans from "./words";

export interface DetailActions extends Following {
  /** Shows the way from the data to a node alone. */
  wayTo(node: number): void;
  choose(finding: number): void;
  toggle(item: Item): void;
  isOpen(item: Item): boolean;
  locate?: ((location: Location) => void) | undefined;
  charts?: (() => void) | undefined;
}

export function detailsPane(doc: FlowDoc, item: Item | null, act: DetailActions): HTMLElement {
  const pane = h("div", {});
  if (!item) {
    pane.append(h("h2.section", {}, trans.__("Nothing selected")));
    pane.append(h("p.muted", {}, trans.__("Select a node to see its config, tensors, weights and replicas.")));
    return pane;
  }
  const node = item.node >= 0 ? doc.node(item.node) : undefined;
  pane.append(
    h(
      "div.eyebrow",
      {},
      node
        ? `${node.kind}${item.status === "ok" ? "" : ` · ${item.status === "failed" ? trans.__("✖ raises") : trans.__("not reached")}`}`
        : trans.__("group"),
    ),
  );
  pane.append(h("h2.title", {}, item.label));
  if (node) {
    places(pane, doc, item.node, act);
  } else {
    pane.append(
      h(
        "p.muted",
        {},
        item.times > 1
          ? item.same
            ? trans.__("%1 identical blocks, %2 in all", item.times, count(item.leaves, "layer"))
            : trans.__("%1 similar blocks, %2 in all", item.times, count(item.leaves, "layer"))
          : trans.__("%1, grouped automatically", count(item.leaves, "layer")),
      ),
    );
  }
  if (item.members.length) {
    pane.append(
      h(
        "div.row way",
        {},
        button(act.isOpen(item) ? trans.__("Collapse") : trans.__("Expand"), {}, () => act.toggle(item)),
      ),
    );
  }
  if (!node) {
    return pane;
  }
  if (doc.into[item.node]!.length) {
    pane.append(
      h(
        "div.row way",
        {},
        button(trans.__("Path from the data to here"), {}, () => act.wayTo(item.node)),
      ),
    );
  }
  const found = doc.nodeFindings.get(item.node) ?? [];
  if (found.length) {
    const list = h("ul.list", {});
    for (const f of found) {
      const finding = doc.findings[f]!;
      const entry = button("", { class: "entry" }, () => act.choose(f));
      entry.append(unread(`span.sev ${finding.severity}`, SEVERITY_SIGN[finding.severity]), finding.message);
      list.append(h("li", {}, entry));
    }
    section(pane, trans.__("Findings here"), list);
  }
  if (node.failure) {
    section(pane, trans.__("Error from the framework (%1)", node.failure.type), h("pre.message", { tabindex: "0" }, node.failure.message));
  }
  if (node.note) {
    pane.append(h("p.why", {}, node.note));
  }
  const mark = doc.marks[item.node];
  if (mark) {
    const was = mark.was ? ` · ${trans.__("was %1", mark.was)}` : "";
    section(pane, `${stateWord(mark.state)}${was}`, ...(mark.changes?.length ? [changeTable(mark.changes)] : []));
  }
  tensors(pane, doc, item.node, act);
  const gives = doc.outOf[item.node]![0];
  if (gives !== undefined) {
    axesPane(pane, doc, gives, act);
  }
  replicas(pane, doc.strip(item.node), doc);
  const config = Object.entries(node.config ?? {});
  if (config.length) {
    section(
      pane,
      trans.__("Config"),
      table(
        [trans.__("setting"), trans.__("value")],
        config.map(([key, value]) => [key, plain(value)]),
      ),
    );
  }
  const weights = doc.weights(item.node);
  if (weights.length) {
    section(
      pane,
      trans.__("Weights · %1 parameters", numberText(node.params ?? 0)),
      table(
        [trans.__("name"), trans.__("shape"), trans.__("dtype"), trans.__("copies")],
        weights.map((w) => [
          w.name + (w.trainable === false ? ` ${trans.__("(not trainable)")}` : ""),
          weightText(w, doc.report.target?.mesh),
          shortDtype(w.dtype),
          String(w.copies ?? 1),
        ]),
      ),
    );
  }
  memory(pane, doc, node.id);
  exchanged(pane, doc, node.id);
  return pane;
}

function places(pane: HTMLElement, doc: FlowDoc, i: number, act: DetailActions): void {
  const node = doc.node(i);
  const row = h("div.row way", {}, h("span.mono", {}, node.op));
  const add = (word: string, location: Location | null | undefined): void => {
    if (!location) {
      return;
    }
    const words = placeText(location);
    const { locate } = act;
    row.append(
      h("span.muted", {}, `· ${word}`),
      locate
        ? button(words, { class: "link mono" }, () => {
            locate(location);
          })
        : h("span.mono", {}, words),
    );
  };
  const made = doc.madeAt(i);
  const called = doc.calledAt(i);
  add(trans.__("created at"), made);
  if (placeText(called) !== placeText(made)) {
    add(trans.__("called at"), called);
  }
  pane.append(row);
  if (made?.text) {
    pane.append(h("pre.message", {}, made.text.trim()));
  }
}

function tensors(pane: HTMLElement, doc: FlowDoc, i: number, act: DetailActions): void {
  for (const [title, list, far, head] of [
    [trans.__("Inputs"), doc.into[i]!, doc.sourceOf, trans.__("from")],
    [trans.__("Outputs"), doc.outOf[i]!, doc.targetOf, trans.__("to")],
  ] as const) {
    if (!list.length) {
      continue;
    }
    const rows = list.slice(0, 60).map((e) => {
      const edge = doc.edges[e]!;
      const spec = doc.spec(edge);
      const i = far[e]!;
      const sign = doc.edgeSeverity[e]
        ? ` ${SEVERITY_SIGN[doc.edgeSeverity[e]]}`
        : edge.status === "not-reached"
          ? ` (${trans.__("not reached")})`
          : "";
      const words = h("span", {}, `${shortDtype(spec.dtype)} ${shapeText(spec.shape)}${sign}`);
      const axes = axesText(spec);
      if (axes) {
        words.append(h("br"), h("span.muted", {}, axes));
      }
      return [button(doc.node(i).name, { class: "link mono" }, () => act.goTo(i)), words, edge.label ?? ""];
    });
    const named = rows.some(([, , as]) => as);
    section(
      pane,
      title,
      table(
        [head, trans.__("tensor"), ...(named ? [trans.__("as")] : [])],
        rows.map((row) => (named ? row : row.slice(0, 2))),
      ),
    );
    if (list.length > 60) {
      pane.append(h("p.muted", {}, trans.__("and %1 more", list.length - 60)));
    }
  }
}

/** Every replica's shape and device. */
export function replicas(pane: HTMLElement, held: readonly Held[], doc: FlowDoc): void {
  if (held.length < 2) {
    return;
  }
  const odd = doc.odd(held);
  const rows = held.map((one) => [String(one.index), shapeText(one.shape) + (odd.has(one.index) ? " ≠" : ""), one.device]);
  section(
    pane,
    odd.size ? trans.__("Replicas · %1 of %2 differ", odd.size, held.length) : trans.__("Replicas · %1, all equal", held.length),
    table(["#", trans.__("shape"), trans.__("device")], rows, odd),
  );
}

function memory(pane: HTMLElement, doc: FlowDoc, id: string): void {
  const list = doc.memory.get(id) ?? [];
  if (!list.length) {
    return;
  }
  const most = Math.max(...list.map((one) => one.bytes));
  section(pane, trans.__("Compiled memory"), ...list.map((one) => bar(one.program, one.bytes, one.logical ?? one.bytes, most)));
}

/** What devices send one another because of a node, as compiled. */
function exchanged(pane: HTMLElement, doc: FlowDoc, id: string): void {
  const rows = (doc.report.verdicts ?? []).flatMap(({ program, collectives }) =>
    (collectives ?? [])
      .filter((one) => one.node === id)
      .map((one) => [program, `${one.count} × ${one.kind}`, String(one.group), bytesText(one.sent)]),
  );
  if (rows.length) {
    section(
      pane,
      trans.__("Collectives per step"),
      table([trans.__("program"), trans.__("operation"), trans.__("devices"), trans.__("sent by each")], rows),
    );
  }
}
