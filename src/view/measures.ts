/** What a node can be measured by: numbers for the table and for colouring the picture. */

import type { FlowDoc } from "./doc";
import type { Item } from "./groups";
import { bytesText, numberText } from "./text";
import type { Shape, WireNode } from "./wire";
import * as trans from "./words";

export interface Measure {
  id: string;
  name: string;
  /** By node; undefined where it is not known. */
  of: readonly (number | undefined)[];
  say(value: number): string;
}

/** What passes data on takes no memory of its own. */
const MEASURED = new Set(["layer", "op", "loss", "metric"]);

const WIDTHS: Record<string, number> = { bool: 1, string: 0 };

function itemBytes(dtype: string): number {
  return WIDTHS[dtype] ?? Number(/^[a-z]+(\d+)/.exec(dtype)?.[1] ?? 0) / 8;
}

/** Elements of a shape; undefined where an axis is unknown. */
export function elements(shape: Shape | undefined): number | undefined {
  return shape?.reduce<number | undefined>((product, n) => (product === undefined || n === null ? undefined : product * n), 1);
}

function sum(values: readonly (number | undefined)[]): number | undefined {
  return values.reduce((a, b) => (a === undefined || b === undefined ? undefined : a + b), 0);
}

/** The tensors that a node gives, each once, as one replica holds the most of it. */
function given(doc: FlowDoc, i: number): { shape: Shape; dtype: string }[] {
  const seen = new Map<string, { shape: Shape; dtype: string }>();
  for (const e of doc.outOf[i]!) {
    const edge = doc.edges[e]!;
    const { shape, dtype } = doc.spec(edge);
    const held = doc.replicas(edge).map((one) => one.shape);
    const most = held.reduce<Shape>((a, b) => ((elements(b) ?? 0) > (elements(a) ?? 0) ? b : a), held[0] ?? shape);
    seen.set(`${edge.spec}/${edge.placement ?? -1}`, { shape: most, dtype });
  }
  return [...seen.values()];
}

function activation(doc: FlowDoc, i: number): number | undefined {
  const tensors = given(doc, i);
  return tensors.length
    ? sum(
        tensors.map(({ shape, dtype }) => {
          const n = elements(shape);
          return n === undefined ? undefined : n * itemBytes(dtype);
        }),
      )
    : undefined;
}

/** Two operations for each element of a kernel at each place where it is applied: what matrices and windows cost, and nothing else. */
function kernelFlops(doc: FlowDoc, i: number): number | undefined {
  const weights = doc.weights(i);
  if (!weights.length || doc.family(i) === "embedding") {
    return undefined;
  }
  const out = given(doc, i)[0]?.shape;
  let total: number | undefined;
  for (const { shape } of weights) {
    const size = elements(shape);
    const last = shape?.[shape.length - 1];
    const gives = elements(out);
    if (shape && shape.length > 1 && size && last && gives !== undefined) {
      total = (total ?? 0) + (2 * size * gives) / (out?.[out.length - 1] ?? last);
    }
  }
  return total;
}

function weightBytes(doc: FlowDoc, i: number, copies: boolean): number | undefined {
  const weights = doc.weights(i);
  return weights.length
    ? sum(
        weights.map((w) => {
          const n = elements(w.shard ?? w.shape);
          return n === undefined ? undefined : n * itemBytes(w.dtype) * (copies ? (w.copies ?? 1) : 1);
        }),
      )
    : undefined;
}

/** All measures of which something is known in this report; the user's own first. */
export function measuresOf(doc: FlowDoc): Measure[] {
  const { report, nodes } = doc;
  const plain = (node: string): boolean => !doc.parents.has(node);
  const measured = nodes.map(({ id, kind }) => MEASURED.has(kind) && plain(id));
  const by = (id: string, name: string, value: (i: number) => number | undefined, say: (value: number) => string): Measure[] => {
    const at = (_: WireNode, i: number): number | undefined => (measured[i] ? value(i) : undefined);
    let all: (number | undefined)[] | undefined;
    // One number tells that there are some; the others wait until they are asked for.
    const some = nodes.some(at);
    return some
      ? [
          {
            id,
            name,
            say,
            get of() {
              return (all ??= nodes.map(at));
            },
          },
        ]
      : [];
  };
  const largest = new Map<string, { bytes: number; logical: number }>();
  for (const [node, list] of doc.memory) {
    const most = list.reduce((a, b) => (b.bytes > a.bytes ? b : a));
    largest.set(node, { bytes: most.bytes, logical: most.logical ?? most.bytes });
  }
  const sent = new Map<string, number>();
  for (const verdict of report.verdicts ?? []) {
    const here = new Map<string, number>();
    verdict.collectives?.forEach((one) => here.set(one.node, (here.get(one.node) ?? 0) + one.sent));
    here.forEach((bytes, node) => sent.set(node, Math.max(bytes, sent.get(node) ?? 0)));
  }
  const own = (report.overlays ?? []).map((one): Measure => {
    const unit = one.unit ? ` ${one.unit}` : "";
    return {
      id: `own ${one.name}`,
      name: one.name,
      of: nodes.map((node) => (plain(node.id) || one.values[node.id] === undefined ? one.values[node.id] : undefined)),
      say: (value) => `${Number(value.toPrecision(4)).toLocaleString("en")}${unit}`,
    };
  });
  return [
    ...own.filter((one) => one.of.some(Boolean)),
    ...by("parameters", trans.__("parameters"), (i) => doc.node(i).params ?? 0, numberText),
    ...by("shard", trans.__("weights of one device"), (i) => (report.target?.mesh ? weightBytes(doc, i, false) : undefined), bytesText),
    ...by("output", trans.__("output bytes per replica"), (i) => activation(doc, i), bytesText),
    ...by("flops", trans.__("kernel FLOPs per replica"), (i) => kernelFlops(doc, i), numberText),
    ...by("copies", trans.__("weights, all replicas"), (i) => weightBytes(doc, i, true), bytesText),
    ...by("compiled", trans.__("compiled memory"), (i) => largest.get(doc.node(i).id)?.bytes, bytesText),
    ...by("padding", trans.__("padding, compiled"), (i) => padding(largest.get(doc.node(i).id)), bytesText),
    ...by("traffic", trans.__("bytes sent per step"), (i) => sent.get(doc.node(i).id), bytesText),
  ];
}

function padding(one: { bytes: number; logical: number } | undefined): number | undefined {
  return one && Math.max(0, one.bytes - one.logical);
}

/** A node's number, or the sum of what is in a group. */
export function valueOf(measure: Measure, item: Item): number | undefined {
  if (!item.members.length) {
    return measure.of[item.node];
  }
  let total: number | undefined = item.node >= 0 && !item.wraps ? measure.of[item.node] : undefined;
  for (const child of item.members) {
    const value = valueOf(measure, child);
    if (value !== undefined) {
      total = (total ?? 0) + value;
    }
  }
  return total;
}
