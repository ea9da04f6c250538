/** Boxes and lines as SVG elements. Classes carry the look, so that an export can take it along. */

import { STATE_SIGN, stateOf, stateWord, type State } from "./differences";
import { SEVERITY_SIGN, type FlowDoc } from "./doc";
import { s } from "./dom";
import { FAMILY_SIGN, lookOf, mixOf } from "./families";
import { CHIP, NAME_GLYPH, noteOf, placeIn, subtitle, WORD_GLYPH } from "./layout/sizes";
import type { Item } from "./groups";
import type { Box, Line } from "./layout/scene";
import { clip, dtypeClass, shapeText } from "./text";
import type { Severity, Side } from "./wire";
import * as trans from "./words";

export function badge(severity: Severity, x: number, y: number): SVGGElement {
  return s(
    "g",
    { class: `badge ${severity}` },
    s("circle", { cx: x, cy: y, r: 9.5 }),
    s("text", { x, y: y + 4, "text-anchor": "middle" }, SEVERITY_SIGN[severity]),
  );
}

/** What became of a part, at its corner. */
function sign(state: State, x: number, y: number): SVGGElement {
  return s(
    "g",
    { class: `diff-sign diff-${state}` },
    s("rect", { x: x - 8, y: y - 8, width: 16, height: 16, rx: 3 }),
    s("text", { x, y: y + 4.5, "text-anchor": "middle" }, STATE_SIGN[state]),
  );
}

/** A strip for each axis of a mesh: a part of the tensor, or a copy of it, in each cell. */
function meshStrip(mesh: ReturnType<FlowDoc["meshAt"]>, right: number, y: number): SVGGElement {
  const group = s("g.strip", {});
  let x = right + 4;
  for (const { size, cut } of [...mesh].reverse()) {
    x -= 4;
    for (let c = Math.min(size, Math.floor(8 / mesh.length) || 1); c; c--) {
      x -= 9;
      group.append(s("rect", { x, y, width: 7, height: 8, rx: 1, class: cut ? "cell" : "cell copied" }));
    }
  }
  const words = mesh.map(({ name, size, cut }) => (cut ? trans.__("%1: %2 parts", name, size) : trans.__("%1: %2 copies", name, size)));
  group.append(s("title", {}, words.join(", ")));
  return group;
}

function strip(doc: FlowDoc, node: number, right: number, y: number): SVGGElement | null {
  const held = doc.strip(node);
  if (held.length < 2) {
    return null;
  }
  const odd = doc.odd(held);
  const mesh = odd.size ? [] : doc.meshAt(node);
  if (mesh.length) {
    return meshStrip(mesh, right, y);
  }
  const cells = Math.min(8, held.length);
  // The numbers of those that differ stand below and want the room.
  const top = odd.size ? y - (y > 20 ? 3 : 5) : y;
  const group = s("g.strip", {});
  for (let c = 0; c < cells; c++) {
    const from = Math.floor((c * held.length) / cells);
    const to = Math.floor(((c + 1) * held.length) / cells);
    const differs = held.slice(from, to).find((one) => odd.has(one.index));
    const x = right - (cells - c) * 9;
    group.append(s("rect", { x, y: top, width: 7, height: 8, rx: 1, class: differs ? "cell odd" : "cell" }));
    if (differs) {
      group.append(s("text", { x: x + 3.5, y: top + 17, class: "cell-index", "text-anchor": "middle" }, String(differs.index)));
    }
  }
  const shapes = new Set(held.map((one) => shapeText(one.shape)));
  const words =
    shapes.size === 1
      ? trans.__("%1 replicas, each %2", held.length, [...shapes][0])
      : trans.__("%1 replicas with different shapes: %2", held.length, [...shapes].join(trans.__(" and ")));
  // Replicas of a strategy are a mesh of one axis.
  group.append(s("title", {}, doc.report.target?.mesh?.length ? words : `${trans.__("%1: %2 parts", "batch", held.length)}, ${words}`));
  return group;
}

