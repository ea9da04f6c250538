import type { TranslationBundle } from "@jupyterlab/translation";
import { PanelLayout, Widget } from "@lumino/widgets";

import { icon } from "./icon";
import { ReportView } from "./reportview";
import type { WireReport } from "../view";
import type { ILocator, ITracer } from "./tokens";

export interface PanelHost {
  openTab: () => void;
  explain: () => void;
  copy: (text: string) => void;
}

/** Of a long list so many are shown at first. */
const SHOWN = 4;
const INSTALL = "%pip install jupyter_tpushape";

function element<K extends keyof HTMLElementTagNameMap>(tag: K, name: string, text = ""): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.className = `tpushape-${name}`;
  made.textContent = text;
  return made;
}

/** The controls above the view: what lives in the kernel, the target, Trace. */
class Controls extends Widget {
  private readonly _place = element("div", "Panel-place");
  private readonly _models = element("div", "Panel-list");
  private readonly _data = element("div", "Panel-list");
  private readonly _target = element("select", "Panel-select");
  private readonly _compile = element("select", "Panel-select");
  private readonly _trace = element("button", "Panel-trace jp-mod-styled jp-mod-accept");
  private readonly _cancel = element("button", "Panel-cancel jp-mod-styled");
  private readonly _watch = element("button", "Panel-watch jp-mod-styled");
  private readonly _tab = element("button", "Panel-tab jp-mod-styled");
  private readonly _refresh = element("button", "Panel-refresh jp-mod-styled", "↻");
  private readonly _message = element("div", "Panel-message");
  private readonly _hint = element("div", "Panel-hint");
  private readonly _failed = element("div", "Panel-failed");
  private readonly _said = element("span", "Panel-said");
  private readonly _explain = element("button", "Panel-explain jp-mod-styled jp-mod-warn");
  private readonly _chosen = element("div", "Panel-body");
  private readonly _bar = element("button", "Panel-bar");
  private readonly _lists = element("div", "Panel-lists");
  private readonly _unfit = element("div", "Panel-empty");
  private readonly _alarm = element("div", "Panel-alarm");
  private readonly _whole = new Set<HTMLElement>();
  private _open = true;
  private _report: WireReport | null = null;

  constructor(
    private readonly _tracer: ITracer,
    private readonly _trans: TranslationBundle,
    private readonly _host: PanelHost,
  ) {
    super();
    this.addClass("tpushape-Panel-controls");
    this._build();
    _tracer.changed.connect(this._draw, this);
    this._draw();
  }

  override dispose(): void {
    this._tracer.changed.disconnect(this._draw, this);
    super.dispose();
  }

  private _build(): void {
    const trans = this._trans;
    const heading = (text: string): HTMLElement => element("div", "Panel-heading", text);
    this._trace.textContent = trans.__("Trace");
    this._cancel.textContent = trans.__("Cancel");
    this._watch.textContent = trans.__("Watch");
    this._watch.title = trans.__("Trace again after each cell that changes a traced model or its data");
    this._tab.textContent = trans.__("Open as tab");
    this._explain.textContent = trans.__("Explain");
    this._explain.addEventListener("click", () => {
      this._host.explain();
    });
    this._failed.append(this._said, this._explain);
    this._refresh.title = trans.__("Refresh the list");
    this._refresh.setAttribute("aria-label", this._refresh.title);
    this._target.setAttribute("aria-label", trans.__("Target"));
    this._compile.setAttribute("aria-label", trans.__("Compile"));
    this._message.setAttribute("role", "status");
    this._models.setAttribute("aria-label", trans.__("Models"));
    this._data.setAttribute("aria-label", trans.__("Data"));
    for (const [value, text] of [
      ["", trans.__("no compiler")],
      ["xla", trans.__("compile with XLA")],
      ["tpu", trans.__("compile for the TPU")],
    ] as const) {
      this._compile.append(new Option(text, value));
    }
    this._target.addEventListener("change", () => {
      this._tracer.choose({ tpu: this._target.value });
    });
    this._compile.addEventListener("change", () => {
      this._tracer.choose({ compile: this._compile.value });
    });
    this._trace.addEventListener("click", () => void this._tracer.trace());
    this._cancel.addEventListener("click", () => void this._tracer.cancel());
    this._refresh.addEventListener("click", () => void this._tracer.refresh());
    this._tab.addEventListener("click", this._host.openTab);
    this._watch.addEventListener("click", () => {
      this._tracer.watching = !this._tracer.watching;
      this._draw();
    });
    const options = element("div", "Panel-row");
    options.append(this._target, this._compile);
    const actions = element("div", "Panel-row");
    actions.append(this._trace, this._cancel, this._watch);
    this._bar.title = trans.__("Change the model, data or target");
    this._bar.addEventListener("click", () => {
      this._open = !this._open;
      this._draw();
    });
    this._lists.append(heading(trans.__("Models")), this._models, heading(trans.__("Data")), this._data, this._unfit, options);
    this._chosen.append(this._bar, this._lists, actions);
    const top = element("div", "Panel-top");
    top.append(this._place, this._tab, this._refresh);
    this._alarm.setAttribute("role", "alert");
    this.node.append(top, this._hint, this._alarm, this._failed, this._chosen, this._message);
  }

