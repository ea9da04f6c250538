import type { TranslationBundle } from "@jupyterlab/translation";

import type { Locator } from "./locator";
import type { ITracer } from "./tokens";

/** Puts a button on each cell that a problem speaks of; a click opens the problem. */
export function markCells(tracer: ITracer, locator: Locator, open: () => void, trans: TranslationBundle): void {
  let marks: HTMLElement[] = [];
  tracer.reported.connect((_, report) => {
    for (const mark of marks) {
      mark.remove();
    }
    marks = [];
    const taken = new Set<HTMLElement>();
    report.findings.forEach((finding, index) => {
      const found = finding.location ? locator.cell(finding.location) : null;
      if (!found || taken.has(found.cell.node)) {
        return;
      }
      taken.add(found.cell.node);
      const mark = found.cell.node.appendChild(document.createElement("button"));
      mark.className = `tpushape-Mark tpushape-mod-${finding.severity}`;
      mark.title = finding.message;
      mark.setAttribute("aria-label", trans.__("Shape problem: %1", finding.message));
      mark.addEventListener("click", () => {
        open();
        tracer.show(index);
      });
      marks.push(mark);
    });
  });
}
