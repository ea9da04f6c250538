import type { ISessionContext } from "@jupyterlab/apputils";
import type { Kernel } from "@jupyterlab/services";

import { KernelClient, MissingPackage } from "./kernel";
import type { KernelState } from "./tokens";

/** After so long a kernel that says nothing is told of. */
const PATIENCE_MS = 10_000;

/** The way to the kernel of the followed session, and why there is none. */
export class Connection {
  state: KernelState = "none";
  /** The client that was last asked for, connected or not. */
  asked: KernelClient | null = null;

  private _session: ISessionContext | null = null;
  private _connecting: Promise<void> | null = null;
  private _late: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly _changed: () => void) {}

  /** Begins anew with a session, whose kernel may be another one than before. */
  follow(session: ISessionContext | null): void {
    this.asked?.drop();
    this.asked = null;
    this._connecting = null;
    this._session = session;
    this.state = session ? "connecting" : "none";
  }

  died(): void {
    this._to("dead");
  }

  /** The connected client of the followed kernel, or null with the reason in `state`. */
  async client(hints: boolean): Promise<KernelClient | null> {
    const session = this._session;
    if (!session) {
      return null;
    }
    if (!this.asked?.connected) {
      clearTimeout(this._late);
      this._late = setTimeout(() => {
        if (this.state === "connecting") {
          this._to("silent");
        }
      }, PATIENCE_MS);
    }
    await session.ready;
    const kernel = session.session?.kernel;
    if (!kernel || session !== this._session) {
      this.state = session === this._session ? "dead" : this.state;
      return null;
    }
    if (this.asked?.kernel !== kernel) {
      this.asked?.drop();
      this.asked = new KernelClient(kernel);
      this._connecting = null;
    }
    const client = this.asked;
    if (!client.connected) {
      this._connecting ??= this._connect(client, kernel, hints);
      await this._connecting;
      if (client === this.asked) {
        this._connecting = null;
      }
    }
    return client.connected && client === this.asked ? client : null;
  }

  private _to(state: KernelState): void {
    this.state = state;
    this._changed();
  }

  private async _connect(client: KernelClient, kernel: Kernel.IKernelConnection, hints: boolean): Promise<void> {
    const to = (state: KernelState): void => {
      if (client === this.asked) {
        this._to(state);
      }
    };
    to("connecting");
    try {
      const { language_info: language } = await kernel.info;
      if (language.name !== "python") {
        to("other-language");
        return;
      }
      to(kernel.status === "busy" ? "waiting" : "connecting");
      await client.connect(hints);
      to("ready");
    } catch (error) {
      to(error instanceof MissingPackage ? "missing" : "refused");
      if (!(error instanceof MissingPackage)) {
        throw error;
      }
    }
  }
}