  private _draw(): void {
    const { state, inventory, request, running, message, place, watching, report, explained, old } = this._tracer;
    this._place.textContent = place;
    this._place.title = place;
    // Without a kernel there is nothing to list anew, and without a report nothing below to part from.
    this._refresh.hidden = state === "none";
    this.toggleClass("tpushape-mod-alone", !report);
    this._message.textContent = message;
    // What the report's own first line says need not be read twice.
    this._message.classList.toggle("tpushape-mod-heard", message === report?.summary);
    this._drawHint(state);
    this._drawAlarm();
    this._failed.hidden = !inventory.failed || (explained && !old);
    this._explain.disabled = running;
    // What to type is for those who have no button.
    this._said.textContent = inventory.failed ?? "";
    const unknown = state !== "ready" && !inventory.models.length;
    // What was asked of a kernel that says nothing can be taken back.
    this._chosen.hidden = unknown && !running;
    if (report !== this._report) {
      // A report has the room; what it is of stands in one line, and opens.
      this._report = report;
      this._open = !report;
    }
    this._bar.hidden = !report;
    const data = request.data || this._trans.__("declared inputs");
    // A line does not end inside the name of a target.
    const target = request.tpu.replace(/-/g, "\u2011") || this._trans.__("no target");
    // The report is of what failed: what else lives here is another matter, and said as such.
    const aside = explained && report !== null && !this._open;
    this._trace.hidden = this._watch.hidden = aside;
    this._bar.textContent =
      aside && request.model
        ? this._trans.__("Trace another model: %1", request.model)
        : request.model
          ? `${request.model} · ${data} · ${target}`
          : this._trans.__("no model yet · %1", target);
    this._bar.setAttribute("aria-expanded", String(this._open));
    this._lists.hidden = unknown || (Boolean(report) && !this._open);
    this._list(
      this._models,
      inventory.models.map((model) => ({
        name: model.name,
        detail: [model.class, model.params === null ? "" : this._trans.__("%1 parameters", model.params.toLocaleString())],
        spec: model.kind === "builder" ? this._trans.__("a function that builds a model") : arrow(model.inputs, model.outputs),
        chosen: model.name === request.model,
      })),
      this._trans.__("This kernel has no Keras model yet."),
      (name) => {
        this._tracer.choose({ model: name });
        void this._tracer.trace();
      },
    );
    this._list(
      this._data,
      inventory.data.map((data) => ({ name: data.name, detail: [data.class], spec: data.spec, chosen: data.name === request.data })),
      this._trans.__("No dataset or array yet: tracing uses the model's declared inputs."),
      (name) => {
        this._tracer.choose({ data: name === request.data ? "" : name });
      },
    );
    this._unfit.textContent = this._trans.__("No data matches %1: tracing uses its declared inputs.", request.model);
    this._unfit.hidden = !request.model || !inventory.data.length || request.data !== "" || inventory.pairs[request.model] !== "";
    if (this._target.options.length !== inventory.targets.length + 1) {
      this._target.replaceChildren(...inventory.targets.map((name) => new Option(name, name)), new Option(this._trans.__("no target"), ""));
    }
    this._target.value = request.tpu;
    this._compile.value = request.compile;
    this._trace.disabled = running || !request.model;
    this._cancel.hidden = !running;
    this._watch.setAttribute("aria-pressed", String(watching));
    this._tab.hidden = !report;
  }

