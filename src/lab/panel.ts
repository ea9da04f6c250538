import type { TranslationBundle } from "@jupyterlab/translation";
import { PanelLayout, Widget } from "@lumino/widgets";

import { icon } from "./icon";
import { ReportView } from "./reportview";
import type { ILocator, ITracer } from "./tokens";

export interface PanelHost {
  openTab: () => void;
  copy: (text: string) => void;
}

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
    this._watch.title = trans.__("Trace again after each cell that changes the model or the data");
    this._tab.textContent = trans.__("Open as tab");
    this._explain.textContent = trans.__("Explain");
    this._explain.addEventListener("click", () => void this._tracer.explain());
    this._failed.append(this._said, this._explain);
    this._refresh.title = trans.__("List again");
    this._refresh.setAttribute("aria-label", this._refresh.title);
    this._target.setAttribute("aria-label", trans.__("Target"));
    this._compile.setAttribute("aria-label", trans.__("Compile"));
    this._message.setAttribute("role", "status");
    this._models.setAttribute("role", "listbox");
    this._models.setAttribute("aria-label", trans.__("Models"));
    this._data.setAttribute("role", "listbox");
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
    actions.append(this._trace, this._cancel, this._watch, this._tab);
    this._chosen.append(heading(trans.__("Models")), this._models, heading(trans.__("Data")), this._data, options, actions);
    const top = element("div", "Panel-top");
    top.append(this._place, this._refresh);
    this.node.append(top, this._hint, this._failed, this._chosen, this._message);
  }

  private _draw(): void {
    const { state, inventory, request, running, message, place, watching, report } = this._tracer;
    this._place.textContent = place;
    this._place.title = place;
    this._message.textContent = message;
    this._drawHint(state);
    this._failed.hidden = !inventory.failed;
    this._explain.disabled = running;
    // What to type is for those who have no button.
    this._said.textContent = inventory.failed ?? "";
    this._chosen.hidden = state !== "ready" && !inventory.models.length;
    this._list(
      this._models,
      inventory.models.map((model) => ({
        name: model.name,
        detail: [model.class, model.params === null ? "" : this._trans.__("%1 parameters", model.params.toLocaleString())],
        spec: model.kind === "builder" ? this._trans.__("a function that builds a model") : arrow(model.inputs, model.outputs),
        chosen: model.name === request.model,
      })),
      this._trans.__("No Keras model lives in this kernel yet."),
      (name) => {
        this._tracer.choose({ model: name });
      },
    );
    this._list(
      this._data,
      inventory.data.map((data) => ({ name: data.name, detail: [data.class], spec: data.spec, chosen: data.name === request.data })),
      this._trans.__("No dataset or array yet: the model is traced on its declared input."),
      (name) => {
        this._tracer.choose({ data: name === request.data ? "" : name });
      },
    );
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

  private _drawHint(state: ITracer["state"]): void {
    const trans = this._trans;
    const texts: Record<ITracer["state"], string> = {
      none: trans.__("Open a notebook or a console: its models and datasets are listed here."),
      connecting: trans.__("Connecting to the kernel …"),
      waiting: trans.__("The kernel is busy; the list comes when it is free."),
      "other-language": trans.__("This kernel does not run Python, so it holds no Keras model."),
      missing: trans.__("This kernel has no jupyter_tpushape. Run this in a cell, then list again:"),
      dead: trans.__("No kernel is running here."),
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
    host.replaceChildren(...(rows.length ? rows : [element("div", "Panel-empty", empty)]));
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
