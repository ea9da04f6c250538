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
const BEYOND = 0.28;
/** Pixels around a picture for what is written at its edge. */
const PAD = 100;
/** By how much an image may be stretched until it is painted anew: as soon as the frame is shown, and before that. */
const SOFT = 1.25;
const STRETCH = 1.5;
const WORDS = 11;
/** After so many milliseconds without another step of a zoom the image is made sharp. */
const REST = 90;

export class Overview {
  readonly canvas = h("canvas.far", { "aria-hidden": "true", hidden: true });
  private painted: Painted | null = null;
  private resting = 0;

  constructor(private readonly doc: FlowDoc) {}

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
    const held = this.painted;
    // What was to be painted of an earlier scene is of no use.
    clearTimeout(this.resting);
    if (held?.scene !== scene || held.dots !== dots || !covers(held, view, width, height)) {
      this.painted = this.paint(context, scene, view, width, height, dots);
    } else if (held.k !== view.k) {
      // Between two frames, so that no step of a zoom waits for it.
      this.resting = window.setTimeout(
        () => {
          this.painted = this.paint(context, scene, view, width, height, dots);
          this.follow(view);
        },
        sharp(held, view, SOFT) ? REST : 0,
      );
    }
    this.follow(view);
  }

  /** Moves the image, where one is shown, to where its window is now. */
  follow({ x, y, k }: View): void {
    const held = this.painted;
    if (held) {
      this.canvas.style.transform = `translate(${x + held.left * k}px,${y + held.top * k}px) scale(${k / held.k / held.dots})`;
    }
  }

  private paint(context: CanvasRenderingContext2D, scene: Scene, view: View, width: number, height: number, dots: number): Painted {
    const { k } = view;
    // Of what is in sight and beyond, as far as there is a picture.
    const pad = PAD / k;
    const left = Math.max(-pad, (-view.x - width * BEYOND) / k);
    const top = Math.max(-pad, (-view.y - height * BEYOND) / k);
    const right = Math.min(scene.width + pad, (width * (1 + BEYOND) - view.x) / k);
    const bottom = Math.min(scene.height + pad, (height * (1 + BEYOND) - view.y) / k);
    const [wide, tall] = [Math.max(0, right - left), Math.max(0, bottom - top)];
    this.canvas.width = Math.ceil(wide * k * dots);
    this.canvas.height = Math.ceil(tall * k * dots);
    const style = getComputedStyle(this.canvas);
    const colours: Record<string, string> = {};
    const colour = (name: string): string => (colours[name] ??= style.getPropertyValue(`--${name}`).trim() || "#8c959f");
    const meets = (x1: number, y1: number, x2: number, y2: number): boolean => x1 < right && x2 > left && y1 < bottom && y2 > top;
    context.scale(k * dots, k * dots);
    context.translate(-left, -top);
    const boxes = scene.boxes.filter((box) => meets(box.x, box.y, box.x + box.w, box.y + box.h));
    const open = boxes.filter((box) => box.open && box.w * k > 6);
    context.strokeStyle = colour("line");
    context.lineWidth = 1 / k;
    for (const box of open) {
      context.strokeRect(box.x, box.y, box.w, box.h);
    }
    context.strokeStyle = colour("strong");
    context.lineWidth = Math.max(0.4 / k, Math.min(1.2 / k, 8));
    context.beginPath();
    for (const line of scene.lines) {
      // A line of less than a pixel lies below its boxes.
      if (meets(line.left, line.top, line.right, line.bottom) && Math.max(line.right - line.left, line.bottom - line.top) * k > 1) {
        trace(context, line);
      }
    }
    context.stroke();
    let [last, lastX, lastY] = ["", 0, 0];
    for (const box of boxes) {
      if (!box.open) {
        const look = this.lookOf(box);
        // Of many within one pixel one is seen.
        const [x, y] = [Math.round(box.x * k), Math.round(box.y * k)];
        if (look === last && x === lastX && y === lastY && Math.max(box.w, box.h) * k < 0.5) {
          continue;
        }
        [last, lastX, lastY] = [look, x, y];
        context.fillStyle = colour(look);
        const least = (box.item.severity ? 4 : 1) / k;
        context.fillRect(box.x, box.y, Math.max(least, box.w), Math.max(least, box.h));
      }
    }
    context.setTransform(dots, 0, 0, dots, 0, 0);
    context.font = `600 ${WORDS}px system-ui, sans-serif`;
    context.textBaseline = "top";
    context.lineWidth = 4;
    context.lineJoin = "round";
    context.strokeStyle = colour("bg");
    context.fillStyle = colour("fg");
    name(context, open.concat(boxes.filter((box) => !box.open && box.h * k > WORDS)), (x, y) => [(x - left) * k, (y - top) * k], k);
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

function sharp(held: Painted, { k }: View, most: number): boolean {
  return k < held.k * most && k * most > held.k;
}

/** Whether an image can stand for what is in sight: as far as there is a picture. */
function covers(held: Painted, view: View, width: number, height: number): boolean {
  const { scene, left, top, wide, tall } = held;
  const { x, y, k } = view;
  return (
    sharp(held, view, STRETCH) &&
    (left < 0 || x + left * k <= 0) &&
    (top < 0 || y + top * k <= 0) &&
    (left + wide > scene.width || x + (left + wide) * k >= width) &&
    (top + tall > scene.height || y + (top + tall) * k >= height)
  );
}

function trace(context: CanvasRenderingContext2D, { corners, parts, out, into, flat }: Line): void {
  let begun = false;
  const to = (x: number, y: number): void => {
    const [a, b] = flat ? [y, x] : [x, y];
    if (begun) {
      context.lineTo(a, b);
    } else {
      context.moveTo(a, b);
    }
    begun = true;
  };
  for (const [x, y] of corners) {
    to(x, y);
  }
  if (corners.length) {
    return;
  }
  for (let i = 0; i < parts.length; i += 3) {
    const x = parts[i]!;
    to(...(out && !i ? out : ([x, parts[i + 1]!] as const)));
    to(x, parts[i + 2]!);
  }
  if (into) {
    to(...into);
  }
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
