import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { INotebookTracker } from "@jupyterlab/notebook";
import { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import { ITranslator, nullTranslator, type TranslationBundle } from "@jupyterlab/translation";
import { Widget } from "@lumino/widgets";

import { isDiff } from "./diff";
import { CommandIDs } from "./plugins";
import { HINT_MIME, ILocator, ITracer } from "./tokens";

/** What the kernel says under a traceback. */
interface Hint {
  said: string;
  /** The number of the cell that failed. */
  execution: number;
}

interface Deeds {
  explain: (execution: number) => void;
  /** Applies the first fix, with its question. */
  apply: (execution: number) => Promise<boolean>;
  /** Takes the hint out of the cell's output. */
  dismiss: (node: HTMLElement) => void;
}

/** The sentence under a traceback, and what can be done about it. */
class HintRenderer extends Widget implements IRenderMime.IRenderer {
  constructor(
    private readonly _deeds: Deeds | null,
    private readonly _trans: TranslationBundle,
  ) {
    super();
    this.addClass("tpushape-Hint");
  }

  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const { said, execution } = model.data[HINT_MIME] as unknown as Hint;
    const words = document.createElement("span");
    words.className = "tpushape-Hint-said";
    words.textContent = said;
    this.node.replaceChildren(words);
    const deeds = this._deeds;
    if (deeds) {
      const row = this.node.appendChild(document.createElement("span"));
      row.className = "tpushape-Hint-deeds";
      const apply = button(this._trans.__("Apply the first fix…"), () => {
        apply.disabled = true;
        apply.textContent = this._trans.__("Trying fixes …");
        void deeds.apply(execution).then((found) => {
          apply.disabled = !found;
          apply.textContent = found ? this._trans.__("Apply the first fix…") : this._trans.__("No fix applies to the cell");
        });
      });
      row.append(
        button(this._trans.__("Explain"), () => {
          deeds.explain(execution);
        }),
        apply,
        button(this._trans.__("Dismiss"), () => {
          deeds.dismiss(this.node);
        }),
      );
    }
    return Promise.resolve();
  }
}

function button(text: string, act: () => void): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "tpushape-Hint-button";
  made.textContent = text;
  made.addEventListener("click", act);
  return made;
}

export const hint: JupyterFrontEndPlugin<void> = {
  id: "jupyter_tpushape:hint",
  description: "Shows a hint below a traceback, with Explain, Apply and Dismiss buttons.",
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [ITracer, ILocator, INotebookTracker, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    registry: IRenderMimeRegistry,
    tracer: ITracer | null,
    locator: ILocator | null,
    notebooks: INotebookTracker | null,
    translator: ITranslator | null,
  ) => {
    const trans = (translator ?? nullTranslator).load("jupyter_tpushape");
    const deeds: Deeds | null =
      tracer && locator && notebooks
        ? {
            explain: (execution) => void app.commands.execute(CommandIDs.explain, { execution }),
            apply: async (execution) => {
              const known = tracer.explained && !tracer.old && tracer.report?.about?.execution === execution ? tracer.report : null;
              const report = known ?? (await tracer.explain(execution));
              for (const [finding, { fixes }] of report?.findings.entries() ?? []) {
                const first = fixes?.findIndex((fix) => fix.verified && isDiff(fix.patch ?? "")) ?? -1;
                if (report && first >= 0) {
                  await locator.apply(report, finding, first);
                  return true;
                }
              }
              await app.commands.execute(CommandIDs.openPanel);
              return false;
            },
            dismiss: (node) => {
              notebooks.forEach(({ content }) => {
                for (const { model, node: cell } of content.widgets) {
                  const outputs = (model as { outputs?: { length: number; get(i: number): { data: object }; remove(i: number): void } })
                    .outputs;
                  for (let i = (outputs?.length ?? 0) - 1; outputs && cell.contains(node) && i >= 0; i--) {
                    if (HINT_MIME in outputs.get(i).data) {
                      outputs.remove(i);
                      return;
                    }
                  }
                }
              });
            },
          }
        : null;
    registry.addFactory({ safe: true, mimeTypes: [HINT_MIME], createRenderer: () => new HintRenderer(deeds, trans) }, 0);
  },
};
