import type { ISessionContext } from "@jupyterlab/apputils";
import type { Kernel } from "@jupyterlab/services";
import type { TranslationBundle } from "@jupyterlab/translation";
import { PromiseDelegate } from "@lumino/coreutils";
import { Signal } from "@lumino/signaling";

import type { WireReport } from "../view";
import { Connection } from "./connection";
import { Cancelled, Restarted } from "./kernel";
import type { KernelClient, Ported, Traced } from "./kernel";
import { inView, keys, listed, madeBy, NOTHING } from "./inventory";
import { Mending } from "./mending";
import type { Alarm, ILocator, Inventory, ITracer, KernelState, Mended, TraceRequest } from "./tokens";

/** What the sidebar remembers of each notebook and console. */
interface Memory {
  report: WireReport | null;
  explained: boolean;
  finding: number;
  message: string;
  model: string;
  data: string;
}

/** Follows one session at a time: the active notebook's or console's. */
export class Tracer implements ITracer {
  readonly changed = new Signal<this, void>(this);
  readonly reported = new Signal<this, WireReport>(this);
  readonly noticed = new Signal<this, string>(this);
  place = "";
  inventory = NOTHING;
  request: TraceRequest = { model: "", data: "", tpu: "v5e-8", compile: "", batches: 3, effort: "" };
  running = false;
  message = "";
  report: WireReport | null = null;
  explained = false;
  old = "";
  alarm: Alarm | null = null;
  finding = 0;
  asked = 0;
  watching = false;
  autoTrace = false;
  hints = true;
  explainIn: ITracer["explainIn"] = "panel";

  private readonly _views = new Set<object>();
  private readonly _memory = new WeakMap<ISessionContext, Memory>();
  /** What was said of each report when it came. */
  private readonly _told = new WeakMap<WireReport, string>();
  private _session: ISessionContext | null = null;
  private readonly _kernel = new Connection(() => {
    this.changed.emit();
  });
  private _queued = false;
  /** That what was to be traced again is not there. */
  private _absent = "";
  /** Ends the wait for a kernel that has not answered. */
  private _stop: PromiseDelegate<null> | null = null;
  /** Whether watched traces run, whether they make way for a cell, and the models that are still to be traced again. */
  private _watched = false;
  private _due = false;
  private readonly _owed = new Set<string>();
  private _stopAge = (): void => undefined;
  private _age: ILocator["age"] | null = null;

  private readonly _mending: Mending;

  constructor(private readonly _trans: TranslationBundle) {
    this._mending = new Mending(this, {
      trans: _trans,
      say: (message) => {
        this.message = message;
        this.changed.emit();
      },
      warn: (alarm) => {
        this.alarm = alarm;
        this.changed.emit();
      },
      forget: () => {
        this._set(null, false);
      },
      trace: (before) => this._run(before, this.request.model, (client, progress) => client.trace(this.request, progress)),
    });
  }

  get state(): KernelState {
    return this._kernel.state;
  }

  ageBy(age: ILocator["age"]): void {
    this._age = age;
  }

  follow(session: ISessionContext | null, place: string): void {
    if (session === this._session) {
      return;
    }
    if (this._session) {
      const { report, explained, finding, message, request } = this;
      this._memory.set(this._session, { report, explained, finding, message, model: request.model, data: request.data });
    }
    this._session?.kernelChanged.disconnect(this._onKernel, this);
    this._session?.statusChanged.disconnect(this._onStatus, this);
    this._session = session;
    this.place = place;
    const known = session ? this._memory.get(session) : undefined;
    this._set(known?.report ?? null, known?.explained ?? false);
    this.finding = known?.finding ?? 0;
    this.alarm = null;
    this.request = { ...this.request, model: known?.model ?? "", data: known?.data ?? "" };
    session?.kernelChanged.connect(this._onKernel, this);
    session?.statusChanged.connect(this._onStatus, this);
    this._onKernel();
    this.message = known?.message ?? "";
    this._unsay();
    this.changed.emit();
  }

  look(view: object, seen: boolean): void {
    if (!seen) {
      this._views.delete(view);
    } else if (!this._views.has(view)) {
      this._views.add(view);
      void this.refresh();
    }
  }

