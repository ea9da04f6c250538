/** The wire document with its references followed: what the other parts of the view read. */

import type { Heat } from "./overlay";
import { laidText } from "./placed";
import { shapeText, specText } from "./text";
import type {
  Family,
  Finding,
  LayerMemory,
  Location,
  Mark,
  Severity,
  Shape,
  Spec,
  Status,
  Weight,
  WireEdge,
  WireNode,
  WireReport,
} from "./wire";
import * as trans from "./words";

const RANK: Record<Severity, number> = { error: 4, tpu: 3, silent: 2, slow: 1, note: 0 };

export function severityWord(severity: Severity): string {
  switch (severity) {
    case "error":
      return trans.__("fails");
    case "tpu":
      return trans.__("fails on the TPU");
    case "silent":
      return trans.__("runs, but not as intended");
    case "slow":
      return trans.__("runs, but wastes the TPU");
    case "note":
      return trans.__("worth knowing");
  }
}

/** Signs that tell severities apart without colour. */
export const SEVERITY_SIGN: Record<Severity, string> = { error: "✖", tpu: "✖", silent: "≠", slow: "◔", note: "i" };

export function worse(a: Severity | undefined, b: Severity | undefined): Severity | undefined {
  if (!a) {
    return b;
  }
  if (!b) {
    return a;
  }
  return RANK[a] >= RANK[b] ? a : b;
}

export function serious(severity: Severity): boolean {
  return RANK[severity] >= 2;
}

export interface Held {
  index: number;
  device: string;
  shape: Shape;
}

export class FlowDoc {
  readonly nodes: readonly WireNode[];
  readonly edges: readonly WireEdge[];
  readonly byId = new Map<string, number>();
  /** The node that each edge comes from, and the one that it goes to. */
  readonly sourceOf: readonly number[];
  readonly targetOf: readonly number[];
  /** Edges into and out of each node, by index. */
  readonly into: number[][];
  readonly outOf: number[][];
  readonly nodeSeverity: (Severity | undefined)[];
  readonly edgeSeverity: (Severity | undefined)[];
  /** Findings of each node and edge, by index into `findings`. */
  readonly nodeFindings = new Map<number, number[]>();
  readonly edgeFindings = new Map<number, number[]>();
  /** For each spec the first of the same shape and dtype, however its axes are called. */
  readonly alike: readonly number[];
  readonly memory = new Map<string, (LayerMemory & { program: string })[]>();

  /** What became of nodes and edges, where two programs are compared. */
  readonly marks: readonly (Mark | undefined)[];
  readonly edgeMarks: readonly (Mark | undefined)[];

  /** What the picture is coloured by, where that is not the family. */
  heat: Heat | null = null;
  /** Where there is little room, a place is its line, without the file's name. */
  short = false;

  private edgeIndex: Map<string, number> | undefined;
  private holders: Set<string> | undefined;
  private times: Map<number, number> | undefined;

  constructor(readonly report: WireReport) {
    const flow = report.flow;
    this.nodes = flow.nodes;
    flow.nodes.forEach((node, i) => this.byId.set(node.id, i));
    this.edges = flow.edges.filter((edge) => this.byId.has(edge.source) && this.byId.has(edge.target));
    this.sourceOf = this.edges.map((edge) => this.byId.get(edge.source)!);
    this.targetOf = this.edges.map((edge) => this.byId.get(edge.target)!);
    this.into = listed(this.targetOf, this.nodes.length);
    this.outOf = listed(this.sourceOf, this.nodes.length);
    this.nodeSeverity = new Array<Severity | undefined>(this.nodes.length);
    this.edgeSeverity = new Array<Severity | undefined>(this.edges.length);
    const first = new Map<string, number>();
    this.alike = flow.specs.map((spec, i) => {
      const words = specText(spec);
      first.set(words, first.get(words) ?? i);
      return first.get(words)!;
    });
    const { difference } = report;
    this.marks = difference ? this.nodes.map((node) => difference.nodes?.[node.id]) : [];
    this.edgeMarks = difference ? this.edges.map((edge) => difference.edges?.[edge.id]) : [];
    report.findings.forEach((finding, f) => this.attach(finding, f));
    for (const verdict of report.verdicts ?? []) {
      for (const layer of verdict.layers ?? []) {
        const list = this.memory.get(layer.node) ?? [];
        list.push({ ...layer, program: verdict.program });
        this.memory.set(layer.node, list);
      }
    }
  }

  private attach(finding: Finding, f: number): void {
    for (const id of finding.nodes ?? []) {
      const i = this.byId.get(id);
      if (i === undefined) {
        continue;
      }
      push(this.nodeFindings, i, f);
      // A finding of an edge marks the edge; its nodes are only the way there.
      if (!finding.edges?.length || this.nodes[i]!.status === "failed") {
        this.nodeSeverity[i] = worse(this.nodeSeverity[i], finding.severity);
      }
    }
    for (const id of finding.edges ?? []) {
      const i = this.edgeById.get(id);
      if (i === undefined) {
        continue;
      }
      push(this.edgeFindings, i, f);
      this.edgeSeverity[i] = worse(this.edgeSeverity[i], finding.severity);
    }
  }

  get findings(): readonly Finding[] {
    return this.report.findings;
  }

  get edgeById(): ReadonlyMap<string, number> {
    return (this.edgeIndex ??= new Map(this.edges.map((edge, i) => [edge.id, i])));
  }

  /** Ids of the nodes that others are in. */
  get parents(): ReadonlySet<string> {
    return (this.holders ??= new Set(this.nodes.map((node) => node.parent ?? "")));
  }

