/** Hands on the graph: drag and pinch, wheel, clicks; and the keys that walk along the flow. */

import { on } from "./dom";
import type { Item } from "./groups";
import { turned, type Box, type Scene } from "./layout/scene";
import type { Viewport } from "./viewport";

export interface Touch {
  node(id: string): void;
  line(key: string): void;
  toggle(id: string): void;
  go(id: string): void;
  ground(): void;
}

export function handle(viewport: Viewport, touch: Touch): void {
  const { svg } = viewport;
  const pointers = new Map<number, [number, number]>();
  let moved = 0;
  let spread = 0;
  on(svg, "pointerdown", (event) => {
    if (event.button > 0) {
      return;
    }
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
    moved = 0;
    spread = 0;
    svg.classList.add("still");
  });
  on(svg, "pointermove", (event) => {
    const last = pointers.get(event.pointerId);
    if (!last) {
      return;
    }
    const dx = event.clientX - last[0];
    const dy = event.clientY - last[1];
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
    moved += Math.abs(dx) + Math.abs(dy);
    if (moved > 4 && !svg.hasPointerCapture(event.pointerId)) {
      svg.setPointerCapture(event.pointerId);
      svg.classList.add("dragging");
    }
    if (pointers.size === 2) {
      const [a, b] = [...pointers.values()] as [[number, number], [number, number]];
      const now = Math.hypot(a[0] - b[0], a[1] - b[1]);
      const area = svg.getBoundingClientRect();
      if (spread) {
        viewport.zoom(now / spread, (a[0] + b[0]) / 2 - area.left, (a[1] + b[1]) / 2 - area.top);
      }
      spread = now;
      viewport.pan(dx / 2, dy / 2);
    } else if (moved > 4) {
      viewport.pan(dx, dy);
    }
  });
  const end = (event: PointerEvent): void => {
    pointers.delete(event.pointerId);
    spread = 0;
    if (!pointers.size) {
      svg.classList.remove("dragging", "still");
    }
  };
  on(svg, "pointerup", end);
  on(svg, "pointercancel", end);
  on(svg, "click", (event) => {
    if (moved > 4) {
      return;
    }
    const at = event.target as Element;
    const value = (selector: string, name: string): string | null | undefined => at.closest(selector)?.getAttribute(name);
    const toggle = value("[data-toggle]", "data-toggle");
    const go = value("[data-go]", "data-go");
    const id = value("[data-id]", "data-id");
    const line = value("[data-line]", "data-line");
    if (typeof toggle === "string") {
      touch.toggle(toggle);
    } else if (typeof go === "string") {
      touch.go(go);
    } else if (typeof id === "string") {
      touch.node(id);
    } else if (typeof line === "string") {
      touch.line(line);
    } else {
      touch.ground();
    }
  });
  on(svg, "dblclick", (event) => {
    const id = (event.target as Element).closest("[data-id]")?.getAttribute("data-id");
    if (typeof id === "string") {
      touch.toggle(id);
    }
  });
  on(
    svg,
    "wheel",
    (event) => {
      const unit = event.deltaMode === 1 ? 16 : 1;
      if (event.ctrlKey || event.metaKey) {
        const area = svg.getBoundingClientRect();
        event.preventDefault();
        viewport.zoom(Math.exp(-event.deltaY * unit * 0.0035), event.clientX - area.left, event.clientY - area.top);
      } else if (viewport.canPan(event.deltaX, event.deltaY)) {
        // At its end the graph lets the page scroll on.
        event.preventDefault();
        viewport.pan(-event.deltaX * unit, -event.deltaY * unit);
      }
    },
    { passive: false },
  );
}

/** Keys of a picture from left to right, as they are in one from top to bottom. */
const TURNED: Record<string, string> = { ArrowRight: "ArrowDown", ArrowLeft: "ArrowUp", ArrowDown: "ArrowRight", ArrowUp: "ArrowLeft" };

/** The next item in a direction: along the flow, and among neighbours across it. */
export function step(scene: Scene, from: Item, key: string): Item | null {
  const { flat } = scene;
  const place = (item: Item): Box | undefined => {
    const found = scene.byItem.get(item);
    return found && turned(found, flat);
  };
  const box = place(from);
  if (!box) {
    return scene.boxes[0]?.item ?? null;
  }
  const way = flat ? (TURNED[key] ?? key) : key;
  const middle = box.x + box.w / 2;
  const nearest = (items: readonly Item[]): Item | null => {
    let best: Item | null = null;
    let least = Infinity;
    for (const item of items) {
      const other = place(item);
      if (!other) {
        continue;
      }
      const distance = Math.abs(other.x + other.w / 2 - middle) + Math.abs(other.y - box.y) / 8;
      if (distance < least) {
        [best, least] = [item, distance];
      }
    }
    return best;
  };
  if (way === "ArrowDown") {
    const readers = scene.lines.filter((line) => line.source === from).map((line) => line.target);
    return nearest(readers) ?? (box.open ? nearest(from.members) : null);
  }
  if (way === "ArrowUp") {
    return (
      nearest(scene.lines.filter((line) => line.target === from).map((line) => line.source)) ?? (from.parent?.parent ? from.parent : null)
    );
  }
  const right = way === "ArrowRight";
  const beside = scene.boxes.filter((one) => {
    const other = turned(one, flat);
    if (one.item === from || other.depth !== box.depth || other.y > box.y + box.h || other.y + other.h < box.y) {
      return false;
    }
    return right ? other.x > box.x : other.x < box.x;
  });
  return nearest(beside.map((other) => other.item));
}
