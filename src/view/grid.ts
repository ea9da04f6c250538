/** What lies in a window of the picture: boxes and lines by the band of height they cross. */

import type { Box, Line, Scene } from "./layout/scene";
import type { Label } from "./labels";

const BAND = 700;
const TALL = 8;

class Bands<T> {
  private readonly bands = new Map<number, T[]>();
  private readonly tall: T[] = [];

  constructor(
    all: readonly T[],
    private readonly extent: (one: T) => readonly [number, number, number, number],
  ) {
    for (const one of all) {
      const [, top, , bottom] = extent(one);
      const from = Math.floor(top / BAND);
      const to = Math.floor(bottom / BAND);
      if (to - from > TALL) {
        this.tall.push(one);
      } else {
        for (let b = from; b <= to; b++) {
          (this.bands.get(b) ?? this.bands.set(b, []).get(b)!).push(one);
        }
      }
    }
  }

  within(left: number, top: number, right: number, bottom: number, most: number): Set<T> | null {
    const found = new Set<T>();
    const offer = (one: T): void => {
      const [l, t, r, b] = this.extent(one);
      if (l <= right && r >= left && t <= bottom && b >= top) {
        found.add(one);
      }
    };
    this.tall.forEach(offer);
    for (let band = Math.floor(top / BAND); band <= Math.floor(bottom / BAND); band++) {
      this.bands.get(band)?.forEach(offer);
      if (found.size > most) {
        return null;
      }
    }
    return found;
  }
}

export class Grid {
  readonly boxes: Bands<Box>;
  readonly lines: Bands<Line>;
  readonly labels: Bands<Label>;

  constructor(
    readonly scene: Scene,
    labels: readonly Label[],
  ) {
    this.boxes = new Bands(scene.boxes, (box) => [box.x, box.y, box.x + box.w, box.y + box.h]);
    this.lines = new Bands(scene.lines, (line) => [line.left - 12, line.top, line.right + 12, line.bottom]);
    this.labels = new Bands(labels, (label) => [label.x, label.y, label.x + label.w, label.y + label.h]);
  }
}
