import { NotebookActions } from "@jupyterlab/notebook";
import type { INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";
import type { TranslationBundle } from "@jupyterlab/translation";

import type { Locator } from "./locator";
import type { ITracer } from "./tokens";

/** Puts a button on each cell that a problem speaks of, until the cell has run again; a click opens the problem. */
export function markCells(
  tracer: ITracer,
  locator: Locator,
  notebooks: INotebookTracker | null,
  open: () => void,
  trans: TranslationBundle,
): void {
  const marks = new Map<HTMLElement, { mark: HTMLElement; panel: NotebookPanel }>();
  const unmark = (cell: HTMLElement): void => {
    marks.get(cell)?.mark.remove();
    marks.delete(cell);
  };
  let last: HTMLElement | null = null;
  NotebookActions.executed.connect((_, { cell, success }) => {
    cell.node.querySelector(".tpushape-Change")?.remove();
    last = cell.node;
    if (success) {
      unmark(cell.node);
    }
  });
  // What a watched cell has changed stands in its gutter until it runs again.
  tracer.noticed.connect((_, said) => {
    last?.querySelector(".tpushape-Change")?.remove();
    const note = document.createElement("button");
    note.className = "tpushape-Change";
    note.textContent = said;
    note.title = said;
    note.addEventListener("click", open);
    last?.querySelector(".jp-InputArea-prompt")?.append(note);
  });
  tracer.reported.connect((_, report) => {
    for (const [node, { panel }] of [...marks]) {
      // Other notebooks keep what was found in them.
      if (panel.isDisposed || panel === notebooks?.currentWidget) {
        unmark(node);
      }
    }
    report.findings.forEach((finding, index) => {
      const found = finding.location ? locator.cell(finding.location) : null;
      if (!found || (marks.has(found.cell.node) && marks.get(found.cell.node)?.panel === notebooks?.currentWidget)) {
        return;
      }
      const { panel } = found;
      const { node } = found.cell;
      unmark(node);
      const mark = node.appendChild(document.createElement("button"));
      mark.className = `tpushape-Mark tpushape-mod-${finding.severity}`;
      mark.title = finding.message;
      mark.setAttribute("aria-label", trans.__("Shape problem: %1", finding.message));
      mark.addEventListener("click", () => {
        open();
        tracer.show(index);
      });
      marks.set(node, { mark, panel });
    });
  });
}
