/** Which flow is on the screen: the report's own, the one after a fix, or a part of either. */

import { Compare } from "./preview";
import { subsetOf, type Subset } from "./subset";
import type { WireReport } from "./wire";

export class Shown {
  readonly compare: Compare;
  /** The part that is shown alone. */
  only: Subset | null = null;

  constructor(base: WireReport) {
    this.compare = new Compare(base);
  }

  get report(): WireReport {
    const whole = this.compare.shown;
    return this.only ? subsetOf(whole, this.only) : whole;
  }
}