/** What a closed group is made of: a line of its families, each as long as it has layers. */
function mixture(doc: FlowDoc, item: Item, w: number, h: number): SVGElement[] {
  const mix = mixOf(doc, item);
  const all = mix.reduce((sum, [, n]) => sum + n, 0);
  let x = 10;
  return mix.map(([family, n]) => {
    const wide = ((w - 20) * n) / all;
    const part = s("rect", { class: `family fam-${family}`, x, y: h - 5, width: Math.max(0.5, wide - 1), height: 3 });
    x += wide;
    return part;
  });
}

/** A box in full, its origin at its top left corner. */
export function drawBox(doc: FlowDoc, box: Box, full: boolean): SVGGElement {
  const { item, w, h } = box;
  const node = item.node >= 0 ? doc.node(item.node) : undefined;
  const kind = node?.kind ?? "group";
  const family = node ? lookOf(doc.family(item.node)) : "";
  const heat = box.open ? null : doc.heat?.at(item);
  const look = heat ? ` heat heat-${heat.step}` : doc.heat || !family ? "" : ` fam-${family}`;
  const state = stateOf(doc, item);
  const mark = state ? ` diff-${state}` : "";
  const g = s("g", {
    class: `node ${kind} ${item.status} ${item.severity ?? ""}${look}${mark}${box.open ? " open" : ""}`,
    "data-id": item.id,
  });
  const round = kind === "split" ? 25 : 7;
  if (!box.open && item.members.length && !item.wraps) {
    g.append(s("rect.behind", { x: 4, y: 4, width: w, height: h, rx: round }));
  }
  g.append(s("rect.body", { width: w, height: h, rx: round }));
  if (item.status === "not-reached") {
    g.append(s("rect.hatch", { width: w, height: h, rx: round }));
  }
  if (!full) {
    g.append(s("text.name", { x: 12, y: 22 }, clip(item.label, w - 20, NAME_GLYPH)));
    return g;
  }
  if (kind !== "split" && !family && !box.open) {
    g.append(s("rect.kind", { x: 0, y: 8, width: 3.5, height: h - 16, rx: 1.5 }));
  }
  const begin = item.members.length ? 30 : kind === "split" ? 22 : family ? 10 : 14;
  const left = begin + (family ? CHIP : 0);
  if (item.members.length) {
    g.append(
      s(
        "g.toggle",
        { "data-toggle": item.id },
        s("rect", { x: 4, y: 4, width: 26, height: 26, rx: 5 }),
        s("path", { d: box.open ? "M12 14l5 6 5-6" : "M14 11l6 6-6 6" }),
      ),
    );
  }
  if (family) {
    g.append(
      s("rect", { class: `family fam-${family}`, x: begin, y: 9.5, width: 16, height: 16, rx: 4 }),
      s("text.family-text", { x: begin + 8, y: 21.5, "text-anchor": "middle" }, FAMILY_SIGN[family]),
    );
  } else if (kind === "group" && !box.open && !doc.heat) {
    g.append(...mixture(doc, item, w, h));
  }
  if (heat) {
    g.append(s("rect.heat-bar", { x: 8, y: h - 5, width: Math.max(1, (w - 16) * heat.part), height: 3 }));
  }
  let right = w - 12;
  const place = heat ? heat.words : placeIn(doc, item.node);
  const above = place || kind === "split";
  const replicas = node && !box.open ? strip(doc, item.node, kind === "split" ? right - 10 : right, above ? 13 : 31) : null;
  if (replicas) {
    g.append(replicas);
    if (above) {
      right -= 80;
    }
  }
  if (item.times > 1 && !box.open) {
    const words = item.same ? trans.__("×%1 identical", item.times) : trans.__("×%1 similar", item.times);
    const wide = words.length * 6.2 + 12;
    g.append(
      s("rect.times", { x: right - wide, y: 8, width: wide, height: 18, rx: 9 }),
      s("text.times-text", { x: right - wide / 2, y: 21, "text-anchor": "middle" }, words),
    );
    right -= wide + 6;
  }
  // What comes into an open part comes in at the middle: the words stand on either side of it.
  const room = (box.open ? w / 2 - 4 : right) - left;
  g.append(s("text.name", { x: left, y: 22 }, clip(item.label, room, NAME_GLYPH)));
  const sub = box.open ? "" : subtitle(doc, item);
  if (box.open) {
    let after = left + Math.min(item.label.length * NAME_GLYPH, room) + 12;
    const reach = after + subtitle(doc, item).length * WORD_GLYPH;
    if (after < w / 2 + 12 && reach > w / 2 - 6) {
      after = w / 2 + 12;
    }
    if (w - after > 60) {
      g.append(s("text.sub", { x: after, y: 22 }, clip(subtitle(doc, item), w - after - 8, WORD_GLYPH)));
    }
  } else {
    g.append(
      s(
        "text.sub",
        { x: item.members.length ? left : begin, y: 39 },
        clip(
          sub,
          w - (item.members.length ? left : begin) - 12 - (place ? place.length * WORD_GLYPH + 10 : replicas && !above ? 80 : 0),
          WORD_GLYPH,
        ),
      ),
    );
    if (place) {
      g.append(s("text.place", { x: w - 12, y: 39, "text-anchor": "end" }, place));
    }
    let y = 57;
    const note = noteOf(doc, item);
    if (note) {
      g.append(s("text.note-text", { x: left, y }, clip(note, w - left - 10, WORD_GLYPH)));
      y += 17;
    }
    box.pills.slice(0, 3).forEach((source, i) => {
      const more = i === 2 && box.pills.length > 3 ? ` ${trans.__("and %1 more", box.pills.length - 3)}` : "";
      const words = clip(`${doc.node(source).name}${more}`, w - left - 30, WORD_GLYPH);
      const wide = words.length * WORD_GLYPH + 24;
      g.append(
        s(
          "g.pill",
          { "data-go": doc.node(source).id },
          s("rect", { x: left - 2, y: y - 12, width: wide, height: 15, rx: 7.5 }),
          s("text", { x: left + 5, y: y - 1 }, `↳ ${words}`),
        ),
      );
      y += 17;
    });
  }
  if (item.severity && !box.open) {
    g.append(badge(item.severity, w - 2, 0));
  } else if (box.open && item.problems) {
    g.append(badge(item.severity ?? "note", w - 16, 17));
  }
  if (state) {
    g.append(sign(state, 1, 0));
  }
  g.append(s("title", {}, [state ? stateWord(state) : "", item.label, subtitle(doc, item), place].filter(Boolean).join(" · ")));
  return g;
}

