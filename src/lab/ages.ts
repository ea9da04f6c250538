import { NotebookActions } from "@jupyterlab/notebook";
import type { INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";
import type { TranslationBundle } from "@jupyterlab/translation";

import type { WireReport } from "../view";

const SAID = 160;
const KEY = "tpushape";
const WHICH = 'getattr(getattr(get_ipython(), "_tpushape", None), "kernel", "")';

interface Entry {
  report: WireReport;
  /** The text of each cell that the report speaks of, as it was when the report came. */
  texts: Map<string, string>;
  tell: (reason: string) => void;
  reason: string;
  /** Why it stays old, whatever is typed: a run, a restart, a fix in a file. */
  lasting: string;
}

/** Knows which reports are old: their cell ran again or was edited, their kernel restarted, or a fix went into their file. */
export class Ages {
  private readonly _entries = new Set<Entry>();
  private readonly _kernels = new WeakMap<Kernel.IKernelConnection, Promise<string>>();

  constructor(
    private readonly _notebooks: INotebookTracker | null,
    private readonly _trans: TranslationBundle,
  ) {
    _notebooks?.widgetAdded.connect((_, panel) => {
      this._followPanel(panel);
    });
    _notebooks?.forEach((panel) => {
      this._followPanel(panel);
    });
    NotebookActions.executed.connect((_, { cell }) => {
      const { id } = cell.model;
      const count = (cell.model as { executionCount?: number | null }).executionCount ?? 0;
      this._mark(
        (entry) => entry.texts.has(id) && count > (entry.report.about?.execution ?? 0),
        this._trans.__("its cell ran again as In[%1].", count),
      );
    });
  }

  /** Tells, now and whenever it changes, why a report is old (`""`: it is not); gives what ends it. */
  follow(report: WireReport, tell: (reason: string) => void): () => void {
    const entry: Entry = { report, texts: new Map(), tell, reason: "", lasting: "" };
    for (const { cell, text } of report.flow.locations ?? []) {
      const source = cell ? this._panelOf(cell)?.source : undefined;
      if (!cell || source === undefined) {
        continue;
      }
      entry.texts.set(cell, source);
      const said = text?.trim();
      if (said && !source.split("\n").some((line) => line.trim().slice(0, SAID) === said)) {
        // Its text at that time is not known, only that it was another one.
        entry.lasting = this._trans.__("its cell was edited.");
      }
    }
    this._entries.add(entry);
    void this._askKernel(entry);
    this._weigh(entry);
    return () => {
      this._entries.delete(entry);
    };
  }

  /** A fix went into a file: what was traced from it is old. */
  changed(file: string): void {
    this._mark(
      (entry) => Boolean(file) && (entry.report.flow.locations ?? []).some((one) => one.file === file),
      this._trans.__("a fix was applied to its file."),
    );
  }

  private _mark(which: (entry: Entry) => boolean, reason: string): void {
    for (const entry of this._entries) {
      if (which(entry)) {
        entry.lasting ||= reason;
        this._weigh(entry);
      }
    }
  }

  private _weigh(entry: Entry): void {
    const edited = [...entry.texts].some(([id, text]) => this._panelOf(id)?.source !== text);
    const reason = entry.lasting || (edited ? this._trans.__("its cell was edited.") : "");
    if (reason !== entry.reason) {
      entry.reason = reason;
      entry.tell(reason);
    }
  }

  private _followPanel(panel: NotebookPanel): void {
    const { sessionContext, content } = panel;
    const restarted = (): void => {
      const kernel = sessionContext.session?.kernel;
      if (kernel) {
        this._kernels.delete(kernel);
      }
      this._mark((entry) => this._belongs(entry, panel), this._trans.__("the kernel has restarted."));
    };
    sessionContext.statusChanged.connect((_, status) => {
      if (status === "restarting" || status === "autorestarting") {
        restarted();
      }
    });
    sessionContext.kernelChanged.connect((_, { oldValue }) => {
      if (oldValue) {
        restarted();
      }
    });
    content.modelContentChanged.connect(() => {
      for (const entry of this._entries) {
        if (entry.texts.size) {
          this._weigh(entry);
        }
      }
    });
  }

  /** Whether a report came from a kernel that is there still: asked once of each notebook's kernel. */
  private async _askKernel(entry: Entry): Promise<void> {
    const wanted = entry.report.about?.kernel;
    const panel = this._panelOf(entry.report.about?.cell ?? "")?.panel;
    if (!wanted || !panel) {
      return;
    }
    await panel.sessionContext.ready;
    const kernel = panel.sessionContext.session?.kernel;
    const asked = kernel ? (this._kernels.get(kernel) ?? ask(kernel)) : Promise.resolve("");
    if (kernel) {
      this._kernels.set(kernel, asked);
    }
    try {
      if ((await asked) !== wanted) {
        this._mark((one) => one === entry, this._trans.__("its kernel was shut down."));
      }
    } catch {
      // The kernel restarted or died meanwhile, which is told by itself.
    }
  }

  private _belongs(entry: Entry, panel: NotebookPanel): boolean {
    const cells = [entry.report.about?.cell ?? "", ...entry.texts.keys()];
    return cells.some((id) => id && this._panelOf(id)?.panel === panel);
  }

  private _panelOf(id: string): { panel: NotebookPanel; source: string } | null {
    let found: { panel: NotebookPanel; source: string } | null = null;
    this._notebooks?.forEach((panel) => {
      const cells = panel.content.model?.cells;
      for (let i = 0; cells && !found && i < cells.length; i++) {
        const cell = cells.get(i);
        if (cell.id === id) {
          found = { panel, source: cell.sharedModel.getSource() };
        }
      }
    });
    return found;
  }
}

async function ask(kernel: Kernel.IKernelConnection): Promise<string> {
  await kernel.info;
  const future = kernel.requestExecute({ code: "", silent: true, store_history: false, user_expressions: { [KEY]: WHICH } });
  const { content } = await future.done;
  if (content.status === "aborted") {
    // A cell that ran before it raised, and took with it what waited.
    return ask(kernel);
  }
  const said = content.status === "ok" ? (content.user_expressions[KEY] as { data?: { "text/plain"?: string } } | undefined) : undefined;
  return (said?.data?.["text/plain"] ?? "").replace(/^'|'$/g, "");
}
