/**
 * What each widget carries as its own module: it fetches the view's code from the one model that holds it for all.
 */

import type { RenderProps } from "@anywidget/types";

import type * as widget from "./widget";

interface Code {
  get(name: "source" | "digest"): string;
}

interface View {
  default: typeof widget;
}

declare global {
  var tpushapeViews: Record<string, Promise<View>> | undefined;
}

async function viewOf({ model }: RenderProps): Promise<View> {
  const id = String(model.get("code")).replace("IPY_MODEL_", "");
  const code = (await model.widget_manager.get_model(id)) as unknown as Code;
  const views = (globalThis.tpushapeViews ??= {});
  const digest = code.get("digest");
  views[digest] ??= (async () => {
    const url = URL.createObjectURL(new Blob([code.get("source")], { type: "text/javascript" }));
    try {
      return (await import(/* webpackIgnore: true */ url)) as View;
    } finally {
      URL.revokeObjectURL(url);
    }
  })();
  return views[digest];
}

async function render(props: RenderProps): Promise<() => void> {
  try {
    const view = await viewOf(props);
    return view.default.render(props as never);
  } catch (error) {
    props.el.textContent = "The view's code is not saved in this notebook: run the cell again.";
    console.warn(error);
    return () => undefined;
  }
}

export default { render };
