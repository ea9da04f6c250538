import type { Kernel } from "@jupyterlab/services";
import type { JSONObject } from "@lumino/coreutils";
import { PromiseDelegate } from "@lumino/coreutils";

import type { WireReport } from "../view";
import { COMM_TARGET } from "./tokens";
import type { Inventory, TraceRequest } from "./tokens";

const MODULE = "jupyter_tpushape.notebook.front_end";
const KEY = "tpushape";

/** The package is not installed where this kernel runs. */
export class MissingPackage extends Error {}

/** The trace was taken back. */
export class Cancelled extends Error {}

/** The kernel that was asked is another one now: before it had begun to answer, or after. */
export class Restarted extends Error {
  constructor(readonly begun: boolean) {
    super("The kernel restarted.");
  }
}

interface Answer {
  id: string;
  op: "list" | "progress" | "report" | "ported" | "error";
  text?: string;
  message?: string;
  cancelled?: boolean;
  report?: WireReport;
  /** What is other than in the report before, in a sentence. */
  changed?: string;
  left?: string[];
}

/** A report, and what is other than in the one before. */
export interface Traced {
  report: WireReport;
  changed: string;
}

/** A program that was ported: its text, the lines to change by hand, and how the two programs compare. */
export interface Ported {
  text: string;
  left: string[];
  said: string;
}

interface Pending {
  done: PromiseDelegate<Answer>;
  progress: (text: string) => void;
}

/** One kernel's end of the comm: asks, and matches the answers to the questions. */
export class KernelClient {
  private _comm: Kernel.IComm | null = null;
  /**
   * For what is answered beside the cells. A kernel hands a comm's messages to the shell that spoke on that comm last: where a trace
   * on the main shell tells its progress, nothing on its comm would be heard before it ends.
   */
  private _aside: Kernel.IComm | null = null;
  private _pending = new Map<string, Pending>();
  private _next = 0;
  private _tracing = "";
  private _started = false;
  private _interrupt: Promise<void> | null = null;
  private _dropped = false;

  constructor(readonly kernel: Kernel.IKernelConnection) {}

  get connected(): boolean {
    return this._comm !== null && !this._comm.isDisposed;
  }

  /** Opens the comm; waits for its turn where the kernel is busy. */
  async connect(hints: boolean): Promise<void> {
    this._dropped = false;
    const wanted = (): boolean => !this._dropped;
    try {
      await this._call("connect", hints ? "True" : "False", wanted);
      this._aside = await this._open();
      this._comm = await this._open();
    } catch (error) {
      // Of what waited, the services only say that it was cancelled.
      throw wanted() ? error : new Restarted(false);
    }
  }

  private async _open(): Promise<Kernel.IComm> {
    const comm = this.kernel.createComm(COMM_TARGET);
    comm.onMsg = (message) => {
      this._receive(message.content.data as unknown as Answer);
    };
    comm.onClose = () => {
      this.drop();
    };
    await comm.open().done;
    return comm;
  }

  async list(): Promise<Inventory> {
    return (await this._ask({ op: "list" })) as unknown as Inventory;
  }

  /** Traces on the thread that runs cells; progress comes line by line. */
  async trace(request: TraceRequest, progress: (text: string) => void, watched = false): Promise<Traced> {
    return this._run({ op: "trace", ...request, watched }, progress);
  }

  /** Traces what failed last. */
  async explain(execution: number, progress: (text: string) => void): Promise<Traced> {
    return this._run({ op: "explain", execution }, progress);
  }

  /** Ports a Python file of the kernel's folder to Keras on JAX. */
  async port(path: string, progress: (text: string) => void): Promise<Ported> {
    const { text, left, message } = await this._turn({ op: "port", path }, progress);
    return { text: text ?? "", left: left ?? [], said: message ?? "" };
  }

  private async _run(question: JSONObject, progress: (text: string) => void): Promise<Traced> {
    const { report, changed } = await this._turn(question, progress);
    if (!report) {
      throw new Error("The kernel's answer contains no report.");
    }
    return { report, changed: changed ?? "" };
  }

  /** Asks what is answered on the thread that runs cells. */
  private async _turn(question: JSONObject, progress: (text: string) => void): Promise<Answer> {
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
    const call = `${JSON.stringify(comm.commId)}, ${JSON.stringify(JSON.stringify({ id, ...question }))}`;
    this._call("run", call, () => this._pending.has(id)).catch((error: unknown) => {
      this._fail(id, error instanceof Error ? error : new Error(String(error)));
    });
    try {
      return await pending.done.promise;
    } finally {
      this._tracing = "";
      // Nothing is run before an interrupt has been delivered: it would be hit.
      await this._interrupt;
      this._interrupt = null;
    }
  }

  /**
   * Interrupts the trace that runs; one that still waits for its turn is only marked, so that no cell of the user's is hit.
   *
   * A kernel that listens beside the cells interrupts the trace itself: it knows whether the trace still runs.
   */
  async cancel(): Promise<void> {
    if (!this._tracing) {
      return;
    }
    const aside = this._aside as { subshellId?: string | null } | null;
    if (this._started && !aside?.subshellId) {
      this._interrupt ??= this.kernel.interrupt().catch(() => undefined);
      await this._interrupt;
      return;
    }
    this._aside?.send({ id: this._tracing, op: "cancel" });
    if (!this._started) {
      this._fail(this._tracing, new Cancelled());
    }
  }

  /** Ends a trace that nobody waits for, without an interrupt: that could hit the cell that comes next. */
  makeWay(): void {
    if (this._tracing) {
      this._aside?.send({ id: this._tracing, op: "make-way" });
      if (!this._started) {
        this._fail(this._tracing, new Cancelled());
      }
    }
  }

  /** Forgets the comm and fails what still waits for an answer. */
  drop(): void {
    this._dropped = true;
    this._comm = this._aside = null;
    for (const id of [...this._pending.keys()]) {
      this._fail(id, new Restarted(id === this._tracing && this._started));
    }
  }

  private _id(): string {
    this._next += 1;
    return `${this.kernel.clientId}-${this._next}`;
  }

  private async _ask(question: JSONObject): Promise<Answer> {
    const comm = this._aside;
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

  /** Calls a function of the kernel's module, as long as it is wanted; as a user expression, so that it never looks like a cell of the user's. */
  private async _call(name: string, values: string, wanted: () => boolean): Promise<void> {
    const expression = `__import__("${MODULE}", fromlist=["${name}"]).${name}(${values})`;
    const future = this.kernel.requestExecute({
      code: "",
      silent: true,
      store_history: false,
      stop_on_error: false,
      user_expressions: { [KEY]: expression },
    });
    const { content } = await future.done;
    if (content.status === "ok") {
      const result = content.user_expressions[KEY] as { status: string; ename?: string; evalue?: string } | undefined;
      if (result?.status === "error") {
        throw failure(result.ename ?? "", result.evalue ?? "");
      }
    } else {
      if (content.status === "error" && "ename" in content) {
        throw failure(content.ename, content.evalue);
      }
      if (!wanted()) {
        throw new Cancelled();
      }
      // A cell that ran before it raised, and took with it what waited.
      await this._call(name, values, wanted);
    }
  }
}

function failure(name: string, text: string): Error {
  if (name === "ModuleNotFoundError" && text.includes("jupyter_tpushape")) {
    return new MissingPackage(text);
  }
  return name === "KeyboardInterrupt" || name === "Cancelled" ? new Cancelled() : new Error(`${name}: ${text}`);
}
