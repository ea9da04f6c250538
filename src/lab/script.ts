import { PageConfig, URLExt } from "@jupyterlab/coreutils";

import type { mount } from "../view";

/** What the view's script defines in a page. */
interface View {
  mount: typeof mount;
}

declare global {
  var tpushape: View | undefined;
}

let loading: Promise<typeof mount> | null = null;

/**
 * The view, which the package carries once: its script stands beside the extension, and Python reads the same file for
 * widgets and standalone pages.
 */
export function view(): Promise<typeof mount> {
  loading ??= new Promise((resolve, reject) => {
    const element = document.createElement("script");
    element.src = URLExt.join(PageConfig.getOption("fullLabextensionsUrl"), "jupyter_tpushape", "static", "view.js");
    element.onload = () => {
      if (globalThis.tpushape) {
        resolve(globalThis.tpushape.mount);
      } else {
        reject(new Error(`${element.src} does not define the view.`));
      }
    };
    element.onerror = () => {
      loading = null;
      reject(new Error(`${element.src} cannot be loaded.`));
    };
    // The server lets a browser keep what stands in static for a year, and this name is the same in every version: the browser asks first.
    void fetch(element.src, { cache: "no-cache" })
      .catch(() => null)
      .then(() => {
        document.head.append(element);
      });
  });
  return loading;
}
