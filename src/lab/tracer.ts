import type { ISessionContext } from "@jupyterlab/apputils";
import type { Kernel } from "@jupyterlab/services";
import type { TranslationBundle } from "@jupyterlab/translation";
import { Signal } from "@lumino/signaling";

import type { WireReport } from "../view";
import { Cancelled, KernelClient, MissingPackage } from "./kernel";
import type { Inventory, ITracer, KernelState, TraceRequest } from "./tokens";

const NOTHING: Inventory = { models: [], data: [], pairs: {}, targets: [] };

/** Follows one session at a time: the active notebook's or console's. */
export class Tracer implements ITracer {
  readonly changed = new Signal<this, void>(this);
  readonly reported = new Signal<this, WireReport>(this);
  state: KernelState = "none";
  place = "";
  inventory = NOTHING;
  request: TraceRequest = { model: "", data: "", tpu: "v5e-8", compile: "", batches: 3 };
  running = false;
  message = "";
  report: WireReport | null = null;
  finding = 0;
  watching = false;
  autoTrace = false;
  hints = true;
  visible = false;

  private _session: ISessionContext | null = null;
  private _client: KernelClient | null = null;
  private _connecting: Promise<void> | null = null;

  constructor(private readonly _trans: TranslationBundle) {}

  follow(session: ISessionContext | null, place: string): void {
    if (session === this._session) {
      return;
    }
    this._session?.kernelChanged.disconnect(this._onKernel, this);
    this._session?.statusChanged.disconnect(this._onStatus, this);
    this._session = session;
    this.place = place;
    session?.kernelChanged.connect(this._onKernel, this);
    session?.statusChanged.connect(this._onStatus, this);
    this._onKernel();
  }

  choose(part: Partial<TraceRequest>): void {
    const model = part.model ?? this.request.model;
    const paired = part.model !== undefined && part.data === undefined ? this.inventory.pairs[model] : undefined;
    this.request = { ...this.request, ...(paired === undefined ? {} : { data: paired }), ...part };
    this.changed.emit();
  }

  show(finding: number): void {
    const count = this.report?.findings.length ?? 0;
    if (count) {
      this.finding = (finding + count) % count;
      this.changed.emit();
    }
  }

  async refresh(): Promise<void> {
    if (!this.visible) {
      return;
    }
    try {
      const client = await this._connected();
      if (client) {
        this._take(await client.list());
      }
    } catch (error) {
      this._say(error);
    }
    this.changed.emit();
  }

  /** After a cell: what lives in the kernel may be other than it was. */
  async executed(): Promise<void> {
    const before = this._keys();
    const known = new Set(this.inventory.models.map((entry) => entry.key));
    await this.refresh();
    const fresh = this.inventory.models.find((entry) => !known.has(entry.key));
    if (this.watching && this.report && this._keys() !== before) {
      await this.trace();
    } else if (this.autoTrace && fresh && !this.running) {
      this.choose({ model: fresh.name });
      await this.trace();
    }
  }

  async trace(): Promise<void> {
    if (this.running) {
      return;
    }
    this.running = true;
    this.message = this._trans.__("Waiting for the kernel");
    this.changed.emit();
    try {
      const client = await this._connected();
      if (client) {
        const before = this.report;
        const report = await client.trace(this.request, (text) => {
          this.message = text;
          this.changed.emit();
        });
        this.message = before && before.summary !== report.summary ? `${before.summary} → ${report.summary}` : report.summary;
        this.report = report;
        this.finding = 0;
        this.reported.emit(report);
      }
    } catch (error) {
      this._say(error);
    }
    this.running = false;
    this.changed.emit();
  }

  async cancel(): Promise<void> {
    await this._client?.cancel();
  }

  private _keys(): string {
    const { model, data } = this.request;
    return [...this.inventory.models.filter((m) => m.name === model), ...this.inventory.data.filter((d) => d.name === data)]
      .map((entry) => entry.key)
      .join();
  }

  private _take(inventory: Inventory): void {
    this.inventory = inventory;
    const { models, data, pairs } = inventory;
    const model = models.some((entry) => entry.name === this.request.model) ? this.request.model : (models[0]?.name ?? "");
    const kept = model === this.request.model && data.some((entry) => entry.name === this.request.data);
    this.request = { ...this.request, model, data: kept ? this.request.data : (pairs[model] ?? data[0]?.name ?? "") };
  }

  private _say(error: unknown): void {
    this.message = error instanceof Cancelled ? this._trans.__("Cancelled") : error instanceof Error ? error.message : String(error);
  }

  private _onKernel(): void {
    this._client?.drop();
    this._client = null;
    this._connecting = null;
    this.inventory = NOTHING;
    this.message = "";
    this.state = this._session ? "connecting" : "none";
    this.changed.emit();
    void this.refresh();
  }

  private _onStatus(_: unknown, status: Kernel.Status): void {
    if (status === "restarting" || status === "autorestarting") {
      this._onKernel();
    } else if (status === "dead") {
      this.state = "dead";
      this.changed.emit();
    }
  }

  /** The connected client of the followed kernel, or null with the reason in `state`. */
  private async _connected(): Promise<KernelClient | null> {
    const session = this._session;
    if (!session) {
      return null;
    }
    await session.ready;
    const kernel = session.session?.kernel;
    if (!kernel || session !== this._session) {
      this.state = session === this._session ? "dead" : this.state;
      return null;
    }
    if (this._client?.kernel !== kernel) {
      this._client?.drop();
      this._client = new KernelClient(kernel);
      this._connecting = null;
    }
    const client = this._client;
    if (!client.connected) {
      this._connecting ??= this._connect(client, kernel);
      await this._connecting;
      if (client === this._client) {
        this._connecting = null;
      }
    }
    return client.connected && client === this._client ? client : null;
  }

  private async _connect(client: KernelClient, kernel: Kernel.IKernelConnection): Promise<void> {
    this.state = "connecting";
    const { language_info: language } = await kernel.info;
    if (language.name !== "python") {
      this.state = "other-language";
      return;
    }
    this.state = kernel.status === "busy" ? "waiting" : "connecting";
    this.changed.emit();
    try {
      await client.connect(this.hints);
      this.state = "ready";
    } catch (error) {
      if (!(error instanceof MissingPackage)) {
        throw error;
      }
      this.state = "missing";
    }
  }
}
