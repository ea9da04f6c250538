/** The same graph as a tree of words: the screen reader's view, in step with the picture. */

import { stateOf, stateWord, tally } from "./differences";
import { severityWord, serious, type FlowDoc } from "./doc";
import { h, on, unread } from "./dom";
import type { Item } from "./groups";
import { subtitle } from "./layout/sizes";
import { specText } from "./text";
import * as trans from "./words";

export interface OutlineActions {
  select(item: Item): void;
  toggle(item: Item): void;
  isOpen(item: Item): boolean;
  enter(item: Item): void;
}

/** Rows shown around the selected one on a level, and in all; more are a step away. */
const SHOWN = 120;
const MOST = 400;

export class Outline {
  readonly element = h("ul.tree", { role: "tree", "aria-label": trans.__("The model as a list") });
  private readonly rows = new Map<Item, HTMLElement>();
  private current: Item | null = null;

  constructor(
    private readonly doc: FlowDoc,
    private readonly root: Item,
    private readonly act: OutlineActions,
  ) {
    on(this.element, "keydown", (event) => this.key(event));
  }

  /** What a node is, in one sentence. */
  sentence(item: Item): string {
    return [item.label, subtitle(this.doc, item), ...this.more(item)].filter(Boolean).join(", ");
  }

  /** What the graph shows of a node by its looks. */
  private more(item: Item): string[] {
    const parts: string[] = [];
    if (item.times > 1) {
      parts.push(item.same ? trans.__("identical") : trans.__("similar"));
    }
    if (item.node >= 0) {
      const specs = (list: readonly number[]): string =>
        [...new Set(list.map((e) => specText(this.doc.spec(this.doc.edges[e]!))))].slice(0, 3).join(trans.__(" and "));
      const takes = specs(this.doc.into[item.node]!);
      const gives = specs(this.doc.outOf[item.node]!);
      if (takes) {
        parts.push(trans.__("input %1", takes));
      }
      if (gives && item.status === "ok") {
        parts.push(trans.__("output %1", gives));
      }
    }
    const state = stateOf(this.doc, item);
    if (state) {
      parts.push(item.node >= 0 && !item.members.length ? stateWord(state) : tally(item));
    }
    if (item.status === "failed") {
      parts.push(trans.__("raises here"));
    } else if (item.status === "not-reached") {
      parts.push(trans.__("not reached"));
    }
    if (item.severity && item.status !== "failed") {
      parts.push(severityWord(item.severity));
    }
    return parts;
  }

  draw(selected: Item | null): void {
    const hadFocus = this.element.contains((this.element.getRootNode() as ShadowRoot | Document).activeElement);
    this.rows.clear();
    this.current = selected;
    this.level(this.root, 1);
    this.element.replaceChildren(...this.rows.values());
    const stop = (selected && this.rows.get(selected)) ?? (this.element.firstElementChild as HTMLElement | null);
    stop?.setAttribute("tabindex", "0");
    if (hadFocus) {
      stop?.focus();
    }
  }

  private level(owner: Item, depth: number): void {
    const { members: children } = owner;
    let at = this.current;
    while (at && at.parent !== owner) {
      at = at.parent;
    }
    const middle = at ? children.indexOf(at) : 0;
    const from = Math.max(0, Math.min(middle - SHOWN / 2, children.length - SHOWN));
    children.slice(from, from + SHOWN).forEach((item, i) => {
      if (this.rows.size >= MOST && item !== at) {
        return;
      }
      this.rows.set(item, this.row(item, depth, children.length, from + i + 1));
      if (item.members.length && this.act.isOpen(item)) {
        this.level(item, depth + 1);
      }
    });
  }

  private row(item: Item, depth: number, size: number, place: number): HTMLElement {
    const open = item.members.length > 0 && this.act.isOpen(item);
    const wrong = item.severity !== undefined && serious(item.severity);
    const more = this.more(item);
    const row = h(
      "li",
      {
        role: "treeitem",
        tabindex: "-1",
        "aria-level": depth,
        "aria-setsize": size,
        "aria-posinset": place,
        "aria-selected": item === this.current ? "true" : "false",
        "aria-expanded": item.members.length ? String(open) : undefined,
      },
      unread("span", item.members.length ? (open ? "▾" : "▸") : "·"),
      wrong || item.status === "failed" ? unread("span", "✖") : null,
      h("span", {}, item.label),
      h("span.what", {}, subtitle(this.doc, item)),
      more.length ? h("span.offscreen", {}, `, ${more.join(", ")}`) : null,
    );
    row.style.paddingLeft = `${6 + 16 * (depth - 1)}px`;
    on(row, "click", () => {
      this.act.select(item);
      this.rows.get(item)?.focus();
    });
    on(row, "dblclick", () => this.act.toggle(item));
    return row;
  }

  private key(event: KeyboardEvent): void {
    const item = this.current ?? this.root.members[0];
    if (!item) {
      return;
    }
    const order = [...this.rows.keys()];
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
        if (item.members.length && !open) {
          this.act.toggle(item);
        } else {
          next = item.members[0];
        }
        break;
      case "ArrowLeft":
        if (item.members.length && open) {
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
