/**
 * The flow as it stands after a fix that was tried: what the fix adds or changes is marked.
 *
 * The document carries what the trace with the fix in it had otherwise. Where that was too much to carry, it still
 * says where the edits go; shapes are then left open, not guessed.
 */

import { button, h } from "./dom";
import { plain } from "./text";
import { traced } from "./traced";
import type { Edit, Fix, Spec, WireEdge, WireNode, WireReport } from "./wire";
import * as trans from "./words";

export interface Preview {
  report: WireReport;
  /** Ids of the nodes and edges that the fix adds or changes. */
  changed: Set<string>;
  /** For changed edges the shape that they had. */
  was: Map<string, string>;
}

function settings(edit: Edit): string {
  const { config, ...rest } = edit.detail ?? {};
  const all = { ...rest, ...(config && typeof config === "object" ? config : {}) };
  return Object.entries(all)
    .filter(([name]) => name !== "layer" && name !== "position")
    .map(([name, value]) => `${name}=${plain(value)}`)
    .join(", ");
}

/** The node that an edit speaks of: its own target, or the reader of a target edge. */
function nodeOf(report: WireReport, edit: Edit): WireNode | undefined {
  const { nodes, edges } = report.flow;
  const edge = edges.find((one) => one.id === edit.target);
  const named = nodes.find((node) => node.id === (edge?.target ?? edit.target)) ?? nodes.find((node) => node.name === edit.target);
  if (named) {
    return named;
  }
  if (edit.kind === "batching") {
    return [...nodes].reverse().find((node) => node.kind === "stage" && /batch/i.test(`${node.op} ${node.name}`));
  }
  return edit.kind === "loss" ? nodes.find((node) => node.kind === "loss") : undefined;
}

/** The flow after a fix; null where the fix was not tried or its edits have no place in the graph. */
export function after(report: WireReport, finding: number, fix: Fix): Preview | null {
  if (!fix.verified || !fix.edits?.length) {
    return null;
  }
  if (fix.after) {
    return traced(report, fix.after);
  }
  const changed = new Set<string>();
  const broken = new Set(report.findings[finding]?.edges ?? []);
  let nodes = report.flow.nodes.map((node): WireNode => ({ ...node, status: "ok", failure: null }));
  let edges = report.flow.edges.map((edge): WireEdge => ({ ...edge, status: "ok" }));
  const specs: Spec[] = [...report.flow.specs, { shape: null, dtype: "" }];
  const open = specs.length - 1;
  for (const edit of fix.edits) {
    const target = nodeOf(report, edit);
    if (!target) {
      return null;
    }
    const words = settings(edit);
    if (edit.kind !== "insert-layer") {
      changed.add(target.id);
      nodes = nodes.map((node) => (node.id === target.id ? { ...node, note: `± ${words || fix.title}` } : node));
      continue;
    }
    const id = `fix ${changed.size}`;
    const layer = plain(edit.detail?.layer) || "layer";
    const behind = edit.detail?.position === "after";
    const meets = (edge: WireEdge): boolean => {
      const here = behind ? edge.source === target.id : edge.target === target.id;
      const several = edges.some((one) => one.target === target.id && broken.has(one.id));
      return here && (behind || !several || broken.has(edge.id));
    };
    const added: WireNode = {
      id,
      name: layer,
      kind: "layer",
      status: "ok",
      op: layer,
      note: `+ ${words || trans.__("added by the fix")}`,
      ...(target.parent ? { parent: target.parent } : {}),
    };
    const first = edges.find((edge) => edge.source === target.id);
    const rewired = edges.map((edge): WireEdge => {
      if (!meets(edge)) {
        return edge;
      }
      return behind ? { ...edge, source: id, spec: open } : { ...edge, target: id };
    });
    const link: WireEdge = behind
      ? { id: `${id}>`, source: target.id, target: id, spec: first?.spec ?? open }
      : { id: `${id}>`, source: id, target: target.id, spec: open };
    edges = [...rewired, link];
    const at = nodes.findIndex((node) => node.id === target.id) + (behind ? 1 : 0);
    nodes = [...nodes.slice(0, at), added, ...nodes.slice(at)];
    changed.add(id);
  }
  edges = settle(edges, nodes, changed, specs, fix, open);
  const findings = report.findings.map((one) => ({ ...one, nodes: [], edges: [] }));
  return { report: { ...report, flow: { ...report.flow, nodes, edges, specs }, findings }, changed, was: new Map() };
}

/** Downstream of a change only what the fix tells is known: the shape that reaches the loss. */
function settle(edges: WireEdge[], nodes: WireNode[], changed: ReadonlySet<string>, specs: Spec[], fix: Fix, open: number): WireEdge[] {
  const later = new Set(changed);
  for (let before = -1; before !== later.size;) {
    before = later.size;
    for (const edge of edges) {
      if (later.has(edge.source)) {
        later.add(edge.target);
      }
    }
  }
  const output = fix.effect?.output ?? fix.effect?.after;
  const losses = new Set(nodes.filter((node) => node.kind === "loss" || node.kind === "output").map((node) => node.id));
  return edges.map((edge) => {
    if (!later.has(edge.source)) {
      return edge;
    }
    const dtype = specs[edge.spec]?.dtype ?? "";
    const known = output && losses.has(edge.target) && edge.label !== "labels";
    return { ...edge, placement: -1, spec: known ? specs.push({ shape: output, dtype }) - 1 : open };
  });
}

/** Before and after: which of them is shown. */
export class Compare {
  shown: WireReport;
  changed = new Set<string>();
  was = new Map<string, string>();
  private at: { finding: number; fix: number } | null = null;

  constructor(private readonly base: WireReport) {
    this.shown = base;
  }

  /** Whether the flow after a fix is what is shown. */
  stands(finding: number, fix: number): boolean | null {
    const one = this.base.findings[finding]?.fixes?.[fix];
    if (!one?.verified || !one.edits?.length || !(one.after ?? one.edits.every((edit) => nodeOf(this.base, edit)))) {
      return null;
    }
    return this.at?.finding === finding && this.at.fix === fix;
  }

  /** Turns to the flow after a fix, or back; gives what is shown now, in words. */
  turn(finding: number, fix: number): string {
    const one = this.base.findings[finding]?.fixes?.[fix];
    const next = one && !this.stands(finding, fix) ? after(this.base, finding, one) : null;
    this.shown = next?.report ?? this.base;
    this.changed = next?.changed ?? new Set();
    this.was = next?.was ?? new Map<string, string>();
    this.at = next ? { finding, fix } : null;
    return next && one ? trans.__("Shown after the fix: %1", one.title) : trans.__("Shown before the fix");
  }

  /** A line over the graph that says that this is not the flow of now. */
  banner(turn: (finding: number, fix: number) => void): HTMLElement {
    const { at } = this;
    const line = h("div.banner", { hidden: !at });
    if (at) {
      const title = this.base.findings[at.finding]?.fixes?.[at.fix]?.title ?? "";
      line.append(
        h("span", {}, trans.__("After the fix: %1", title)),
        button(trans.__("Back to the original"), {}, () => turn(at.finding, at.fix)),
      );
    }
    return line;
  }
}
