/** A look at the picture that can be come back to: what is open and selected, and what is in sight. As a bookmark, and in a link. */

import { button, h } from "./dom";
import type { Subset } from "./subset";
import * as trans from "./words";

export interface Place {
  open: string[];
  selected: string;
  /** What is in the middle, in the picture's own measure, and the scale. */
  x: number;
  y: number;
  k: number;
  only: Subset | null;
  /** Whether the picture runs from left to right. */
  flat: boolean;
}

/** A place as it stands in an address. */
export function written(place: Place): string {
  return `view=${encodeURIComponent(JSON.stringify(place))}`;
}

/** The place that an address holds. */
export function read(text: string): Place | null {
  const found = /(?:^|[#&])view=([^&]+)/.exec(text)?.[1];
  try {
    const value = JSON.parse(decodeURIComponent(found ?? "")) as Partial<Place> | null;
    const names = (list: unknown): list is string[] => Array.isArray(list) && list.every((one) => typeof one === "string");
    const numbers = [value?.x, value?.y, value?.k];
    if (
      !value ||
      !names(value.open) ||
      typeof value.selected !== "string" ||
      !numbers.every((n) => Number.isFinite(n)) ||
      !(value.k! > 0)
    ) {
      return null;
    }
    const only = value.only && typeof value.only.words === "string" && names(value.only.ids) ? value.only : null;
    return { open: value.open, selected: value.selected, x: value.x!, y: value.y!, k: value.k!, only, flat: value.flat === true };
  } catch {
    return null;
  }
}

export interface PlaceActions {
  now(): Place;
  go(place: Place): void;
  /** The address of the page with a place in it; not offered where there is none. */
  link?: ((state: string) => string) | undefined;
  say(words: string): void;
}

/** The bookmarks of one view. */
export class Bookmarks {
  private readonly list: { name: string; place: Place }[] = [];
  private pane: HTMLElement | null = null;

  constructor(private readonly act: PlaceActions) {}

  element(): HTMLElement {
    this.pane = h("div", {});
    this.draw();
    return this.pane;
  }

  private draw(): void {
    const { act, pane } = this;
    if (!pane) {
      return;
    }
    const { link } = act;
    const row = h(
      "div.row way",
      {},
      button(trans.__("Bookmark this view"), {}, () => {
        const place = act.now();
        const name = place.selected || trans.__("view %1", this.list.length + 1);
        this.list.push({ name, place });
        this.draw();
        act.say(trans.__("Bookmarked: %1", name));
      }),
      link
        ? button(trans.__("Copy link"), {}, () => {
            navigator.clipboard.writeText(link(written(act.now()))).then(
              () => act.say(trans.__("Copied a link to this view")),
              () => act.say(trans.__("The browser did not allow copying.")),
            );
          })
        : null,
    );
    const marks = this.list.map(({ name, place }, i) =>
      h(
        "li.row",
        {},
        button(name, { class: "link mono" }, () => act.go(place)),
        button("✕", { "aria-label": trans.__("Remove the bookmark %1", name) }, () => {
          this.list.splice(i, 1);
          this.draw();
        }),
      ),
    );
    pane.replaceChildren(h("h2.section", {}, trans.__("Bookmarks")), row, h("ul.list", {}, ...marks));
  }
}
