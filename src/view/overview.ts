/**
 * The picture from afar, where no box can be read: painted once, larger than what is in sight, and moved as a whole. What is too small
 * to read is told by what is not: boxes by the colour of their family, parts by their names where these have room.
 */

import type { FlowDoc } from "./doc";
import { h } from "./dom";
import { lookOf } from "./families";
import type { Box, Line, Scene } from "./layout/scene";

interface View {
  x: number;
  y: number;
  k: number;
}

/** What was painted: a window of the scene at a scale, and how large it is there. */
interface Painted {
  scene: Scene;
  left: number;
  top: number;
  wide: number;
  tall: number;
  k: number;
  dots: number;
}

/** How much further than what is in sight is painted, on each side. */
const BEYOND = 0.4;
/** By how much an image may be stretched until it is painted anew. */
const STRETCH = 1.5;
const WORDS = 11;
/** After so many milliseconds without another step of a zoom the image is made sharp. */
const REST = 90;

export class Overview {
  readonly canvas = h("canvas.far", { "aria-hidden": "true", hidden: true });
  private painted: Painted | null = null;
  private resting = 0;

  constructor(
    private readonly doc: FlowDoc,
    private readonly again: () => void,
  ) {}

  forget(): void {
    this.painted = null;
  }

  hide(): void {
    this.canvas.hidden = true;
    clearTimeout(this.resting);
  }

  draw(scene: Scene, view: View, width: number, height: number): void {
    const context = typeof CanvasRenderingContext2D === "undefined" ? null : this.canvas.getContext("2d");
    if (!context) {
      return;
    }
    const dots = Math.min(2, globalThis.devicePixelRatio || 1);
    this.canvas.hidden = false;
    let held = this.painted;
    if (held?.scene !== scene || held.dots !== dots || !covers(held, view, width, height)) {
      held = this.painted = this.paint(context, scene, view, width, height, dots);
    } else if (held.k !== view.k) {
      clearTimeout(this.resting);
      this.resting = window.setTimeout(() => {
        this.painted = null;
        this.again();
      }, REST);
    }
    this.canvas.style.transform = `translate(${view.x + held.left * view.k}px,${view.y + held.top * view.k}px) scale(${view.k / held.k / dots})`;
  }

  private paint(context: CanvasRenderingContext2D, scene: Scene, view: View, width: number, height: number, dots: number): Painted {
    const { k } = view;
    const left = (-view.x - width * BEYOND) / k;
    const top = (-view.y - height * BEYOND) / k;
    const wide = (width * (1 + 2 * BEYOND)) / k;
    const tall = (height * (1 + 2 * BEYOND)) / k;
    this.canvas.width = wide * k * dots;
    this.canvas.height = tall * k * dots;
    const style = getComputedStyle(this.canvas);
    const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim() || "#8c959f";
    const right = left + wide;
    const bottom = top + tall;
    const meets = (x1: number, y1: number, x2: number, y2: number): boolean => x1 < right && x2 > left && y1 < bottom && y2 > top;
    context.scale(dots, dots);
    const at = (x: number, y: number): [number, number] => [(x - left) * k, (y - top) * k];
    const boxes = scene.boxes.filter((box) => meets(box.x, box.y, box.x + box.w, box.y + box.h));
    const open = boxes.filter((box) => box.open && box.w * k > 6);
    context.strokeStyle = colour("line");
    for (const box of open) {
      context.strokeRect(...at(box.x, box.y), box.w * k, box.h * k);
    }
    context.strokeStyle = colour("strong");
    context.lineWidth = Math.max(0.4, Math.min(1.2, 8 * k));
    context.beginPath();
    for (const line of scene.lines) {
      if (meets(line.left, line.top, line.right, line.bottom)) {
        trace(context, line, at);
      }
    }
    context.stroke();
    for (const box of boxes) {
      if (!box.open) {
        context.fillStyle = colour(this.lookOf(box));
        const least = box.item.severity ? 4 : 1;
        context.fillRect(...at(box.x, box.y), Math.max(least, box.w * k), Math.max(least, box.h * k));
      }
    }
    context.font = `600 ${WORDS}px system-ui, sans-serif`;
    context.textBaseline = "top";
    context.lineWidth = 4;
    context.lineJoin = "round";
    context.strokeStyle = colour("bg");
    context.fillStyle = colour("fg");
    name(context, open.concat(boxes.filter((box) => !box.open && box.h * k > WORDS)), at, k);
    return { scene, left, top, wide, tall, k, dots };
  }

  private lookOf({ item }: Box): string {
    if (item.severity) {
      return "wrong";
    }
    const heat = this.doc.heat?.at(item);
    if (this.doc.heat) {
      return heat ? `heat-${heat.step}` : "line";
    }
    const family = item.node >= 0 ? lookOf(this.doc.family(item.node)) : "";
    return family ? `f-${family}` : "strong";
  }
}

/** Whether an image can stand for what is in sight. */
function covers(held: Painted, view: View, width: number, height: number): boolean {
  const stretch = view.k / held.k;
  const x = view.x + held.left * view.k;
  const y = view.y + held.top * view.k;
  const sharp = stretch < STRETCH && stretch > 1 / STRETCH;
  return sharp && x <= 0 && y <= 0 && x + held.wide * view.k >= width && y + held.tall * view.k >= height;
}

function trace(context: CanvasRenderingContext2D, line: Line, at: (x: number, y: number) => [number, number]): void {
  const { corners, parts, out, into } = line;
  const points: (readonly [number, number])[] = [...corners];
  if (!corners.length) {
    for (let i = 0; i < parts.length; i += 3) {
      points.push([parts[i]!, parts[i + 1]!], [parts[i]!, parts[i + 2]!]);
    }
    if (out) {
      points[0] = out;
    }
    if (into) {
      points.push(into);
    }
  }
  points.forEach(([x, y], i) => {
    const there = line.flat ? at(y, x) : at(x, y);
    if (i) {
      context.lineTo(...there);
    } else {
      context.moveTo(...there);
    }
  });
}

/** Writes the names of boxes that have room for them, the outermost first, none over another. */
function name(context: CanvasRenderingContext2D, boxes: readonly Box[], at: (x: number, y: number) => [number, number], k: number): void {
  const rows = new Map<number, [number, number][]>();
  for (const box of [...boxes].sort((a, b) => a.depth - b.depth)) {
    const [x, y] = at(box.x, box.y);
    const room = Math.max(box.w * k, box.open ? 90 : 0) - 8;
    if (room < 24 || box.h * k < WORDS + 4) {
      continue;
    }
    const words = fitting(context, box.item.label, room);
    const wide = context.measureText(words).width;
    const row = Math.round(y / (WORDS + 4));
    const taken = [row - 1, row, row + 1].flatMap((r) => rows.get(r) ?? []);
    if (!words || taken.some(([from, to]) => x < to && from < x + wide + 8)) {
      continue;
    }
    rows.set(row, [...(rows.get(row) ?? []), [x, x + wide + 8]]);
    context.strokeText(words, x + 4, y + 3);
    context.fillText(words, x + 4, y + 3);
  }
}

function fitting(context: CanvasRenderingContext2D, words: string, room: number): string {
  if (context.measureText(words).width <= room) {
    return words;
  }
  const n = Math.floor((words.length * room) / context.measureText(words).width) - 1;
  return n > 2 ? `${words.slice(0, n)}…` : "";
}
