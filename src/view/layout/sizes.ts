/** How large a box is for its words. Glyph widths are means of the system fonts at 13 and 11 px. */

import { tally } from "../differences";
import type { FlowDoc } from "../doc";
import type { Item } from "../groups";
import { cannot } from "../merges";
import { brief, count, placeText, shapeText, shortDtype } from "../text";
import { around } from "../sinking";
import { about } from "../titles";
import * as trans from "../words";

/** Between two rows. */
export const GAP = 46;
export const FRAME = { head: 34, side: 18, foot: 14 };
/** The sign of a layer's family before its name. */
export const CHIP = 22;
export const NAME_GLYPH = 8;
export const WORD_GLYPH = 6.5;
const STRIP = 86;
const WIDEST = 360;
const COLUMN = [256, 308] as const;

/** The least width of boxes that stand alone in their rows, so that a column has one edge. */
export function columnWidth(widths: readonly number[]): number {
  return widths.some((w) => w > COLUMN[0] && w <= COLUMN[1]) ? COLUMN[1] : COLUMN[0];
}

/** What a stage gives, tensor by tensor. */
function given(doc: FlowDoc, node: number): string {
  const specs = [...new Set(doc.outOf[node]!.map((e) => doc.edges[e]!.spec))].slice(0, 2);
  const tables = specs.map((spec) => doc.report.flow.specs[spec]);
  const words = tables.map((spec) => {
    const axes = spec?.shape?.map((n) => n ?? "?").join("×");
    return spec && axes !== undefined ? `${axes} ${shortDtype(spec.dtype)}`.trim() : "";
  });
  return words.filter(Boolean).join(" · ");
}

/** `64 rows ÷ 8 = 8 each`, read off the tensors that come in and what the replicas hold. */
function shares(doc: FlowDoc, node: number): string {
  const rows = doc.into[node]!.map((e) => doc.spec(doc.edges[e]!).shape?.[0]).find((n) => typeof n === "number");
  const held = doc.strip(node).map((one) => one.shape?.[0]);
  if (!held.length) {
    return doc.node(node).op;
  }
  const parts = held.map((n) => (typeof n === "number" ? String(n) : "?"));
  const even = new Set(parts).size === 1;
  const few = parts.length > 8 ? [...parts.slice(0, 7), "…"] : parts;
  if (rows === undefined) {
    return even ? trans.__("%1 rows on each of %2", parts[0]!, held.length) : trans.__("rows: %1", few.join(" "));
  }
  return even
    ? trans.__("%1 rows ÷ %2 = %3 each", rows, held.length, parts[0]!)
    : trans.__("%1 rows ÷ %2 : %3", rows, held.length, few.join(" "));
}

/** The second line of a box. */
export function subtitle(doc: FlowDoc, item: Item): string {
  if (item.node < 0) {
    const made = about(doc, item.members.slice(0, item.times > 1 ? 1 : Infinity));
    const many = item.times > 1 ? `${item.times} × ` : "";
    return [tally(item), many + count(item.leaves / item.times, "layer"), made === item.label ? "" : made].filter(Boolean).join(" · ");
  }
  const node = doc.node(item.node);
  if (node.kind === "stage") {
    return [node.op === node.name ? "" : node.op, given(doc, item.node)].filter(Boolean).join(" · ");
  }
  if (node.kind === "split") {
    return node.note ?? shares(doc, item.node);
  }
  const words = [item.members.length ? tally(item) : "", node.op && node.op !== node.name ? node.op : node.kind];
  const config = brief(node);
  if (config) {
    words.push(config);
  }
  if (item.members.length && !item.wraps) {
    words.push(item.raw ? count(item.leaves, "op") : count(item.leaves, "part"));
  }
  return words.filter(Boolean).join(" · ");
}

/** The third line of a box: the light operations in it, or its note; what a split does is its second. */
export function noteOf(doc: FlowDoc, item: Item): string {
  if (item.wraps) {
    const [before, after] = around(item).map((names) => (names.length > 3 ? `${names[0]} … ${names.at(-1)}` : names.join(", ")));
    return [before && trans.__("after %1", before), after && trans.__("then %1", after)].filter(Boolean).join(", ");
  }
  const node = item.node >= 0 ? doc.node(item.node) : undefined;
  return node && node.kind !== "split" ? [cannot(doc, item.node), node.note].filter(Boolean).join(" · ") : "";
}

/** Where a box's node is made. */
export function placeIn(doc: FlowDoc, i: number): string {
  const words = placeText(doc.madeAt(i));
  return doc.short ? words.replace(/^.*\.\w+:/, ":") : words;
}

/** The room of the sign of a layer's family. */
const chip = (doc: FlowDoc, item: Item): number => (item.node >= 0 && doc.family(item.node) ? CHIP : 0);

/** The least width of an open part: its name and what it is stand in one line. */
export function headWidth(doc: FlowDoc, item: Item): number {
  return Math.min(420, Math.max(item.label.length * NAME_GLYPH + chip(doc, item) + 50, subtitle(doc, item).length * WORD_GLYPH + 40) * 2);
}

export function boxSize(doc: FlowDoc, item: Item, pills: number): { w: number; h: number } {
  const node = item.node >= 0 ? doc.node(item.node) : undefined;
  const place = placeIn(doc, item.node);
  const strip = node && doc.strip(item.node).length > 1 ? STRIP : 0;
  const more =
    (item.members.length ? 26 : 0) + (item.times > 1 ? 84 : 0) + (item.problems ? 26 : 0) + (node && doc.family(item.node) ? CHIP - 4 : 0);
  // The strip stands beside the name, or, where no place is written there, on the second line.
  const above = place || node?.kind === "split";
  const first = item.label.length * NAME_GLYPH + (above ? strip : 0) + more;
  const second = subtitle(doc, item).length * WORD_GLYPH + (place ? place.length * WORD_GLYPH + 14 : above ? 0 : strip + (strip && 10));
  const note = noteOf(doc, item);
  const third = note.length * WORD_GLYPH;
  // Below the name, words begin where it begins.
  const indent = (item.members.length ? 10 : 0) + chip(doc, item);
  const lower = Math.max(item.members.length ? second + indent : second, third + indent);
  const w = Math.max(150, Math.min(WIDEST, Math.max(first, lower) + (node?.kind === "split" ? 52 : 32)));
  return { w: Math.round(w / 2) * 2, h: 50 + 17 * (pills + (note ? 1 : 0)) };
}

/** Room for the words of a tensor along its line. */
export function tensorWidth(doc: FlowDoc, e: number): number {
  const edge = doc.edges[e]!;
  const { shape, dtype } = doc.spec(edge);
  const words = [shortDtype(dtype), doc.laid(edge) || shapeText(shape), edge.label ?? ""].join(" ");
  return Math.max(100, Math.min(240, words.length * WORD_GLYPH + 30));
}

export const MONO_GLYPH = 7.3;
/** Characters of one side of a disagreement beside an edge. */
export const SIDE_ROOM = 46;

/** Room for `wants … gets …` at the right of a broken edge. */
export function wordsWidth(doc: FlowDoc, edge: number): number {
  const finding = doc.disagreement(edge);
  const longest = Math.max(finding?.expected?.text.length ?? 0, finding?.found?.text.length ?? 0, 12);
  return Math.min(longest, SIDE_ROOM) * MONO_GLYPH + 72;
}
