import { expect, test } from "vitest";

import { FlowDoc } from "./doc";
import { buildTree } from "./groups";
import { Levels } from "./layout/levels";
import { SceneBuilder } from "./layout/scene";
import { edge, node, report } from "./testing/flows";
import { Viewport } from "./viewport";
import type { WireReport } from "./wire";

/** A picture in a frame that is narrower, or wider, than its boxes take together. */
function narrow(made: WireReport, part: number): Viewport {
  const doc = new FlowDoc(made);
  const viewport = new Viewport(doc);
  const scene = new SceneBuilder(doc, new Levels(doc, buildTree(doc), false)).build(new Set(), 330);
  const right = Math.max(...scene.boxes.map((box) => box.x + box.w));
  viewport.flowing = true;
  viewport.resize(part * (right - Math.min(...scene.boxes.map((box) => box.x))), 420);
  viewport.setScene(scene);
  return viewport;
}

/** Whether a stretch of the picture, in its own measure, stands in the frame. */
function whole({ view, width }: Viewport, left: number, right: number): boolean {
  return left * view.k + view.x >= 0 && right * view.k + view.x <= width;
}

test("in a narrow frame the first look shows the boxes of its rows whole", () => {
  const ends = ["a", "b"].map((id) => node(id, "Dense", { name: `${id}, a branch with its name` }));
  const all = [node("x"), ...ends, ...Array.from({ length: 9 }, (_, i) => node(`y${i}`))];
  const lines = [edge("x", "a"), edge("x", "b"), edge("a", "y0"), edge("b", "y0")];
  lines.push(...Array.from({ length: 8 }, (_, i) => edge(`y${i}`, `y${i + 1}`)));
  const viewport = narrow(report(all, lines), 0.6);
  viewport.begin(undefined);
  const { y, height } = viewport.area();
  const seen = viewport.scene!.boxes.filter((box) => box.y < y + height && box.y + box.h > y);
  expect(seen.length).toBeGreaterThan(3);
  expect(seen.filter((box) => !whole(viewport, box.x, box.x + box.w))).toEqual([]);
});

test("a viewport sees the boxes that stand whole in it, and what is revealed afterwards is seen", () => {
  const all = Array.from({ length: 30 }, (_, i) => node(`y${i}`, i % 2 ? "Dense" : `Layer${i}`));
  const viewport = narrow(
    report(
      all,
      all.slice(1).map((_, i) => edge(`y${i}`, `y${i + 1}`)),
    ),
    1.2,
  );
  const boxes = [...viewport.scene!.boxes].sort((a, b) => a.y - b.y);
  const last = boxes[boxes.length - 1]!;
  viewport.zoom(1 / viewport.view.k);
  viewport.center(boxes[2]!);
  expect(viewport.sees(boxes[2]!)).toBe(true);
  expect(viewport.sees(last)).toBe(false);
  viewport.reveal(last);
  expect(viewport.sees(last)).toBe(true);
});
