/** A core's memory against the rows on it, one point for each batch that was compiled. */

import { s } from "./dom";
import { bytesText } from "./text";
import type { Tried } from "./wire";
import * as trans from "./words";

const WIDE = 360;
const HIGH = 190;
const LEFT = 62;
const RIGHT = 12;
const TOP = 18;
const LOW = 34;

/** Round steps, at most `most` of them, up to a number. */
function steps(end: number, most: number): number[] {
  const raw = end / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((one) => one * power >= raw) ?? 10);
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => i * step);
}

export function curve(tried: readonly Tried[], limit: number): SVGSVGElement {
  const fitting = tried.filter((one) => one.fits);
  const refused = tried.filter((one) => !one.fits);
  const taken = Math.max(1, ...fitting.map((one) => one.bytes ?? 0));
  // A limit far above the points would press them to the floor.
  const near = refused.length > 0 || limit < 4 * taken;
  const top = 1.08 * (near ? Math.max(limit, taken) : taken);
  const most = Math.max(...tried.map((one) => one.rows));
  const x = (rows: number): number => LEFT + ((WIDE - LEFT - RIGHT) * rows) / most;
  const y = (bytes: number): number => HIGH - LOW - ((HIGH - LOW - TOP) * bytes) / top;
  const unit = 1024 ** Math.floor(Math.log2(top) / 10);
  const svg = s("svg.curve", {
    viewBox: `0 0 ${WIDE} ${HIGH}`,
    role: "img",
    "aria-label": trans.__("Memory of one core by rows on one core; the table below has the same values"),
  });
  for (const step of steps(top / unit, 4)) {
    const at = y(step * unit);
    svg.append(
      s("line.grid", { x1: LEFT, x2: WIDE - RIGHT, y1: at, y2: at }),
      s("text", { x: LEFT - 6, y: at + 4, "text-anchor": "end" }, step ? bytesText(step * unit) : "0"),
    );
  }
  for (const rows of steps(most, 4)) {
    svg.append(s("text", { x: x(rows), y: HIGH - LOW + 15, "text-anchor": "middle" }, rows.toLocaleString("en")));
  }
  svg.append(s("text", { x: (LEFT + WIDE - RIGHT) / 2, y: HIGH - 4, "text-anchor": "middle" }, trans.__("rows on one core")));
  if (limit && near) {
    const at = y(limit);
    svg.append(
      s("line.limit", { x1: LEFT, x2: WIDE - RIGHT, y1: at, y2: at }),
      s("text.limit-text", { x: LEFT + 4, y: at - 5 }, trans.__("memory of one core, %1", bytesText(limit))),
    );
  } else if (limit) {
    svg.append(
      s("text.limit-text", { x: LEFT + 4, y: TOP - 5 }, trans.__("memory of one core: %1, above the plotted range", bytesText(limit))),
    );
  }
  // Both efforts in one line would bend where nothing but the effort changes.
  for (const effort of new Set(fitting.map((one) => one.effort))) {
    const points = fitting.filter((one) => one.effort === effort).map((one) => ({ one, at: [x(one.rows), y(one.bytes ?? 0)] as const }));
    svg.append(s("polyline", { class: `way ${effort ?? ""}`, points: points.map(({ at }) => at.join()).join(" ") }));
    for (const { one, at } of points) {
      svg.append(
        s(
          "circle",
          { cx: at[0], cy: at[1], r: 3.5 },
          s("title", {}, `${one.rows.toLocaleString("en")} rows: ${bytesText(one.bytes ?? 0)}${effort ? `, ${effort} effort` : ""}`),
        ),
      );
    }
  }
  for (const one of refused) {
    // How much they would take the compiler says of some only: they stand on the limit.
    const [cx, cy] = [x(one.rows), y(limit)];
    svg.append(
      s(
        "path.refused",
        { d: `M${cx - 4},${cy - 4}l8,8m0,-8l-8,8` },
        s("title", {}, trans.__("%1 rows do not compile", one.rows.toLocaleString("en"))),
      ),
    );
  }
  return svg;
}
