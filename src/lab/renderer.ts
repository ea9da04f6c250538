import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { MimeDocumentFactory } from "@jupyterlab/docregistry";
import { INotebookTracker } from "@jupyterlab/notebook";
import { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import { ITranslator, nullTranslator, type TranslationBundle } from "@jupyterlab/translation";
import { Widget } from "@lumino/widgets";

import type { Mounted, WireReport, mount } from "../view";
import { icon } from "./icon";
import { CommandIDs } from "./plugins";
import { view as viewScript } from "./script";
import { ILocator, ITracer, MIME } from "./tokens";

const VERSION = 1;
const WIDGET_MIME = "application/vnd.jupyter.widget-view+json";

interface Around {
  locator: ILocator | null;
  notebooks: INotebookTracker | null;
  trans: TranslationBundle;
  /** Traces once more what a report is of. */
  again: ((report: WireReport) => void) | null;
}

/** Shows a report that an output or a file carries; needs no kernel. Where its widget lives in one, that is shown in its place. */
class ReportRenderer extends Widget implements IRenderMime.IRenderer {
  private _view: Mounted | null = null;
  private _live: (Widget & IRenderMime.IRenderer) | null = null;
  private _waits: IRenderMime.IMimeModel | null = null;
  private _stopAge = (): void => undefined;

  constructor(
    private readonly _around: Around,
    private readonly _fill = false,
  ) {
    super();
    this.addClass("tpushape-Report");
  }

  override dispose(): void {
    this._stopAge();
    this._view?.();
    this._live?.dispose();
    super.dispose();
  }

  protected override onAfterAttach(): void {
    const model = this._waits;
    this._waits = null;
    if (model) {
      void this._render(model);
    }
  }

  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    if (!this._fill && model.trusted && WIDGET_MIME in model.data && !this.isAttached) {
      // Which kernel it came from is known by the notebook around it.
      this._waits = model;
      return Promise.resolve();
    }
    return this._render(model);
  }

  private async _render(model: IRenderMime.IMimeModel): Promise<void> {
    const view = model.trusted ? (model.data[WIDGET_MIME] as { model_id?: string } | undefined) : undefined;
    const panel = this._around.notebooks?.find(({ node }) => node.contains(this.node));
    const kernel = panel?.sessionContext.session?.kernel;
    if (view?.model_id && panel && kernel?.hasComm(view.model_id)) {
      this._live?.dispose();
      this._live = panel.content.rendermime.createRenderer(WIDGET_MIME);
      Widget.attach(this._live, this.node);
      await this._live.renderModel(model);
      return;
    }
    const mountView = await viewScript();
    if (!this.isDisposed) {
      this._draw(model, mountView);
    }
  }

  private _draw(model: IRenderMime.IMimeModel, mountView: typeof mount): void {
    const { locator, trans, again } = this._around;
    const report = model.data[MIME] as unknown as WireReport | undefined;
    this._stopAge();
    if (report?.version !== VERSION) {
      this._view?.();
      this._view = null;
      this.node.textContent = trans.__("A different version of jupyter_tpushape wrote this report: trace the model again.");
    } else if (this._view) {
      this._view.update(report);
    } else {
      this._view = mountView(this.node, report, {
        trans,
        fill: this._fill,
        ...(again && {
          again: () => {
            again(model.data[MIME] as unknown as WireReport);
          },
        }),
        ...(locator && {
          locate: (location) => void locator.open(location),
          apply: (finding, fix) => void locator.apply(model.data[MIME] as unknown as WireReport, finding, fix),
        }),
      });
    }
    if (locator && report?.version === VERSION && !this._fill) {
      this._stopAge = locator.age(report, (reason) => this._view?.age(reason));
    }
  }
}

export const renderer: JupyterFrontEndPlugin<void> = {
  id: "jupyter_tpushape:renderer",
  description: "Shows reports in outputs and opens .tpushape.json files.",
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [ILocator, ITracer, INotebookTracker, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    registry: IRenderMimeRegistry,
    locator: ILocator | null,
    tracer: ITracer | null,
    notebooks: INotebookTracker | null,
    translator: ITranslator | null,
  ) => {
    const trans = (translator ?? nullTranslator).load("jupyter_tpushape");
    const again = (report: WireReport): void => {
      void app.commands.execute(CommandIDs.openPanel).then(() => tracer?.retrace(report));
    };
    const around: Around = { locator, notebooks, trans, again: tracer && again };
    const factory: IRenderMime.IRendererFactory = {
      safe: true,
      mimeTypes: [MIME],
      createRenderer: () => new ReportRenderer(around),
    };
    // Before the widget (-10), HTML and text, which the same output carries for other front ends.
    registry.addFactory(factory, -50);
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
        factory: { ...factory, createRenderer: () => new ReportRenderer(around, true) },
      }),
    );
  },
};
