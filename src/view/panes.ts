/** What the panes beside the graph hold, for what is selected. */

import { detailsPane, replicas, type DetailActions } from "./details";
import type { FlowDoc } from "./doc";
import { linePane } from "./linepane";
import type { Sidebar } from "./sidebar";
import { verdictsPane } from "./verdicts";
import type { Viewport } from "./viewport";

export function fillPanes(
  side: Sidebar,
  doc: FlowDoc,
  viewport: Viewport,
  act: DetailActions & { charts: (() => void) | undefined },
): void {
  const line = viewport.scene?.lines.find((one) => one.key === viewport.selectedLine);
  const content = line ? linePane(doc, line, act) : detailsPane(doc, viewport.selected, act);
  if (!line && !viewport.selected) {
    const split = doc.nodes.findIndex((node) => node.kind === "split");
    if (split >= 0) {
      replicas(content, doc.strip(split), doc);
    }
  }
  side.pane("details")!.replaceChildren(content);
  const compiler = side.pane("compiler");
  if (compiler && !compiler.childElementCount) {
    compiler.append(verdictsPane(doc, act));
  }
}
