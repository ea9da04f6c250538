/** The graph's frame: the picture, its buttons and the overview map. */

import { button, h, on } from "./dom";
import type { Minimap } from "./minimap";
import type { Viewport } from "./viewport";
import * as trans from "./words";

const help = (): string =>
  trans.__(
    "arrows move between nodes, Enter shows details, Space expands or collapses, n and p step through the findings, slash searches, f fits the view.",
  );

/** The keys of the graph, as a list that is shown and hidden. */
function keyHelp(): HTMLElement {
  const keys: [string, string][] = [
    ["↑ ↓ ← →", trans.__("move between nodes; with Shift, pan the view")],
    [trans.__("Enter"), trans.__("details")],
    [trans.__("Space"), trans.__("expand or collapse")],
    ["n p", trans.__("next and previous finding")],
    ["/", trans.__("search by name, type, ?x128, bf16, /conv\\d/")],
    ["f + -", trans.__("fit, zoom in, zoom out")],
    ["h", trans.__("left to right, or top to bottom")],
    [trans.__("Esc"), trans.__("back")],
    ["?", trans.__("show these keys")],
  ];
  const rows = keys.flatMap(([key, words]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, words)]);
  return h("div.keys", { role: "region", "aria-label": trans.__("Keys"), hidden: true }, h("dl", {}, ...rows));
}

function turn(element: Element | null): void {
  element?.toggleAttribute("hidden");
}

/** Shows or hides the keys of a frame. */
export function turnKeys(canvas: ParentNode): void {
  turn(canvas.querySelector(".keys"));
}

export function frameOf(
  viewport: Viewport,
  minimap: Minimap,
  title: string,
  legend: HTMLElement | null,
  openAll: (open: boolean) => void,
  lie: () => void,
): HTMLElement {
  const { svg } = viewport;
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("role", "application");
  svg.setAttribute("aria-roledescription", trans.__("model graph"));
  svg.setAttribute("aria-label", `${title || trans.__("The model")}: ${help()}`);
  const tools: [string, string, () => void][] = [
    ["+", trans.__("Zoom in (+)"), () => viewport.zoom(1.3)],
    ["−", trans.__("Zoom out (-)"), () => viewport.zoom(1 / 1.3)],
    ["⤢", trans.__("Fit everything (f)"), () => viewport.fit()],
    [
      "⊞",
      trans.__("Expand everything"),
      () => {
        openAll(true);
      },
    ],
    [
      "⊟",
      trans.__("Collapse everything"),
      () => {
        openAll(false);
      },
    ],
    ["⇄", trans.__("Left to right, or top to bottom (h)"), lie],
  ];
  const keys = keyHelp();
  tools.push(["?", trans.__("Keys (?)"), () => turn(keys)]);
  const buttons = tools.map(([sign, words, act]) => button(sign, { "aria-label": words, title: words }, act));
  const canvas = h(
    "div.canvas",
    {},
    h("div.ground", {}, viewport.far.canvas, svg),
    h("div.tools", {}, ...buttons),
    keys,
    legend,
    minimap.canvas,
  );
  // Before the graph hears it, and from the button that showed them.
  const close = (event: KeyboardEvent): void => {
    if (event.key === "Escape" && !keys.hidden) {
      keys.hidden = true;
      event.stopPropagation();
    }
  };
  on(canvas, "keydown", close, true);
  return canvas;
}
