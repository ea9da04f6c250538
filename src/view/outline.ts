/** The same graph as a tree of words: the screen reader's view, in step with the picture. */

import { SEVERITY_WORD, type FlowDoc } from "./doc";
import { h } from "./dom";
import type { Item } from "./groups";
import { subtitle } from "./layout/sizes";
import { specText } from "./text";

export interface OutlineActions {
  select(item: Item): void;
  toggle(item: Item): void;
  isOpen(item: Item): boolean;
  enter(item: Item): void;
}

/** Rows shown around the selected one on a level; more are a step away. */
const SHOWN = 120;

export class Outline {
  readonly element = h("ul", { class: "tree", role: "tree", "aria-label": "The flow as a list" });
  private readonly rows = new Map<Item, HTMLElement>();
  private current: Item | null = null;

  constructor(
    private readonly doc: FlowDoc,
    private readonly root: Item,
    private readonly act: OutlineActions,
  ) {
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  /** What a node is, in one sentence. */
  sentence(item: Item): string {
    const parts = [item.label, subtitle(this.doc, item)];
    if (item.times > 1) {
      parts.push(`${item.times} identical`);
    }
    if (item.node >= 0) {
      const specs = (list: readonly number[]): string =>
        [...new Set(list.map((e) => specText(this.doc.spec(this.doc.edges[e]!))))].slice(0, 3).join(" and ");
      const takes = specs(this.doc.into[item.node]!);
      const gives = specs(this.doc.outOf[item.node]!);
      if (takes) {
        parts.push(`takes ${takes}`);
      }
      if (gives && item.status === "ok") {
        parts.push(`gives ${gives}`);
      }
    }
    if (item.status === "failed") {
      parts.push("raises here");
    }
    if (item.status === "not-reached") {
      parts.push("not reached");
    }
    if (item.severity && item.status !== "failed") {
      parts.push(SEVERITY_WORD[item.severity]);
    }
    return parts.filter(Boolean).join(", ");
  }

  draw(selected: Item | null): void {
    const hadFocus = this.element.contains((this.element.getRootNode() as ShadowRoot | Document).activeElement);
    this.rows.clear();
    this.current = selected;
    this.element.replaceChildren(...this.level(this.root, 1));
    const stop = (selected && this.rows.get(selected)) ?? (this.element.firstElementChild as HTMLElement | null);
    stop?.setAttribute("tabindex", "0");
    if (hadFocus) {
      stop?.focus();
    }
  }

  private level(owner: Item, depth: number): HTMLElement[] {
    const { children } = owner;
    let at = this.current;
    while (at && at.parent !== owner) {
      at = at.parent;
    }
    const middle = at ? children.indexOf(at) : 0;
    const from = Math.max(0, Math.min(middle - SHOWN / 2, children.length - SHOWN));
    return children.slice(from, from + SHOWN).map((item, i) => {
      const open = this.act.isOpen(item) && item.children.length > 0;
      const sign = item.status === "failed" || (item.severity && item.severity !== "note" && item.severity !== "slow") ? "✖ " : "";
      const leaf = h(
        "div",
        { class: "leaf" },
        h("span", { "aria-hidden": "true" }, item.children.length ? (open ? "▾" : "▸") : "·"),
        h("span", {}, sign + item.label),
        h("span", { class: "what" }, subtitle(this.doc, item)),
      );
      const row = h(
        "li",
        {
          role: "treeitem",
          tabindex: "-1",
          "aria-level": depth,
          "aria-setsize": children.length,
          "aria-posinset": from + i + 1,
          "aria-selected": item === this.current ? "true" : "false",
          "aria-expanded": item.children.length ? (open ? "true" : "false") : undefined,
          "aria-label": this.sentence(item),
        },
        leaf,
      );
      leaf.addEventListener("click", () => {
        this.act.select(item);
        row.focus();
      });
      leaf.addEventListener("dblclick", () => this.act.toggle(item));
      if (open) {
        row.append(h("ul", { role: "group" }, ...this.level(item, depth + 1)));
      }
      this.rows.set(item, row);
      return row;
    });
  }

  private key(event: KeyboardEvent): void {
    const item = this.current ?? this.root.children[0];
    if (!item) {
      return;
    }
    const order = [...this.rows.keys()];
    // Rows are registered children first; the document's order is what is seen.
    order.sort((a, b) => (this.rows.get(a)!.compareDocumentPosition(this.rows.get(b)!) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
    const at = order.indexOf(item);
    const open = this.act.isOpen(item);
    let next: Item | undefined;
    switch (event.key) {
      case "ArrowDown":
        next = order[at + 1];
        break;
      case "ArrowUp":
        next = order[at - 1];
        break;
      case "Home":
        next = order[0];
        break;
      case "End":
        next = order[order.length - 1];
        break;
      case "ArrowRight":
        if (item.children.length && !open) {
          this.act.toggle(item);
        } else {
          next = item.children[0];
        }
        break;
      case "ArrowLeft":
        if (item.children.length && open) {
          this.act.toggle(item);
        } else if (item.parent?.parent) {
          next = item.parent;
        }
        break;
      case "Enter":
        this.act.enter(item);
        break;
      case " ":
        this.act.toggle(item);
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
    if (next && next !== item) {
      this.act.select(next);
    }
  }
}
