/** The line that says that a report is old, and offers to trace the same again. */

import { button, h } from "./dom";
import * as trans from "./words";

export class Aged {
  readonly element = h("div.aged", { role: "note", hidden: true });
  /** Why the report is old; `""`: it is not. */
  reason = "";

  constructor(private readonly again: (() => void) | undefined) {}

  /** Whether that is other than it was. */
  say(reason: string): boolean {
    const other = reason !== this.reason;
    this.reason = reason;
    this.element.hidden = !reason;
    this.element.replaceChildren();
    if (reason) {
      this.element.append(h("span", {}, trans.__("Outdated: %1", reason)));
      if (this.again) {
        this.element.append(button(trans.__("Trace again"), {}, this.again));
      }
    }
    return other;
  }
}
