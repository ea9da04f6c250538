/** The layers as a table: sortable, and copied as Markdown. */

import type { FlowDoc } from "./doc";
import { button, copyText, h } from "./dom";
import { measuresOf, type Measure } from "./measures";
import { shapeText, specText } from "./text";
import * as trans from "./words";

export interface TableActions {
  goTo(node: number): void;
  say(words: string): void;
}

interface Column {
  name: string;
  /** What is sorted by: numbers, or words. */
  key(i: number): number | string;
  words(i: number): string;
}

const SHOWN = 400;

function columnsOf(doc: FlowDoc): Column[] {
  const tensors = (list: readonly number[]): string => [...new Set(list.map((e) => specText(doc.spec(doc.edges[e]!))))].join(", ");
  const text = (name: string, words: (i: number) => string): Column => ({ name, words, key: (i) => words(i).toLowerCase() });
  const number = (one: Measure): Column => ({
    name: one.name,
    key: (i) => one.of[i] ?? -1,
    words: (i) => (one.of[i] === undefined ? "" : one.say(one.of[i])),
  });
  const placed = (i: number): string => {
    const times = new Map<string, number>();
    doc.strip(i).forEach((one) => times.set(shapeText(one.shape), (times.get(shapeText(one.shape)) ?? 0) + 1));
    return [...times].map(([shape, n]) => `${n} × ${shape}`).join(", ");
  };
  return [
    text(trans.__("name"), (i) => doc.node(i).name),
    text(trans.__("type"), (i) => doc.node(i).op || doc.node(i).kind),
    text(trans.__("input"), (i) => tensors(doc.into[i]!)),
    text(trans.__("output"), (i) => tensors(doc.outOf[i]!)),
    ...measuresOf(doc).map(number),
    text(trans.__("placement"), placed),
  ];
}

export function layerTable(doc: FlowDoc, act: TableActions): HTMLElement {
  const columns = columnsOf(doc);
  const all = doc.nodes.flatMap((node, i) => (["layer", "op", "loss", "metric"].includes(node.kind) ? [i] : []));
  let order = all;
  let [by, down] = [-1, false];
  const body = h("tbody", {});
  const more = h("p.muted", {});
  const heads = columns.map((column, c) => {
    const sort = button(column.name, {}, () => {
      [down, by] = [by === c ? !down : typeof column.key(all[0] ?? 0) === "number", c];
      const keys = new Map(all.map((i) => [i, column.key(i)]));
      order = [...all].sort((a, b) => {
        const [x, y] = [keys.get(a)!, keys.get(b)!];
        return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1) || a - b;
      });
      fill();
    });
    return h("th", { scope: "col" }, sort);
  });
  const fill = (): void => {
    heads.forEach((head, c) => {
      head.setAttribute("aria-sort", c === by ? (down ? "descending" : "ascending") : "none");
    });
    body.replaceChildren(
      ...order.slice(0, SHOWN).map((i) =>
        h(
          "tr",
          {},
          ...columns.map(({ name, words }, c) =>
            c
              ? h("td.mono", { "data-of": name }, words(i))
              : h(
                  "td.mono",
                  {},
                  button(words(i) || "·", { class: "link mono" }, () => act.goTo(i)),
                ),
          ),
        ),
      ),
    );
    more.textContent = order.length > SHOWN ? trans.__("and %1 more", order.length - SHOWN) : "";
  };
  fill();
  const plain = (words: string): string => words.replace(/[\\|`*_<>[\]]/g, "\\$&").replace(/\s+/g, " ");
  const markdown = (): string =>
    [
      `| ${columns.map((column) => plain(column.name)).join(" | ")} |`,
      `|${columns.map(() => "---").join("|")}|`,
      ...order.map((i) => `| ${columns.map((column) => plain(column.words(i))).join(" | ")} |`),
    ].join("\n");
  const pane = h("div", {});
  const copy = button(trans.__("Copy as Markdown"), {}, () => {
    void copyText(markdown(), pane).then((done) => {
      act.say(done ? trans.__("Copied the table") : trans.__("The browser did not allow copying"));
    });
  });
  pane.append(
    h("div.row", {}, copy),
    h(
      "div.wide",
      { role: "region", tabindex: "0", "aria-label": trans.__("Layers") },
      h("table", {}, h("thead", {}, h("tr", {}, ...heads)), body),
    ),
    more,
  );
  return pane;
}
