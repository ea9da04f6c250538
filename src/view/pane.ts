/** What the panes beside the graph are made of: tables, titles, bars. */

import { h, s } from "./dom";
import { bytesText } from "./text";
import { hatch } from "./viewport";
import * as trans from "./words";

export function table(
  head: readonly string[],
  rows: readonly (readonly (Node | string)[])[],
  odd: ReadonlySet<number> = new Set(),
): HTMLElement {
  // Short words are not broken to make room for long ones.
  const words = (cell: Node | string | undefined): number => (typeof cell === "string" ? cell : (cell?.textContent ?? "")).length;
  const least = head.map((_, column) => Math.min(12, 1 + Math.max(...rows.map((row) => words(row[column])))));
  return h(
    "div",
    {},
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, ...head.map((word) => h("th", { scope: "col" }, word)))),
      h(
        "tbody",
        {},
        ...rows.map((row, i) =>
          h(
            "tr",
            { class: odd.has(i) ? "odd" : undefined },
            ...row.map((cell, column) => {
              const td = h("td.mono", {}, cell);
              td.style.minWidth = `calc(${least[column]!}ch + 8px)`;
              return td;
            }),
          ),
        ),
      ),
    ),
  );
}

export function section(pane: HTMLElement, title: string, ...content: (Node | null)[]): void {
  pane.append(h("h3.section", {}, title));
  for (const one of content) {
    if (one) {
      pane.append(one);
    }
  }
}

/** A bar: what is used, and, hatched, what the layout pads. */
export function bar(name: string, bytes: number, logical: number, most: number): HTMLElement {
  const wide = 200;
  const full = (bytes / Math.max(1, most)) * wide;
  const used = (Math.min(logical, bytes) / Math.max(1, most)) * wide;
  const defs = hatch();
  defs.querySelector("pattern")!.id = "bar-hatch";
  const picture = s(
    "svg",
    { viewBox: `0 0 ${wide} 12`, preserveAspectRatio: "none", "aria-hidden": "true" },
    defs,
    s("rect.room", { width: wide, height: 12 }),
    s("rect.pad", { width: full, height: 12 }),
    s("rect.used", { width: used, height: 12 }),
  );
  const pad = bytes > logical ? ` ${trans.__("(%1 padding)", bytesText(bytes - logical))}` : "";
  return h("div.bar", {}, h("span", {}, name), picture, h("span.mono", {}, bytesText(bytes) + pad));
}