  /** Whether no other node can be like this one: what is alike has the same rough number, and few others have it. */
  lonely(i: number): boolean {
    const rough = ({ op, params }: WireNode): number => (params ?? 0) * 64 + op.length;
    if (!this.times) {
      this.times = new Map<number, number>();
      for (const node of this.nodes) {
        this.times.set(rough(node), (this.times.get(rough(node)) ?? 0) + 1);
      }
    }
    return this.times.get(rough(this.nodes[i]!)) === 1;
  }

  node(i: number): WireNode {
    return this.nodes[i]!;
  }

  status(i: number): Status {
    return this.nodes[i]!.status ?? "ok";
  }

  family(i: number): Family {
    const node = this.nodes[i]!;
    return node.family ?? this.report.flow.families?.[node.op] ?? "";
  }

  spec(edge: WireEdge): Spec {
    return this.report.flow.specs[edge.spec] ?? { shape: null, dtype: "?" };
  }

  weights(i: number): Weight[] {
    const table = this.report.flow.weights ?? [];
    return this.nodes[i]!.weights?.flatMap((w) => table[w] ?? []) ?? [];
  }

  /** The line that made a node; the line that called it. */
  madeAt(i: number): Location | undefined {
    return this.report.flow.locations?.[this.nodes[i]?.location ?? -1];
  }

  calledAt(i: number): Location | undefined {
    return this.report.flow.locations?.[this.nodes[i]?.called ?? -1];
  }

  /** What every replica holds of an edge's tensor. */
  replicas(edge: WireEdge): Held[] {
    const placement = this.report.flow.placements?.[edge.placement ?? -1];
    if (!placement) {
      return [];
    }
    const devices = this.report.flow.devices ?? [];
    const { shapes } = placement;
    const n = shapes.length === 1 ? Math.max(devices.length, this.report.target?.replicas ?? 1) : shapes.length;
    return Array.from({ length: n }, (_, index) => ({
      index,
      device: devices[index] ?? "",
      shape: (shapes.length === 1 ? shapes[0] : shapes[index]) ?? null,
    }));
  }

  /** The strip of a node: what its replicas hold of what it gives, or of what it takes. */
  strip(i: number): Held[] {
    for (const e of this.outOf[i]!.concat(this.into[i]!)) {
      const held = this.replicas(this.edges[e]!);
      if (held.length > 1) {
        return held;
      }
    }
    return [];
  }

  /** The mesh's axes, and whether the tensor of a node's strip is cut along them. */
  meshAt(i: number): { name: string; size: number; cut: boolean }[] {
    const { flow, target } = this.report;
    const layouts = this.outOf[i]!.concat(this.into[i]!).map((e) => flow.placements?.[this.edges[e]!.placement ?? -1]?.layout ?? []);
    const layout = layouts.find((one) => one.length);
    const along = layout?.flatMap((axes) => axes.split("+"));
    return along ? (target?.mesh ?? []).map(({ name, size }) => ({ name, size, cut: along.includes(name) })) : [];
  }

  /** Which replicas differ from what most hold. */
  odd(held: readonly Held[]): Set<number> {
    const groups = new Map<string, number[]>();
    for (const one of held) {
      push(groups, shapeText(one.shape), one.index);
    }
    if (groups.size < 2) {
      return new Set();
    }
    const largest = [...groups.values()].reduce((a, b) => (b.length > a.length ? b : a));
    return new Set(held.map((one) => one.index).filter((index) => !largest.includes(index)));
  }

  edgeText(edge: WireEdge): string {
    const laid = this.laid(edge);
    const text = specText(this.spec(edge));
    return laid ? trans.__("%1 as %2", text, laid) : text;
  }

  /** How an edge's tensor lies on the mesh, ``""`` without one. */
  laid(edge: WireEdge): string {
    const { flow, target } = this.report;
    return laidText(this.spec(edge).shape, flow.placements?.[edge.placement ?? -1]?.layout, target?.mesh);
  }

  /** The first finding that says what an edge wanted and got. */
  disagreement(edge: number): Finding | undefined {
    for (const f of this.edgeFindings.get(edge) ?? []) {
      const finding = this.findings[f]!;
      if (finding.expected || finding.found) {
        return finding;
      }
    }
    return undefined;
  }

  /** Where a finding stands in the graph: the edge's reader, or the node that failed, or the first named. */
  focusOf(finding: Finding): number | undefined {
    for (const id of finding.edges ?? []) {
      const e = this.edgeById.get(id);
      if (e !== undefined) {
        return this.targetOf[e];
      }
    }
    const named = (finding.nodes ?? []).flatMap((id) => this.byId.get(id) ?? []);
    return named.find((i) => this.status(i) === "failed") ?? named[0];
  }
}

const NOTHING: number[] = [];

/** Adds to one of many lists: a list of one number, as most are, takes little room. */
export function put(lists: number[][], at: number, value: number): void {
  if (lists[at]!.length) {
    lists[at]!.push(value);
  } else {
    lists[at] = [value];
  }
}

/** As many lists without anything in them. */
export function lists(length: number): number[][] {
  return new Array<number[]>(length).fill(NOTHING);
}

/** For each number up to a limit the places where it stands. */
function listed(numbers: readonly number[], limit: number): number[][] {
  const found = lists(limit);
  numbers.forEach((n, i) => {
    put(found, n, i);
  });
  return found;
}

export function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list) {
    list.push(value);
  } else {
    map.set(key, [value]);
  }
}
