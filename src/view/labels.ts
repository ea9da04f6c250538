/** The words beside lines: what a tensor is, and where it is wrong, what was wanted and what came. */

import { push, type FlowDoc } from "./doc";
import { middleOf, sideSpans } from "./draw";
import { s } from "./dom";
import { SIDE_ROOM } from "./layout/sizes";
import { turned, type Line, type Scene } from "./layout/scene";
import { branchesOf, impartial, sidesAt } from "./merges";
import { Ways } from "./ways";
import { axesText, count, shortDtype, shapeText } from "./text";
import * as trans from "./words";

export interface Label {
  line: Line;
  x: number;
  y: number;
  w: number;
  h: number;
  draw(): SVGGElement;
}

type Taken = Pick<Label, "x" | "y" | "w" | "h">;

const GLYPH = 6.7;
const WRONG_GLYPH = 7.3;

/** Labels in the order of their weight; one that would lie over another is left out. */
export function labelsOf(doc: FlowDoc, scene: Scene, was: ReadonlyMap<string, string> = new Map()): Label[] {
  const rows = new Map<number, Taken[]>();
  const ways = new Ways(scene);
  const kept: Label[] = [];
  const rowsOf = (one: Taken): [number, number] => {
    const { y, h } = turned(one, scene.flat);
    return [Math.floor(y / 40), Math.floor((y + h) / 40)];
  };
  const keep = (one: Taken): void => {
    const [from, to] = rowsOf(one);
    for (let r = from; r <= to; r++) {
      push(rows, r, one);
    }
  };
  /** Keeps a label where it has room; whether it had. */
  const offer = (label: Label): boolean => {
    const [from, to] = rowsOf(label);
    for (let r = from; r <= to; r++) {
      for (const other of rows.get(r) ?? []) {
        if (label.x < other.x + other.w && other.x < label.x + label.w && label.y < other.y + other.h && other.y < label.y + label.h) {
          return false;
        }
      }
    }
    keep(label);
    kept.push(label);
    return true;
  };
  const broken = scene.lines.filter((line) => line.severity ?? line.status === "failed");
  for (const line of broken) {
    const [x, y] = middleOf(line);
    keep({ x: x - 11, y: y - 11, w: 22, h: 22 });
  }
  // Where two lines break at one node, the one that says what was wanted speaks first.
  const says = (line: Line): number => (line.edges.some((e) => doc.disagreement(e)) ? 0 : 1);
  for (const line of broken.sort((a, b) => says(a) - says(b))) {
    const places = placesOf(doc, line).map((place) => wrong(doc, line, ...place));
    // A place that nothing runs through, else one where the words stand over a line.
    const free = places.filter((label) => !ways.cross(label));
    [...free, ...places.filter((label) => !free.includes(label))].some(offer);
  }
  for (const box of scene.boxes) {
    if (!box.open) {
      keep(box);
    }
  }
  const starts = new Map<string, number>();
  const start = ({ out, parts }: Line): string => (out ? "" : `${parts[0]} ${parts[1]}`);
  for (const line of scene.lines) {
    starts.set(start(line), (starts.get(start(line)) ?? 0) + Number(line.labelled));
  }
  for (const line of scene.lines) {
    if (line.labelled && known(doc, line) && !line.corners.length && !line.severity && line.status !== "failed") {
      // Struck through it could not be read; the details and the line's own title say it, too.
      // Where other tensors leave at the same place, each stands on the side that its line turns to.
      const turn = starts.get(start(line))! > 1 && !line.out ? (line.parts[3]! - line.parts[0]!) * (line.flat ? -1 : 1) : 0;
      // Where there is no room for its name as well, the shape stands alone.
      [true, false].some((named) =>
        ([1, -1] as const).some((side) => {
          const label = turn * side < -2 ? null : tensor(doc, line, was, side, named);
          return label && !ways.cross(label) && offer(label);
        }),
      );
    }
  }
  return kept;
}

/** Whether there is anything to say of a line's tensor. */
function known(doc: FlowDoc, line: Line): boolean {
  const spec = doc.spec(doc.edges[line.edges[0]!]!);
  return spec.shape !== null || spec.dtype !== "" || line.status === "not-reached";
}

/** Where the words of a broken line may stand: beside its sign, or, for a branch of a merge, first where it sets out alone. */
function placesOf(doc: FlowDoc, line: Line): [side: 1 | -1, atStart: boolean][] {
  const beside: [1 | -1, boolean][] = [
    [1, false],
    [-1, false],
  ];
  if (line.corners.length || !line.edges.some((e) => branchesOf(doc, doc.disagreement(e)).length)) {
    return beside;
  }
  const { parts } = line;
  const away = (line.out ? line.out[0] > parts[0]! : parts[parts.length - 3]! > parts[0]!) ? -1 : 1;
  return [[away, true], [away === 1 ? -1 : 1, true], ...beside];
}