const ROUND = 8;
/** How far above its end a line turns at right angles: below the words where it begins. */
const ELBOW = 12;

/** A corner of a line, rounded; its ends are as they are. */
function turn(x: number, y: number, before: readonly [number, number] | undefined, next: readonly [number, number] | undefined): string {
  if (!before || !next) {
    return `${before ? "L" : "M"}${x} ${y}`;
  }
  const toward = ([px, py]: readonly [number, number]): string => {
    const most = (d: number): number => Math.sign(d) * Math.min(ROUND, Math.abs(d) / 2);
    return `${x + most(px - x)} ${y + most(py - y)}`;
  };
  return `L${toward(before)}Q${x} ${y} ${toward(next)}`;
}

/** The way of a line. */
export function way(line: Line, short = 6): string {
  if (line.corners.length) {
    const corners = line.corners.map(([x, y]) => [x, y] as [number, number]);
    const end = corners[corners.length - 1]!;
    const before = corners[corners.length - 2]!;
    if (end[1] === before[1]) {
      end[0] -= short * Math.sign(end[0] - before[0]);
    } else {
      end[1] -= short;
    }
    return corners.map(([x, y], i) => turn(x, y, corners[i - 1], corners[i + 1])).join("");
  }
  const { parts } = line;
  const { out, into } = line;
  let d = `M${parts[0]} ${parts[1]}`;
  if (out) {
    const turn = Math.sign(parts[0]! - out[0]) * ROUND;
    d = `M${out[0]} ${out[1]}H${parts[0]! - turn}Q${parts[0]} ${out[1]} ${parts[0]} ${out[1] + ROUND}`;
  }
  const last = parts.length - 3;
  for (let i = 0; i <= last; i += 3) {
    const [x, y1, y2] = [parts[i]!, parts[i + 1]!, parts[i + 2]!];
    if (i) {
      const [px, py] = [parts[i - 3]!, parts[i - 1]!];
      const to = i === last && y1 === y2 ? y1 - short : y1;
      const middle = (py + to) / 2;
      const far = Math.abs(px - x);
      if (line.elbow && far > 2 * ROUND && to - py > ELBOW + ROUND) {
        const [turnY, by] = [to - ELBOW, ROUND * Math.sign(x - px)];
        d += `V${turnY - ROUND}Q${px} ${turnY} ${px + by} ${turnY}H${x - by}Q${x} ${turnY} ${x} ${turnY + ROUND}V${to}`;
        break;
      }
      d += far < 0.5 ? `V${to}` : `C${px} ${middle} ${x} ${middle} ${x} ${to}`;
      if (i === last && !into) {
        break;
      }
    }
    if (y2 !== y1) {
      d += `V${into && i === last ? y2 - ROUND : y2}`;
    }
  }
  if (into) {
    const [x, y] = into;
    const turn = Math.sign(x - parts[last]!);
    d += `Q${parts[last]} ${y} ${parts[last]! + turn * ROUND} ${y}H${x - turn * short}`;
  }
  return d;
}

