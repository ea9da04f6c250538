import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ICommandPalette, InputDialog, Notification } from "@jupyterlab/apputils";
import { PathExt } from "@jupyterlab/coreutils";
import { IMainMenu } from "@jupyterlab/mainmenu";
import { INotebookTracker } from "@jupyterlab/notebook";
import { ITranslator, nullTranslator } from "@jupyterlab/translation";

import { icon } from "./icon";
import { CommandIDs } from "./plugins";
import { ILocator, ITracer } from "./tokens";

const ids = {
  ...CommandIDs,
  trace: "tpushape:trace-model",
  traceVariable: "tpushape:trace-variable",
  next: "tpushape:next-problem",
  previous: "tpushape:previous-problem",
  apply: "tpushape:apply-fix",
  exportReport: "tpushape:export",
  port: "tpushape:port",
};

/** Commands for palette, menus and shortcuts. */
export const commands: JupyterFrontEndPlugin<void> = {
  id: "jupyter_tpushape:commands",
  description: "Commands in the palette, the Kernel menu and the context menu of cells.",
  autoStart: true,
  requires: [ITracer],
  optional: [ILocator, INotebookTracker, ICommandPalette, IMainMenu, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    tracer: ITracer,
    locator: ILocator | null,
    notebooks: INotebookTracker | null,
    palette: ICommandPalette | null,
    menu: IMainMenu | null,
    translator: ITranslator | null,
  ) => {
    const trans = (translator ?? nullTranslator).load("jupyter_tpushape");
    const { commands } = app;
    const hasProblems = (): boolean => (tracer.report?.findings.length ?? 0) > 0;
    /** The name under the cursor of the active cell, where it is a model that lives in the kernel. */
    const named = (): string => {
      const editor = notebooks?.activeCell?.editor;
      const token = editor?.getTokenAtCursor().value ?? "";
      return tracer.inventory.models.some((entry) => entry.name === token) ? token : "";
    };
    commands.addCommand(ids.trace, {
      label: trans.__("Trace Model"),
      caption: trans.__("Trace the selected model on the selected data"),
      icon,
      isEnabled: () => tracer.state !== "none",
      execute: async () => {
        await commands.execute(ids.openPanel);
        await tracer.refresh();
        await tracer.trace();
      },
    });
    commands.addCommand(ids.explain, {
      label: trans.__("Explain the Last Shape Error"),
      caption: trans.__("Show where shapes do not match in the last cell that failed, why, and how to fix it"),
      icon,
      isEnabled: () => tracer.state !== "none",
      execute: async (options) => {
        const wide = tracer.explainIn === "tab";
        if (!wide) {
          await commands.execute(ids.openPanel);
        }
        const report = await tracer.explain(Number(options.execution ?? 0));
        // What cannot be explained is said in the panel.
        await commands.execute(wide && report ? ids.openTab : ids.openPanel);
      },
    });
    commands.addCommand(ids.traceVariable, {
      label: () => (named() ? trans.__("Trace “%1”", named()) : trans.__("Trace Model at Cursor")),
      icon,
      isEnabled: () => named() !== "",
      isVisible: () => named() !== "",
      execute: async () => {
        tracer.choose({ model: named() });
        await commands.execute(ids.openPanel);
        await tracer.trace();
      },
    });
    const step = (by: number) => async () => {
      await commands.execute(ids.openPanel);
      tracer.show(tracer.finding + by);
      const location = tracer.report?.findings[tracer.finding]?.location;
      if (location) {
        await locator?.open(location);
      }
    };
    commands.addCommand(ids.next, { label: trans.__("Next Shape Problem"), isEnabled: hasProblems, execute: step(1) });
    commands.addCommand(ids.previous, { label: trans.__("Previous Shape Problem"), isEnabled: hasProblems, execute: step(-1) });
    commands.addCommand(ids.apply, {
      label: trans.__("Apply Fix for Current Problem"),
      isEnabled: () => locator !== null && !tracer.old && (tracer.report?.findings[tracer.finding]?.fixes?.length ?? 0) > 0,
      execute: async () => {
        if (tracer.report) {
          await locator?.apply(tracer.report, tracer.finding, 0);
        }
      },
    });
    commands.addCommand(ids.exportReport, {
      label: trans.__("Save Shape Report…"),
      isEnabled: () => tracer.report !== null,
      execute: async () => {
        const folder = PathExt.dirname(notebooks?.currentWidget?.context.path ?? "");
        const { value } = await InputDialog.getText({
          title: trans.__("Save report as"),
          text: PathExt.join(folder, `${tracer.request.model || "report"}.tpushape.json`),
        });
        if (value && tracer.report) {
          await app.serviceManager.contents.save(value, { type: "file", format: "text", content: JSON.stringify(tracer.report) });
          Notification.success(trans.__("Saved %1", value), { autoClose: 4000 });
        }
      },
    });
    commands.addCommand(ids.port, {
      label: trans.__("Port TPUStrategy Program to Keras on JAX…"),
      caption: trans.__("Write a copy of a Python file that trains with Keras 3 on JAX, and compare both on one batch"),
      icon,
      isEnabled: () => tracer.state !== "none",
      execute: async (options) => {
        const asked =
          (options.path as string | undefined) ??
          (await InputDialog.getText({ title: trans.__("Python file to port, relative to the notebook"), text: "train.py" })).value;
        if (!asked) {
          return;
        }
        await commands.execute(ids.openPanel);
        const ported = await tracer.port(asked);
        if (!ported) {
          return;
        }
        const { contents } = app.serviceManager;
        const stem = PathExt.join(PathExt.dirname(notebooks?.currentWidget?.context.path ?? ""), asked.replace(/\.py$/, "_jax"));
        const taken = (path: string): Promise<boolean> =>
          contents.get(path, { content: false }).then(
            () => true,
            () => false,
          );
        let path = `${stem}.py`;
        for (let n = 2; await taken(path); n++) {
          path = `${stem}_${n}.py`;
        }
        await contents.save(path, { type: "file", format: "text", content: ported.text });
        await commands.execute("docmanager:open", { path });
        const words = trans._n("Wrote %2: %1 line to change by hand", "Wrote %2: %1 lines to change by hand", ported.left.length, path);
        Notification.info([words, ...ported.left, ported.said].join("\n"), { autoClose: false });
      },
    });
    for (const command of Object.values(ids)) {
      palette?.addItem({ command, category: trans.__("Tensor Shapes") });
    }
    menu?.kernelMenu.addGroup(
      [ids.openPanel, ids.trace, ids.explain].map((command) => ({ command })),
      200,
    );
    app.contextMenu.addItem({ command: ids.traceVariable, selector: ".jp-Notebook .jp-CodeCell", rank: 30 });
    app.contextMenu.addItem({ command: ids.explain, selector: ".jp-Notebook .jp-CodeCell", rank: 32 });
    app.contextMenu.addItem({ command: ids.openPanel, selector: ".jp-Notebook .jp-CodeCell", rank: 31 });
    tracer.changed.connect(() => {
      commands.notifyCommandChanged();
    });
  },
};
