/** The view as a whole: it owns what is open, selected and shown, and keeps its parts in step. */

import { detailsPane, replicas, verdictsPane } from "./details";
import { FlowDoc, SEVERITY_WORD } from "./doc";
import { button, h } from "./dom";
import { download, exportPng, exportSvg, svgText, type Area } from "./exporting";
import { handle, step } from "./gestures";
import { buildTree, type Item, type Tree } from "./groups";
import { header, type Header } from "./header";
import type { Callbacks } from "./index";
import { Levels } from "./layout/levels";
import { SceneBuilder } from "./layout/scene";
import { LARGE, orderInWorker } from "./layout/worker";
import { linePane } from "./linepane";
import { Minimap } from "./minimap";
import { ancestors, openingOf, pathOf } from "./opening";
import { Outline } from "./outline";
import { problemsPane } from "./problems";
import { search } from "./search";
import { STYLE } from "./style";
import { followTheme, type Theme } from "./theme";
import { idOf, Viewport } from "./viewport";
import type { WireReport } from "./wire";

type Tab = "problems" | "details" | "outline" | "compiler";

const NARROW = 720;
let views = 0;

export class App {
  private readonly host = document.createElement("div");
  private readonly root = h("div", { class: "tps" });
  private readonly live = h("div", { class: "live", "aria-live": "polite" });
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
  private tab: Tab = "problems";
  private hits: Item[] = [];
  private hit = -1;
  private theme: Theme = "light";
  private panes = new Map<Tab, HTMLElement>();
  private tabs = new Map<Tab, HTMLButtonElement>();
  private begun = false;
  private alive = true;

