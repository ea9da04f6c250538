/**
 * The one script of the view. A standalone page mounts a report with it; as a widget's module it renders one view for each
 * place where the widget is shown, in step with the kernel.
 */

import type { RenderProps } from "@anywidget/types";

import { ask } from "./bridge";
import type { Ask } from "./bridge";
import { mount } from "./view";
import type { Callbacks, WireReport } from "./view";

export { charts, mount } from "./view";

interface Model {
  report: WireReport | Record<string, never> | null;
  selected: string;
  finding: number;
  can_apply: boolean;
}

export function render({ model, el }: RenderProps<Model>): () => void {
  const known = (): WireReport | null => {
    const report = model.get("report");
    return report && "flow" in report ? (report as WireReport) : null;
  };
  let told = model.get("selected");
  const select = (node: string | null): void => {
    told = node ?? "";
    if (model.get("selected") !== told) {
      model.set("selected", told);
      model.save_changes();
    }
  };
  let stopAge = (): void => undefined;
  const age = (report: WireReport): void => {
    stopAge();
    const asked: Ask = { kind: "age", report, tell: (reason) => view?.age(reason) };
    ask(asked);
    stopAge = asked.stop ?? stopAge;
  };
  const begin = (): ReturnType<typeof mount> | undefined => {
    const report = known();
    if (!report) {
      return undefined;
    }
    const callbacks: Callbacks = { select };
    if (ask({ kind: "anybody" })) {
      callbacks.again = () => void ask({ kind: "again", report: known() ?? report });
      callbacks.locate = (location) => void ask({ kind: "locate", location });
      callbacks.apply = (finding, fix) => void ask({ kind: "apply", report: known() ?? report, finding, fix });
    }
    if (model.get("can_apply")) {
      callbacks.apply = (finding, fix) => {
        model.send({ type: "apply", finding, fix });
      };
    }
    return mount(el, report, callbacks);
  };
  let view = begin();
  const first = known();
  if (first) {
    age(first);
  }
  const onReport = (): void => {
    const report = known();
    if (view && report) {
      view.update(report);
    } else {
      view ??= begin();
    }
    if (report) {
      age(report);
    }
  };
  const onSelected = (): void => {
    const wanted = model.get("selected");
    if (wanted && wanted !== told) {
      view?.select(wanted);
    }
  };
  const onFinding = (): void => view?.show(model.get("finding"));
  const onApply = (): void => {
    view?.();
    view = begin();
  };
  model.on("change:report", onReport);
  model.on("change:selected", onSelected);
  model.on("change:finding", onFinding);
  model.on("change:can_apply", onApply);
  if (told) {
    view?.select(told);
  }
  return () => {
    model.off("change:report", onReport);
    model.off("change:selected", onSelected);
    model.off("change:finding", onFinding);
    model.off("change:can_apply", onApply);
    stopAge();
    view?.();
  };
}
