/**
 * How a view inside an output reaches the program around it, where that opens and edits cells.
 *
 * A widget lives in a module of its own and shares nothing with the application but the page: it asks by an
 * event, and whoever can answer takes the event.
 */

import type { Location, WireReport } from "./view";

export const ASK = "tpushape:ask";

export type Ask =
  | { kind: "anybody" }
  | { kind: "locate"; location: Location }
  | { kind: "apply"; report: WireReport; finding: number; fix: number }
  /** To be told, now and whenever it changes, why a report is old; who answers gives what ends it. */
  | { kind: "age"; report: WireReport; tell: (reason: string) => void; stop?: () => void }
  | { kind: "again"; report: WireReport };

/** Asks the page; whether somebody took it. */
export function ask(detail: Ask): boolean {
  return !document.dispatchEvent(new CustomEvent<Ask>(ASK, { detail, cancelable: true }));
}

/** Answers what views ask; gives what ends it. */
export function answer(take: (asked: Ask) => void): () => void {
  const listen = (event: Event): void => {
    event.preventDefault();
    take((event as CustomEvent<Ask>).detail);
  };
  document.addEventListener(ASK, listen);
  return () => {
    document.removeEventListener(ASK, listen);
  };
}
