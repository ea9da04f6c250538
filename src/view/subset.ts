/** A part of a flow shown by itself: what a search found with its neighbours, or the way from the data to a node. */

import type { FlowDoc } from "./doc";
import { button, h } from "./dom";
import type { WireReport } from "./wire";
import * as trans from "./words";

/** Which nodes are shown, and what they are in words. */
export interface Subset {
  words: string;
  ids: readonly string[];
}

/** The report with these nodes alone, the parts that they are in, and the tensors between them. */
export function subsetOf(report: WireReport, { ids }: Subset): WireReport {
  const known = new Map(report.flow.nodes.map((node) => [node.id, node]));
  const kept = new Set<string>();
  for (const id of ids) {
    for (let at = known.get(id); at && !kept.has(at.id); at = known.get(at.parent ?? "")) {
      kept.add(at.id);
    }
  }
  const nodes = report.flow.nodes.filter((node) => kept.has(node.id));
  const shown = new Set(ids);
  const edges = report.flow.edges.filter((edge) => shown.has(edge.source) && shown.has(edge.target));
  return { ...report, flow: { ...report.flow, nodes, edges } };
}

/** Nodes, what is within them, what they read and what reads them. */
export function withNeighbours(doc: FlowDoc, nodes: readonly number[]): string[] {
  const inner = new Set(nodes);
  // What is in a part comes after it.
  doc.nodes.forEach((node, i) => {
    const parent = doc.byId.get(node.parent ?? "");
    if (parent !== undefined && inner.has(parent)) {
      inner.add(i);
    }
  });
  const near = new Set(inner);
  for (const i of inner) {
    doc.into[i]!.forEach((e) => near.add(doc.sourceOf[e]!));
    doc.outOf[i]!.forEach((e) => near.add(doc.targetOf[e]!));
  }
  // What raises stands with all that it was given.
  for (const i of [...near]) {
    if (doc.status(i) === "failed") {
      doc.into[i]!.forEach((e) => near.add(doc.sourceOf[e]!));
    }
  }
  return [...near].map((i) => doc.node(i).id);
}

/** Everything that a node is made of, up to the data. */
export function upstream(doc: FlowDoc, node: number): string[] {
  const seen = new Set([node]);
  doc.nodes.forEach((one, i) => {
    const parent = doc.byId.get(one.parent ?? "");
    if (parent !== undefined && seen.has(parent)) {
      seen.add(i);
    }
  });
  for (const i of seen) {
    doc.into[i]!.forEach((e) => seen.add(doc.sourceOf[e]!));
  }
  return [...seen].map((i) => doc.node(i).id);
}

/** The line that says that this is not the whole flow. */
export function subsetBanner(subset: Subset | null, all: () => void): HTMLElement | null {
  if (!subset) {
    return null;
  }
  return h("div.banner compared", {}, h("span", {}, trans.__("Only %1", subset.words)), button(trans.__("Show all"), {}, all));
}
