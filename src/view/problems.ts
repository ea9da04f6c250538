/** The problems in words: what was wanted, what came, why, and the fixes that were tried. */

import { SEVERITY_SIGN, severityWord, type FlowDoc } from "./doc";
import { changesOf } from "../changes";
import { differing } from "../differing";
import { breakable, button, copyText, h, unread } from "./dom";
import { count, placeText, shapeText } from "./text";
import { branchesOf, brings, cannot, impartial } from "./merges";
import type { Finding, Fix, Location, Patch, Side } from "./wire";
import * as trans from "./words";

export interface ProblemActions {
  choose(finding: number): void;
  goTo(node: number): void;
  say(words: string): void;
  /** Shows the flow after a fix, or the one before again. */
  preview(finding: number, fix: number): void;
  /** Whether the flow after a fix is shown. */
  previewed(finding: number, fix: number): boolean | null;
  apply?: ((finding: number, fix: number) => void) | undefined;
  locate?: ((location: Location) => void) | undefined;
}

/** `lead`: what the problem is and, where there is little room, its first fix; `rest`: all else. */
export function problemsPane(doc: FlowDoc, current: number, act: ProblemActions, narrow = false): { lead: HTMLElement; rest: HTMLElement } {
  const pane = h("div", {});
  const lead = h("div", {});
  const { findings } = doc;
  const finding = findings[current];
  if (!finding) {
    if (!narrow) {
      pane.append(h("h2.title", {}, doc.report.summary));
    }
    pane.append(h("p.muted", {}, trans.__("No findings.")));
    limits(pane, doc);
    return { lead, rest: pane };
  }
  const steps = h("span.row", {});
  if (findings.length > 1) {
    steps.append(
      button("‹", { "aria-label": trans.__("Previous problem"), title: trans.__("Previous problem (p)") }, () =>
        act.choose((current + findings.length - 1) % findings.length),
      ),
      button("›", { "aria-label": trans.__("Next problem"), title: trans.__("Next problem (n)") }, () =>
        act.choose((current + 1) % findings.length),
      ),
    );
  }
  lead.append(
    h(
      "div.eyebrow",
      {},
      unread(`span.sev ${finding.severity}`, SEVERITY_SIGN[finding.severity]),
      h(
        "span",
        {},
        `${findings.length > 1 ? `${trans.__("%1 of %2", current + 1, findings.length)} · ` : ""}${severityWord(finding.severity)}`,
      ),
      h("span.grow", {}),
      steps,
    ),
    h("h2.title", { tabindex: "-1" }, ...breakable(finding.message)),
  );
  const sides = sidesOf(doc, finding);
  if (sides) {
    lead.append(sides);
  }
  const first = narrow ? finding.fixes?.[0] : undefined;
  if (first) {
    lead.append(h("h3.offscreen", {}, trans.__("The first fix")), card(first, 0, current, act, true));
  }
  if (finding.why) {
    pane.append(h("p.why", {}, ...breakable(finding.why)));
  }
  pane.append(wayOf(doc, finding, act));
  fixes(pane, finding, current, act, first ? 1 : 0);
  if (finding.rejected?.length) {
    pane.append(
      h("h3.section", {}, trans.__("Tried and rejected")),
      h("ul.rejected", {}, ...finding.rejected.map((words) => h("li", {}, ...breakable(words)))),
    );
  }
  if (findings.length > 1) {
    const list = h("ol.list", {});
    findings.forEach((one, i) => {
      const entry = button("", { class: "entry", "aria-current": i === current ? "true" : "false" }, () => act.choose(i));
      entry.append(
        unread(`span.sev ${one.severity}`, SEVERITY_SIGN[one.severity]),
        h("span", {}, h("span.offscreen", {}, severityWord(one.severity) + ": "), ...breakable(one.message)),
      );
      list.append(h("li", {}, entry));
    });
    pane.append(h("h3.section", {}, trans.__("All findings")), list);
  }
  limits(pane, doc);
  return { lead, rest: pane };
}

function limits(pane: HTMLElement, doc: FlowDoc): void {
  const words = doc.report.limits ?? [];
  if (words.length) {
    pane.append(h("h3.section", {}, trans.__("Not checked")), h("ul.rejected", {}, ...words.map((one) => h("li", {}, one))));
  }
}

function side(name: string, one: Side): HTMLElement {
  const value = h("dd", { class: name });
  const { axes, differs } = one;
  if (!axes?.length) {
    value.append(one.text);
  } else {
    value.append("(");
    axes.forEach((axis, i) => {
      value.append(differs?.includes(i) ? h("b", {}, axis) : axis, i < axes.length - 1 ? ", " : axes.length === 1 ? ",)" : ")");
    });
    const shape = `(${axes.join(", ")}${axes.length === 1 ? ",)" : ")"}`;
    if (one.text && one.text !== shape) {
      value.append(h("span.muted", {}, ` ${one.text.replace(shape, "").trim()}`));
    }
  }
  return value;
}

