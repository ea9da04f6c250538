import type { Finding, Fix, Location, WireReport } from "./wire";

export type * from "./wire";

/** What the host of a view does for it; a view shows no control for what its host cannot do. */
export interface Callbacks {
  /** Goes to a line of the user's source. */
  open?: (location: Location) => void;
  /** Offers a fix's change to the user. */
  apply?: (fix: Fix, finding: Finding) => void;
}

/** Shows a report inside an element and gives back the way to take it off again. */
export function mount(el: HTMLElement, report: WireReport, callbacks: Callbacks = {}): () => void {
  const list = document.createElement("ul");
  for (const finding of report.findings) {
    const item = list.appendChild(document.createElement("li"));
    item.textContent = `${finding.severity} · ${finding.message}`;
    const location = finding.location;
    if (location && callbacks.open) {
      item.addEventListener("click", () => callbacks.open?.(location));
    }
  }
  const summary = document.createElement("p");
  summary.textContent = report.summary;
  el.replaceChildren(summary, list);
  return () => {
    el.replaceChildren();
  };
}
