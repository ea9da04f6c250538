/** The element that a view stands in: its shadow, style and theme, the keys it keeps to itself, and what it says aloud. */

import { addStyle, h, on } from "./dom";
import { STYLE } from "./style";
import { followTheme, type Theme } from "./theme";

export class Home {
  readonly host = document.createElement("div");
  readonly root = h("div.tps", {});
  readonly live = h("div.spoken offscreen", { "aria-live": "polite" });
  theme: Theme = "light";

  constructor(el: HTMLElement) {
    const { host, root } = this;
    const shadow = host.attachShadow({ mode: "open" });
    host.className = "tpushape-view";
    addStyle(shadow, STYLE);
    shadow.append(root);
    // Keys that the view uses must not reach the notebook's own commands.
    on(root, "keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && event.key !== "Tab") {
        event.stopPropagation();
      }
    });
    root.classList.toggle("reduced", typeof matchMedia === "function" && matchMedia("(prefers-reduced-motion: reduce)").matches);
    el.append(host);
  }

  /** Takes the theme of the page, now and after each change; gives the way to stop. */
  follow(recolour: () => void): () => void {
    return followTheme((theme) => {
      this.theme = theme;
      this.root.dataset.theme = theme;
      recolour();
    });
  }

  say = (words: string): string => (this.live.textContent = words);
}