  constructor(
    el: HTMLElement,
    report: WireReport,
    private readonly callbacks: Callbacks,
  ) {
    const shadow = this.host.attachShadow({ mode: "open" });
    this.host.className = "tpushape-view";
    this.host.style.height = callbacks.fill ? "100%" : "620px";
    addStyle(shadow);
    shadow.append(this.root);
    // Keys that the view uses must not reach the notebook's own commands.
    this.root.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && event.key !== "Tab") event.stopPropagation();
    });
    this.root.classList.toggle("reduced", typeof matchMedia === "function" && matchMedia("(prefers-reduced-motion: reduce)").matches);
    el.append(this.host);
    this.load(report, null);
    this.stopTheme = followTheme((theme) => {
      this.theme = theme;
      this.root.dataset.theme = theme;
      this.minimap.forget();
      this.viewport.schedule();
    });
    if (typeof ResizeObserver !== "undefined") {
      this.watch = new ResizeObserver(() => this.measure());
      this.watch.observe(this.host);
    }
    this.measure();
  }

  dispose(): void {
    this.alive = false;
    this.watch?.disconnect();
    this.stopTheme();
    this.viewport.dispose();
    this.host.remove();
  }

  update(report: WireReport): void {
    const before = { open: this.open, selected: this.viewport.selected?.id, view: this.viewport.view, known: this.tree.items, tab: this.tab };
    this.viewport.dispose();
    this.load(report, before);
    this.measure();
  }

  private load(report: WireReport, before: { open: Set<string>; selected: string | undefined; view: Viewport["view"]; known: Map<string, Item>; tab: Tab } | null): void {
    this.doc = new FlowDoc(report);
    this.tree = buildTree(this.doc);
    this.builder = new SceneBuilder(this.doc, new Levels(this.doc, this.tree));
    this.viewport = new Viewport(this.doc);
    this.minimap = new Minimap(this.viewport);
    this.viewport.moved = () => this.minimap.draw();
    this.open = openingOf(this.doc, this.tree);
    if (before) for (const id of before.known.keys()) if (before.open.has(id)) this.open.add(id);
    this.current = 0;
    this.hits = [];
    this.outline = new Outline(this.doc, this.tree.root, {
      select: (item) => this.select(item),
      toggle: (item) => this.toggle(item),
      isOpen: (item) => this.open.has(item.id),
      enter: (item) => {
        this.select(item);
        this.showTab("details", true);
      },
    });
    this.build();
    if (before) {
      this.begun = true;
      this.viewport.view = before.view;
      this.tab = before.tab;
      const selected = before.selected === undefined ? undefined : this.tree.items.get(before.selected);
      if (selected) this.viewport.selected = selected;
    }
    void this.draw();
    this.chooseQuietly(0);
    this.showTab(this.doc.report.findings.length || before ? this.tab : "outline", false);
    this.say(report.summary);
  }

  private build(): void {
    const { doc, viewport } = this;
    const { svg } = viewport;
    this.header = header(doc, {
      find: (words) => this.find(words),
      nextHit: (back) => this.nextHit(back),
      leaveSearch: () => svg.focus(),
      exports: this.exports(),
    });
    svg.setAttribute("tabindex", "0");
    svg.setAttribute("role", "application");
    svg.setAttribute("aria-roledescription", "graph of the flow");
    svg.setAttribute("aria-label", `${doc.report.title || "The flow"}: arrows walk along the flow, Enter shows details, Space opens and closes, n and p go through the problems, slash searches, f fits.`);
    svg.addEventListener("keydown", (event) => this.key(event));
    handle(viewport, {
      node: (id) => this.selectItem(id, true),
      line: (key) => this.selectLine(key),
      toggle: (id) => this.toggle(this.tree.items.get(id) ?? null),
      go: (id) => this.selectById(id),
      ground: () => this.select(null),
    });
    const tool = (sign: string, words: string, act: () => void): HTMLButtonElement => button(sign, { "aria-label": words, title: words }, act);
    const canvas = h(
      "div",
      { class: "canvas" },
      svg,
      h(
        "div",
        { class: "tools" },
        tool("+", "Zoom in (+)", () => viewport.zoom(1.3)),
        tool("−", "Zoom out (-)", () => viewport.zoom(1 / 1.3)),
        tool("⤢", "Fit everything (f)", () => viewport.fit()),
        tool("⊞", "Open everything", () => this.openAll(true)),
        tool("⊟", "Close everything", () => this.openAll(false)),
      ),
      this.minimap.canvas,
    );
    const list = h("div", { class: "tabs", role: "tablist", "aria-label": "About the flow" });
    const side = h("div", { class: "side" }, list);
    this.panes = new Map();
    this.tabs = new Map();
    const names: [Tab, string][] = [
      ["problems", doc.findings.length ? `Findings ${doc.findings.length}` : "Findings"],
      ["details", "Details"],
      ["outline", "Outline"],
    ];
    if (doc.report.verdicts?.length) names.push(["compiler", "Compiler"]);
    for (const [tab, words] of names) {
      const head = button(words, { role: "tab", id: `${this.uid}-${tab}-tab`, "aria-controls": `${this.uid}-${tab}`, "aria-selected": "false", tabindex: "-1" }, () => this.showTab(tab, false));
      const pane = h("div", { class: "pane", role: "tabpanel", id: `${this.uid}-${tab}`, "aria-labelledby": `${this.uid}-${tab}-tab`, tabindex: "0", hidden: true });
      this.tabs.set(tab, head);
      this.panes.set(tab, pane);
      list.append(head);
      side.append(pane);
    }
    list.addEventListener("keydown", (event) => {
      const order = [...this.tabs.keys()];
      const at = order.indexOf(this.tab);
      const next = event.key === "ArrowRight" ? at + 1 : event.key === "ArrowLeft" ? at - 1 + order.length : -1;
      if (next < 0) return;
      event.preventDefault();
      this.showTab(order[next % order.length]!, false);
      this.tabs.get(this.tab)!.focus();
    });
    this.root.replaceChildren(this.header.element, h("div", { class: "body" }, canvas, side), this.live);
  }

  private exports(): Array<readonly [string, () => void]> {
    const name = (this.doc.report.title || "flow").replace(/[^\w.-]+/g, "-");
    const picture = (whole: boolean): SVGSVGElement => exportSvg(this.doc, this.viewport.scene!, this.theme, whole ? undefined : this.shownArea());
    const png = (whole: boolean) => () => {
      exportPng(picture(whole)).then(
        (blob) => download(`${name}.png`, blob),
        () => this.say("The browser could not draw this picture as PNG; SVG works."),
      );
    };
    const list: Array<readonly [string, () => void]> = [
      ["SVG of all that is open", () => download(`${name}.svg`, svgText(picture(true)), "image/svg+xml")],
      ["SVG of the present view", () => download(`${name}.svg`, svgText(picture(false)), "image/svg+xml")],
      ["PNG of all that is open", png(true)],
      ["PNG of the present view", png(false)],
      ["JSON of the report", () => download(`${name}.json`, JSON.stringify(this.doc.report), "application/json")],
    ];
    const { page } = this.callbacks;
    if (page) list.push(["Standalone HTML", () => void Promise.resolve(page()).then((text) => download(`${name}.html`, text, "text/html"))]);
    return list;
  }

  private shownArea(): Area {
    const { view, width, height } = this.viewport;
    return { x: -view.x / view.k, y: -view.y / view.k, width: width / view.k, height: height / view.k };
  }

  /** Lays out what is open and draws it; large levels are ordered in a worker first. */
  private async draw(keep?: Item): Promise<void> {
    const { builder, viewport } = this;
    const large = [this.tree.root, ...[...this.open].flatMap((id) => this.tree.items.get(id) ?? [])]
      .filter((item) => item.children.length > LARGE)
      .map((item) => builder.levels.of(item))
      .filter((level) => !level.ordered);
    for (const level of large) level.ordered = await orderInWorker(level.graph);
    if (!this.alive || viewport !== this.viewport) return;
    viewport.setScene(builder.build(this.open, this.laneWidth()), keep);
    this.light();
    if (!this.begun && viewport.width > 1) {
      this.begun = true;
      const focus = this.doc.findings[0] && this.doc.focusOf(this.doc.findings[0]);
      viewport.begin(focus === undefined ? undefined : builder.visible(this.tree.of[focus]!, this.open));
    }
    this.outline.draw(viewport.selected);
  }

  private laneWidth(): number {
    return Math.max(330, Math.min(860, this.viewport.width - 60));
  }

  private measure(): void {
    const area = this.host.getBoundingClientRect();
    const narrow = area.width > 0 && area.width < NARROW;
    this.root.classList.toggle("narrow", narrow);
    this.root.classList.toggle("flowing", narrow && !this.callbacks.fill);
    if (!this.callbacks.fill) this.host.style.height = narrow ? "auto" : "620px";
    const shown = this.viewport.svg.getBoundingClientRect();
    if (!shown.width) return;
    const lane = this.laneWidth();
    const first = !this.begun || this.viewport.width <= 1;
    this.viewport.resize(shown.width, shown.height);
    if (lane !== this.laneWidth() && this.viewport.scene?.lane) void this.draw();
    if (first || !this.touched) {
      this.begun = false;
      void this.draw();
    }
  }

  /** Until somebody moves the picture it keeps fitting its frame. */
  private get touched(): boolean {
    return this.viewport.selected !== null || this.panned;
  }
  private panned = false;

  private say(words: string): void {
    this.live.textContent = words;
  }

  selectById(id: string): void {
    const item = this.tree.items.get(id);
    if (item) this.select(item);
  }

  private selectItem(id: string, details: boolean): void {
    const item = this.tree.items.get(id);
    if (!item) return;
    this.select(item);
    if (details) this.showTab("details", false);
  }

  private select(item: Item | null): void {
    const { viewport } = this;
    viewport.selected = item;
    viewport.selectedLine = null;
    const { svg } = viewport;
    if (item) {
      const closed = ancestors(item).filter((up) => !this.open.has(up.id));
      if (closed.length) {
        closed.forEach((up) => this.open.add(up.id));
        void this.draw();
      }
      const box = viewport.scene?.byItem.get(item);
      if (box) viewport.reveal(box);
      viewport.render();
      const element = viewport.elementOf(item);
      if (element) {
        element.id = `${this.uid}-${idOf(item.id)}`;
        svg.setAttribute("aria-activedescendant", element.id);
      }
      this.say(this.outline.sentence(item));
    } else {
      svg.removeAttribute("aria-activedescendant");
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
    this.showTab("details", false);
    const line = viewport.scene?.lines.find((one) => one.key === key);
    if (line) this.say(`Tensor from ${line.source.label} to ${line.target.label}: ${this.doc.edgeText(this.doc.edges[line.edges[0]!]!)}`);
  }

  private fillDetails(): void {
    const pane = this.panes.get("details")!;
    const act = {
      goTo: (i: number) => this.select(this.tree.of[i]!),
      choose: (f: number) => this.choose(f),
      toggle: (item: Item) => this.toggle(item),
      isOpen: (item: Item) => this.open.has(item.id),
      locate: this.callbacks.locate,
    };
    const line = this.viewport.scene?.lines.find((one) => one.key === this.viewport.selectedLine);
    const content = line ? linePane(this.doc, line, act) : detailsPane(this.doc, this.viewport.selected, act);
    if (!line && !this.viewport.selected) {
      const split = this.doc.nodes.findIndex((node) => node.kind === "split");
      if (split >= 0) replicas(content, this.doc.strip(split), this.doc);
    }
    pane.replaceChildren(content);
    const compiler = this.panes.get("compiler");
    if (compiler && !compiler.childElementCount) compiler.append(verdictsPane(this.doc, act));
  }

  toggle(item: Item | null): void {
    if (!item?.children.length) return;
    this.panned = true;
    if (this.open.has(item.id)) this.open.delete(item.id);
    else this.open.add(item.id);
    this.say(`${item.label} ${this.open.has(item.id) ? "opened" : "closed"}`);
    void this.draw(item);
    this.fillDetails();
  }

  private openAll(open: boolean): void {
    this.panned = true;
    this.open.clear();
    if (open) for (const item of this.tree.items.values()) if (item.children.length) this.open.add(item.id);
    void this.draw().then(() => this.viewport.fit());
  }

  choose(index: number): void {
    this.chooseQuietly(index);
    const finding = this.doc.findings[this.current];
    if (!finding) return;
    this.showTab("problems", false);
    const at = this.doc.focusOf(finding);
    if (at !== undefined) {
      const item = this.tree.of[at]!;
      ancestors(item).forEach((up) => this.open.add(up.id));
      void this.draw().then(() => {
        const box = this.viewport.scene?.byItem.get(item);
        if (box) this.viewport.center(box, 0.55);
        this.select(item);
        this.say(`${SEVERITY_WORD[finding.severity]}: ${finding.message}`);
      });
    } else this.say(`${SEVERITY_WORD[finding.severity]}: ${finding.message}`);
  }

  private chooseQuietly(index: number): void {
    const n = this.doc.findings.length;
    this.current = n ? ((index % n) + n) % n : 0;
    const { apply, locate } = this.callbacks;
    this.panes.get("problems")!.replaceChildren(
      problemsPane(this.doc, this.current, { choose: (f) => this.choose(f), goTo: (i) => this.select(this.tree.of[i]!), say: (words) => this.say(words), apply, locate }),
    );
    this.light();
    this.fillDetails();
  }

  /** Marks the way from where the present problem began to where it broke. */
  private light(): void {
    const { scene } = this.viewport;
    const { nodes, edges } = pathOf(this.doc, this.current);
    this.viewport.lit = null;
    if (scene && (nodes.size || edges.size)) {
      const items = new Set([...nodes].map((i) => this.builder.visible(this.tree.of[i]!, this.open)));
      const lines = new Set(scene.lines.filter((line) => line.edges.some((e) => edges.has(e))).map((line) => line.key));
      this.viewport.lit = { items, lines };
    }
    this.viewport.schedule();
  }

  private showTab(tab: Tab, focus: boolean): void {
    this.tab = tab;
    for (const [name, pane] of this.panes) {
      pane.hidden = name !== tab;
      const head = this.tabs.get(name)!;
      head.setAttribute("aria-selected", String(name === tab));
      head.tabIndex = name === tab ? 0 : -1;
    }
    const pane = this.panes.get(tab)!;
    if (tab === "outline" && !pane.childElementCount) pane.append(this.outline.element);
    if (focus) pane.focus();
  }

  private find(words: string): string {
    this.hits = search(this.doc, words).map((i) => this.tree.of[i]!);
    this.hit = -1;
    this.viewport.matches = new Set(this.hits.map((item) => this.builder.visible(item, this.open)));
    this.viewport.schedule();
    if (!words.trim()) return "";
    if (!this.hits.length) return "none";
    return `${this.hits.length} found`;
  }

  private nextHit(back: boolean): void {
    const n = this.hits.length;
    if (!n) return;
    this.hit = (this.hit + (back ? n - 1 : 1) + (this.hit < 0 && back ? 1 : 0)) % n;
    this.selectItem(this.hits[this.hit]!.id, true);
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { viewport } = this;
    const { selected, scene } = viewport;
    const pan = event.shiftKey ? 60 : 0;
    switch (event.key) {
      case "ArrowDown":
      case "ArrowUp":
      case "ArrowLeft":
      case "ArrowRight": {
        if (pan) {
          const [dx, dy] = { ArrowDown: [0, -pan], ArrowUp: [0, pan], ArrowLeft: [pan, 0], ArrowRight: [-pan, 0] }[event.key] as [number, number];
          viewport.pan(dx, dy);
          break;
        }
        const next = selected && scene ? step(scene, selected, event.key) : (this.tree.root.children[0] ?? null);
        if (next) this.select(next);
        break;
      }
      case "Enter":
        if (selected) this.showTab("details", true);
        break;
      case " ":
        this.toggle(selected);
        break;
      case "n":
        this.choose(this.touched ? this.current + 1 : this.current);
        break;
      case "p":
        this.choose(this.current - 1);
        break;
      case "/":
        this.header.input.focus();
        break;
      case "f":
        this.panned = true;
        viewport.fit();
        break;
      case "+":
      case "=":
        viewport.zoom(1.25);
        break;
      case "-":
        viewport.zoom(0.8);
        break;
      case "Escape":
        if (!this.header.closeMenu()) this.select(null);
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

function addStyle(shadow: ShadowRoot): void {
  // A constructed sheet needs no exception in a page's Content-Security-Policy.
  if ("adoptedStyleSheets" in shadow && typeof CSSStyleSheet.prototype.replaceSync === "function") {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    shadow.adoptedStyleSheets = [sheet];
    return;
  }
  const style = document.createElement("style");
  style.textContent = STYLE;
  shadow.append(style);
}