  choose(part: Partial<TraceRequest>): void {
    const model = part.model ?? this.request.model;
    const paired = model !== this.request.model && part.data === undefined ? this.inventory.pairs[model] : undefined;
    if (model !== this.request.model) {
      // What was said of another model is not said of this one.
      this.message = "";
    }
    this.request = { ...this.request, ...(paired === undefined ? {} : { data: paired }), ...part };
    this.changed.emit();
  }

  show(finding: number): void {
    const count = this.report?.findings.length ?? 0;
    if (count) {
      this.finding = (finding + count) % count;
      this.asked += 1;
      this.changed.emit();
    }
  }

  async refresh(): Promise<void> {
    if (!this._views.size && !this.watching && !this.autoTrace) {
      return;
    }
    try {
      const client = await this._kernel.client(this.hints);
      if (client) {
        this._take(await client.list());
      }
    } catch (error) {
      if (!(error instanceof Restarted)) {
        this._say(error);
      }
    }
    this.changed.emit();
  }

  /** After a cell: what lives in the kernel may be other than it was. */
  async executed(): Promise<void> {
    const before = this.inventory;
    await this.refresh();
    const fresh = madeBy(this.inventory, new Set(before.models.map((entry) => entry.key)));
    for (const [model, data] of this.watching ? inView(this.request, this.inventory) : []) {
      if (keys(this.inventory, model, data) !== keys(before, model, data)) {
        this._owed.add(model);
      }
    }
    if (this.watching && this.report && !this.running && this._owed.size) {
      this._due = false;
      await this._watch();
    } else if (this.autoTrace && fresh && !this.running) {
      this.choose({ model: fresh.name });
      await this.trace();
    }
  }

  /** Traces again what is owed, one model after the other, until a cell wants the kernel. */
  private async _watch(): Promise<void> {
    const said: string[] = [];
    this._watched = true;
    for (const [model, data] of inView(this.request, this.inventory)) {
      if (!this._due && this._owed.has(model)) {
        await this._traceAgain(model, data, said);
      }
    }
    this._watched = false;
  }

  private async _traceAgain(model: string, data: string, said: string[]): Promise<void> {
    const { message } = this;
    const chosen = model === this.request.model;
    await this._run(this.report, model, async (client, progress) => {
      const traced = await client.trace({ ...this.request, model, data }, progress, true);
      if (traced.changed) {
        said.push(`${model}: ${traced.changed}`);
        this.noticed.emit(said.join(" · "));
      }
      return chosen ? traced : null;
    });
    if (this._due) {
      return;
    }
    this._owed.delete(model);
    if (!chosen) {
      // The panel speaks of the chosen model; of the others the cell's gutter does.
      this.message = message;
      this.changed.emit();
    }
  }

  makeWay(): void {
    if (this._watched && !this._due) {
      this._due = true;
      this._kernel.asked?.makeWay();
    }
  }

  async trace(): Promise<void> {
    if (this.running) {
      // The last that was asked for is the one that counts.
      this._queued = true;
      return;
    }
    await this._run(this.report, this.request.model, (client, progress) => client.trace(this.request, progress));
  }

  async explain(execution = 0): Promise<WireReport | null> {
    const before = this.report;
    await this._run(null, "", (client, progress) => client.explain(execution, progress));
    return this.report !== before && this.explained ? this.report : null;
  }

  async port(path: string): Promise<Ported | null> {
    let ported: Ported | null = null;
    await this._run(null, "", async (client, progress) => {
      ported = await client.port(path, progress);
      this.message = ported.said;
      return null;
    });
    return ported;
  }

  async retrace({ about, title }: WireReport): Promise<void> {
    await this.refresh();
    const model = about?.model ?? title;
    if (this.inventory.models.some((entry) => entry.name === model)) {
      this.choose({ model, data: listed(about?.data) });
    } else if (about?.model && !this.inventory.failed) {
      // Another model has nothing to do with this report.
      this.message = this._absent = this._trans.__("%1 is not in this kernel: run the cell that creates it, then trace it again.", model);
      this.changed.emit();
      return;
    }
    if (this.inventory.failed || !this.request.model) {
      await this.explain();
    } else {
      await this.trace();
    }
  }

