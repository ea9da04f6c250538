/** The line that says that a report is old, and offers to trace the same again. */

import { button, h } from "./dom";
import { trans } from "./words";

export function agedLine(reason: string, again: (() => void) | undefined): HTMLElement {
  const line = h("div", { class: "aged", role: "note", hidden: !reason });
  if (reason) {
    line.append(h("span", {}, trans.__("Old: %1", reason)));
    if (again) {
      line.append(button(trans.__("Trace again"), {}, again));
    }
  }
  return line;
}
