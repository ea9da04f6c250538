/** The measure that colours the picture: its choice, its scale, and the nodes with the largest numbers. */

import type { FlowDoc } from "./doc";
import { button, h, on } from "./dom";
import type { Item } from "./groups";
import { familyList } from "./families";
import { measuresOf, valueOf, type Measure } from "./measures";
import type { Scene } from "./layout/scene";
import type { Viewport } from "./viewport";
import * as trans from "./words";

/** Steps of the scale; a box's step is also its bar's length and its number. */
export const STEPS = 5;
const LISTED = 12;

/** A measure and the largest number of what is in sight. */
export class Heat {
  constructor(
    readonly measure: Measure,
    readonly most: number,
  ) {}

  static over(measure: Measure, items: Iterable<Item>): Heat {
    let most = 0;
    for (const item of items) {
      most = Math.max(most, Math.abs(valueOf(measure, item) ?? 0));
    }
    return new Heat(measure, most);
  }

  /** What is shown at an item: its part of the largest, its step, and its number. */
  at(item: Item): { part: number; step: number; words: string } | null {
    const value = valueOf(this.measure, item);
    if (value === undefined || !this.most) {
      return null;
    }
    const part = Math.min(1, Math.abs(value) / this.most);
    // Numbers of layers differ by powers of ten: the root tells small ones apart.
    return { part, step: Math.min(STEPS - 1, Math.floor(Math.sqrt(part) * STEPS)), words: this.measure.say(value) };
  }
}

export interface OverlayActions {
  choose(measure: Measure | null): void;
  goTo(node: number): void;
  mark(nodes: readonly number[]): void;
}

/** What colours mean: the families, or a measure. Null where there is nothing to say. */
export function legendOf(doc: FlowDoc, act: OverlayActions): HTMLElement | null {
  const families = familyList(doc, (nodes) => {
    act.mark(nodes);
  });
  const measures = measuresOf(doc);
  if (families.hidden && !measures.length) {
    return null;
  }
  return h("details.legend", {}, h("summary", {}, trans.__("Legend")), overlayPane(doc, measures, families, act));
}

/** What the legend shows: by what is coloured, and for a measure its scale and its largest nodes. */
function overlayPane(doc: FlowDoc, measures: readonly Measure[], families: HTMLElement, act: OverlayActions): HTMLElement {
  const below = h("div", {}, families);
  const choice = h(
    "select",
    { "aria-label": trans.__("Color by") },
    h("option", { value: "" }, trans.__("Color by family")),
    ...measures.map((one) => h("option", { value: one.id }, one.name)),
  );
  on(choice, "change", () => {
    const measure = measures.find((one) => one.id === choice.value) ?? null;
    below.replaceChildren(measure ? scale(doc, measure, act) : families);
    act.choose(measure);
  });
  // Numbers that somebody has added are what they want to see.
  const own = doc.report.overlays?.at(-1);
  if (own) {
    choice.value = `own ${own.name}`;
    choice.dispatchEvent(new Event("change"));
  }
  return h("div", {}, measures.length ? choice : null, below);
}

function scale(doc: FlowDoc, measure: Measure, act: OverlayActions): HTMLElement {
  const known = measure.of.flatMap((value, i) => (value ? [[value, i] as const] : [])).sort((a, b) => Math.abs(b[0]) - Math.abs(a[0]));
  const most = known[0]?.[0] ?? 0;
  const whole = known.reduce((total, [value]) => total + value, 0);
  const cells = Array.from({ length: STEPS }, (_, step) => h("span", { class: `cell heat-${step}` }));
  const rows = known.slice(0, LISTED).map(([value, i]) => {
    const row = button("", { title: doc.node(i).op }, () => act.goTo(i));
    row.append(h("span.who", {}, doc.node(i).name), h("span.mono", {}, measure.say(value)));
    return h("li", {}, row);
  });
  return h(
    "div",
    {},
    h("div.scale", {}, h("span", {}, "0"), ...cells, h("span.most", {}, measure.say(most))),
    h("p.muted", {}, trans.__("%1 in total", measure.say(whole))),
    h("ol", { "aria-label": measure.name }, ...rows),
    known.length > LISTED ? h("p.muted", {}, trans.__("and %1 more in the table", known.length - LISTED)) : null,
  );
}

/** The legend is open at first where it covers nothing. */
export function foldLegend(legend: HTMLElement | null, viewport: Viewport, narrow: boolean): void {
  if (!legend) {
    return;
  }
  legend.toggleAttribute("open", true);
  const { x, y, k } = viewport.view;
  const [right, top] = [legend.offsetWidth + 18, viewport.height - legend.offsetHeight - 18];
  const covers = viewport.scene?.boxes.some(
    (box) => box.x * k + x < right && (box.y + box.h) * k + y > top && box.y * k + y < viewport.height,
  );
  legend.toggleAttribute("open", !covers && !narrow);
}

/** Sets the scale of what the picture is coloured by: up to the largest box in sight. */
export function warm(doc: FlowDoc, viewport: Viewport, scene: Scene | null, legend: HTMLElement | null): void {
  if (doc.heat && scene) {
    doc.heat = Heat.over(
      doc.heat.measure,
      scene.boxes.flatMap((box) => (box.open ? [] : [box.item])),
    );
    const most = legend?.querySelector(".most");
    if (most) {
      most.textContent = doc.heat.measure.say(doc.heat.most);
    }
    viewport.forget();
  }
}

/** Colours the picture by a measure, or by family again. */
export function colour(doc: FlowDoc, viewport: Viewport, measure: Measure | null, legend: HTMLElement | null): void {
  doc.heat = measure && new Heat(measure, 0);
  viewport.forget();
  warm(doc, viewport, viewport.scene, legend);
  viewport.schedule();
}
