/** The flow after a fix, as it was traced: the document carries what is other in it. */

import type { Preview } from "./preview";
import { shapeText } from "./text";
import type { After, WireEdge, WireNode, WireReport } from "./wire";

const QUIET = new Set(["input", "output"]);

/** The report with what a fix changes put into its flow. */
export function traced(report: WireReport, after: After): Preview {
  const { flow } = report;
  const gone = new Set(after.gone);
  const changed = new Set<string>();
  const was = new Map<string, string>();

  const made = new Map<string, WireNode>();
  for (const { id, name, kind, op, parent, config, params, note, path } of after.nodes ?? []) {
    made.set(id, { id, name, kind, op, status: "ok", ...definedOnly({ parent, config, params, note, path }) });
    if (!QUIET.has(kind)) {
      changed.add(id);
    }
  }
  const known = new Set(flow.nodes.map((node) => node.id));
  const nodes = flow.nodes
    .filter((node) => !gone.has(node.id))
    .map((node): WireNode => ({ ...node, status: "ok", failure: null, ...made.get(node.id) }));

  const specs = [...flow.specs];
  const base = specs.length;
  specs.push(...(after.specs ?? []));
  const placements = [...(flow.placements ?? [])];
  const even = new Map<number, number>();
  const placementOf = (spec: number): number => {
    if (!even.has(spec)) {
      even.set(spec, placements.push({ shapes: [specs[spec]!.shape] }) - 1);
    }
    return even.get(spec)!;
  };
  const other = new Map(
    (after.edges ?? []).map((edge): [string, WireEdge] => {
      const spec = base + edge.spec;
      const placement = edge.even && flow.devices?.length ? placementOf(spec) : -1;
      return [edge.id, { id: edge.id, source: edge.source, target: edge.target, spec, label: edge.label ?? "", placement }];
    }),
  );
  const edges = flow.edges
    .filter((edge) => !gone.has(edge.id))
    .map((edge): WireEdge => {
      const next = other.get(edge.id);
      other.delete(edge.id);
      const before = specs[edge.spec];
      if (next) {
        changed.add(edge.id);
        if (before?.shape) {
          was.set(edge.id, shapeText(before.shape));
        }
      }
      return next ?? { ...edge, status: "ok" };
    });
  for (const edge of other.values()) {
    changed.add(edge.id);
    edges.push(edge);
  }

  // A new node stands behind the last that feeds it.
  for (const [id, node] of made) {
    if (!known.has(id)) {
      const sources = new Set(edges.filter((edge) => edge.target === id).map((edge) => edge.source));
      const at = nodes.reduce((last, one, i) => (sources.has(one.id) ? i : last), -1);
      nodes.splice(at < 0 ? nodes.length : at + 1, 0, node);
    }
  }
  const findings = report.findings.map((one) => ({ ...one, nodes: [], edges: [] }));
  return { report: { ...report, flow: { ...flow, nodes, edges, specs, placements }, findings }, changed, was };
}

function definedOnly<T extends object>(value: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as { [K in keyof T]?: NonNullable<T[K]> };
}