export function sidesOf(doc: FlowDoc, finding: Finding): HTMLElement | null {
  const list = h("dl.sides", {});
  if (impartial(doc, finding)) {
    list.classList.add("branches");
    const branches = branchesOf(doc, finding);
    for (const e of branches.slice(0, 8)) {
      const own = brings(doc, e, branches);
      list.append(h("dt", {}, ...breakable(doc.node(doc.sourceOf[e]!).name)), own ? side("gets", own) : h("dd", {}, "?"));
    }
    list.append(h("dt", {}, ""), h("dd", {}, cannot(doc, doc.byId.get(doc.edges[branches[0]!]!.target)!)));
    return list;
  }
  if (finding.expected) {
    list.append(h("dt", {}, trans.__("wants")), side("wants", finding.expected));
  }
  if (finding.found) {
    list.append(h("dt", {}, trans.__("gets")), side("gets", finding.found));
  }
  return list.childElementCount ? list : null;
}

/** Where it began and where it broke, each a step away. */
function wayOf(doc: FlowDoc, finding: Finding, act: ProblemActions): HTMLElement {
  const row = h("div.row way", {});
  const nodes: number[] = [];
  const add = (id: string): void => {
    const i = doc.byId.get(id);
    if (i !== undefined && !nodes.includes(i)) {
      nodes.push(i);
    }
  };
  for (const id of finding.edges ?? []) {
    const e = doc.edgeById.get(id);
    if (e === undefined) {
      continue;
    }
    add(doc.edges[e]!.source);
    add(doc.edges[e]!.target);
  }
  finding.nodes?.forEach(add);
  nodes.sort((a, b) => a - b);
  nodes.slice(0, 6).forEach((i, at) => {
    if (at) {
      row.append(unread("span.muted", "→"));
    }
    row.append(button(doc.node(i).name, { class: "link mono" }, () => act.goTo(i)));
  });
  if (nodes.length > 6) {
    row.append(h("span.muted", {}, trans.__("and %1 more", nodes.length - 6)));
  }
  const { location } = finding;
  if (location) {
    const words = placeText(location);
    const { locate } = act;
    if (row.childElementCount) {
      row.append(unread("span.muted", "·"));
    }
    row.append(
      locate
        ? button(words, { class: "link mono" }, () => {
            locate(location);
          })
        : h("span.mono muted", {}, words),
    );
  }
  const docs = finding.docs ?? "";
  if (docs.startsWith("https://")) {
    row.append(
      unread("span.muted", "·"),
      h("a.link", { href: docs, target: "_blank", rel: "noopener noreferrer" }, trans.__("why: %1", finding.rule)),
    );
  } else {
    row.append(h("span.muted", {}, finding.rule));
  }
  return row;
}

function fixes(pane: HTMLElement, finding: Finding, index: number, act: ProblemActions, from: number): void {
  const list = finding.fixes ?? [];
  if (list.length <= from) {
    return;
  }
  const tried = list.some((fix) => fix.proof);
  const title = from ? trans.__("Other fixes") : tried ? trans.__("Fixes") : trans.__("Ideas");
  pane.append(h("h3.section", {}, title));
  list.slice(from).forEach((fix, i) => {
    pane.append(card(fix, from + i, index, act, from > 0));
  });
}

function card(fix: Fix, i: number, finding: number, act: ProblemActions, narrow: boolean): HTMLElement {
  const effect = effectWords(fix);
  const box = h("section", {
    class: fix.verified ? (fix.proof === "source" ? "card verified" : "card live") : "card",
    "aria-label": trans.__("Fix %1: %2", i + 1, fix.title),
  });
  box.append(
    h("h4", {}, ...breakable(fix.title)),
    h(
      "p.result",
      {},
      fix.verified
        ? h("span.tried", {}, fix.proof === "source" ? trans.__("✓ verified") : trans.__("✓ verified on the live model"))
        : fix.mends
          ? h("span.untried", {}, trans.__("◐ fixes only this; next: %1", (fix.then ?? []).join(", ")))
          : h("span.untried", {}, ...breakable(fix.reason ?? trans.__("not tried"))),
      effect ? h("span.muted", {}, ` · ${effect}`) : null,
    ),
  );
  const changes = changesOf(fix);
  if (changes.length) {
    box.append(diff(changes, narrow ? 1 : 3));
  }
  const actions = h("div.row", {});
  const { apply } = act;
  if (apply && fix.patch) {
    actions.append(
      button(
        !fix.cell ? trans.__("Apply") : changes.length > 1 ? trans.__("Apply to the cells") : trans.__("Apply to the cell"),
        { class: "primary", "aria-label": trans.__("Apply: %1", fix.title) },
        () => {
          apply(finding, i);
          act.say(trans.__("Applying: %1", fix.title));
        },
      ),
    );
  }
  if (fix.patch) {
    const copy = button(trans.__("Copy"), { "aria-label": trans.__("Copy: %1", fix.title) }, () => {
      void copyText(
        changesOf(fix)
          .map((one) => insertable(one.patch))
          .join("\n"),
        box,
      ).then((done) => {
        copy.textContent = done ? trans.__("Copied") : trans.__("Not copied");
        act.say(done ? trans.__("Copied: %1", fix.title) : trans.__("The browser did not allow copying."));
        setTimeout(() => (copy.textContent = trans.__("Copy")), 1600);
      });
    });
    actions.append(copy);
  }
  const shown = act.previewed(finding, i);
  if (shown !== null) {
    actions.append(
      button(trans.__("Before / after"), { "aria-pressed": String(shown), "aria-label": trans.__("Before / after: %1", fix.title) }, () =>
        act.preview(finding, i),
      ),
    );
  }
  if (actions.childElementCount) {
    box.append(actions);
  }
  return box;
}

