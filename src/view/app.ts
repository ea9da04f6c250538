/** The view as a whole: it owns what is open, selected and shown, and keeps its parts in step. */

import { Aged } from "./aged";
import type { Before } from "./before";
import { changesPane, differenceBanner, formerly } from "./differences";
import { FlowDoc, severityWord } from "./doc";
import { addStyle, h } from "./dom";
import { exportList, exportSvg } from "./exporting";
import { Fitting } from "./fitting";
import { frameOf, turnKeys } from "./frame";
import { handle } from "./gestures";
import { buildTree, type Item, type Tree } from "./groups";
import { header, type Header } from "./header";
import type { Callbacks } from "./index";
import { graphKeys, onKey } from "./keys";
import { lineSentence } from "./linepane";
import { Levels } from "./layout/levels";
import { SceneBuilder } from "./layout/scene";
import { LARGE, orderInWorker } from "./layout/worker";
import { Minimap } from "./minimap";
import { layerTable } from "./layertable";
import { ancestors, firstOf, groupsOf, litOf, openingOf } from "./opening";
import { Outline } from "./outline";
import { colour, foldLegend, legendOf, warm } from "./overlay";
import { fillPanes } from "./panes";
import { Bookmarks, read, type Place } from "./places";
import { problemsPane } from "./problems";
import { Hits } from "./search";
import { Shown } from "./shown";
import { Sidebar, tabsOf } from "./sidebar";
import { STYLE } from "./style";
import { subsetBanner, upstream, withNeighbours, type Subset } from "./subset";
import { followTheme, type Theme } from "./theme";
import { Viewport } from "./viewport";
import type { WireReport } from "./wire";
import { trans } from "./words";

let views = 0;

export class App {
  private readonly host = document.createElement("div");
  private readonly root = h("div", { class: "tps" });
  private readonly live = h("div", { class: "spoken offscreen", "aria-live": "polite" });
  private readonly uid = `tps${++views}`;
  private readonly stopTheme: () => void;
  private readonly watch: ResizeObserver | null = null;
  private doc!: FlowDoc;
  private tree!: Tree;
  private builder!: SceneBuilder;
  private viewport!: Viewport;
  private minimap!: Minimap;
  private outline!: Outline;
  private header!: Header;
  private open = new Set<string>();
  private current = 0;
  private hits!: Hits;
  private theme: Theme = "light";
  private side!: Sidebar;
  private readonly fitting: Fitting;
  private readonly lead = h("div", { class: "lead" });
  private readonly aged: Aged;
  private shown: Shown;
  private readonly bookmarks: Bookmarks;
  private legend: HTMLElement | null = null;
  private begun = false;
  private alive = true;

