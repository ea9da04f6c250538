/** One picture from the data to the loss: `mount` shows a report in an element and gives the way to take it off. */

import { App } from "./app";
import type { Location, WireReport } from "./wire";
import { speak, type Translator } from "./words";

export { charts } from "./charts";
export type * from "./wire";

/** What the host of a view does for it; a view shows no control for what its host cannot do. */
export interface Callbacks {
  /** Puts a fix, by the indices of its finding and of itself, into the user's source. */
  apply?: (finding: number, fix: number) => void;
  /** Told of each node that is selected. */
  select?: (node: string | null) => void;
  /** Goes to a line of the user's source. */
  locate?: (location: Location) => void;
  /** The standalone page of the report, for the export menu. */
  page?: () => string | Promise<string>;
  /** Opens plotly's charts of the compiler's verdicts. */
  charts?: () => void;
  /** The host's translator for the view's own words. */
  trans?: Translator;
  /** Traces the same again; offered where a report is old. */
  again?: () => void;
  /** The address of the page with a view of it, as `written`, in it; and the address that the page was opened with. */
  link?: (state: string) => string;
  at?: string;
  /** Fills the element's height; otherwise the view has a height of its own, as in a cell's output. */
  fill?: boolean;
}

/** A mounted view: called, it takes itself off; its methods let a host steer it. */
export interface Mounted {
  (): void;
  /** Shows another report in place; what was open and selected stays so where it still exists. */
  update(report: WireReport): void;
  /** Selects a node by its id and brings it in sight. */
  select(node: string): void;
  /** Shows a finding by its index. */
  show(finding: number): void;
  /** Says why the report is old, and offers no fix of it any more. */
  age(reason: string): void;
}

export function mount(el: HTMLElement, report: WireReport, callbacks: Callbacks = {}): Mounted {
  if (callbacks.trans) {
    speak(callbacks.trans);
  }
  const app = new App(el, report, callbacks);
  return Object.assign(
    () => {
      app.dispose();
    },
    {
      update: (next: WireReport) => {
        app.update(next);
      },
      select: (node: string) => {
        app.selectById(node);
      },
      show: (finding: number) => {
        app.choose(finding);
      },
      age: (reason: string) => {
        app.age(reason);
      },
    },
  );
}
