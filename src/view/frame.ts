/** The graph's frame: the picture, its buttons and the overview map. */

import { button, h } from "./dom";
import type { Minimap } from "./minimap";
import type { Viewport } from "./viewport";
import { trans } from "./words";

const help = (): string =>
  trans.__(
    "arrows walk along the flow, Enter shows details, Space opens and closes, n and p go through the problems, slash searches, f fits.",
  );

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
  const buttons = tools.map(([sign, words, act]) => button(sign, { "aria-label": words, title: words }, act));
  return h("div", { class: "canvas" }, svg, h("div", { class: "tools" }, ...buttons), legend, minimap.canvas);
}
