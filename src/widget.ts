import type { RenderProps } from "@anywidget/types";

import { mount } from "./view";
import type { WireReport } from "./view";

interface Model {
  report: WireReport | null;
}

/** Shows the report of a widget, and the next one when the kernel sets it. */
function render({ model, el }: RenderProps<Model>): () => void {
  let off: (() => void) | undefined;
  const draw = (): void => {
    off?.();
    off = undefined;
    const report = model.get("report");
    if (report) {
      off = mount(el, report);
    }
  };
  model.on("change:report", draw);
  draw();
  return () => {
    model.off("change:report", draw);
    off?.();
  };
}

export default { render };
