/** The graph on the screen: only what is in sight has elements; pan, zoom and fit move one transform. */

import type { FlowDoc } from "./doc";
import { s } from "./dom";
import { Elements, NOTHING } from "./elements";
import { Grid } from "./grid";
import type { Item } from "./groups";
import { labelsOf, type Label } from "./labels";
import type { Box, Scene } from "./layout/scene";
import { Overview } from "./overview";

export interface View {
  x: number;
  y: number;
  k: number;
}

type Part = Pick<Box, "x" | "y" | "w" | "h">;

const MOST = 420;
const WORDS = 0.42;
/** Below this no name can be read. */
const TINY = 0.22;
/** Below this a box is a speck: the whole picture is one image. */
const SPECK = 0.11;
const LEAST = 0.0004;
/** How far from a broken box its neighbors are shown with it. */
const REACH = 260;
/** Milliseconds of a frame for making elements. */
const SLICE = 4;

export class Viewport {
  readonly svg: SVGSVGElement;
  view: View = { x: 0, y: 0, k: 1 };
  scene: Scene | null = null;
  /** Called after each frame that moved. */
  moved: (() => void) | null = null;
  selected: Item | null = null;
  selectedLine: string | null = null;
  lit: { items: Set<Item>; lines: Set<string> } | null = null;
  matches = new Set<Item>();
  followed: ReadonlySet<number> | null = null;
  /** Ids of what a fix adds or changes, while the flow after it is shown. */
  changed = new Set<string>();
  was: ReadonlyMap<string, string> = new Map();
  /** In a page that scrolls as a whole the wheel is the page's. */
  flowing = false;
  private words: Label[] = [];
  private grid: Grid | null = null;
  private readonly elements: Elements;
  private frame = 0;
  /** While the picture is moved a frame makes only as much as there is time for. */
  private hurried = false;
  /** Whether somebody has moved the picture: until then it keeps fitting its frame. */
  held = false;
  width = 800;
  height = 500;

  /** The picture from afar. */
  readonly far: Overview;

  constructor(readonly doc: FlowDoc) {
    this.far = new Overview(doc);
    this.elements = new Elements(doc, this);
    this.svg = s("svg.graph", {}, hatch(), this.elements.world);
  }

  setScene(scene: Scene, keep?: Item): void {
    const before = keep && this.scene?.byItem.get(keep);
    const after = keep && scene.byItem.get(keep);
    this.scene = scene;
    const labels = labelsOf(this.doc, scene, this.was);
    for (const label of labels) {
      scene.width = Math.max(scene.width, label.x + label.w);
    }
    this.grid = new Grid(scene, labels);
    this.words = labels;
    if (before && after) {
      // What was opened or closed stays under the pointer.
      const along = scene.flat ? 0 : 0.5;
      this.view.x += (before.x + before.w * along - after.x - after.w * along) * this.view.k;
      this.view.y += (before.y - after.y) * this.view.k;
    }
    this.elements.begin(scene);
  }

  /** How wide the pipeline's lane may be. */
  laneWidth(): number {
    return Math.max(330, Math.min(960, 1.25 * this.width - 60));
  }

  resize(width: number, height: number): void {
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
    this.schedule();
  }

  fitView(): View {
    const scene = this.scene;
    if (!scene) {
      return this.view;
    }
    const pad = 28;
    const k = Math.max(
      LEAST,
      Math.min(1.15, (this.width - 2 * pad - 24) / scene.width, (this.height - pad - 48) / Math.max(1, scene.height)),
    );
    return { k, x: (this.width - 24 - scene.width * k) / 2, y: Math.max(pad, (this.height - 20 - scene.height * k) / 2) };
  }

  fit(): void {
    this.view = this.fitView();
    this.schedule();
  }

  /** The first look: everything where it can be read; otherwise readable, with the problem in the middle. */
  begin(focus: Item | undefined): void {
    const fit = this.fitView();
    const least = Math.min(0.8, Math.max(0.66, (this.width - 80) / (this.scene?.width ?? 1)));
    if (fit.k >= 0.9 * least) {
      this.view = fit;
      this.schedule();
      return;
    }
    const first = this.scene?.boxes.find((box) => box.item.parent?.parent === null && box.y > 0) ?? this.scene?.boxes[0];
    const { width, height, flat } = this.scene ?? { width: 0, height: 0, flat: false };
    const x = this.width / 2 - (first ? first.x + first.w / 2 : 0) * least;
    const y = flat ? this.height / 2 - (first ? first.y + first.h / 2 : 0) * least : 20;
    this.view = { k: least, x: held(flat ? 28 : x, this.width, width * least), y: flat ? held(y, this.height, height * least) : y };
    const box = focus && this.scene?.byItem.get(focus);
    if (box) {
      this.center(box, 0.5);
    }
    if (!flat) {
      const { y, height: tall } = this.area();
      this.across(box ? y : 0, box ? y + tall : this.height / least, this.flowing ? 0.45 : 0.9 * least);
    }
    this.schedule();
  }

