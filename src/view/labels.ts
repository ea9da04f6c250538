/** The words beside lines: what a tensor is, and where it is wrong, what was wanted and what came. */

import type { FlowDoc } from "./doc";
import { middleOf, sideSpans } from "./draw";
import { s } from "./dom";
import { SIDE_ROOM } from "./layout/sizes";
import type { Line, Scene } from "./layout/scene";
import { Ways } from "./ways";
import type { Side, WireEdge } from "./wire";
import { axesText, count, shortDtype, shapeText } from "./text";
import { trans } from "./words";

export interface Label {
  line: Line;
  x: number;
  y: number;
  w: number;
  h: number;
  draw(): SVGGElement;
}

const GLYPH = 6.7;
const WRONG_GLYPH = 7.3;

/** Labels in the order of their weight; one that would lie over another is left out. */
export function labelsOf(doc: FlowDoc, scene: Scene, was: ReadonlyMap<string, string> = new Map()): Label[] {
  const rows = new Map<number, Label[]>();
  const ways = new Ways(scene);
  const kept: Label[] = [];
  /** Keeps a label where it has room; whether it had. */
  const offer = (label: Label): boolean => {
    const from = Math.floor(label.y / 40);
    const to = Math.floor((label.y + label.h) / 40);
    for (let r = from; r <= to; r++) {
      for (const other of rows.get(r) ?? []) {
        if (label.x < other.x + other.w && other.x < label.x + label.w && label.y < other.y + other.h && other.y < label.y + label.h) {
          return false;
        }
      }
    }
    for (let r = from; r <= to; r++) {
      const row = rows.get(r);
      if (row) {
        row.push(label);
      } else {
        rows.set(r, [label]);
      }
    }
    kept.push(label);
    return true;
  };
  const broken = scene.lines.filter((line) => line.severity ?? line.status === "failed");
  // Where two lines break at one node, the one that says what was wanted speaks first.
  const says = (line: Line): number => (line.edges.some((e) => doc.disagreement(e)) ? 0 : 1);
  for (const line of broken.sort((a, b) => says(a) - says(b))) {
    const [right, left] = [wrong(doc, line, 1), wrong(doc, line, -1)];
    const first = ways.cross(right) && !ways.cross(left) ? left : right;
    if (!offer(first)) {
      offer(first === right ? left : right);
    }
  }
  for (const line of scene.lines) {
    if (line.labelled && known(doc, line) && !line.corners.length && !line.severity && line.status !== "failed") {
      const label = tensor(doc, line, was, 1);
      if (!ways.cross(label)) {
        offer(label);
        continue;
      }
      // Struck through it could not be read; the details and the line's own title say it, too.
      const other = tensor(doc, line, was, -1);
      if (!ways.cross(other)) {
        offer(other);
      }
    }
  }
  return kept;
}

/** Whether there is anything to say of a line's tensor. */
function known(doc: FlowDoc, line: Line): boolean {
  const spec = doc.spec(doc.edges[line.edges[0]!]!);
  return spec.shape !== null || spec.dtype !== "" || line.status === "not-reached";
}

/** What is wanted of an edge's tensor and what it is: at a merge each branch says its own. */
export function sidesAt(doc: FlowDoc, e: number): { wants: Side | null; gets: Side | null } {
  const finding = doc.disagreement(e);
  const [wants, gets] = [finding?.expected ?? null, finding?.found ?? null];
  const edge = doc.edges[e]!;
  const others = (finding?.edges ?? []).flatMap((id) => doc.edgeById.get(id) ?? []).filter((i) => doc.edges[i]!.target === edge.target);
  const shape = doc.spec(edge).shape;
  if (others.length < 2 || !shape) {
    return { wants, gets };
  }
  const axes = shape.map((n) => (n === null ? "?" : String(n)));
  const same = (side: Side | null): boolean => side?.axes?.join() === axes.join();
  if (same(gets)) {
    return { wants, gets };
  }
  const differs = axes.flatMap((axis, i) => {
    const there = others.map((one) => doc.spec(doc.edges[one]!).shape).filter((one) => one?.length === axes.length);
    return there.some((one) => String(one![i] ?? "?") !== axis) ? [i] : [];
  });
  // What agrees with what is wanted wants nothing: it says what it is.
  return {
    wants: same(wants) ? null : wants,
    gets: { text: shapeText(shape), axes, differs: same(wants) ? (wants?.differs ?? []) : differs },
  };
}

