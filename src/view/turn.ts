/** The findings in turn: which of them is shown, and what of the picture belongs to it. */

import type { Aged } from "./aged";
import { severityWord } from "./doc";
import { h } from "./dom";
import type { Fitting } from "./fitting";
import type { Item } from "./groups";
import type { Callbacks } from "./index";
import { ancestors, litOf } from "./opening";
import type { Picture } from "./picture";
import { problemsPane } from "./problems";
import type { Shown } from "./shown";
import type { Sidebar } from "./sidebar";

/** The view that they are shown in. */
export interface Stage {
  readonly picture: Picture;
  readonly side: Sidebar;
  readonly fitting: Fitting;
  readonly aged: Aged;
  readonly shown: Shown;
  readonly callbacks: Callbacks;
  draw(): Promise<void>;
  select(item: Item): void;
  preview(finding: number, fix: number): void;
  fillDetails(): void;
  say: (words: string) => string;
}

export class Turn {
  current = 0;
  readonly lead = h("div.lead", {});

  constructor(private readonly stage: Stage) {}

  /** Goes to a finding: its card, its node, and its words. */
  choose(index: number): void {
    const { stage } = this;
    const { picture, fitting } = stage;
    this.fill(index);
    const finding = picture.doc.findings[this.current];
    if (!finding) {
      return;
    }
    stage.side.show("problems");
    const words = `${severityWord(finding.severity)}: ${finding.message}`;
    const at = picture.doc.focusOf(finding);
    if (at === undefined) {
      stage.say(words);
      return;
    }
    const item = picture.tree.of[at]!;
    ancestors(item).forEach((up) => picture.open.add(up.id));
    void stage.draw().then(() => {
      const { viewport } = picture;
      const box = viewport.scene?.byItem.get(item);
      if (box && fitting.narrow) {
        fitting.begin(viewport, item);
      } else if (box) {
        viewport.center(box, 0.55);
      }
      stage.select(item);
      stage.say(words);
    });
  }

  /** Fills the panes with a finding, and leaves the picture where it stands. */
  fill(index = this.current): void {
    const { stage, lead } = this;
    const { picture, side, fitting } = stage;
    const { doc, tree } = picture;
    const n = doc.findings.length;
    this.current = n ? ((index % n) + n) % n : 0;
    const { apply, locate } = stage.callbacks;
    const panes = problemsPane(
      doc,
      this.current,
      {
        choose: (f: number) => this.choose(f),
        goTo: (i: number) => stage.select(tree.of[i]!),
        say: stage.say,
        preview: (f: number, x: number) => stage.preview(f, x),
        previewed: (f: number, x: number) => stage.shown.compare.stands(f, x),
        apply: stage.aged.reason ? undefined : apply,
        locate,
      },
      fitting.narrow,
    );
    lead.replaceChildren(...(fitting.narrow && panes.lead.hasChildNodes() ? [panes.lead] : []));
    side.pane("problems")!.replaceChildren(...(fitting.narrow ? [] : [panes.lead]), panes.rest);
    this.light();
    stage.fillDetails();
  }

  /** Marks the way from where the present problem began to where it broke. */
  light(): void {
    const { picture } = this.stage;
    const { viewport, doc, tree } = picture;
    viewport.lit = viewport.scene && litOf(doc, this.current, viewport.scene, (i) => picture.visible(tree.of[i]!));
    viewport.schedule();
  }
}
