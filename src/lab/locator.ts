import type { JupyterFrontEnd } from "@jupyterlab/application";
import { Clipboard, Dialog, Notification, showDialog } from "@jupyterlab/apputils";
import type { Cell } from "@jupyterlab/cells";
import { CodeCell } from "@jupyterlab/cells";
import type { CodeEditor } from "@jupyterlab/codeeditor";
import type { IConsoleTracker } from "@jupyterlab/console";
import { PageConfig, PathExt } from "@jupyterlab/coreutils";
import type { IDocumentWidget } from "@jupyterlab/docregistry";
import type { FileEditor, IEditorTracker } from "@jupyterlab/fileeditor";
import { NotebookActions } from "@jupyterlab/notebook";
import type { IError } from "@jupyterlab/nbformat";
import type { INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";
import type { TranslationBundle } from "@jupyterlab/translation";
import { Widget } from "@lumino/widgets";

import { changesOf } from "../changes";
import { differing } from "../differing";
import type { Fix, Location, Patch, WireReport } from "../view";
import type { Ages } from "./ages";
import { applyDiff, isDiff, type Patched } from "./diff";
import { lineIn } from "./lines";
import type { ILocator, ITracer } from "./tokens";

const HIGHLIGHT_MS = 1600;
const TOAST = { autoClose: 8000 } as const;

interface Place {
  editor: CodeEditor.IEditor | null;
  source: { getSource(): string; setSource(value: string): void };
  name: string;
  panel?: NotebookPanel;
  cell?: Cell;
}

/** A fix in one place: its text before and with the fix. */
interface Change {
  place: Place;
  before: string;
  patched: Patched & { ok: true };
  file: string;
  label: string;
}

/** Finds cells and files that a report speaks of. */
export class Locator implements ILocator {
  constructor(
    private readonly _app: JupyterFrontEnd,
    private readonly _notebooks: INotebookTracker | null,
    private readonly _consoles: IConsoleTracker | null,
    private readonly _editors: IEditorTracker | null,
    private readonly _tracer: ITracer,
    private readonly _trans: TranslationBundle,
    private readonly _ages: Ages,
    private readonly _openPanel: () => Promise<unknown>,
  ) {}

  age(report: WireReport, tell: (reason: string) => void): () => void {
    return this._ages.follow(report, tell);
  }

  async open(location: Location): Promise<void> {
    const place = (await this._find(location)) ?? this._past(location);
    if (!place) {
      Notification.info(this._trans.__("The source of %1 is no longer open.", location.file || this._trans.__("this cell")), TOAST);
      return;
    }
    this._reveal(place, lineIn(place.source.getSource(), location.line, location.text));
  }

  async apply(report: WireReport, finding: number, index: number): Promise<void> {
    const problem = report.findings[finding];
    const fix = problem?.fixes?.[index];
    if (!problem || !fix) {
      return;
    }
    if (!isDiff(fix.patch ?? "") || !placeOf(fix, problem.location)) {
      await this._byHand(fix);
      return;
    }
    const changes: Change[] = [];
    for (const part of changesOf(fix)) {
      const wanted = placeOf(part, problem.location);
      const place = await this._find(wanted);
      if (!place) {
        await this._refuse(
          this._trans.__("%1 no longer exists, so the fix cannot be applied.", (wanted?.file ?? "") || this._trans.__("The cell")),
        );
        return;
      }
      const before = place.source.getSource();
      const patched = applyDiff(before, part.patch, place.cell ? lineIn(before, 1) - 1 : 0);
      if (!patched.ok) {
        await this._refuse(
          this._trans.__("%1 has changed since it was traced, so this fix no longer applies. Trace it again.", place.name),
        );
        return;
      }
      if (place.cell?.model.getMetadata("editable") === false) {
        await this._refuse(this._trans.__("%1 is read-only.", place.name));
        return;
      }
      changes.push({ place, before, patched, file: wanted?.file ?? "", label: /^\+\+\+ (.*)/m.exec(part.patch)?.[1] ?? place.name });
    }
    const buttons = [Dialog.cancelButton(), Dialog.okButton({ label: this._trans.__("Apply") })];
    if (changes.every(({ place }) => place.cell)) {
      buttons.push(Dialog.okButton({ label: this._trans.__("Apply, run and trace"), actions: ["rerun"] }));
    }
    const { button } = await showDialog({
      title: fix.title,
      body: diffWidget(
        this._trans,
        changes.map(({ patched, label }) => [changes.length > 1 ? label : "", patched.shown]),
      ),
      buttons,
      defaultButton: 1,
    });
    if (!button.accept) {
      return;
    }
    const touched = changes.find(({ place, before }) => place.source.getSource() !== before);
    if (touched) {
      Notification.warning(this._trans.__("%1 changed while the dialog was open: nothing was applied.", touched.place.name), TOAST);
      return;
    }
    // The first one last: it is what the user then sees.
    for (const { place, patched, file } of changes.reverse()) {
      place.source.setSource(patched.text);
      this._ages.changed(file);
      this._reveal(place, patched.line + 1);
    }
    changes.reverse();
    const files = changes.filter(({ place }) => !place.cell);
    if (files.length) {
      const names = files.map(({ place }) => place.name).join(", ");
      Notification.info(this._trans.__("The fix is in %1. Save the file, then restart the kernel or reload the module.", names), TOAST);
    } else if (button.actions.includes("rerun")) {
      await this._rerun(report, changes);
    }
  }

  /** Runs the cells that a fix went into, and traces. */
  private async _rerun(report: WireReport, changes: Change[]): Promise<void> {
    const cells = changes.flatMap(({ place }) => place.cell ?? []);
    const panel = changes[0]?.place.panel;
    let last = cells[0];
    if (!panel || !last) {
      return;
    }
    await this._openPanel();
    const run = (one: Cell): Promise<boolean> => {
      last = one;
      panel.content.activeCellIndex = panel.content.widgets.indexOf(one);
      panel.content.deselectAll();
      return NotebookActions.run(panel.content, panel.sessionContext);
    };
    const runAll = async (all: (Cell | undefined)[]): Promise<boolean> => {
      for (const one of all) {
        if (!one || !(await run(one))) {
          return false;
        }
      }
      return true;
    };
    const later = laterCells(report, panel, last).filter((id) => !cells.some((cell) => cell.model.id === id));
    await this._tracer.again(report, {
      failed: cells.some((cell) => cell.model.id === report.about?.cell),
      later,
      run: () => runAll(cells),
      runCells: (ids) => runAll(ids.map((id) => panel.content.widgets.find((other) => other.model.id === id))),
      raised: () => (last ? this._raised(panel, last, cells.includes(last)) : ""),
      undo: () => {
        for (const { place, before, patched } of changes) {
          if (place.source.getSource() === patched.text) {
            place.source.setSource(before);
            this._reveal(place, patched.line + 1);
          } else {
            Notification.warning(this._trans.__("%1 has changed since: remove the fix with Undo.", place.name), TOAST);
          }
        }
      },
    });
  }

  /** What a cell that did not run to its end says, or why it could not run. */
  private _raised(panel: NotebookPanel, cell: Cell, fixed: boolean): string {
    const outputs = cell instanceof CodeCell ? cell.model.outputs.toJSON() : [];
    const error = outputs.filter((one): one is IError => one.output_type === "error").at(-1);
    if (error) {
      const which = fixed
        ? this._trans.__("The fixed cell")
        : `In[${String((cell.model as { executionCount?: number | null }).executionCount ?? " ")}]`;
      return this._trans.__("%1 raises %2: %3", which, error.ename, error.evalue.split("\n")[0] ?? "");
    }
    return panel.sessionContext.session?.kernel
      ? this._trans.__("The fixed cell did not finish.")
      : this._trans.__("The fix is in the cell, but no kernel is running.");
  }

  private async _refuse(body: string): Promise<void> {
    await showDialog({ title: this._trans.__("Not applied"), body, buttons: [Dialog.okButton()] });
  }

  /** The notebook cell of a location; the followed notebook is asked first. */
  cell(location: Location): { panel: NotebookPanel; cell: Cell } | null {
    const current = this._notebooks?.currentWidget;
    const panels: NotebookPanel[] = current ? [current] : [];
    this._notebooks?.forEach((panel) => {
      if (panel !== current) {
        panels.push(panel);
      }
    });
    for (const panel of panels) {
      const found = panel.content.widgets.find((cell) => location.cell && cell.model.id === location.cell);
      if (found) {
        return { panel, cell: found };
      }
    }
    // Where the kernel was not told the cell's id there is the number of the run, which other notebooks have too.
    const numbered = current?.content.widgets.find(
      (cell) => !location.cell && location.execution && cell instanceof CodeCell && cell.model.executionCount === location.execution,
    );
    return current && numbered ? { panel: current, cell: numbered } : null;
  }

  /** A cell in the history of a console: it can be shown and not changed. */
  private _past(location: Location): Place | null {
    let found: Cell | undefined;
    this._consoles?.forEach((panel) => {
      const cell = Array.from(panel.console.cells).find((one) => location.cell !== "" && one.model.id === location.cell);
      if (cell) {
        found = cell;
        this._app.shell.activateById(panel.id);
        cell.node.scrollIntoView({ block: "center" });
      }
    });
    return found ? { editor: null, source: found.model.sharedModel, name: this._trans.__("The cell"), cell: found } : null;
  }

  private async _find(location: Location | null): Promise<Place | null> {
    if (!location) {
      return null;
    }
    if (location.cell || location.execution) {
      const found = this.cell(location);
      if (!found) {
        return null;
      }
      this._app.shell.activateById(found.panel.id);
      const index = found.panel.content.widgets.indexOf(found.cell);
      found.panel.content.activeCellIndex = index;
      await found.panel.content.scrollToCell(found.cell);
      await found.cell.ready;
      return { ...found, editor: found.cell.editor, source: found.cell.model.sharedModel, name: this._trans.__("The cell") };
    }
    return location.file ? this._file(location.file) : null;
  }

  private async _file(file: string): Promise<Place | null> {
    // The server may tell its folder from the user's home on.
    const root = PageConfig.getOption("serverRoot").replace(/^~/, "").replace(/\/*$/, "/");
    const at = file.indexOf(root);
    const path = at >= 0 ? file.slice(at + root.length) : file;
    const widget = await this._app.commands
      .execute("docmanager:open", { path, factory: "Editor" })
      .then((opened: unknown) => opened as IDocumentWidget<FileEditor> | undefined)
      .catch(() => undefined);
    if (!widget || !this._editors?.has(widget)) {
      return null;
    }
    await widget.context.ready;
    const { editor, model } = widget.content;
    return { editor, source: model.sharedModel, name: PathExt.basename(path) };
  }

  /** Scrolls to a line, counted from 1. */
  private _reveal(place: Place, line: number): void {
    const { editor, cell } = place;
    if (editor) {
      const at = { line: Math.max(0, Math.min(line, editor.lineCount) - 1), column: 0 };
      editor.setCursorPosition(at);
      editor.revealPosition(at);
      editor.focus();
    }
    const node = cell?.node ?? editor?.host;
    node?.classList.add("tpushape-mod-found");
    setTimeout(() => node?.classList.remove("tpushape-mod-found"), HIGHLIGHT_MS);
  }

  private async _byHand(fix: Fix): Promise<void> {
    const { button } = await showDialog({
      title: fix.title,
      body: diffWidget(
        this._trans,
        [["", fix.patch ?? ""]],
        this._trans.__("tpushape found no place in your code for this fix: add these lines by hand, with your own names."),
      ),
      buttons: [Dialog.cancelButton({ label: this._trans.__("Close") }), Dialog.okButton({ label: this._trans.__("Copy") })],
    });
    if (button.accept) {
      Clipboard.copyToSystem((fix.patch ?? "").replace(/^\+/gm, ""));
    }
  }
}

/** Where a fix goes: the cell or file it names, or else where its finding stands. */
function placeOf(fix: Patch | Fix, location: Location | null | undefined): Location | null {
  if (fix.cell) {
    return location?.cell === fix.cell ? location : { file: "", line: 1, cell: fix.cell };
  }
  if (fix.execution) {
    return { file: "", line: 1, execution: fix.execution };
  }
  return fix.file ? { file: fix.file, line: 1 } : (location ?? null);
}

/** The cells of a report that stand behind one in its notebook, up to the one that failed. */
function laterCells(report: WireReport, panel: NotebookPanel, cell: Cell): string[] {
  const named = new Set([report.about?.cell, ...(report.flow.locations ?? []).map((location) => location.cell)]);
  const { widgets } = panel.content;
  const end = widgets.findIndex((one) => one.model.id === report.about?.cell);
  return widgets
    .slice(widgets.indexOf(cell) + 1, end + 1)
    .map((one) => one.model.id)
    .filter((id) => named.has(id));
}

function diffWidget(trans: TranslationBundle, patches: [label: string, patch: string][], words = ""): Widget {
  const node = document.createElement("div");
  node.append(words);
  const code = node.appendChild(document.createElement("pre"));
  code.className = "tpushape-Diff";
  for (const [label, patch] of patches) {
    const lines = patch.split("\n").filter((text) => !/^(---|\+\+\+)/.test(text));
    for (const [i, line] of lines.entries()) {
      const row = code.appendChild(document.createElement("div"));
      const hunk = /^@@ .*\+(\d+)/.exec(line);
      if (hunk) {
        row.textContent = label ? trans.__("%1, line %2", label, hunk[1]) : trans.__("line %1", hunk[1]);
        row.className = "tpushape-mod-line";
        continue;
      }
      const [from, to] = differing(lines, i);
      const part = document.createElement("b");
      part.textContent = line.slice(from, to);
      row.append(line.slice(0, from), part, line.slice(to));
      row.className = line.startsWith("+") ? "tpushape-mod-added" : line.startsWith("-") ? "tpushape-mod-removed" : "";
    }
  }
  return new Widget({ node });
}