function wrong(doc: FlowDoc, line: Line, side: 1 | -1, atStart: boolean): Label {
  const { parts, flat } = line;
  const start: [number, number] = [parts[0]!, parts[line.out ? 1 : 2]! + 15];
  const [mx, my] = !atStart ? middleOf(line) : flat ? [start[1], start[0]] : start;
  const e = line.edges.find((edge) => doc.edgeSeverity[edge]) ?? line.edges[0]!;
  const rows: [string, string, SVGTSpanElement[]][] = [];
  const room = SIDE_ROOM;
  const { wants, gets } = sidesAt(doc, e);
  if (wants) {
    rows.push([trans.__("wants"), "wants", sideSpans(wants, room)]);
  }
  if (gets) {
    rows.push([wants || !impartial(doc, doc.disagreement(e)) ? trans.__("gets") : "", "gets", sideSpans(gets, room)]);
  }
  if (!rows.length) {
    rows.push(["", "", [s("tspan", {}, doc.edgeText(doc.edges[e]!))]]);
  }
  const longest = Math.max(...rows.map(([word, , spans]) => (word ? 6 : 0) + spans.map((span) => span.textContent).join("").length));
  const w = longest * WRONG_GLYPH + 4;
  const aside = atStart ? 9 : 17;
  const h = 19 * rows.length;
  const x = flat ? mx - (atStart ? 0 : w / 2) : side > 0 ? mx + aside : mx - aside - w;
  const y = !flat ? my - 9 * rows.length : side > 0 ? my + aside : my - aside - h;
  return {
    line,
    x,
    y,
    w,
    h,
    draw: () =>
      s(
        "g",
        { class: `label wrong ${line.severity ?? "error"}` },
        ...rows.map(([word, kind, spans], i) =>
          s(
            "text",
            { x, y: y + 14 + 18 * i, class: kind },
            word ? s("tspan.word", {}, word.padEnd(6, "\u00a0")) : null,
            ...spans.map((span) => span.cloneNode(true)),
          ),
        ),
      ),
  };
}

/** Whether its source gives another tensor of the same spec under another name: then the words stand for both. */
function shared(doc: FlowDoc, e: number): boolean {
  const { spec, label } = doc.edges[e]!;
  return doc.outOf[doc.sourceOf[e]!]!.some((one) => doc.edges[one]!.spec === spec && doc.edges[one]!.label !== label);
}

function tensor(doc: FlowDoc, line: Line, was: ReadonlyMap<string, string>, side: 1 | -1, named: boolean): Label {
  // Where a long edge leaves aside, its words stand where it runs alone.
  const { parts, flat } = line;
  const aside = !line.out && parts.length > 6 && parts[5]! > parts[4]! && Math.abs(parts[3]! - parts[0]!) > 30;
  const from = aside ? parts[3]! : parts[0]!;
  const down = aside ? parts[4]! - 2 : parts[2]! + 3;
  const edge = doc.edges[line.edges[0]!]!;
  const spec = doc.spec(edge);
  const differ = new Set(line.edges.map((e) => doc.edges[e]!.spec)).size;
  const unreached = line.status === "not-reached" && !spec.shape;
  const dtype = shortDtype(spec.dtype);
  const shape = unreached
    ? trans.__("not reached")
    : differ > 1
      ? count(differ, "tensor")
      : (doc.laid(edge) || shapeText(spec.shape)) + (named && edge.label && !shared(doc, line.edges[0]!) ? ` ${edge.label}` : "");
  const before = differ > 1 ? undefined : was.get(edge.id);
  const old = before && before !== shapeText(spec.shape) ? trans.__("was %1", before) : "";
  const first = differ > 1 || unreached ? "" : dtype;
  const axes = differ > 1 ? "" : axesText(spec);
  const w = (first.length + 1 + shape.length + (old ? old.length + 2 : 0)) * GLYPH + 6;
  const x = flat ? down + 3 : side > 0 ? from + 9 : from - 7 - w;
  const y = !flat ? down : side > 0 ? from - 20 : from + 3;
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
          first ? s("tspan.dtype", {}, first + " ") : null,
          s("tspan", {}, shape),
          old ? s("tspan.was", {}, `  ${old}`) : null,
        ),
        s("title", {}, [doc.edgeText(edge), axes, edge.label].filter(Boolean).join(" · ")),
      ),
  };
}