  /** What went wrong with a fix, and the way back. */
  private _drawAlarm(): void {
    const { alarm } = this._tracer;
    this._alarm.hidden = !alarm;
    this._alarm.replaceChildren(element("span", "Panel-said", alarm?.text ?? ""));
    if (alarm?.undo) {
      const undo = element("button", "Panel-undo jp-mod-styled jp-mod-warn", this._trans.__("Undo the fix"));
      undo.addEventListener("click", alarm.undo);
      this._alarm.append(undo);
    }
    if (alarm?.anew) {
      const anew = element("button", "Panel-anew jp-mod-styled jp-mod-accept", this._trans.__("Create it again"));
      anew.addEventListener("click", alarm.anew);
      this._alarm.append(anew);
    }
  }

  private _drawHint(state: ITracer["state"]): void {
    const trans = this._trans;
    const texts: Record<ITracer["state"], string> = {
      none: trans.__("Open a notebook or a console to list its models and datasets."),
      connecting: trans.__("Connecting to the kernel …"),
      waiting: trans.__("The kernel is busy. The list appears when it is free."),
      "other-language": trans.__("This kernel does not run Python, so it has no Keras models."),
      missing: trans.__("jupyter_tpushape is not installed in this kernel. Run this in a cell, then refresh the list:"),
      dead: trans.__("No kernel is running."),
      silent: trans.__("The kernel is not responding. It may be starting or stuck: wait or restart it, then refresh the list."),
      refused: trans.__("tpushape cannot connect to the kernel (see below). Refresh the list to retry; if that fails, restart the kernel."),
      ready: "",
    };
    this._hint.replaceChildren(texts[state]);
    this._hint.hidden = state === "ready";
    if (state === "missing") {
      const command = element("code", "Panel-command", INSTALL);
      const copy = element("button", "Panel-copy jp-mod-styled", trans.__("Copy"));
      copy.addEventListener("click", () => {
        this._host.copy(INSTALL);
      });
      this._hint.append(command, copy);
    }
  }

  private _list(
    host: HTMLElement,
    entries: { name: string; detail: string[]; spec: string; chosen: boolean }[],
    empty: string,
    choose: (name: string) => void,
  ): void {
    const rows = entries.map((entry) => {
      const row = element("button", "Panel-item");
      row.setAttribute("role", "option");
      row.setAttribute("aria-selected", String(entry.chosen));
      row.append(
        element("span", "Panel-name", entry.name),
        element("span", "Panel-detail", entry.detail.filter(Boolean).join(" · ")),
        element("span", "Panel-spec", entry.spec),
      );
      row.title = entry.spec;
      row.addEventListener("click", () => {
        choose(entry.name);
      });
      return row;
    });
    host.setAttribute("role", rows.length ? "listbox" : "note");
    const chosen = entries.findIndex((entry) => entry.chosen);
    const shown = this._whole.has(host) ? rows : rows.slice(0, Math.max(SHOWN, chosen + 1));
    host.replaceChildren(...(rows.length ? shown : [element("div", "Panel-empty", empty)]));
    if (shown.length < rows.length) {
      const more = element("button", "Panel-more", this._trans.__("and %1 more", rows.length - shown.length));
      more.setAttribute("role", "option");
      more.setAttribute("aria-selected", "false");
      more.addEventListener("click", () => {
        this._whole.add(host);
        this._draw();
      });
      host.append(more);
    }
  }
}

function arrow(inputs: string, outputs: string): string {
  return outputs ? `${inputs} → ${outputs}` : inputs;
}

/** The sidebar panel: controls, and the view in full below them. */
export class TracerPanel extends Widget {
  constructor(
    private readonly _tracer: ITracer,
    locator: ILocator | null,
    trans: TranslationBundle,
    host: PanelHost,
  ) {
    super();
    this.id = "tpushape-panel";
    this.title.icon = icon;
    this.title.caption = trans.__("Tensor shapes");
    this.addClass("tpushape-Panel");
    const layout = new PanelLayout();
    layout.addWidget(new Controls(_tracer, trans, host));
    layout.addWidget(new ReportView(locator, trans).follow(_tracer));
    this.layout = layout;
  }

  protected override onAfterAttach(): void {
    this._tracer.look(this, this.isVisible);
  }

  protected override onAfterShow(): void {
    this._tracer.look(this, true);
  }

  protected override onAfterHide(): void {
    this._tracer.look(this, false);
  }
}
