/** The view as a whole: it owns what is open, selected and shown, and keeps its parts in step. */

import { Aged } from "./aged";
import { changesPane, differenceBanner, formerly } from "./differences";
import type { FlowDoc } from "./doc";
import { h, on } from "./dom";
import { exportList, exportSvg } from "./exporting";
import { Fitting } from "./fitting";
import { frameOf, turnKeys } from "./frame";
import { handle } from "./gestures";
import type { Item, Tree } from "./groups";
import { header, type Header } from "./header";
import { Home } from "./home";
import type { Callbacks } from "./index";
import { graphKeys, onKey } from "./keys";
import { lineSentence } from "./linepane";
import { layerTable } from "./layertable";
import { ancestors, firstOf } from "./opening";
import { Outline } from "./outline";
import { colour, foldLegend, legendOf, warm } from "./overlay";
import { fillPanes } from "./panes";
import { Picture } from "./picture";
import { Bookmarks, read, type Place } from "./places";
import { Hits } from "./search";
import { Shown } from "./shown";
import { Sidebar, tabsOf, type Tab } from "./sidebar";
import { subsetBanner, upstream, withNeighbours, type Subset } from "./subset";
import { Turn } from "./turn";
import type { Viewport } from "./viewport";
import type { WireReport } from "./wire";
import * as trans from "./words";

let views = 0;

export class App {
  private readonly home: Home;
  private readonly uid = `tps${++views}`;
  private readonly stopTheme: () => void;
  private readonly watch: ResizeObserver | null = null;
  picture!: Picture;
  private outline!: Outline;
  private header!: Header;
  private hits!: Hits;
  side!: Sidebar;
  readonly fitting: Fitting;
  readonly aged: Aged;
  shown: Shown;
  private readonly turn = new Turn(this);
  private readonly bookmarks: Bookmarks;
  private legend: HTMLElement | null = null;
  private begun = false;

  constructor(
    el: HTMLElement,
    report: WireReport,
    readonly callbacks: Callbacks,
  ) {
    const { host, root } = (this.home = new Home(el));
    this.fitting = new Fitting(host, root, Boolean(callbacks.fill));
    this.shown = new Shown(report);
    this.aged = new Aged(callbacks.again);
    this.bookmarks = new Bookmarks({
      now: () => this.place(),
      go: (place) => this.goTo(place),
      link: callbacks.link,
      say: (words) => void this.say(words),
    });
    if (typeof ResizeObserver !== "undefined") {
      this.watch = new ResizeObserver(() => this.measure());
    }
    this.fitting.look();
    this.load(report, null);
    this.stopTheme = this.home.follow(() => this.picture.recolour());
    this.measure();
    const at = callbacks.at && read(callbacks.at);
    if (at) {
      this.goTo(at);
    }
  }

  dispose(): void {
    this.watch?.disconnect();
    this.stopTheme();
    this.picture.dispose();
    this.home.host.remove();
  }

  update(report: WireReport): void {
    this.shown = new Shown(report);
    this.aged.say("");
    this.swap(report, 0);
  }

  /** Says why the report is old; its fixes are not offered any more. */
  age(reason: string): void {
    if (this.aged.say(reason)) {
      this.turn.fill();
    }
  }

  /** Shows the flow after a fix, or, asked again, the one before. */
  preview(finding: number, fix: number): void {
    const words = this.shown.compare.turn(finding, fix);
    this.swap(this.shown.report, finding);
    this.say(words);
  }

  /** Shows a part of the flow alone, or all of it again. */
  private showOnly(only: Subset | null): void {
    this.shown.only = only;
    this.swap(this.shown.report, this.turn.current);
    this.begun = false;
    this.viewport.held = false;
    this.measure();
    this.say(only ? trans.__("Only %1", only.words) : trans.__("The whole model"));
  }

  /** Where the picture stands now. */
  private place(): Place {
    return { ...this.picture.place(), only: this.shown.only };
  }

