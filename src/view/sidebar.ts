/** The tabs beside the graph. */

import type { FlowDoc } from "./doc";
import { button, h, on } from "./dom";
import * as trans from "./words";

export type Tab = "changes" | "problems" | "details" | "outline" | "layers" | "compiler";

/** The tabs of a report, with what is written on them. */
export function tabsOf(doc: FlowDoc): [Tab, string][] {
  const { findings, report } = doc;
  const { difference } = report;
  const tabs: [Tab, string][] = [
    ...(difference ? [["changes", trans.__("Changes %1", Object.keys(difference.nodes ?? {}).length)] as [Tab, string]] : []),
    ["problems", findings.length ? trans.__("Findings %1", findings.length) : trans.__("Findings")],
    ["details", trans.__("Details")],
    ["outline", trans.__("Outline")],
    ["layers", trans.__("Layers")],
  ];
  return report.verdicts?.length ? [...tabs, ["compiler", trans.__("Compiler")]] : tabs;
}

export class Sidebar {
  readonly element = h("div.side", {});
  current: Tab = "problems";
  private readonly panes = new Map<Tab, HTMLElement>();
  private readonly waiting = new Map<Tab, () => HTMLElement>();
  private readonly heads = new Map<Tab, HTMLButtonElement>();

  constructor(uid: string, names: readonly (readonly [Tab, string])[]) {
    const list = h("div.tabs", { role: "tablist", "aria-label": trans.__("About the model") });
    this.element.append(list);
    for (const [tab, words] of names) {
      const id = `${uid}-${tab}`;
      const head = button(words, { role: "tab", id: `${id}-tab`, "aria-controls": id }, () => this.show(tab));
      const pane = h("div.pane", { role: "tabpanel", id, "aria-labelledby": `${id}-tab`, tabindex: "0" });
      this.heads.set(tab, head);
      this.panes.set(tab, pane);
      list.append(head);
      this.element.append(pane);
    }
    on(list, "keydown", (event) => {
      const order = [...this.heads.keys()];
      const at = order.indexOf(this.current);
      const step = { ArrowRight: 1, ArrowLeft: order.length - 1 }[event.key];
      if (step === undefined) {
        return;
      }
      event.preventDefault();
      const next = order[(at + step) % order.length]!;
      this.show(next);
      this.heads.get(next)!.focus();
    });
    this.show("problems");
  }

  /** Fills a pane when it is first shown. */
  first(tab: Tab, fill: () => HTMLElement): void {
    this.waiting.set(tab, fill);
  }

  pane(tab: Tab): HTMLElement | undefined {
    return this.panes.get(tab);
  }

  show(tab: Tab, focus = false): void {
    this.current = tab;
    const fill = this.waiting.get(tab);
    if (fill && this.waiting.delete(tab)) {
      this.panes.get(tab)?.append(fill());
    }
    for (const [name, pane] of this.panes) {
      pane.hidden = name !== tab;
      const head = this.heads.get(name)!;
      head.setAttribute("aria-selected", String(name === tab));
      head.tabIndex = name === tab ? 0 : -1;
    }
    if (focus) {
      this.panes.get(tab)?.focus();
    }
  }
}
