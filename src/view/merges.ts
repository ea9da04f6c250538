/** What each branch of a merge brings, and what of it does not fit the others. */

import type { FlowDoc } from "./doc";
import { shapeText } from "./text";
import type { Finding, Side } from "./wire";
import * as trans from "./words";

function axesOf(doc: FlowDoc, e: number): string[] | null {
  return doc.spec(doc.edges[e]!).shape?.map((n) => (n === null ? "?" : String(n))) ?? null;
}

/** The branches that a finding is about, where they meet in one node. */
export function branchesOf(doc: FlowDoc, finding: Finding | undefined): number[] {
  const edges = (finding?.edges ?? []).flatMap((id) => doc.edgeById.get(id) ?? []);
  const target = edges.length ? doc.edges[edges[0]!]!.target : "";
  return edges.length > 1 && edges.every((e) => doc.edges[e]!.target === target) ? edges : [];
}

/** Whether what is wanted is merely what another branch brings: then nothing in particular is. */
export function impartial(doc: FlowDoc, finding: Finding | undefined): boolean {
  const wants = finding?.expected?.axes?.join();
  return wants !== undefined && branchesOf(doc, finding).some((e) => axesOf(doc, e)?.join() === wants);
}

/** Whether an operation sums over an axis of each of two tensors. */
function multiplies(doc: FlowDoc, node: number): boolean {
  return /matmul|einsum|dot_general/i.test(doc.node(node).op);
}

/** Whether a merge lays its branches end to end: along one axis they may differ. */
function joins(doc: FlowDoc, node: number): boolean {
  return /concat/i.test(doc.node(node).op);
}

/** What is said of a merge whose branches do not fit, and that wants nothing in particular. */
export function cannot(doc: FlowDoc, node: number): string {
  const at = doc.into[node]!.some((e) => impartial(doc, doc.disagreement(e)));
  if (!at) {
    return "";
  }
  return joins(doc, node)
    ? trans.__("cannot be concatenated")
    : multiplies(doc, node)
      ? trans.__("cannot be multiplied")
      : trans.__("cannot be broadcast");
}

/** A branch's own tensor, with the axes that differ from another branch's. */
export function brings(doc: FlowDoc, e: number, others: readonly number[]): Side | null {
  const axes = axesOf(doc, e);
  if (!axes) {
    return null;
  }
  const { expected, found } = doc.disagreement(e) ?? {};
  if (multiplies(doc, doc.targetOf[e]!)) {
    // What a product sums over stands at different places in both: the finding knows where.
    const sides = others.indexOf(e) ? [found, expected] : [expected, found];
    const own = sides.find((side) => side?.axes?.join() === axes.join());
    if (own) {
      return own;
    }
  }
  const differs = axes.flatMap((axis, i) => {
    const there = others.flatMap((one) => {
      const other = axesOf(doc, one);
      return other?.length === axes.length ? [other[i]!] : [];
    });
    return there.some((one) => one !== axis) ? [i] : [];
  });
  // Along the axis that they are joined at they may differ.
  const target = doc.targetOf[e]!;
  const axis = joins(doc, target) ? Number(doc.node(target).config?.axis ?? -1) : NaN;
  const at = axis < 0 ? axes.length + axis : axis;
  return { text: shapeText(doc.spec(doc.edges[e]!).shape), axes, differs: differs.filter((i) => i !== at) };
}

/** What is wanted of an edge's tensor and what it is: at a merge each branch says its own. */
export function sidesAt(doc: FlowDoc, e: number): { wants: Side | null; gets: Side | null } {
  const finding = doc.disagreement(e);
  const [wants, gets] = [finding?.expected ?? null, finding?.found ?? null];
  const branches = branchesOf(doc, finding);
  const own = branches.includes(e) ? brings(doc, e, branches) : null;
  if (!own) {
    return { wants, gets };
  }
  return { wants: impartial(doc, finding) ? null : wants, gets: own };
}
