/** The elements of what is in sight: made where something comes, kept while it stays, taken away where it goes. */

import type { FlowDoc } from "./doc";
import { drawBox, drawLine } from "./draw";
import { s } from "./dom";
import type { Item } from "./groups";
import type { Label } from "./labels";
import type { Box, Line, Scene } from "./layout/scene";
import * as trans from "./words";

/** What sets a box or a line off from the others. */
export interface Marks {
  selected: Item | null;
  selectedLine: string | null;
  lit: { items: Set<Item>; lines: Set<string> } | null;
  matches: Set<Item>;
  followed: ReadonlySet<number> | null;
  changed: Set<string>;
}

export const NOTHING: ReadonlySet<never> = new Set();

export class Elements {
  readonly world = s("g.world", {});
  private readonly layers = {
    frames: s("g"),
    lines: s("g"),
    nodes: s("g"),
    labels: s("g"),
    lane: s("g"),
  };
  private readonly boxes = new Map<string, { box: Box; full: boolean; element: SVGGElement }>();
  private readonly lines = new Map<Line, { element: SVGGElement }>();
  private readonly labels = new Map<Label, { element: SVGGElement }>();

  constructor(
    private readonly doc: FlowDoc,
    private readonly marks: Marks,
  ) {
    this.world.append(...Object.values(this.layers));
  }

  /** Another scene: boxes that it has, too, go to their new places; the rest is drawn anew. */
  begin({ lane }: Scene): void {
    keep(this.lines, NOTHING);
    keep(this.labels, NOTHING);
    this.layers.lane.replaceChildren(lane ? s("text.lane-title", { x: lane.x, y: 14 }, trans.__("PIPELINE")) : "");
  }

  /** Draws every box anew the next time. */
  forget(): void {
    keep(this.boxes, NOTHING);
  }

  /** The id of an item's box where it is drawn. */
  idOf(item: Item): string {
    return this.boxes.get(item.id)?.element.id ?? "";
  }

  /** Draws what is in sight; what is to be made after a moment in time waits for the next call. Whether all of it stands. */
  draw(boxes: ReadonlySet<Box>, lines: ReadonlySet<Line>, labels: ReadonlySet<Label>, full: boolean, until = Infinity): boolean {
    const { doc, marks } = this;
    const kept = new Set<string>();
    const moved: [SVGGElement, Box][] = [];
    let whole = true;
    const late = (): boolean => performance.now() > until && !(whole = false);
    for (const box of boxes) {
      kept.add(box.item.id);
      const element = this.boxElement(box, full, late, moved);
      if (!element) {
        continue;
      }
      const { classList } = element;
      classList.toggle("selected", marks.selected === box.item);
      classList.toggle("changed", marks.changed.has(box.item.id));
      classList.toggle("match", marks.matches.has(box.item));
      classList.toggle("lit", Boolean(marks.lit?.items.has(box.item)));
    }
    keep(this.boxes, kept);
    if (moved.length) {
      // Once for all of them: where they come from has to be known before they go.
      void this.world.getBoundingClientRect();
      moved.forEach((one) => place(...one));
    }
    for (const line of lines) {
      const element = made(this.lines, line, this.layers.lines, late, () => drawLine(doc, line));
      if (!element) {
        continue;
      }
      const { classList } = element;
      const some = (which: (edge: number) => boolean): boolean => line.edges.some(which);
      classList.toggle("lit", Boolean(marks.lit?.lines.has(line.key)));
      classList.toggle("changed", marks.changed.size > 0 && some((e) => marks.changed.has(doc.edges[e]!.id)));
      classList.toggle(
        "followed",
        some((e) => Boolean(marks.followed?.has(e))),
      );
      classList.toggle("selected", marks.selectedLine === line.key);
    }
    keep(this.lines, lines);
    for (const label of labels) {
      made(this.labels, label, this.layers.labels, late, () => label.draw());
    }
    keep(this.labels, labels);
    return whole;
  }

  private boxElement(box: Box, full: boolean, late: () => boolean, moved: [SVGGElement, Box][]): SVGGElement | undefined {
    const { id } = box.item;
    const old = this.boxes.get(id);
    if (old?.full === full && old.box === box) {
      return old.element;
    }
    if (late()) {
      return old?.element;
    }
    let entry = old;
    if (entry?.full === full && alike(entry.box, box)) {
      entry.box = box;
    } else {
      entry = { box, full, element: drawBox(this.doc, box, full) };
      const { element } = entry;
      element.id = `n${this.doc.report.version}-${attribute(id)}`;
      element.setAttribute("role", "img");
      element.setAttribute("aria-label", element.querySelector(":scope>title")?.textContent ?? box.item.label);
      this.boxes.set(id, entry);
      (box.open ? this.layers.frames : this.layers.nodes).append(element);
      if (old && old.box !== box) {
        element.style.transform = old.element.style.transform;
        old.element.remove();
        moved.push([element, box]);
        return element;
      }
      // With more or fewer words in the same place it has nowhere to come from.
      old?.element.remove();
    }
    place(entry.element, box);
    return entry.element;
  }
}

function place(element: SVGGElement, { x, y }: Box): void {
  element.style.transform = `translate(${x}px, ${y}px)`;
}

function made<K>(
  known: Map<K, { element: SVGGElement }>,
  key: K,
  layer: SVGGElement,
  late: () => boolean,
  draw: () => SVGGElement,
): SVGGElement | undefined {
  let element = known.get(key)?.element;
  if (!element && !late()) {
    element = draw();
    known.set(key, { element });
    layer.append(element);
  }
  return element;
}

/** Takes away all but what is kept. */
function keep<K>(known: Map<K, { element: SVGGElement }>, kept: ReadonlySet<K>): void {
  for (const [key, { element }] of known) {
    if (!kept.has(key)) {
      element.remove();
      known.delete(key);
    }
  }
}

/** An id that an attribute may hold, whatever the model's names are. */
function attribute(id: string): string {
  return encodeURIComponent(id).replace(/[^\w-]/g, "_");
}

function alike(a: Box, b: Box): boolean {
  return a.open === b.open && a.w === b.w && a.h === b.h && a.pills.join() === b.pills.join();
}
