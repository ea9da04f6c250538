/** The graph's frame: the picture, its buttons and the overview map. */

import { button, h } from "./dom";
import type { Minimap } from "./minimap";
import type { Viewport } from "./viewport";
import { trans } from "./words";

const help = (): string =>
  trans.__(
    "arrows walk along the flow, Enter shows details, Space opens and closes, n and p go through the problems, slash searches, f fits.",
  );

/** The keys of the graph, as a list that is shown and hidden. */
function keyHelp(): HTMLElement {
  const keys: [string, string][] = [
    ["↑ ↓ ← →", trans.__("walk along the flow; with Shift, move the picture")],
    [trans.__("Enter"), trans.__("details")],
    [trans.__("Space"), trans.__("open or close")],
    ["n p", trans.__("next and previous finding")],
    ["/", trans.__("search: a name, a type, ?x128, bf16, /conv\\d/")],
    ["f + -", trans.__("fit, zoom in, zoom out")],
    [trans.__("Esc"), trans.__("back")],
    ["?", trans.__("these keys")],
  ];
  const rows = keys.flatMap(([key, words]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, words)]);
  return h("div", { class: "keys", role: "region", "aria-label": trans.__("Keys"), hidden: true }, h("dl", {}, ...rows));
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
): HTMLElement {
  const { svg } = viewport;
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("role", "application");
  svg.setAttribute("aria-roledescription", trans.__("graph of the flow"));
  svg.setAttribute("aria-label", `${title || trans.__("The flow")}: ${help()}`);
  const tools: [string, string, () => void][] = [
    ["+", trans.__("Zoom in (+)"), () => viewport.zoom(1.3)],
    ["−", trans.__("Zoom out (-)"), () => viewport.zoom(1 / 1.3)],
    ["⤢", trans.__("Fit everything (f)"), () => viewport.fit()],
    [
      "⊞",
      trans.__("Open everything"),
      () => {
        openAll(true);
      },
    ],
    [
      "⊟",
      trans.__("Close everything"),
      () => {
        openAll(false);
      },
    ],
  ];
  const keys = keyHelp();
  tools.push(["?", trans.__("Keys (?)"), () => turn(keys)]);
  const buttons = tools.map(([sign, words, act]) => button(sign, { "aria-label": words, title: words }, act));
  return h(
    "div",
    { class: "canvas" },
    h("div", { class: "ground" }, viewport.far.canvas, svg),
    h("div", { class: "tools" }, ...buttons),
    keys,
    legend,
    minimap.canvas,
  );
}
