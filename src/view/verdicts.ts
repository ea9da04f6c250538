/** What the compilers said: what a program takes of a core's memory, which layers and tensors take it, and which batches compile. */

import { curve } from "./curve";
import type { DetailActions } from "./details";
import type { FlowDoc } from "./doc";
import { button, h } from "./dom";
import { bar, section, table } from "./pane";
import { bytesText, numberText, shapeText } from "./text";
import type { Tried, Verdict } from "./wire";
import * as trans from "./words";

export function verdictsPane(doc: FlowDoc, act: DetailActions): HTMLElement {
  const all = h("div", {});
  if (act.charts) {
    all.append(h("div.row way", {}, button(trans.__("Interactive charts"), {}, act.charts)));
  }
  for (const verdict of doc.report.verdicts ?? []) {
    const pane = h("section.said", {});
    all.append(pane);
    pane.append(h("div.eyebrow", {}, `${verdict.compiler} · ${verdict.program}${verdict.target ? ` · ${verdict.target}` : ""}`));
    pane.append(h("h2.title", {}, verdict.ok ? trans.__("✓ compiles") : trans.__("✖ does not compile")));
    if (verdict.message) {
      pane.append(h("pre.message", { tabindex: "0" }, verdict.message));
    }
    totals(pane, verdict);
    layers(pane, doc, verdict, act);
    buffers(pane, doc, verdict, act);
    batches(pane, verdict);
  }
  return all;
}

function totals(pane: HTMLElement, verdict: Verdict): void {
  const rows: string[][] = [];
  const add = (name: string, value: number | undefined): void => {
    if (value) {
      rows.push([name, bytesText(value)]);
    }
  };
  add(trans.__("arguments"), verdict.arguments);
  add(trans.__("outputs"), verdict.outputs);
  add(trans.__("temporaries"), verdict.temporaries);
  add(trans.__("code"), verdict.code);
  add(trans.__("not in a layer"), verdict.unmapped);
  add(trans.__("HBM of one core"), verdict.hbm_bytes);
  if (verdict.flops) {
    rows.push([trans.__("operations per step"), numberText(verdict.flops)]);
  }
  add(trans.__("read and written per step"), verdict.moved);
  if (verdict.intensity) {
    rows.push([trans.__("operations per byte (an estimate)"), numberText(Number(verdict.intensity.toPrecision(3)))]);
  }
  const taken = (verdict.layers ?? []).reduce((sum, layer) => sum + layer.bytes, verdict.unmapped ?? 0);
  if (verdict.hbm_bytes && taken) {
    const row = bar("of one core", taken, taken, verdict.hbm_bytes);
    row.lastElementChild!.textContent = `${((100 * taken) / verdict.hbm_bytes).toFixed(1)} % of ${bytesText(verdict.hbm_bytes)}`;
    pane.append(row);
  }
  if (rows.length) {
    pane.append(table([trans.__("part"), trans.__("size")], rows));
  }
}

function layers(pane: HTMLElement, doc: FlowDoc, verdict: Verdict, act: DetailActions): void {
  const list = [...(verdict.layers ?? [])].sort((a, b) => b.bytes - a.bytes).slice(0, 25);
  if (!list.length) {
    return;
  }
  const most = Math.max(1, ...list.map((layer) => layer.bytes));
  section(pane, trans.__("Memory by layer (padding is hatched)"));
  for (const layer of list) {
    const row = bar(layer.name, layer.bytes, layer.logical ?? layer.bytes, most);
    const i = doc.byId.get(layer.node);
    if (i !== undefined) {
      row.firstElementChild!.replaceWith(button(layer.name, { class: "link mono" }, () => act.goTo(i)));
    }
    pane.append(row);
  }
}

/** The largest tensors, as they are laid out. */
function buffers(pane: HTMLElement, doc: FlowDoc, verdict: Verdict, act: DetailActions): void {
  const rows = (verdict.buffers ?? []).slice(0, 8).map((one) => {
    const i = one.node ? doc.byId.get(one.node) : undefined;
    const padded = one.padded.join() === one.shape.join() ? "" : ` ${trans.__("as %1", shapeText(one.padded))}`;
    return [
      i === undefined ? one.kind : button(doc.node(i).name, { class: "link mono" }, () => act.goTo(i)),
      `${one.dtype} ${shapeText(one.shape)}${padded}`,
      h("span.whole", {}, bytesText(one.bytes)),
    ];
  });
  if (rows.length) {
    section(pane, trans.__("Largest tensors"), table([trans.__("layer"), trans.__("tensor"), trans.__("memory")], rows));
  }
}

function batches(pane: HTMLElement, verdict: Verdict): void {
  const tried: Tried[] = verdict.tried ?? [];
  if (tried.length < 2) {
    return;
  }
  const limit = verdict.hbm_bytes ?? 0;
  const compiles = tried.filter((one) => one.fits);
  const runs = compiles.filter((one) => one.run && one.run <= limit);
  const largest = (of: Tried[]): string => Math.max(...of.map((one) => one.rows)).toLocaleString("en");
  const rows = tried.map((one) => [
    largest([one]),
    one.fits ? bytesText(one.bytes ?? 0) : trans.__("✖ does not compile"),
    one.run ? bytesText(one.run) : "",
    one.effort ?? "",
  ]);
  const odd = new Set(tried.flatMap((one, i) => (one.fits ? [] : [i])));
  section(
    pane,
    trans.__("Memory by batch size"),
    curve(tried, limit),
    h(
      "p.largest",
      {},
      compiles.length ? trans.__("Largest that compiles: %1 rows.", largest(compiles)) : "",
      runs.length ? trans.__(" Largest that leaves enough memory for a run (an estimate): %1 rows.", largest(runs)) : "",
    ),
    table([trans.__("rows on one core"), trans.__("memory"), trans.__("in a run"), trans.__("effort")], rows, odd),
  );
}