  /** Moves and shrinks the picture until the rows between two heights are whole from side to side, with lines and words where these fit. */
  private across(top: number, bottom: number, least: number, must: readonly Part[] = []): void {
    const { boxes, lines } = this.scene!;
    const ways = lines.map((one) => ({ x: one.left, y: one.top, w: one.right - one.left, h: one.bottom - one.top }));
    const { x: left, width } = this.area();
    // Else at least no box that is in sight is cut off.
    const near = boxes.filter((one) => one.x < left + width && one.x + one.w > left);
    for (const parts of [
      [...boxes, ...this.words, ...ways],
      [...boxes, ...must],
      [...near, ...must],
    ]) {
      const seen = parts.filter((one) => one.y < bottom && one.y + one.h > top);
      const first = Math.min(...seen.map((one) => one.x));
      const right = Math.max(...seen.map((one) => one.x + one.w));
      const { x, k: was } = this.view;
      const k = Math.min(was, (this.width - 24) / (right - first));
      if (k >= least) {
        const wish = this.width / 2 - ((this.width / 2 - x) * k) / was;
        this.view.k = k;
        this.view.x = Math.max(12 - first * k, Math.min(this.width - 12 - right * k, wish));
        return;
      }
    }
  }

  /** A box, what it is joined to and the words between, as large as they fit the width; gives the height that this takes. */
  closeUp(focus: Item): number {
    const { scene } = this;
    const box = scene?.byItem.get(focus);
    if (!scene || !box) {
      return 0;
    }
    // A branch that comes from far away is not followed there: the broken box is in the picture, and as large as its near ones let it be.
    const inReach = new Set(scene.boxes.filter(({ y, h }) => y > box.y - REACH && y + h < box.y + box.h + REACH).map((one) => one.item));
    const near = scene.lines.filter(
      ({ source, target }) => (source === focus || target === focus) && inReach.has(source) && inReach.has(target),
    );
    const around = near.flatMap((line) => [scene.byItem.get(line.source), scene.byItem.get(line.target)]);
    const parts: Part[] = [box, ...around.filter((one) => one !== undefined)];
    parts.push(...this.words.filter((label) => near.includes(label.line)));
    parts.push(
      ...near.filter((line) => line.severity ?? line.status === "failed").map(({ left, right }) => ({ ...box, x: left, w: right - left })),
    );
    const left = Math.min(...parts.map((one) => one.x));
    const first = Math.min(...parts.map((one) => one.y));
    // With the pipeline's first row goes its title.
    const top = scene.lane && first < 40 ? 0 : first;
    const right = Math.max(...parts.map((one) => one.x + one.w));
    const bottom = Math.max(...parts.map((one) => one.y + one.h));
    const pad = 10;
    const k = Math.max(0.5, Math.min(1, (this.width - 2 * pad) / (right - left)));
    const spare = this.width - (right - left) * k;
    // Where not all of it fits, the broken box stands in the middle.
    const x = spare >= 2 * pad - 1 ? spare / 2 - left * k : this.width / 2 - (box.x + box.w / 2) * k;
    this.view = { k, x, y: 0 };
    this.across(top, Math.min(bottom, top + 420 / k), 0.7 * k, parts);
    this.view.y = pad - top * this.view.k;
    this.schedule();
    return (bottom - top) * this.view.k + 2 * pad;
  }

  /** What is in the middle, in the picture's own measure, and the scale. */
  middle(): { x: number; y: number; k: number } {
    const { x, y, width, height } = this.area();
    return { x: x + width / 2, y: y + height / 2, k: this.view.k };
  }

  /** Puts a point of the picture into the middle. */
  lookAt(x: number, y: number, k: number): void {
    this.held = true;
    const scale = Math.max(LEAST, Math.min(3, k));
    this.view = { k: scale, x: this.width / 2 - x * scale, y: this.height / 2 - y * scale };
    this.schedule();
  }

  /** Sets off the lines of these edges, until told otherwise. */
  follow(edges: ReadonlySet<number> | null): void {
    this.followed = edges;
    this.schedule();
  }

  center(box: Box, at = 0.5): void {
    const k = Math.max(this.view.k, 0.6);
    const { width, height } = this.scene!;
    this.view = {
      k,
      x: held(this.width / 2 - (box.x + box.w / 2) * k, this.width, width * k),
      y: held(this.height * at - (box.y + Math.min(box.h, 200) / 2) * k, this.height, height * k),
    };
    this.schedule();
  }

