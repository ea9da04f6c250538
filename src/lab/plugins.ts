import { ILabShell, ILayoutRestorer } from "@jupyterlab/application";
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { Clipboard, MainAreaWidget, WidgetTracker } from "@jupyterlab/apputils";
import { IConsoleTracker } from "@jupyterlab/console";
import { IEditorTracker } from "@jupyterlab/fileeditor";
import { INotebookTracker, NotebookActions } from "@jupyterlab/notebook";
import { ISettingRegistry } from "@jupyterlab/settingregistry";
import { ITranslator, nullTranslator } from "@jupyterlab/translation";

import { answer } from "../bridge";
import { Ages } from "./ages";
import { icon } from "./icon";
import { Locator } from "./locator";
import { markCells } from "./markers";
import { TracerPanel } from "./panel";
import { ReportView } from "./reportview";
import { ILocator, ITracer } from "./tokens";
import { Tracer } from "./tracer";

export const CommandIDs = {
  openPanel: "tpushape:open-panel",
  openTab: "tpushape:open-tab",
  explain: "tpushape:explain-last-error",
};

/** Follows the active notebook's or console's kernel. */
export const tracer: JupyterFrontEndPlugin<ITracer> = {
  id: "jupyter_tpushape:tracer",
  description: "Traces Keras models of the active kernel.",
  autoStart: true,
  provides: ITracer,
  optional: [INotebookTracker, IConsoleTracker, ITranslator],
  activate: (
    _app: JupyterFrontEnd,
    notebooks: INotebookTracker | null,
    consoles: IConsoleTracker | null,
    translator: ITranslator | null,
  ): ITracer => {
    const state = new Tracer((translator ?? nullTranslator).load("jupyter_tpushape"));
    const followNotebook = (): void => {
      const panel = notebooks?.currentWidget;
      if (panel) {
        state.follow(panel.sessionContext, panel.title.label);
      } else if (!consoles?.currentWidget) {
        state.follow(null, "");
      }
    };
    const followConsole = (): void => {
      const panel = consoles?.currentWidget;
      if (panel) {
        state.follow(panel.sessionContext, panel.title.label);
      } else {
        followNotebook();
      }
    };
    notebooks?.currentChanged.connect(followNotebook);
    consoles?.currentChanged.connect(followConsole);
    consoles?.widgetAdded.connect((_, panel) => {
      panel.console.executed.connect(() => void state.executed());
    });
    NotebookActions.executed.connect((_, { notebook }) => {
      if (notebooks?.currentWidget?.content === notebook) {
        void state.executed();
      }
    });
    NotebookActions.executionScheduled.connect((_, { notebook }) => {
      if (notebooks?.currentWidget?.content === notebook) {
        state.makeWay();
      }
    });
    followNotebook();
    return state;
  },
};

export const locator: JupyterFrontEndPlugin<ILocator> = {
  id: "jupyter_tpushape:locator",
  description: "Opens the code of a finding, marks cells with problems, and applies fixes.",
  autoStart: true,
  provides: ILocator,
  requires: [ITracer],
  optional: [INotebookTracker, IConsoleTracker, IEditorTracker, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    state: ITracer,
    notebooks: INotebookTracker | null,
    consoles: IConsoleTracker | null,
    editors: IEditorTracker | null,
    translator: ITranslator | null,
  ): ILocator => {
    const trans = (translator ?? nullTranslator).load("jupyter_tpushape");
    const openPanel = (): Promise<unknown> => app.commands.execute(CommandIDs.openPanel);
    const made = new Locator(app, notebooks, consoles, editors, state, trans, new Ages(notebooks, trans), openPanel);
    state.ageBy((report, tell) => made.age(report, tell));
    markCells(state, made, notebooks, () => void openPanel(), trans);
    // Widgets in outputs have no application of their own.
    answer((asked) => {
      if (asked.kind === "locate") {
        void made.open(asked.location);
      } else if (asked.kind === "apply") {
        void made.apply(asked.report, asked.finding, asked.fix);
      } else if (asked.kind === "age") {
        asked.stop = made.age(asked.report, asked.tell);
      } else if (asked.kind === "again") {
        void openPanel().then(() => state.retrace(asked.report));
      }
    });
    return made;
  },
};

/** The sidebar panel, and the same view as a tab beside the notebook. */
export const panel: JupyterFrontEndPlugin<void> = {
  id: "jupyter_tpushape:panel",
  description: "The sidebar panel.",
  autoStart: true,
  requires: [ITracer],
  optional: [ILocator, ILabShell, ILayoutRestorer, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    state: ITracer,
    code: ILocator | null,
    labShell: ILabShell | null,
    restorer: ILayoutRestorer | null,
    translator: ITranslator | null,
  ) => {
    const trans = (translator ?? nullTranslator).load("jupyter_tpushape");
    const widget = new TracerPanel(state, code, trans, {
      openTab: () => void app.commands.execute(CommandIDs.openTab),
      explain: () => void app.commands.execute(CommandIDs.explain),
      copy: (text) => {
        Clipboard.copyToSystem(text);
      },
    });
    const tabs = new WidgetTracker<MainAreaWidget<ReportView>>({ namespace: "tpushape" });
    if (labShell) {
      labShell.add(widget, "right", { rank: 900, type: "Tensor shapes" });
    } else {
      app.shell.add(widget, "right", { rank: 900 });
    }
    restorer?.add(widget, widget.id);
    app.commands.addCommand(CommandIDs.openPanel, {
      label: trans.__("Show Tensor Shapes"),
      caption: trans.__("List the Keras models and datasets of the active kernel, and find where shapes do not match"),
      icon,
      execute: () => {
        app.shell.activateById(widget.id);
      },
    });
    app.commands.addCommand(CommandIDs.openTab, {
      label: trans.__("Open Tensor Shapes as a Tab"),
      isEnabled: () => state.report !== null,
      execute: () => {
        const open = tabs.currentWidget;
        if (open) {
          app.shell.activateById(open.id);
          return;
        }
        const main = new MainAreaWidget({ content: new ReportView(code, trans).follow(state) });
        state.look(main, true);
        main.disposed.connect(() => {
          state.look(main, false);
        });
        main.id = "tpushape-tab";
        main.title.label = trans.__("Tensor shapes");
        main.title.icon = icon;
        void tabs.add(main);
        main.toggleClass("tpushape-mod-below", !labShell);
        // Notebook 7 keeps its main area for the one document: there the tab stands below it.
        app.shell.add(main, labShell ? "main" : "down", { mode: "split-right" });
        app.shell.activateById(main.id);
      },
    });
  },
};

export const settings: JupyterFrontEndPlugin<void> = {
  id: "jupyter_tpushape:plugin",
  description: "Settings and shortcuts.",
  autoStart: true,
  requires: [ITracer, ISettingRegistry],
  activate: async (_app: JupyterFrontEnd, state: ITracer, registry: ISettingRegistry) => {
    const loaded = await registry.load("jupyter_tpushape:plugin");
    const read = (): void => {
      const composite = loaded.composite as {
        target: string;
        autoTrace: boolean;
        hints: boolean;
        sampleBatches: number;
        compile: string;
        effort: string;
        explainIn: ITracer["explainIn"];
      };
      state.explainIn = composite.explainIn;
      state.autoTrace = composite.autoTrace;
      state.hints = composite.hints;
      state.choose({ tpu: composite.target, batches: composite.sampleBatches, compile: composite.compile, effort: composite.effort });
    };
    loaded.changed.connect(read);
    read();
  },
};
