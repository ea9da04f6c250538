/** The tensors of one line of the picture. */

import { changeTable, STATE_SIGN, stateWord } from "./differences";
import { replicas, type DetailActions } from "./details";
import type { FlowDoc } from "./doc";
import { button, h, unread } from "./dom";
import { axesPane } from "./following";
import type { Line } from "./layout/scene";
import { sidesOf } from "./problems";
import { axesText, count, shapeText } from "./text";
import * as trans from "./words";

export function linePane(doc: FlowDoc, line: Line, act: DetailActions): HTMLElement {
  const pane = h("div", {});
  pane.append(h("div.eyebrow", {}, line.edges.length > 1 ? count(line.edges.length, "tensor") : trans.__("tensor")));
  pane.append(h("h2.title", {}, `${line.source.label} → ${line.target.label}`));
  for (const e of line.edges.slice(0, 40)) {
    const edge = doc.edges[e]!;
    const spec = doc.spec(edge);
    const from = doc.sourceOf[e]!;
    const to = doc.targetOf[e]!;
    const status =
      edge.status === "failed" ? ` · ${trans.__("✖ fails here")}` : edge.status === "not-reached" ? ` · ${trans.__("not reached")}` : "";
    pane.append(
      h(
        "div.row way",
        {},
        button(doc.node(from).name, { class: "link mono" }, () => act.goTo(from)),
        unread("span", "→"),
        button(doc.node(to).name, { class: "link mono" }, () => act.goTo(to)),
        edge.label ? h("span.muted", {}, edge.label) : null,
      ),
      h("p.mono", {}, `${spec.dtype} ${shapeText(spec.shape)}${status}`),
    );
    const laid = doc.laid(edge);
    if (laid) {
      pane.append(h("p.mono", {}, laid));
    }
    const axes = axesText(spec);
    if (axes) {
      pane.append(h("p.muted", {}, axes));
    }
    const mark = doc.edgeMarks[e];
    if (mark) {
      pane.append(h("p", {}, `${STATE_SIGN[mark.state]} ${stateWord(mark.state)}`));
      if (mark.changes?.length) {
        pane.append(changeTable(mark.changes));
      }
    }
    const finding = doc.disagreement(e);
    const sides = finding && sidesOf(doc, finding);
    if (sides) {
      pane.append(sides);
    }
    if (line.edges.length === 1) {
      axesPane(pane, doc, e, act);
      replicas(pane, doc.replicas(edge), doc);
    }
  }
  if (line.edges.length > 40) {
    pane.append(h("p.muted", {}, trans.__("and %1 more", line.edges.length - 40)));
  }
  return pane;
}

/** What a line is, in one sentence. */
export function lineSentence(doc: FlowDoc, line: Line): string {
  return trans.__("Tensor from %1 to %2: %3", line.source.label, line.target.label, doc.edgeText(doc.edges[line.edges[0]!]!));
}