  sees(box: Box): boolean {
    const { x, y, k } = this.view;
    return (
      box.x * k + x > 8 &&
      (box.x + box.w) * k + x < this.width - 8 &&
      box.y * k + y > 30 &&
      (box.y + Math.min(box.h, 120)) * k + y < this.height - 30
    );
  }

  /** Moves only as far as is needed for a box to be in sight. */
  reveal(box: Box): void {
    if (!this.sees(box) || this.view.k < WORDS) {
      this.center(box);
    } else {
      this.schedule();
    }
  }

  zoom(factor: number, px = this.width / 2, py = this.height / 2): void {
    this.held = true;
    const k = Math.max(LEAST, Math.min(3, this.view.k * factor));
    const f = k / this.view.k;
    this.view = { k, x: px - (px - this.view.x) * f, y: py - (py - this.view.y) * f };
    this.hurried = true;
    this.schedule();
  }

  /** What is in sight, in the picture's own measure. */
  area(): { x: number; y: number; width: number; height: number } {
    const { x, y, k } = this.view;
    return { x: -x / k, y: -y / k, width: this.width / k, height: this.height / k };
  }

  pan(dx: number, dy: number): void {
    this.held = true;
    this.view.x += dx;
    this.view.y += dy;
    this.hurried = true;
    this.schedule();
  }

  /** Whether a wheel step has anywhere to go, so that the page keeps its own scrolling otherwise. */
  canPan(dx: number, dy: number): boolean {
    const { x, y, k } = this.view;
    const scene = this.scene;
    if (!scene) {
      return false;
    }
    if (this.flowing && Math.abs(dy) >= Math.abs(dx)) {
      return false;
    }
    if (Math.abs(dy) >= Math.abs(dx)) {
      return dy > 0 ? y + scene.height * k > this.height - 24 : y < 24;
    }
    return dx > 0 ? x + scene.width * k > this.width - 24 : x < 24;
  }

  schedule(): void {
    if (this.frame) {
      return;
    }
    this.frame = requestAnimationFrame(() => {
      this.render();
    });
  }

  /** Draws every box anew at the next frame. */
  forget(): void {
    this.elements.forget();
    this.far.forget();
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
    this.far.hide();
  }

  render(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const { scene, grid, hurried } = this;
    if (!scene || !grid) {
      return;
    }
    this.hurried = false;
    const { x, y, k } = this.view;
    const { world } = this.elements;
    world.setAttribute("transform", `translate(${x} ${y}) scale(${k})`);
    world.classList.toggle("tiny", k < TINY);
    const margin = 120 / k;
    const window: [number, number, number, number] = [
      -x / k - margin,
      -y / k - margin,
      (this.width - x) / k + margin,
      (this.height - y) / k + margin,
    ];
    const boxes = grid.boxes.within(...window, MOST);
    const lines = boxes && k > SPECK ? grid.lines.within(...window, MOST * 2) : null;
    if (!boxes || !lines) {
      this.far.draw(scene, this.view, this.width, this.height);
      // What is hidden costs, too.
      this.elements.draw(NOTHING, NOTHING, NOTHING, false);
    } else {
      const full = k > WORDS;
      const labels = full ? grid.labels.within(...window, MOST) : null;
      const until = hurried ? performance.now() + SLICE : Infinity;
      if (this.elements.draw(boxes, lines, labels ?? NOTHING, full, until)) {
        this.far.hide();
      } else {
        // Until then the picture from afar, where there was one, stands behind them.
        this.far.follow(this.view);
        this.hurried = true;
        this.schedule();
      }
    }
    const shown = this.selected && this.elements.idOf(this.selected);
    // Names the selected box to who cannot see it, as long as it is drawn.
    if (shown) {
      this.svg.setAttribute("aria-activedescendant", shown);
    } else {
      this.svg.removeAttribute("aria-activedescendant");
    }
    this.moved?.();
  }
}

/** What fits is not pushed out of the frame, and no side is left empty. */
function held(wish: number, room: number, size: number): number {
  return size <= room - 48 ? (room - size) / 2 : Math.min(28, Math.max(room - 36 - size, wish));
}

export function hatch(): SVGDefsElement {
  const stripes = (id: string): SVGPatternElement =>
    s(
      "pattern",
      { id, width: 9, height: 9, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      s("line.hatch-line", { x1: 0, y1: 0, x2: 0, y2: 9 }),
    );
  return s("defs", {}, stripes("hatch"));
}