  constructor(
    el: HTMLElement,
    report: WireReport,
    private readonly callbacks: Callbacks,
  ) {
    const shadow = this.host.attachShadow({ mode: "open" });
    this.host.className = "tpushape-view";
    this.fitting = new Fitting(this.host, this.root, Boolean(callbacks.fill));
    addStyle(shadow, STYLE);
    shadow.append(this.root);
    // Keys that the view uses must not reach the notebook's own commands.
    this.root.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && event.key !== "Tab") {
        event.stopPropagation();
      }
    });
    this.root.classList.toggle("reduced", typeof matchMedia === "function" && matchMedia("(prefers-reduced-motion: reduce)").matches);
    el.append(this.host);
    this.shown = new Shown(report);
    this.aged = new Aged(callbacks.again);
    this.bookmarks = new Bookmarks({
      now: () => this.place(),
      go: (place) => this.goTo(place),
      link: callbacks.link,
      say: (words) => void this.say(words),
    });
    this.load(report, null);
    this.stopTheme = followTheme((theme) => {
      this.theme = theme;
      this.root.dataset.theme = theme;
      this.minimap.forget();
      this.viewport.far.forget();
      this.viewport.schedule();
    });
    if (typeof ResizeObserver !== "undefined") {
      this.watch = new ResizeObserver(() => this.measure());
      this.watch.observe(this.host);
    }
    this.measure();
    const at = callbacks.at && read(callbacks.at);
    if (at) {
      this.goTo(at);
    }
  }

  dispose(): void {
    this.alive = false;
    this.watch?.disconnect();
    this.stopTheme();
    this.viewport.dispose();
    this.host.remove();
  }

  update(report: WireReport): void {
    this.shown = new Shown(report);
    this.aged.say("");
    this.swap(report, 0);
  }

  /** Says why the report is old; its fixes are not offered any more. */
  age(reason: string): void {
    if (this.aged.say(reason)) {
      this.chooseQuietly(this.current);
    }
  }

  /** Shows the flow after a fix, or, asked again, the one before. */
  private preview(finding: number, fix: number): void {
    const words = this.shown.compare.turn(finding, fix);
    this.swap(this.shown.report, finding);
    this.say(words);
  }

  /** Shows a part of the flow alone, or all of it again. */
  private showOnly(only: Subset | null): void {
    this.shown.only = only;
    this.swap(this.shown.report, this.current);
    this.begun = false;
    this.viewport.held = false;
    this.measure();
    this.say(only ? trans.__("Only %1", only.words) : trans.__("The whole model"));
  }

  /** Where the picture stands now. */
  private place(): Place {
    return { open: [...this.open], selected: this.viewport.selected?.id ?? "", ...this.viewport.middle(), only: this.shown.only };
  }

  private goTo(place: Place): void {
    if (place.only !== this.shown.only) {
      this.showOnly(place.only);
    }
    this.open = new Set(place.open.filter((id) => this.tree.items.get(id)?.children.length));
    this.begun = true;
    void this.draw().then(() => {
      this.select(this.tree.items.get(place.selected) ?? null);
      this.viewport.lookAt(place.x, place.y, place.k);
    });
  }

  private swap(report: WireReport, current: number): void {
    const before = {
      current,
      open: this.open,
      selected: this.viewport.selected?.id,
      view: this.viewport.view,
      known: this.tree.items,
      tab: this.side.current,
      held: this.viewport.held,
    };
    // Another program has another place to begin at; the same one, traced again, keeps its own.
    const same = report.title === this.doc.report.title;
    this.begun &&= same;
    this.viewport.dispose();
    this.load(report, same ? before : null);
    this.measure();
  }

  private load(report: WireReport, before: Before | null): void {
    this.doc = new FlowDoc(report);
    this.tree = buildTree(this.doc);
    this.builder = new SceneBuilder(this.doc, new Levels(this.doc, this.tree));
    this.viewport = new Viewport(this.doc);
    this.minimap = new Minimap(this.viewport);
    this.viewport.moved = () => this.minimap.draw();
    this.open = openingOf(this.doc, this.tree);
    for (const id of before?.known.keys() ?? []) {
      if (before?.open.has(id)) {
        this.open.add(id);
      }
    }
    this.current = 0;
    this.hits = new Hits(this.doc, this.tree);
    this.outline = new Outline(this.doc, this.tree.root, {
      select: (item) => this.select(item),
      toggle: (item) => this.toggle(item),
      isOpen: (item) => this.open.has(item.id),
      enter: (item) => {
        this.select(item);
        this.side.show("details", true);
      },
    });
    this.build();
    if (before) {
      this.begun = true;
      this.viewport.view = before.view;
      this.viewport.held = before.held;
      this.viewport.selected = this.tree.items.get(before.selected ?? "") ?? null;
    }
    this.viewport.changed = this.shown.compare.changed;
    this.viewport.was = new Map([...formerly(this.doc), ...this.shown.compare.was]);
    this.chooseQuietly(before?.current ?? 0);
    this.side.show(before?.tab ?? (report.difference ? "changes" : report.findings.length ? "problems" : "outline"));
    this.say(report.summary);
  }

  private build(): void {
    const { doc, viewport } = this;
    const { svg } = viewport;
    this.header = header(doc, {
      find: (words) => this.find(words),
      nextHit: (back) => this.nextHit(back),
      leaveSearch: () => svg.focus(),
      onlyHits: (words) => {
        const nodes = this.hits.items.flatMap((item) => (item.node >= 0 ? [item.node] : []));
        this.showOnly({ words: trans.__("matches for %1, with neighbors", words), ids: withNeighbours(doc, nodes) });
      },
      exports: this.exports(),
    });
    const keys = graphKeys(viewport, this.tree, {
      select: (item) => this.select(item),
      toggle: (item) => this.toggle(item),
      details: () => this.side.show("details", true),
      problem: (by) => this.choose(by > 0 && !this.touched ? this.current : this.current + by),
      search: () => this.header.input.focus(),
      closeMenu: () => this.header.closeMenu(),
      help: () => turnKeys(this.root),
    });
    svg.addEventListener("keydown", (event) => onKey(event, keys));
    handle(viewport, {
      node: (id) => {
        this.selectById(id);
        this.side.show("details");
      },
      line: (key) => this.selectLine(key),
      toggle: (id) => this.toggle(this.tree.items.get(id) ?? null),
      go: (id) => this.selectById(id),
      ground: () => this.select(null),
    });
    this.legend = legendOf(doc, {
      mark: (nodes) => this.mark(nodes.map((i) => this.tree.of[i]!)),
      goTo: (i) => this.select(this.tree.of[i]!),
      choose: (measure) => colour(doc, viewport, measure, this.legend),
    });
    const canvas = frameOf(viewport, this.minimap, doc.report.title, this.legend, (open) => this.openAll(open));
    this.side = new Sidebar(this.uid, tabsOf(doc));
    this.side.pane("outline")!.append(this.outline.element, this.bookmarks.element());
    const goTo = (i: number): void => this.select(this.tree.of[i]!);
    this.side.first("layers", () => layerTable(doc, { goTo, say: this.say }));
    this.side.first("changes", () => changesPane(doc, goTo));
    canvas.prepend(subsetBanner(this.shown.only, () => this.showOnly(null)) ?? "");
    canvas.prepend(differenceBanner(doc, (nodes) => this.mark(nodes.map((i) => this.tree.of[i]!))) ?? "");
    canvas.prepend(this.shown.compare.banner((f, x) => this.preview(f, x)));
    this.root.replaceChildren(
      this.header.element,
      this.aged.element,
      this.lead,
      h("div", { class: "body" }, canvas, this.side.element),
      this.live,
    );
  }

  private exports(): [string, () => void][] {
    const { viewport } = this;
    const picture = (whole: boolean): SVGSVGElement =>
      exportSvg(this.doc, viewport.scene!, this.theme, whole ? undefined : viewport.area());
    return exportList(this.doc, picture, this.callbacks.page, this.say);
  }

  /** Lays out what is open and draws it; large levels are ordered in a worker first. */
  private async draw(keep?: Item): Promise<void> {
    const { builder, viewport } = this;
    const large = [this.tree.root, ...[...this.open].flatMap((id) => this.tree.items.get(id) ?? [])]
      .filter((item) => item.children.length > LARGE)
      .map((item) => builder.levels.of(item))
      .filter((level) => !level.ordered);
    for (const level of large) {
      level.ordered = await orderInWorker(level.graph);
    }
    if (!this.alive || viewport !== this.viewport) {
      return;
    }
    const scene = builder.build(this.open, viewport.laneWidth());
    warm(this.doc, viewport, scene, this.legend);
    viewport.setScene(scene, keep);
    this.light();
    if (!this.begun && viewport.width > 1) {
      this.begun = true;
      const focus = firstOf(this.doc);
      this.fitting.begin(viewport, focus === undefined ? undefined : builder.visible(this.tree.of[focus]!, this.open));
      foldLegend(this.legend, viewport, this.fitting.narrow);
    }
    this.outline.draw(viewport.selected);
  }

  private measure(): void {
    if (this.fitting.look(this.viewport)) {
      this.chooseQuietly(this.current);
    }
    const shown = this.viewport.svg.getBoundingClientRect();
    if (!shown.width) {
      // Not on the page yet, or without a layout at all.
      if (!this.viewport.scene) {
        void this.draw();
      }
      return;
    }
    const lane = this.viewport.laneWidth();
    const again = !this.begun || !this.touched;
    this.begun &&= !again;
    this.viewport.resize(shown.width, shown.height);
    if (again || !this.viewport.scene || (lane !== this.viewport.laneWidth() && this.viewport.scene.lane)) {
      void this.draw();
    }
  }

  private get touched(): boolean {
    return this.viewport.selected !== null || this.viewport.held;
  }

  private say = (words: string): string => (this.live.textContent = words);

  selectById(id: string): void {
    const item = this.tree.items.get(id);
    if (item) {
      this.select(item);
    }
  }

  private select(wish: Item | null): void {
    const { viewport } = this;
    const around = wish?.parent;
    // A node that stands closed with light operations is that box.
    const item = around?.wraps && around.node === wish?.node && !this.open.has(around.id) ? around : wish;
    viewport.selected = item;
    viewport.selectedLine = null;
    if (item) {
      const closed = ancestors(item).filter((up) => !this.open.has(up.id));
      if (closed.length) {
        closed.forEach((up) => this.open.add(up.id));
        void this.draw();
      }
      const box = viewport.scene?.byItem.get(item);
      if (box) {
        viewport.reveal(box);
      }
      viewport.render();
      this.say(this.outline.sentence(item));
    } else {
      viewport.schedule();
    }
    this.outline.draw(item);
    this.fillDetails();
    this.callbacks.select?.(item && item.node >= 0 ? item.id : null);
  }

  private selectLine(key: string): void {
    const { viewport } = this;
    viewport.selected = null;
    viewport.selectedLine = key;
    viewport.schedule();
    this.fillDetails();
    this.side.show("details");
    const line = viewport.scene?.lines.find((one) => one.key === key);
    this.say(line ? lineSentence(this.doc, line) : "");
  }

  private fillDetails(): void {
    fillPanes(this.side, this.doc, this.viewport, {
      goTo: (i: number) => this.select(this.tree.of[i]!),
      wayTo: (i) => this.showOnly({ words: trans.__("the path from the data to %1", this.doc.node(i).name), ids: upstream(this.doc, i) }),
      follow: (edges) => this.viewport.follow(edges),
      choose: (f: number) => this.choose(f),
      toggle: (item: Item) => this.toggle(item),
      isOpen: (item: Item) => this.open.has(item.id),
      locate: this.callbacks.locate,
      charts: this.callbacks.charts,
    });
  }

  toggle(item: Item | null): void {
    if (!item?.children.length) {
      return;
    }
    this.viewport.held = true;
    if (!this.open.delete(item.id)) {
      this.open.add(item.id);
    }
    this.say(this.open.has(item.id) ? trans.__("%1 expanded", item.label) : trans.__("%1 collapsed", item.label));
    void this.draw(item);
    this.fillDetails();
  }

  private openAll(open: boolean): void {
    this.viewport.held = true;
    this.open = new Set(open ? groupsOf(this.tree) : []);
    void this.draw().then(() => this.viewport.begin(this.viewport.selected ?? undefined));
  }

  choose(index: number): void {
    this.chooseQuietly(index);
    const finding = this.doc.findings[this.current];
    if (!finding) {
      return;
    }
    this.side.show("problems");
    const at = this.doc.focusOf(finding);
    if (at !== undefined) {
      const item = this.tree.of[at]!;
      ancestors(item).forEach((up) => this.open.add(up.id));
      void this.draw().then(() => {
        const box = this.viewport.scene?.byItem.get(item);
        if (box && this.fitting.narrow) {
          this.fitting.begin(this.viewport, item);
        } else if (box) {
          this.viewport.center(box, 0.55);
        }
        this.select(item);
        this.say(`${severityWord(finding.severity)}: ${finding.message}`);
      });
    } else {
      this.say(`${severityWord(finding.severity)}: ${finding.message}`);
    }
  }

  private chooseQuietly(index: number): void {
    const n = this.doc.findings.length;
    this.current = n ? ((index % n) + n) % n : 0;
    const { apply, locate } = this.callbacks;
    const act = {
      choose: (f: number) => this.choose(f),
      goTo: (i: number) => this.select(this.tree.of[i]!),
      say: this.say,
      preview: (f: number, x: number) => this.preview(f, x),
      previewed: (f: number, x: number) => this.shown.compare.stands(f, x),
      apply: this.aged.reason ? undefined : apply,
      locate,
    };
    const { lead, rest } = problemsPane(this.doc, this.current, act, this.fitting.narrow);
    this.lead.replaceChildren(...(this.fitting.narrow && lead.hasChildNodes() ? [lead] : []));
    this.side.pane("problems")!.replaceChildren(...(this.fitting.narrow ? [] : [lead]), rest);
    this.light();
    this.fillDetails();
  }

  /** Marks the way from where the present problem began to where it broke. */
  private light(): void {
    const { viewport } = this;
    viewport.lit =
      viewport.scene && litOf(this.doc, this.current, viewport.scene, (i) => this.builder.visible(this.tree.of[i]!, this.open));
    viewport.schedule();
  }

  private find(words: string): string {
    const found = this.hits.find(words);
    this.mark(this.hits.items);
    return found;
  }

  /** Marks items, or the closed groups that they are in. */
  private mark(items: readonly Item[]): void {
    this.viewport.matches = new Set(items.map((item) => this.builder.visible(item, this.open)));
    this.viewport.schedule();
  }

  private nextHit(back: boolean): void {
    const item = this.hits.next(back);
    if (item) {
      this.select(item);
      this.side.show("details");
    }
  }
}
