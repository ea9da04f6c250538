/** A small canvas with everything on it and the window that is in sight. */

import { h, on } from "./dom";
import type { Viewport } from "./viewport";
import type { Scene } from "./layout/scene";

const WIDE = 120;
const TALL = 150;

export class Minimap {
  readonly canvas = h("canvas.map", { width: WIDE, height: TALL, "aria-hidden": "true" });
  private picture: ImageData | null = null;
  private pictureOf: Scene | null = null;
  private scale = 1;
  private left = 0;
  private blue = "";

  constructor(private readonly viewport: Viewport) {
    const go = (event: PointerEvent): void => {
      const { view, width, height } = viewport;
      const area = this.canvas.getBoundingClientRect();
      const x = ((event.clientX - area.left) / area.width) * WIDE;
      const y = ((event.clientY - area.top) / area.height) * TALL;
      viewport.view = {
        k: view.k,
        x: width / 2 - ((x - this.left) / this.scale) * view.k,
        y: height / 2 - ((y - 4) / this.scale) * view.k,
      };
      viewport.schedule();
    };
    on(this.canvas, "pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      go(event);
    });
    on(this.canvas, "pointermove", (event) => {
      if (event.buttons) {
        go(event);
      }
    });
  }

  /** Hidden where most of it is in sight anyway, and where it would cover the buttons above it or what it is an overview of. */
  draw(): void {
    const { scene, view, width, height } = this.viewport;
    if (typeof CanvasRenderingContext2D === "undefined") {
      return;
    }
    const context = scene && this.canvas.getContext("2d", { willReadFrequently: true });
    if (!scene || !context) {
      return;
    }
    const whole = scene.height * view.k < height * 1.5 && scene.width * view.k < width * 1.5;
    this.canvas.hidden = whole || width < 6 * WIDE || height < 2.7 * TALL;
    if (this.canvas.hidden) {
      return;
    }
    if (this.pictureOf !== scene || !this.picture) {
      this.paint(context, scene);
    } else {
      context.putImageData(this.picture, 0, 0);
    }
    context.strokeStyle = this.blue;
    context.lineWidth = 1.5;
    const x = this.left + (-view.x / view.k) * this.scale;
    const y = 4 + (-view.y / view.k) * this.scale;
    const w = Math.max(4, (width / view.k) * this.scale);
    const tall = Math.max(3, (height / view.k) * this.scale);
    context.strokeRect(Math.max(1, x), Math.max(1, y), Math.min(w, WIDE - 2 - Math.max(0, x)), Math.min(tall, TALL - 2 - Math.max(0, y)));
  }

  forget(): void {
    this.pictureOf = null;
  }

  private paint(context: CanvasRenderingContext2D, scene: Scene): void {
    const style = getComputedStyle(this.canvas);
    this.scale = Math.min((WIDE - 8) / Math.max(1, scene.width), (TALL - 8) / Math.max(1, scene.height));
    this.left = (WIDE - scene.width * this.scale) / 2;
    context.clearRect(0, 0, WIDE, TALL);
    const colour = (name: string, other: string): string => style.getPropertyValue(name).trim() || other;
    // Not asked for with each frame: the answer would need the styles of all that has come into sight.
    this.blue = colour("--blue", "#0072b2");
    for (const bad of [false, true]) {
      context.fillStyle = bad ? colour("--wrong", "#d55e00") : colour("--strong", "#8c959f");
      for (const box of scene.boxes) {
        if (box.open || Boolean(box.item.severity) !== bad) {
          continue;
        }
        const least = bad ? 4 : 1;
        context.fillRect(
          this.left + box.x * this.scale,
          4 + box.y * this.scale,
          Math.max(least, box.w * this.scale),
          Math.max(least, box.h * this.scale),
        );
      }
    }
    this.picture = context.getImageData(0, 0, WIDE, TALL);
    this.pictureOf = scene;
  }
}
