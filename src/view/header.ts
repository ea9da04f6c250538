/** The line on top: the verdict in words, what it is about, search, and the export menu. */

import type { FlowDoc } from "./doc";
import { button, h, on, unread } from "./dom";
import { aboutWords, count, numberText } from "./text";
import * as trans from "./words";

export interface HeaderActions {
  find(words: string): string;
  nextHit(back: boolean): void;
  /** Shows what was found and its neighbours alone. */
  onlyHits(words: string): void;
  leaveSearch(): void;
  exports: readonly (readonly [string, () => void])[];
}

export interface Header {
  element: HTMLElement;
  input: HTMLInputElement;
  closeMenu(): boolean;
}

export function header(doc: FlowDoc, act: HeaderActions): Header {
  const { report } = doc;
  const input = h("input", {
    type: "search",
    placeholder: trans.__("/ name, type, ?x128, bf16"),
    "aria-label": trans.__("Search by name, layer type, shape or dtype"),
  });
  const hits = h("span.hits", { "aria-live": "polite" });
  const only = button(trans.__("Only matches"), { title: trans.__("Show only the matches and their neighbors"), hidden: true }, () => {
    act.onlyHits(input.value.trim());
  });
  const find = (): void => {
    hits.textContent = act.find(input.value);
    only.hidden = !input.value.trim() || hits.textContent === trans.__("none");
  };
  on(input, "input", find);
  on(input, "keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") {
      act.nextHit(event.shiftKey);
    } else if (event.key === "Escape") {
      input.value = "";
      find();
      act.leaveSearch();
    } else {
      return;
    }
    event.preventDefault();
  });

  const list = h("ul", { role: "menu", "aria-label": trans.__("Export"), hidden: true });
  const opener = button(trans.__("⤓ Export"), { "aria-haspopup": "menu", "aria-expanded": "false" }, () => {
    show(list.hidden);
  });
  const items = act.exports.map(([words, run]) =>
    button(words, { role: "menuitem", tabindex: "-1" }, () => {
      show(false);
      opener.focus();
      run();
    }),
  );
  list.append(...items.map((item) => h("li", { role: "none" }, item)));
  const show = (shown: boolean): void => {
    list.hidden = !shown;
    opener.setAttribute("aria-expanded", String(shown));
    if (shown) {
      items[0]?.focus();
    }
  };
  on(list, "keydown", (event) => {
    const root = list.getRootNode() as ShadowRoot | Document;
    const at = items.indexOf(root.activeElement as HTMLButtonElement);
    if (event.key === "ArrowDown") {
      items[(at + 1) % items.length]?.focus();
    } else if (event.key === "ArrowUp") {
      items[(at + items.length - 1) % items.length]?.focus();
    } else if (event.key === "Escape") {
      show(false);
      opener.focus();
    } else if (event.key === "Tab") {
      show(false);
    } else {
      return;
    }
    event.stopPropagation();
    if (event.key !== "Tab") {
      event.preventDefault();
    }
  });

  const params = doc.nodes.reduce(
    (sum, node) =>
      node.parent && doc.byId.has(node.parent) && doc.node(doc.byId.get(node.parent)!).params ? sum : sum + (node.params ?? 0),
    0,
  );
  const { target } = report;
  const [much = "", ...rest] = report.summary.split(" · ");
  const chips = [
    report.about?.backend ?? report.flow.framework,
    target && target.replicas > 1 ? count(target.replicas, "replica") : "",
    target?.live ? trans.__("live") : "",
    count(doc.nodes.length, "node"),
    params ? trans.__("%1 parameters", numberText(params)) : "",
  ];
  const about = aboutWords(report);
  const element = h(
    "div.head",
    {},
    h(
      "h1",
      { class: report.difference ? "verdict two" : report.ok ? "verdict ok" : "verdict" },
      unread("span.sign", report.difference ? "≠" : report.ok ? "✓" : "✖"),
      h("span", {}, h("span.much", {}, much), rest.length ? ` · ${rest.join(" · ")}` : ""),
    ),
    about ? h("p.about", { title: report.about?.when }, about) : null,
    h("div.chips", {}, ...chips.map((words) => (words ? h("span.chip", {}, words) : null))),
    h("div.seek", {}, h("div.search", { role: "search" }, input, hits, only), h("div.menu", {}, opener, list)),
  );
  return {
    element,
    input,
    closeMenu: () => {
      const open = !list.hidden;
      if (open) {
        show(false);
      }
      return open;
    },
  };
}
