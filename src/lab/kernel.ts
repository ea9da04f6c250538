import type { Kernel, KernelMessage } from "@jupyterlab/services";
import type { JSONObject } from "@lumino/coreutils";
import { PromiseDelegate } from "@lumino/coreutils";

import type { WireReport } from "../view";
import { COMM_TARGET } from "./tokens";
import type { Inventory, TraceRequest } from "./tokens";

const MODULE = "jupyter_tpushape.notebook.comm";

/** The package is not installed where this kernel runs. */
export class MissingPackage extends Error {}

/** The trace was taken back. */
export class Cancelled extends Error {}

interface Answer {
  id: string;
  op: "list" | "progress" | "report" | "error";
  text?: string;
  message?: string;
  cancelled?: boolean;
  report?: WireReport;
}

interface Pending {
  done: PromiseDelegate<Answer>;
  progress: (text: string) => void;
}

/** One kernel's end of the comm: asks, and matches the answers to the questions. */
export class KernelClient {
  private _comm: Kernel.IComm | null = null;
  private _pending = new Map<string, Pending>();
  private _next = 0;
  private _tracing = "";
  private _started = false;

  constructor(readonly kernel: Kernel.IKernelConnection) {}

  get connected(): boolean {
    return this._comm !== null && !this._comm.isDisposed;
  }

  /** Opens the comm; waits for its turn where the kernel is busy. */
  async connect(): Promise<void> {
    const reply = await this._execute("register", "");
    if (reply.status !== "ok") {
      if ("ename" in reply && reply.ename === "ModuleNotFoundError") {
        throw new MissingPackage(reply.evalue);
      }
      throw new Error("ename" in reply ? `${reply.ename}: ${reply.evalue}` : "The kernel did not answer.");
    }
    const comm = this.kernel.createComm(COMM_TARGET);
    comm.onMsg = (message) => {
      this._receive(message.content.data as unknown as Answer);
    };
    comm.onClose = () => {
      this.drop();
    };
    await comm.open().done;
    this._comm = comm;
  }

  async list(): Promise<Inventory> {
    return (await this._ask({ op: "list" })) as unknown as Inventory;
  }

  /** Traces on the thread that runs cells; progress comes line by line. */
  async trace(request: TraceRequest, progress: (text: string) => void): Promise<WireReport> {
    const comm = this._comm;
    if (!comm) {
      throw new Error("The kernel is not connected.");
    }
    const id = this._id();
    const pending: Pending = {
      done: new PromiseDelegate<Answer>(),
      progress: (text) => {
        this._started = true;
        progress(text);
      },
    };
    this._pending.set(id, pending);
    this._tracing = id;
    this._started = false;
    const call = `${JSON.stringify(comm.commId)}, ${JSON.stringify(JSON.stringify({ id, op: "trace", ...request }))}`;
    this._execute("run", call).then(
      (reply) => {
        if (reply.status !== "ok" && this._pending.delete(id)) {
          const cancelled = reply.status === "aborted" || ("ename" in reply && reply.ename === "KeyboardInterrupt");
          pending.done.reject(cancelled ? new Cancelled() : new Error("ename" in reply ? `${reply.ename}: ${reply.evalue}` : ""));
        }
      },
      () => {
        this._fail(id, new Error("The kernel went away."));
      },
    );
    try {
      const answer = await pending.done.promise;
      if (!answer.report) {
        throw new Error("The kernel's answer holds no report.");
      }
      return answer.report;
    } finally {
      this._tracing = "";
    }
  }

  /** Interrupts the trace that runs; one that still waits for its turn is only marked, so that no cell of the user's is hit. */
  async cancel(): Promise<void> {
    if (!this._tracing) {
      return;
    }
    this._comm?.send({ id: this._tracing, op: "cancel" });
    if (this._started) {
      await this.kernel.interrupt();
    } else {
      this._fail(this._tracing, new Cancelled());
    }
  }

  /** Forgets the comm and fails what still waits for an answer. */
  drop(): void {
    this._comm = null;
    for (const id of [...this._pending.keys()]) {
      this._fail(id, new Error("The kernel restarted."));
    }
  }

  private _id(): string {
    this._next += 1;
    return `${this.kernel.clientId}-${this._next}`;
  }

  private async _ask(question: JSONObject): Promise<Answer> {
    const comm = this._comm;
    if (!comm) {
      throw new Error("The kernel is not connected.");
    }
    const id = this._id();
    const pending: Pending = { done: new PromiseDelegate<Answer>(), progress: () => undefined };
    this._pending.set(id, pending);
    comm.send({ id, ...question });
    return pending.done.promise;
  }

  private _receive(answer: Answer): void {
    const pending = this._pending.get(answer.id);
    if (!pending) {
      return;
    }
    if (answer.op === "progress") {
      pending.progress(answer.text ?? "");
    } else if (answer.op === "error") {
      this._fail(answer.id, answer.cancelled ? new Cancelled() : new Error(answer.message));
    } else {
      this._pending.delete(answer.id);
      pending.done.resolve(answer);
    }
  }

  private _fail(id: string, error: Error): void {
    const pending = this._pending.get(id);
    this._pending.delete(id);
    pending?.done.reject(error);
  }

  private async _execute(name: string, call: string): Promise<KernelMessage.IExecuteReplyMsg["content"]> {
    const future = this.kernel.requestExecute({
      code: `__import__("${MODULE}", fromlist=["${name}"]).${name}(${call})`,
      silent: true,
      store_history: false,
      stop_on_error: false,
    });
    return (await future.done).content;
  }
}
