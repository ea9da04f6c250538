/** A report as a picture: what of it is open, which way it runs, and where it lies. */

import { FlowDoc } from "./doc";
import { buildTree, type Item, type Tree } from "./groups";
import { Levels, type Level } from "./layout/levels";
import { SceneBuilder, type Scene } from "./layout/scene";
import { LARGE, orderInWorker } from "./layout/worker";
import { Minimap } from "./minimap";
import { groupsOf, openingOf } from "./opening";
import type { Place } from "./places";
import { Viewport } from "./viewport";
import type { WireReport } from "./wire";

/** How many boxes can be read at once where there is room, and where there is little. */
const MANY = 30;
const FEW = 14;

export class Picture {
  readonly doc: FlowDoc;
  readonly tree: Tree;
  readonly viewport: Viewport;
  readonly minimap: Minimap;
  open: Set<string>;
  private builder!: SceneBuilder;
  private flat = true;
  private gone = false;

  /** `before`: what was shown until now of the same program; what is open in it and in sight stays so. */
  constructor(report: WireReport, narrow: boolean, before?: Picture) {
    this.doc = new FlowDoc(report);
    this.doc.short = narrow;
    this.tree = buildTree(this.doc);
    const viewport = (this.viewport = new Viewport(this.doc));
    const minimap = (this.minimap = new Minimap(viewport));
    viewport.moved = () => minimap.draw();
    this.open = openingOf(this.doc, this.tree, narrow ? FEW : MANY);
    this.lie(before?.flat);
    if (before) {
      for (const id of before.tree.items.keys()) {
        if (before.open.has(id)) {
          this.open.add(id);
        }
      }
      viewport.view = before.viewport.view;
      viewport.held = before.viewport.held;
      viewport.selected = this.tree.items.get(before.viewport.selected?.id ?? "") ?? null;
    }
  }

  dispose(): void {
    this.gone = true;
    this.viewport.dispose();
  }

  /** Draws what is painted anew, in the colours of the moment. */
  recolour(): void {
    this.minimap.forget();
    this.viewport.far.forget();
    this.viewport.schedule();
  }

  /** Runs from left to right, or from top to bottom; without a wish the other way than now. */
  lie(flat = !this.flat): void {
    this.flat = flat;
    this.builder = new SceneBuilder(this.doc, new Levels(this.doc, this.tree, flat));
  }

  /** Draws everything anew for more or less room. */
  suit(narrow: boolean): void {
    this.doc.short = narrow;
    this.lie(this.flat);
    this.viewport.forget();
    this.viewport.scene = null;
  }

  /** Where the picture stands now. */
  place(): Omit<Place, "only"> {
    const { viewport, open, flat } = this;
    return { open: [...open], selected: viewport.selected?.id ?? "", ...viewport.middle(), flat };
  }

  goTo({ open, flat }: Place): void {
    this.lie(flat);
    this.open = new Set(open.filter((id) => this.tree.items.get(id)?.members.length));
  }

  /** Opens or closes a part; whether it is open then. */
  toggle({ id }: Item): boolean {
    this.viewport.held = true;
    return !this.open.delete(id) && Boolean(this.open.add(id));
  }

  openAll(open: boolean): void {
    this.viewport.held = true;
    this.open = new Set(open ? groupsOf(this.tree) : []);
  }

  /** What stands for an item: itself, or the closed part that it is in. */
  visible(item: Item): Item {
    return this.builder.visible(item, this.open);
  }

  /** Levels that would keep the page waiting while they are ordered. */
  private large(): Level[] {
    const { builder, tree } = this;
    return [tree.root, ...[...this.open].flatMap((id) => tree.items.get(id) ?? [])]
      .filter((item) => item.members.length > LARGE)
      .map((item) => builder.levels.of(item))
      .filter((level) => !level.ordered);
  }

  /** Lays out what is open, at once where no large level is to be ordered in a worker first. Not where the picture is gone by then. */
  async layOut(use: (scene: Scene) => void): Promise<void> {
    for (const level of this.large()) {
      level.ordered = await orderInWorker(level.graph);
    }
    if (!this.gone) {
      use(this.builder.build(this.open, this.viewport.laneWidth()));
    }
  }
}
