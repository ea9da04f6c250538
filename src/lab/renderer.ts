import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import { Widget } from "@lumino/widgets";

import { mount } from "../view";
import type { WireReport } from "../view";

export const MIME = "application/vnd.tpushape.report.v1+json";

/** Shows a report that an output or a file carries. */
class ReportRenderer extends Widget implements IRenderMime.IRenderer {
  private _off: (() => void) | undefined;

  constructor() {
    super();
    this.addClass("tpushape-Report");
  }

  override dispose(): void {
    this._off?.();
    super.dispose();
  }

  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this._off?.();
    this._off = mount(this.node, model.data[MIME] as unknown as WireReport);
    return Promise.resolve();
  }
}

export const renderer: JupyterFrontEndPlugin<void> = {
  id: "jupyter_tpushape:renderer",
  description: "Shows reports in outputs.",
  autoStart: true,
  requires: [IRenderMimeRegistry],
  activate: (_app: JupyterFrontEnd, registry: IRenderMimeRegistry) => {
    registry.addFactory({ safe: true, mimeTypes: [MIME], createRenderer: () => new ReportRenderer() }, 0);
  },
};
