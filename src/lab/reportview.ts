import type { TranslationBundle } from "@jupyterlab/translation";
import { MessageLoop } from "@lumino/messaging";
import { Widget } from "@lumino/widgets";

import type { Callbacks, Mounted, WireReport, mount } from "../view";
import { view } from "./script";
import type { ILocator, ITracer } from "./tokens";

/** The view in a widget of its own: keeps its place when the next report comes. */
export class ReportView extends Widget {
  private _mount: typeof mount | null = null;
  private _view: Mounted | null = null;
  private _report: WireReport | null = null;
  private _finding = -1;
  private _asked = 0;
  private _again: (() => void) | null = null;
  private _old: () => string = () => "";

  constructor(
    private readonly _locator: ILocator | null,
    private readonly _trans: TranslationBundle,
  ) {
    super();
    this.addClass("tpushape-Report");
    this.addClass("tpushape-mod-fill");
    view()
      .then((mountView) => {
        if (!this.isDisposed) {
          this._mount = mountView;
          this._draw();
        }
      })
      .catch((error: unknown) => {
        console.error(error);
        this.node.textContent = this._trans.__("The view cannot be loaded: reload the page.");
      });
  }

  /** Shows a report and one of its problems. */
  set(report: WireReport | null, finding: number, asked = this._asked): void {
    if (report !== this._report) {
      this._report = report;
      this._finding = 0;
      this._draw();
    }
    if (report && (finding !== this._finding || asked !== this._asked)) {
      this._finding = finding;
      this._view?.show(finding);
    }
    this._asked = asked;
    MessageLoop.sendMessage(this, Widget.ResizeMessage.UnknownSize);
  }

  /** Draws the report anew, at the problem that is chosen. */
  private _draw(): void {
    if (this._report && this._view) {
      this._view.update(this._report);
      return;
    }
    this._view?.();
    this._view = this._report && this._mount ? this._mount(this.node, this._report, this._callbacks()) : null;
    if (this._view) {
      this._view.age(this._old());
      if (this._finding > 0) {
        this._view.show(this._finding);
      }
    }
  }

  /** Follows the tracer's report for as long as this widget lives. */
  follow(tracer: ITracer): this {
    this._again = () => {
      if (this._report) {
        void tracer.retrace(this._report);
      }
    };
    this._old = () => tracer.old;
    const draw = (): void => {
      this.set(tracer.report, tracer.finding, tracer.asked);
      this._view?.age(tracer.old);
    };
    tracer.changed.connect(draw);
    this.disposed.connect(() => tracer.changed.disconnect(draw));
    draw();
    return this;
  }

  override dispose(): void {
    this._view?.();
    this._view = null;
    super.dispose();
  }

  private _callbacks(): Callbacks {
    const locator = this._locator;
    const own: Callbacks = { fill: true, trans: this._trans, ...(this._again && { again: this._again }) };
    if (!locator) {
      return own;
    }
    return {
      ...own,
      locate: (location) => void locator.open(location),
      apply: (finding, fix) => {
        if (this._report) {
          void locator.apply(this._report, finding, fix);
        }
      },
    };
  }
}