/** The lines that a fix brings, ready to paste: what a diff adds, or the whole of a snippet. */
export function insertable(patch: string): string {
  const lines = patch.split("\n");
  const added = lines.filter((line) => line.startsWith("+") && !line.startsWith("+++"));
  return added.length ? added.map((line) => line.slice(1)).join("\n") : patch;
}

/** A patch's lines with so many of context around each change, each hunk counted from the first of them; all where nothing changes. */
export function closely(patch: string, context: number): string[] {
  const lines = patch
    .trimEnd()
    .split("\n")
    .filter((line) => !/^(---|\+\+\+) /.test(line));
  const near = lines.map((_, i) => lines.slice(Math.max(0, i - context), i + context + 1).some((line) => /^[-+]/.test(line)));
  if (!near.includes(true)) {
    return lines;
  }
  return lines.flatMap((line, i) => {
    const start = /^@@ -(\d+)/.exec(line)?.[1];
    return start ? `@@ -${Number(start) + near.indexOf(true, i + 1) - i - 1}` : near[i] ? line : [];
  });
}

function diff(changes: Patch[], context: number): HTMLElement {
  const box = h("div.diff", { tabindex: "0", role: "group", "aria-label": trans.__("What the fix changes") });
  for (const { patch } of changes) {
    box.append(...rows(patch, context, changes.length > 1 ? (/^\+\+\+ (.*)/m.exec(patch)?.[1] ?? "") : ""));
  }
  return box;
}

/** The lines of a patch; `label`: the file or cell that they are in, if it has to be said. */
function rows(patch: string, context: number, label: string): HTMLElement[] {
  const lines = closely(patch, context);
  // What all lines are indented by says nothing here.
  const depths = lines.flatMap((line) => (/^[-+ ]\s*\S/.test(line) ? [line.slice(1).search(/\S/)] : []));
  const less = depths.length === lines.filter((line) => !line.startsWith("@@") && line.trim()).length ? Math.min(...depths) : 0;
  const shown = lines.map((full) => (less && !full.startsWith("@@") ? full.slice(0, 1) + full.slice(1 + less) : full));
  return shown.map((line, i) => {
    const kind = { "@": "hunk", "+": "add", "-": "del" }[line.slice(0, 1)] ?? "same";
    const number = /^@@ -(\d+)/.exec(line)?.[1] ?? "";
    const place = label ? trans.__("%1, line %2", label, number) : trans.__("line %1", number);
    const words = kind === "hunk" ? place : line || " ";
    const [from, to] = differing(shown, i);
    const [before, part, behind] = [words.slice(0, from), words.slice(from, to), words.slice(to)].map(breakable);
    const row = h("div", { class: kind }, ...before!, h("b", {}, ...part!), ...behind!);
    // What does not fit goes on below, indented a little further than where the line began.
    const depth = kind === "hunk" ? 0 : Math.min(24, words.slice(1).search(/\S|$/) + 3);
    row.style.paddingLeft = `calc(10px + ${depth}ch)`;
    row.style.textIndent = `-${depth}ch`;
    return row;
  });
}

function effectWords(fix: Fix): string {
  const { effect } = fix;
  if (!effect) {
    return "";
  }
  if (effect.text) {
    return effect.text;
  }
  const words: string[] = [];
  const shapes = [effect.before, effect.after, effect.output].filter((shape) => shape !== undefined && shape !== null);
  if (shapes.length > 1) {
    words.push(shapes.map(shapeText).join(" → "));
  }
  if (effect.parameters) {
    words.push(`${effect.parameters > 0 ? "+" : "−"}${count(Math.abs(effect.parameters), "parameter")}`);
  }
  return words.join(" · ");
}