/** Where the sign of a line stands: the middle of its last bend. */
export function middleOf(line: Line): [number, number] {
  const { parts, corners, flat } = line;
  if (corners.length) {
    return [(corners[0]![0] + corners[1]![0]) / 2, (corners[0]![1] + corners[1]![1]) / 2];
  }
  const n = parts.length;
  const [x, y] = [(parts[n - 3]! + parts[n - 6]!) / 2, (parts[n - 2]! + parts[n - 4]!) / 2];
  return flat ? [y, x] : [x, y];
}

function arrow(line: Line): string {
  const { parts, corners } = line;
  if (corners.length) {
    const [x, y] = corners[corners.length - 1]!;
    const [px, py] = corners[corners.length - 2]!;
    return py === y ? `M${x - Math.sign(x - px) * 7} ${y - 4}V${y + 4}L${x} ${y}Z` : `M${x - 4} ${y - 7}H${x + 4}L${x} ${y}Z`;
  }
  if (line.into) {
    const [x, y] = line.into;
    const turn = Math.sign(x - parts[parts.length - 3]!);
    return `M${x - turn * 7.5} ${y - 4}V${y + 4}L${x - turn * 0.5} ${y}Z`;
  }
  const x = parts[parts.length - 3]!;
  const y = parts[parts.length - 2]!;
  return `M${x - 4} ${y - 7.5}H${x + 4}L${x} ${y - 0.5}Z`;
}

export function lineClass(doc: FlowDoc, line: Line): string {
  const kind = dtypeClass(doc.spec(doc.edges[line.edges[0]!]!).dtype);
  const states = new Set(line.edges.map((e) => doc.edgeMarks[e]?.state));
  const [state] = states;
  return `line ${kind} ${line.status} ${line.severity ?? ""}${states.size === 1 && state ? ` diff-${state}` : ""}`;
}

export function drawLine(doc: FlowDoc, line: Line): SVGGElement {
  const d = way(line);
  const g = s("g", { class: lineClass(doc, line), "data-line": line.key });
  const path = (kind: string, d: string): void => {
    g.append(s("path", { class: kind, d, transform: line.flat && "matrix(0 1 1 0 0 0)" }));
  };
  path("hit", d);
  path("stroke", d);
  if (line.severity === "silent" && line.status !== "failed") {
    path("core", d);
  }
  path("arrow", arrow(line));
  const severity = line.severity ?? (line.status === "failed" ? "error" : undefined);
  if (severity) {
    const [x, y] = middleOf(line);
    g.append(badge(severity, x, y));
  }
  return g;
}

/** One side of a disagreement, with only the axes that differ set off. */
export function sideSpans(side: Side, room: number): SVGTSpanElement[] {
  const { axes, differs } = side;
  if (!axes?.length || axes.join(", ").length > room) {
    return [s("tspan", {}, clip(side.text, room, 1))];
  }
  const spans = [s("tspan", {}, "(")];
  axes.forEach((axis, i) => {
    spans.push(s("tspan", differs?.includes(i) ? { class: "differs" } : {}, axis));
    spans.push(s("tspan", {}, i < axes.length - 1 ? ", " : axes.length === 1 ? ",)" : ")"));
  });
  return spans;
}
