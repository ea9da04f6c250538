import type { TranslationBundle } from "@jupyterlab/translation";

import type { WireReport } from "../view";
import { listed, madeBy } from "./inventory";
import type { Alarm, DataEntry, ITracer, Mended, ModelEntry } from "./tokens";

/** What the tracer lets a mended cell do to it. */
export interface Means {
  trans: TranslationBundle;
  say(message: string): void;
  warn(alarm: Alarm | null): void;
  /** The report is of what is no more. */
  forget(): void;
  trace(before: WireReport): Promise<void>;
}

/** Runs a cell that a fix went into, and says what came of it. */
export class Mending {
  constructor(
    private readonly _tracer: ITracer,
    private readonly _means: Means,
  ) {}

  async again(before: WireReport, mended: Mended): Promise<void> {
    const { trans } = this._means;
    const known = new Set(this._tracer.inventory.models.map((entry) => entry.key));
    const given = new Set(this._tracer.inventory.data.map((entry) => entry.key));
    this._means.warn(null);
    // A model that was never created has no name to trace: the cells that go on from the fixed one run, too.
    const later = before.about?.explains && !before.about.data ? mended.later : [];
    const ran = await mended
      .run()
      .then((ended) => ended && mended.runCells(later))
      .catch(() => false);
    if (!ran) {
      this._failed(mended);
      await this._tracer.refresh();
      if (this._tracer.inventory.failed) {
        await this._tracer.explain();
      }
      this._offerAnew(before, mended);
      return;
    }
    await this._tracer.refresh();
    if (mended.failed && before.about?.data) {
      // The call that failed has run to its end, on data that may have no name.
      this._means.forget();
      this._means.say(trans.__("The fixed cell ran without an error."));
      return;
    }
    // The cell of the data makes no model anew.
    const made = (): { chosen: ModelEntry | undefined; data: DataEntry | undefined } => {
      const { inventory, request } = this._tracer;
      const names = [listed(before.about?.data), request.data];
      return {
        chosen: madeBy(inventory, known, request.model),
        data: inventory.data.find((entry) => !given.has(entry.key) && names.includes(entry.name)),
      };
    };
    let { chosen, data } = made();
    // A part of the model was created, such as its input: the cells that go on from there run, up to the one that trains.
    const rest = chosen || data || later.length ? [] : mended.later.filter((id) => id !== before.about?.cell);
    if (rest.length) {
      const ended = await mended.runCells(rest).catch(() => false);
      await this._tracer.refresh();
      if (!ended) {
        this._failed(mended);
        return;
      }
      ({ chosen, data } = made());
    }
    if (!chosen && !data && later.length) {
      this._means.forget();
      this._means.say(trans.__("The fixed cell and those after it ran without an error."));
      return;
    }
    if (!chosen && !data) {
      this._means.say(
        trans.__(
          "The cell ran, but %1 was created before the fix: run the cell that creates it, then trace it.",
          this._tracer.request.model,
        ),
      );
      return;
    }
    if (chosen && chosen.name !== this._tracer.request.model) {
      this._tracer.choose({ model: chosen.name });
    }
    if (data && data.name !== this._tracer.request.data) {
      this._tracer.choose({ data: data.name });
    }
    await this._means.trace(before);
    this._offerAnew(before, mended);
  }

  private _failed(mended: Mended): void {
    this._means.warn({
      text: mended.raised(),
      undo: () => {
        mended.undo();
        this._means.warn(null);
      },
    });
  }

  /** Where a fit that raised left the model half built, no fix of the data helps: its cells have to run again. */
  private _offerAnew(before: WireReport, mended: Mended): void {
    const name = before.about?.model ?? this._tracer.request.model;
    const cells = this._tracer.inventory.models.find((entry) => entry.name === name)?.left ?? [];
    if (!cells.length) {
      return;
    }
    const anew = async (): Promise<void> => {
      const ran = await mended.runCells(cells);
      if (ran && mended.failed) {
        await this._tracer.refresh();
        await this.again(before, mended);
      } else {
        await this.again(before, { ...mended, failed: false, run: () => Promise.resolve(ran) });
      }
    };
    const text = this._means.trans.__(
      "The fit that failed left %1 half built: it cannot be trained until its cells create it again.",
      name,
    );
    this._means.warn({ text, anew: () => void anew() });
  }
}