function wrong(doc: FlowDoc, line: Line, side: 1 | -1): Label {
  const [mx, my] = middleOf(line);
  const e = line.edges.find((edge) => doc.edgeSeverity[edge]) ?? line.edges[0]!;
  const rows: [string, string, SVGTSpanElement[]][] = [];
  const room = SIDE_ROOM;
  const { wants, gets } = sidesAt(doc, e);
  if (wants) {
    rows.push([trans.__("wants"), "wants", sideSpans(wants, room)]);
  }
  if (gets) {
    rows.push([trans.__("gets"), "gets", sideSpans(gets, room)]);
  }
  if (!rows.length) {
    rows.push(["", "", [s("tspan", {}, doc.edgeText(doc.edges[e]!))]]);
  }
  const longest = Math.max(...rows.map(([word, , spans]) => (word ? 6 : 0) + spans.map((span) => span.textContent).join("").length));
  const w = longest * WRONG_GLYPH + 4;
  const x = side > 0 ? mx + 17 : mx - 17 - w;
  const y = my - 9 * rows.length;
  return {
    line,
    x,
    y,
    w,
    h: 19 * rows.length,
    draw: () =>
      s(
        "g",
        { class: `label wrong ${line.severity ?? "error"}` },
        ...rows.map(([word, kind, spans], i) =>
          s(
            "text",
            { x, y: y + 14 + 18 * i, class: kind },
            word ? s("tspan", { class: "word" }, word.padEnd(6, "\u00a0")) : null,
            ...spans.map((span) => span.cloneNode(true)),
          ),
        ),
      ),
  };
}

/** Whether its source gives another tensor of the same spec under another name: then the words stand for both. */
function shared(doc: FlowDoc, edge: WireEdge): boolean {
  return doc.outOf[doc.byId.get(edge.source)!]!.some((e) => doc.edges[e]!.spec === edge.spec && doc.edges[e]!.label !== edge.label);
}

function tensor(doc: FlowDoc, line: Line, was: ReadonlyMap<string, string>, side: 1 | -1): Label {
  // Where a long edge leaves aside, its words stand where it runs alone.
  const aside = !line.out && line.parts.length > 6 && line.parts[5]! > line.parts[4]! && Math.abs(line.parts[3]! - line.parts[0]!) > 30;
  const from = aside ? line.parts[3]! : line.parts[0]!;
  const y = aside ? line.parts[4]! - 2 : line.parts[2]! + 3;
  const edge = doc.edges[line.edges[0]!]!;
  const spec = doc.spec(edge);
  const differ = new Set(line.edges.map((e) => doc.edges[e]!.spec)).size;
  const unreached = line.status === "not-reached" && !spec.shape;
  const dtype = shortDtype(spec.dtype);
  const shape = unreached
    ? trans.__("not reached")
    : differ > 1
      ? count(differ, "tensor")
      : shapeText(spec.shape) + (edge.label && !shared(doc, edge) ? ` ${edge.label}` : "");
  const before = differ > 1 ? undefined : was.get(edge.id);
  const old = before && before !== shapeText(spec.shape) ? trans.__("was %1", before) : "";
  const first = differ > 1 || unreached ? "" : dtype;
  const axes = differ > 1 ? "" : axesText(spec);
  const w = (first.length + 1 + shape.length + (old ? old.length + 2 : 0)) * GLYPH + 6;
  const x = side > 0 ? from + 9 : from - 7 - w;
  return {
    line,
    x,
    y,
    w,
    h: 18,
    draw: () =>
      s(
        "g",
        { class: `label tensor ${line.status}`, "data-line": line.key },
        s(
          "text",
          { x, y: y + 13 },
          first ? s("tspan", { class: "dtype" }, first + " ") : null,
          s("tspan", {}, shape),
          old ? s("tspan", { class: "was" }, `  ${old}`) : null,
        ),
        s("title", {}, [doc.edgeText(edge), axes, edge.label].filter(Boolean).join(" · ")),
      ),
  };
}
