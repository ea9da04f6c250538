/** Where lines and the borders of open parts run, so that no words are put under one. */

import { push } from "./doc";
import type { Label } from "./labels";
import { turned, type Line, type Scene } from "./layout/scene";

interface Piece {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

const BAND = 160;
/** Pieces that a bend is taken for. */
const STEPS = 8;

export class Ways {
  private readonly bands = new Map<number, Piece[]>();
  /** Lines that go past many bands. */
  private readonly long: Piece[] = [];

  constructor(scene: Scene) {
    scene.lines.forEach((line) => {
      this.add(line);
    });
    for (const box of scene.boxes) {
      if (box.open) {
        const { x, y, w, h } = turned(box, scene.flat);
        this.put(x, y, x + w, y);
        this.put(x, y + h, x + w, y + h);
        this.put(x, y, x, y + h);
        this.put(x + w, y, x + w, y + h);
      }
    }
  }

  private put(x1: number, y1: number, x2: number, y2: number): void {
    const piece = { left: Math.min(x1, x2), top: Math.min(y1, y2), right: Math.max(x1, x2), bottom: Math.max(y1, y2) };
    const [from, to] = [Math.floor(piece.top / BAND), Math.floor(piece.bottom / BAND)];
    if (to - from > 20) {
      this.long.push(piece);
      return;
    }
    for (let b = from; b <= to; b++) {
      push(this.bands, b, piece);
    }
  }

  private add(line: Line): void {
    const { corners, parts } = line;
    corners.forEach(([x, y], i) => {
      if (i) {
        this.put(corners[i - 1]![0], corners[i - 1]![1], x, y);
      }
    });
    for (let i = 0; i < parts.length; i += 3) {
      const [x, top, bottom] = [parts[i]!, parts[i + 1]!, parts[i + 2]!];
      if (bottom > top) {
        this.put(x, top, x, bottom);
      }
      if (!i) {
        continue;
      }
      // A bend: half of its way down it has gone half of its way aside, and it begins and ends upright.
      const [px, py] = [parts[i - 3]!, parts[i - 1]!];
      if (line.elbow) {
        this.put(px, py, px, top - 12);
        this.put(px, top - 12, x, top - 12);
        continue;
      }
      let [lastX, lastY] = [px, py];
      const steps = px === x ? 1 : STEPS;
      for (let k = 1; k <= steps; k++) {
        const t = k / steps;
        const aside = t * t * (3 - 2 * t);
        const down = 1.5 * t * (1 - t) + t * t * t;
        const [atX, atY] = [px + (x - px) * aside, py + (top - py) * down];
        this.put(lastX, lastY, atX, atY);
        [lastX, lastY] = [atX, atY];
      }
    }
  }

  /** Whether anything runs through a label: another line, its own where it bends, or a border. */
  cross(label: Label): boolean {
    const { x, y, w, h } = turned(label, label.line.flat);
    const hit = (one: Piece): boolean => one.right > x - 3 && one.left < x + w && one.bottom > y + 2 && one.top < y + h - 2;
    for (let b = Math.floor(y / BAND); b <= Math.floor((y + h) / BAND); b++) {
      if (this.bands.get(b)?.some(hit)) {
        return true;
      }
    }
    return this.long.some(hit);
  }
}
