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
    /** Along which side the bands lie: 1 from top to bottom, 0 from left to right. */
    private readonly side: 0 | 1,
  ) {
    for (const one of all) {
      const sides = extent(one);
      const from = Math.floor(sides[side] / BAND);
      const to = Math.floor(sides[side === 1 ? 3 : 2] / BAND);
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
    const [first, last] = this.side ? [top, bottom] : [left, right];
    for (let band = Math.floor(first / BAND); band <= Math.floor(last / BAND); band++) {
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
    const side = scene.flat ? 0 : 1;
    const extent = ({ x, y, w, h }: Box | Label): [number, number, number, number] => [x, y, x + w, y + h];
    this.boxes = new Bands(scene.boxes, extent, side);
    this.lines = new Bands(scene.lines, (line) => [line.left - 12, line.top - 12, line.right + 12, line.bottom + 12], side);
    this.labels = new Bands(labels, extent, side);
  }
}
