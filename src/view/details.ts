/** One node in full: where it stands, its config, tensors, weights, replicas and memory. */

import { SEVERITY_SIGN, type FlowDoc, type Held } from "./doc";
import { button, h, s } from "./dom";
import type { Item } from "./groups";
import { axesText, bytesText, count, numberText, placeText, plain, shapeText, shortDtype } from "./text";
import { hatch } from "./viewport";
import type { Location, Verdict } from "./wire";

export interface DetailActions {
  goTo(node: number): void;
  choose(finding: number): void;
  toggle(item: Item): void;
  isOpen(item: Item): boolean;
  locate?: ((location: Location) => void) | undefined;
}

function table(head: readonly string[], rows: readonly (readonly (Node | string)[])[], odd: ReadonlySet<number> = new Set()): HTMLElement {
  // Short words are not broken to make room for long ones.
  const words = (cell: Node | string | undefined): number => (typeof cell === "string" ? cell : (cell?.textContent ?? "")).length;
  const least = head.map((_, column) => Math.min(12, 1 + Math.max(...rows.map((row) => words(row[column])))));
  return h(
    "div",
    {},
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, ...head.map((word) => h("th", { scope: "col" }, word)))),
      h(
        "tbody",
        {},
        ...rows.map((row, i) =>
          h(
            "tr",
            { class: odd.has(i) ? "odd" : undefined },
            ...row.map((cell, column) => {
              const td = h("td", { class: "mono" }, cell);
              td.style.minWidth = `calc(${least[column]!}ch + 8px)`;
              return td;
            }),
          ),
        ),
      ),
    ),
  );
}

function section(pane: HTMLElement, title: string, ...content: (Node | null)[]): void {
  pane.append(h("h3", { class: "section" }, title));
  for (const one of content) {
    if (one) {
      pane.append(one);
    }
  }
}

export function detailsPane(doc: FlowDoc, item: Item | null, act: DetailActions): HTMLElement {
  const pane = h("div", {});
  if (!item) {
    pane.append(h("p", { class: "muted" }, "Select a node: its config, tensors, weights and replicas appear here."));
    return pane;
  }
  const node = item.node >= 0 ? doc.node(item.node) : undefined;
  pane.append(
    h(
      "div",
      { class: "eyebrow" },
      node ? `${node.kind}${item.status === "ok" ? "" : ` · ${item.status === "failed" ? "✖ raises" : "not reached"}`}` : "group",
    ),
  );
  pane.append(h("h2", { class: "title" }, item.label));
  if (node) {
    places(pane, doc, item.node, act);
  } else {
    pane.append(
      h(
        "p",
        { class: "muted" },
        item.times > 1
          ? `${item.times} identical blocks, ${count(item.leaves, "layer")} in all`
          : `${count(item.leaves, "layer")}, grouped by the picture`,
      ),
    );
  }
  if (item.children.length) {
    pane.append(
      h(
        "div",
        { class: "row way" },
        button(act.isOpen(item) ? "Close" : "Open", {}, () => act.toggle(item)),
      ),
    );
  }
  if (!node) {
    return pane;
  }
  const found = doc.nodeFindings.get(item.node) ?? [];
  if (found.length) {
    const list = h("ul", { class: "list" });
    for (const f of found) {
      const finding = doc.findings[f]!;
      const entry = button("", { class: "entry" }, () => act.choose(f));
      entry.append(
        h("span", { class: `sev ${finding.severity}`, "aria-hidden": "true" }, SEVERITY_SIGN[finding.severity]),
        finding.message,
      );
      list.append(h("li", {}, entry));
    }
    section(pane, "Found here", list);
  }
  if (node.failure) {
    section(pane, `What the framework said (${node.failure.type})`, h("pre", { class: "message", tabindex: "0" }, node.failure.message));
  }
  if (node.note) {
    pane.append(h("p", { class: "why" }, node.note));
  }
  tensors(pane, doc, item.node, act);
  replicas(pane, doc.strip(item.node), doc);
  const config = Object.entries(node.config ?? {});
  if (config.length) {
    section(
      pane,
      "Config",
      table(
        ["setting", "value"],
        config.map(([key, value]) => [key, plain(value)]),
      ),
    );
  }
  const weights = doc.weights(item.node);
  if (weights.length) {
    section(
      pane,
      `Weights · ${numberText(node.params ?? 0)} parameters`,
      table(
        ["name", "shape", "dtype", "copies"],
        weights.map((w) => [
          w.name + (w.trainable === false ? " (fixed)" : ""),
          shapeText(w.shape),
          shortDtype(w.dtype),
          String(w.copies ?? 1),
        ]),
      ),
    );
  }
  memory(pane, doc, node.id);
  return pane;
}

function places(pane: HTMLElement, doc: FlowDoc, i: number, act: DetailActions): void {
  const node = doc.node(i);
  const row = h("div", { class: "row way" }, h("span", { class: "mono" }, node.op));
  const add = (word: string, location: Location | null | undefined): void => {
    if (!location) {
      return;
    }
    const words = placeText(location);
    const { locate } = act;
    row.append(
      h("span", { class: "muted" }, `· ${word}`),
      locate
        ? button(words, { class: "link mono" }, () => {
            locate(location);
          })
        : h("span", { class: "mono" }, words),
    );
  };
  const made = doc.madeAt(i);
  const called = doc.calledAt(i);
  add("made at", made);
  if (placeText(called) !== placeText(made)) {
    add("called at", called);
  }
  pane.append(row);
  if (made?.text) {
    pane.append(h("pre", { class: "message" }, made.text.trim()));
  }
}