  private goTo(place: Place): void {
    if (place.only !== this.shown.only) {
      this.showOnly(place.only);
    }
    this.picture.goTo(place);
    this.begun = true;
    void this.draw().then(() => {
      this.select(this.tree.items.get(place.selected) ?? null);
      this.viewport.lookAt(place.x, place.y, place.k);
    });
  }

  private swap(report: WireReport, current: number): void {
    // Another program has another place to begin at; the same one, traced again, keeps its own.
    const same = report.title === this.doc.report.title;
    this.begun &&= same;
    this.picture.dispose();
    this.load(report, same ? { picture: this.picture, tab: this.side.current, current } : null);
    this.measure();
  }

  private load(report: WireReport, before: { picture: Picture; tab: Tab; current: number } | null): void {
    this.picture = new Picture(report, this.fitting.narrow, before?.picture);
    this.hits = new Hits(this.doc, this.tree);
    this.outline = new Outline(this.doc, this.tree.root, {
      select: (item) => this.select(item),
      toggle: (item) => this.toggle(item),
      isOpen: (item) => this.picture.open.has(item.id),
      enter: (item) => {
        this.select(item);
        this.side.show("details", true);
      },
    });
    this.build();
    if (before) {
      this.begun = true;
    }
    this.viewport.changed = this.shown.compare.changed;
    this.viewport.was = new Map([...formerly(this.doc), ...this.shown.compare.was]);
    this.turn.fill(before?.current ?? 0);
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
      exports: exportList(
        doc,
        (whole) => exportSvg(doc, viewport.scene!, this.home.theme, whole ? undefined : viewport.area()),
        this.callbacks.page,
        this.say,
      ),
    });
    const lie = (): void => {
      this.picture.lie();
      this.begun = false;
      void this.draw();
    };
    const keys = graphKeys(viewport, this.tree, {
      select: (item) => this.select(item),
      toggle: (item) => this.toggle(item),
      details: () => this.side.show("details", true),
      problem: (by) => this.choose(this.turn.current + (by > 0 && !this.touched ? 0 : by)),
      search: () => this.header.input.focus(),
      closeMenu: () => this.header.closeMenu(),
      help: () => turnKeys(this.home.root),
      lie,
    });
    on(svg, "keydown", (event) => onKey(event, keys));
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
    // As it is measured at the first look, together with all else.
    this.legend?.toggleAttribute("open", !this.begun);
    const canvas = frameOf(viewport, this.picture.minimap, doc.report.title, this.legend, (open) => this.openAll(open), lie);
    this.side = new Sidebar(this.uid, tabsOf(doc));
    this.side.pane("outline")!.append(this.outline.element, this.bookmarks.element());
    const goTo = (i: number): void => this.select(this.tree.of[i]!);
    this.side.first("layers", () => layerTable(doc, { goTo, say: this.say }));
    this.side.first("changes", () => changesPane(doc, goTo));
    canvas.prepend(subsetBanner(this.shown.only, () => this.showOnly(null)) ?? "");
    canvas.prepend(differenceBanner(doc, (nodes) => this.mark(nodes.map((i) => this.tree.of[i]!))) ?? "");
    canvas.prepend(this.shown.compare.banner((f, x) => this.preview(f, x)));
    this.home.root.replaceChildren(
      this.header.element,
      this.aged.element,
      this.turn.lead,
      h("div.body", {}, canvas, this.side.element),
      this.home.live,
    );
    // What stands above the picture takes of its room, too.
    this.watch?.disconnect();
    [this.home.host, svg].forEach((one) => this.watch?.observe(one));
  }

  /** Lays out what is open and draws it. */
  draw(keep?: Item): Promise<void> {
    const { picture, viewport, doc } = this;
    return picture.layOut((scene) => {
      warm(doc, viewport, scene, this.legend);
      viewport.setScene(scene, keep);
      this.turn.light();
      if (!this.begun && viewport.width > 1) {
        this.begun = true;
        const focus = firstOf(doc);
        this.fitting.begin(viewport, focus === undefined ? undefined : picture.visible(this.tree.of[focus]!));
        foldLegend(this.legend, viewport, this.fitting.narrow);
      }
      // Once, where it stands then.
      viewport.render();
      this.outline.draw(viewport.selected);
    });
  }

  private measure(): void {
    const turned = this.fitting.look();
    this.viewport.flowing = this.fitting.narrow;
    if (turned) {
      this.turn.fill();
      this.picture.suit(this.fitting.narrow);
    }
    const { viewport } = this;
    const shown = viewport.svg.getBoundingClientRect();
    if (!shown.width) {
      // Not on the page yet, or without a layout at all.
      if (!viewport.scene) {
        void this.draw();
      }
      return;
    }
    this.fitting.inCanvas("above", `${shown.top - viewport.svg.closest(".canvas")!.getBoundingClientRect().top}px`);
    const lane = viewport.laneWidth();
    const { width, height } = shown;
    // The height of a narrow picture is its own doing.
    const same = width === viewport.width && (this.fitting.narrow || height === viewport.height);
    this.begun &&= this.touched || same;
    viewport.resize(width, height);
    if (!this.begun || !viewport.scene || (lane !== viewport.laneWidth() && viewport.scene.lane)) {
      void this.draw();
    }
  }

  private get doc(): FlowDoc {
    return this.picture.doc;
  }

  private get tree(): Tree {
    return this.picture.tree;
  }

  private get viewport(): Viewport {
    return this.picture.viewport;
  }

  private get touched(): boolean {
    return this.viewport.selected !== null || this.viewport.held;
  }

  say = (words: string): string => this.home.say(words);

  selectById(id: string): void {
    const item = this.tree.items.get(id);
    if (item) {
      this.select(item);
    }
  }

  select(wish: Item | null): void {
    const { viewport } = this;
    const around = wish?.parent;
    // A node that stands closed with light operations is that box.
    const item = around?.wraps && around.node === wish?.node && !this.picture.open.has(around.id) ? around : wish;
    viewport.selected = item;
    viewport.selectedLine = null;
    if (item) {
      const closed = ancestors(item).filter((up) => !this.picture.open.has(up.id));
      if (closed.length) {
        closed.forEach((up) => this.picture.open.add(up.id));
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

  fillDetails(): void {
    fillPanes(this.side, this.doc, this.viewport, {
      goTo: (i: number) => this.select(this.tree.of[i]!),
      wayTo: (i) => this.showOnly({ words: trans.__("the path from the data to %1", this.doc.node(i).name), ids: upstream(this.doc, i) }),
      follow: (edges) => this.viewport.follow(edges),
      choose: (f: number) => this.choose(f),
      toggle: (item: Item) => this.toggle(item),
      isOpen: (item: Item) => this.picture.open.has(item.id),
      locate: this.callbacks.locate,
      charts: this.callbacks.charts,
    });
  }

  toggle(item: Item | null): void {
    if (!item?.members.length) {
      return;
    }
    this.say(this.picture.toggle(item) ? trans.__("%1 expanded", item.label) : trans.__("%1 collapsed", item.label));
    void this.draw(item);
    this.fillDetails();
  }

  private openAll(open: boolean): void {
    this.picture.openAll(open);
    void this.draw().then(() => this.viewport.begin(this.viewport.selected ?? undefined));
  }

  choose(index: number): void {
    this.turn.choose(index);
  }

  private find(words: string): string {
    const found = this.hits.find(words);
    this.mark(this.hits.items);
    return found;
  }

  /** Marks items, or the closed groups that they are in. */
  private mark(items: readonly Item[]): void {
    const { viewport } = this;
    viewport.matches = new Set(items.map((item) => this.picture.visible(item)));
    const boxes = [...viewport.matches].flatMap((item) => viewport.scene?.byItem.get(item) ?? []);
    // Nothing in sight would look like nothing found.
    if (boxes[0] && !boxes.some((box) => viewport.sees(box))) {
      viewport.center(boxes[0]);
    }
    viewport.schedule();
  }

  private nextHit(back: boolean): void {
    const item = this.hits.next(back);
    if (item) {
      this.select(item);
      this.side.show("details");
    }
  }
}
