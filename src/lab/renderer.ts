import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { MimeDocumentFactory } from "@jupyterlab/docregistry";
import { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import { ITranslator, nullTranslator, type TranslationBundle } from "@jupyterlab/translation";
import { Widget } from "@lumino/widgets";

import { mount } from "../view";
import type { Mounted, WireReport } from "../view";
import { icon } from "./icon";
import { ILocator, MIME } from "./tokens";

const VERSION = 1;

/** Shows a report that an output or a file carries; needs no kernel. */
class ReportRenderer extends Widget implements IRenderMime.IRenderer {
  private _view: Mounted | null = null;

  constructor(
    private readonly _locator: ILocator | null,
    private readonly _trans: TranslationBundle,
  ) {
    super();
    this.addClass("tpushape-Report");
  }

  override dispose(): void {
    this._view?.();
    super.dispose();
  }

  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const report = model.data[MIME] as unknown as WireReport | undefined;
    if (report?.version !== VERSION) {
      this._view?.();
      this._view = null;
      this.node.textContent = this._trans.__("This report was written by another version of jupyter_tpushape: trace the model again.");
    } else if (this._view) {
      this._view.update(report);
    } else {
      const locator = this._locator;
      this._view = mount(this.node, report, {
        trans: this._trans,
        ...(locator && {
          locate: (location) => void locator.open(location),
          apply: (finding, fix) => void locator.apply(model.data[MIME] as unknown as WireReport, finding, fix),
        }),
      });
    }
    return Promise.resolve();
  }
}

export const renderer: JupyterFrontEndPlugin<void> = {
  id: "jupyter_tpushape:renderer",
  description: "Shows reports in outputs and opens .tpushape.json files.",
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [ILocator, ITranslator],
  activate: (app: JupyterFrontEnd, registry: IRenderMimeRegistry, locator: ILocator | null, translator: ITranslator | null) => {
    const trans = (translator ?? nullTranslator).load("jupyter_tpushape");
    const factory: IRenderMime.IRendererFactory = {
      safe: true,
      mimeTypes: [MIME],
      createRenderer: () => new ReportRenderer(locator, trans),
    };
    // Before HTML and text, which the same output carries for other front ends.
    registry.addFactory(factory, 0);
    app.docRegistry.addFileType({
      name: "tpushape-report",
      displayName: trans.__("Tensor shapes"),
      contentType: "file",
      fileFormat: "text",
      mimeTypes: [MIME],
      extensions: [".tpushape.json"],
      icon,
    });
    app.docRegistry.addWidgetFactory(
      new MimeDocumentFactory({
        dataType: "json",
        rendermime: registry,
        modelName: "text",
        name: "tpushape",
        label: trans.__("Tensor shapes"),
        primaryFileType: app.docRegistry.getFileType("tpushape-report"),
        fileTypes: ["tpushape-report"],
        defaultFor: ["tpushape-report"],
        translator: translator ?? nullTranslator,
        factory,
      }),
    );
  },
};