function tensors(pane: HTMLElement, doc: FlowDoc, i: number, act: DetailActions): void {
  for (const [title, list, other] of [
    ["Takes", doc.into[i]!, "source"],
    ["Gives", doc.outOf[i]!, "target"],
  ] as const) {
    if (!list.length) {
      continue;
    }
    const rows = list.slice(0, 60).map((e) => {
      const edge = doc.edges[e]!;
      const spec = doc.spec(edge);
      const far = doc.byId.get(edge[other])!;
      const sign = doc.edgeSeverity[e] ? ` ${SEVERITY_SIGN[doc.edgeSeverity[e]]}` : edge.status === "not-reached" ? " (not reached)" : "";
      const words = h("span", {}, `${shortDtype(spec.dtype)} ${shapeText(spec.shape)}${sign}`);
      const axes = axesText(spec);
      if (axes) {
        words.append(h("br"), h("span", { class: "muted" }, axes));
      }
      return [button(doc.node(far).name, { class: "link mono" }, () => act.goTo(far)), words, edge.label ?? ""];
    });
    const named = rows.some(([, , as]) => as);
    section(
      pane,
      title,
      table(
        [other === "source" ? "from" : "to", "tensor", ...(named ? ["as"] : [])],
        rows.map((row) => (named ? row : row.slice(0, 2))),
      ),
    );
    if (list.length > 60) {
      pane.append(h("p", { class: "muted" }, `and ${list.length - 60} more`));
    }
  }
}

/** Every replica's shape and device. */
export function replicas(pane: HTMLElement, held: readonly Held[], doc: FlowDoc): void {
  if (held.length < 2) {
    return;
  }
  const odd = doc.odd(held);
  const rows = held.map((one) => [String(one.index), shapeText(one.shape) + (odd.has(one.index) ? " ≠" : ""), one.device]);
  section(
    pane,
    `Replicas · ${odd.size ? `${odd.size} of ${held.length} differ` : `${held.length}, all alike`}`,
    table(["#", "holds", "device"], rows, odd),
  );
}

function memory(pane: HTMLElement, doc: FlowDoc, id: string): void {
  const list = doc.memory.get(id) ?? [];
  if (!list.length) {
    return;
  }
  const most = Math.max(...list.map((one) => one.bytes));
  section(pane, "Memory as compiled", ...list.map((one) => bar(one.program, one.bytes, one.logical ?? one.bytes, most)));
}

/** A bar: what is used, and, hatched, what the layout pads. */
function bar(name: string, bytes: number, logical: number, most: number): HTMLElement {
  const wide = 200;
  const full = (bytes / Math.max(1, most)) * wide;
  const used = (Math.min(logical, bytes) / Math.max(1, most)) * wide;
  const defs = hatch();
  defs.querySelector("pattern")!.id = "bar-hatch";
  const picture = s(
    "svg",
    { viewBox: `0 0 ${wide} 12`, preserveAspectRatio: "none", "aria-hidden": "true" },
    defs,
    s("rect", { class: "room", width: wide, height: 12 }),
    s("rect", { class: "pad", width: full, height: 12 }),
    s("rect", { class: "used", width: used, height: 12 }),
  );
  const pad = bytes > logical ? ` (${bytesText(bytes - logical)} padding)` : "";
  return h("div", { class: "bar" }, h("span", {}, name), picture, h("span", { class: "mono" }, bytesText(bytes) + pad));
}

/** What the compilers said, and which layers take the memory. */
export function verdictsPane(doc: FlowDoc, act: DetailActions): HTMLElement {
  const pane = h("div", {});
  for (const verdict of doc.report.verdicts ?? []) {
    pane.append(h("div", { class: "eyebrow" }, `${verdict.compiler} · ${verdict.program}${verdict.target ? ` · ${verdict.target}` : ""}`));
    pane.append(h("h2", { class: "title" }, verdict.ok ? "✓ compiles" : "✖ does not compile"));
    if (verdict.message) {
      pane.append(h("pre", { class: "message", tabindex: "0" }, verdict.message));
    }
    totals(pane, verdict);
    const layers = [...(verdict.layers ?? [])].sort((a, b) => b.bytes - a.bytes).slice(0, 25);
    const most = Math.max(1, ...layers.map((layer) => layer.bytes));
    if (layers.length) {
      section(pane, "Layers by memory");
      for (const layer of layers) {
        const row = bar(layer.name, layer.bytes, layer.logical ?? layer.bytes, most);
        const i = doc.byId.get(layer.node);
        if (i !== undefined) {
          row.firstElementChild!.replaceWith(button(layer.name, { class: "link mono" }, () => act.goTo(i)));
        }
        pane.append(row);
      }
    }
  }
  return pane;
}

function totals(pane: HTMLElement, verdict: Verdict): void {
  const rows: string[][] = [];
  const add = (name: string, value: number | undefined): void => {
    if (value) {
      rows.push([name, bytesText(value)]);
    }
  };
  add("arguments", verdict.arguments);
  add("outputs", verdict.outputs);
  add("temporaries", verdict.temporaries);
  add("code", verdict.code);
  add("HBM of one core", verdict.hbm_bytes);
  if (verdict.flops) {
    rows.push(["floating-point operations", numberText(verdict.flops)]);
  }
  if (rows.length) {
    pane.append(table(["part", "size"], rows));
  }
}