  again(before: WireReport, mended: Mended): Promise<void> {
    return this._mending.again(before, mended);
  }

  /** `name`: the model that is asked about, `""` for what failed last. */
  private async _run(
    before: WireReport | null,
    name: string,
    ask: (client: KernelClient, progress: (text: string) => void) => Promise<Traced | null>,
  ): Promise<void> {
    if (this.running) {
      return;
    }
    const session = this._session;
    this.running = true;
    const say = (text: string): void => {
      this.message = name ? `${name}: ${text}` : text;
    };
    this.message = this._trans.__("Waiting for the kernel");
    this.changed.emit();
    this._stop = new PromiseDelegate<null>();
    try {
      const client = await Promise.race([this._kernel.client(this.hints), this._stop.promise]);
      if (client) {
        const traced = await ask(client, (text) => {
          say(text);
          this.changed.emit();
        });
        if (traced) {
          const { report, changed } = traced;
          const same = before !== null && before.title === report.title && before.about?.model === report.about?.model;
          const words = same && before.summary !== report.summary ? `${before.summary} → ${report.summary}` : report.summary;
          this._keep(session, report, name === "", changed || words);
        }
      } else {
        this.message = "";
      }
    } catch (error) {
      if (error instanceof Restarted && !error.begun && !name && session === this._session) {
        // What no model is needed for, the new kernel can answer.
        this.running = false;
        return this._run(before, name, ask);
      }
      this._say(error);
      say(this._due && error instanceof Cancelled ? this._trans.__("Watching: traces again after the cell has run") : this.message);
    }
    this.running = false;
    this.changed.emit();
    if (this._queued) {
      this._queued = false;
      await this.trace();
    }
  }

  private _set(report: WireReport | null, explained: boolean): void {
    this._stopAge();
    this.report = report;
    this.explained = explained;
    this.old = "";
    if (report && this._age) {
      this._stopAge = this._age(report, (reason) => {
        this.old = reason;
        this._unsay();
        this.changed.emit();
      });
    }
  }

  /** What was said of a report is not said of one that is old. */
  private _unsay(): void {
    if (this.old && this.report && this.message === this._told.get(this.report)) {
      this.message = "";
    }
  }

  /** A report belongs to the notebook that it was asked in, also where another one has come to the front. */
  private _keep(session: ISessionContext | null, report: WireReport, explained: boolean, message: string): void {
    this._told.set(report, message);
    if (session === this._session) {
      this.message = message;
      this._set(report, explained);
      this.finding = 0;
      this.reported.emit(report);
    } else if (session) {
      const known = this._memory.get(session);
      this._memory.set(session, { model: "", data: "", ...known, report, explained, finding: 0, message });
    }
  }

  async cancel(): Promise<void> {
    this._stop?.reject(new Cancelled());
    await this._kernel.asked?.cancel();
  }

  private _take(inventory: Inventory): void {
    if (this.message === this._absent && keys(inventory) !== keys(this.inventory)) {
      this.message = "";
    }
    this.inventory = inventory;
    const { models, data, pairs } = inventory;
    const model = models.some((entry) => entry.name === this.request.model) ? this.request.model : (models[0]?.name ?? "");
    const kept = model === this.request.model && data.some((entry) => entry.name === this.request.data);
    this.request = { ...this.request, model, data: kept ? this.request.data : (pairs[model] ?? "") };
  }

  private _say(error: unknown): void {
    this.message = error instanceof Cancelled ? this._trans.__("Cancelled") : error instanceof Error ? error.message : String(error);
  }

  private _onKernel(): void {
    this._kernel.follow(this._session);
    this.inventory = NOTHING;
    this._owed.clear();
    this.message = "";
    this.alarm = null;
    this.changed.emit();
    void this.refresh();
  }

  private _onStatus(_: unknown, status: Kernel.Status): void {
    if (status === "restarting" || status === "autorestarting") {
      this._onKernel();
    } else if (status === "dead") {
      this._kernel.died();
    }
  }
}
