/** Groups by what names say: a numbered beginning that neighbours share, or a number that they end with. */

import type { FlowDoc } from "./doc";
import { item, type Item } from "./groups";
import { chosen, span } from "./titles";
import * as trans from "./words";

/** Inputs, splits, losses and the like have a place of their own, never within a group. */
export function apart(doc: FlowDoc, one: Item): boolean {
  const kind = one.node < 0 ? "op" : doc.node(one.node).kind;
  return kind !== "op" && kind !== "layer";
}

export function made(id: string, label: string, children: Item[]): Item {
  const group = item(id, -1, label);
  group.members = children;
  return group;
}

/** What names have in common at their beginning, or the first and the last of them. */
export function shared(names: readonly string[]): string {
  let n = 0;
  while (names.every((name) => name[n] !== undefined && name[n] === names[0]![n])) {
    n++;
  }
  const head = names[0]!.slice(0, n).replace(/\d+$/, "");
  const sorted = [...names].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  return head.length > 2 ? `${head}…` : span(sorted[0]!, sorted[names.length - 1]!);
}

function tokens(doc: FlowDoc, one: Item): string[] {
  const { name } = doc.node(one.node);
  // Nor does a name of one word tell of a structure.
  if (!/[/_.]/.test(name) || !chosen(doc, one)) {
    return [];
  }
  return name.split(/[/_.]/).flatMap((word) => {
    const lettered = /^(\D+\d+)([a-z])$/.exec(word);
    return lettered ? [lettered[1]!, lettered[2]!] : [word];
  });
}

/** Runs of neighbours whose names share a numbered beginning: `block2`, and in it `block2a`. */
export function byName(doc: FlowDoc, list: Item[], skip: number, path: string): Item[] {
  const beginning = (one: Item): { key: string; used: number } | null => {
    if (one.node < 0 || apart(doc, one)) {
      return null;
    }
    const words = tokens(doc, one);
    for (let i = skip; i < words.length - 1; i++) {
      if (/\d/.test(words[i]!) || (skip && words[i]!.length === 1)) {
        return { key: words.slice(0, i + 1).join("_"), used: i + 1 };
      }
    }
    return null;
  };
  const result: Item[] = [];
  // A beginning that comes again and again names a kind of part, and not a place.
  const begun = list.map(beginning);
  const times = new Map<string, number>();
  begun.forEach((one, i) => {
    if (one && begun[i - 1]?.key !== one.key) {
      times.set(one.key, (times.get(one.key) ?? 0) + 1);
    }
  });
  begun.forEach((one, i) => {
    if (one && times.get(one.key)! > 2) {
      begun[i] = null;
    }
  });
  let i = 0;
  while (i < list.length) {
    const start = begun[i];
    let j = i + 1;
    while (start && j < list.length && begun[j]?.key === start.key) {
      j++;
    }
    if (!start || j - i < 3 || j - i === list.length) {
      result.push(...list.slice(i, j));
    } else {
      const label = start.key.replace(/^(.*\D\d+)_([a-z])$/, "$1$2");
      const inner = list.slice(i, j);
      const group = made(`${path}~${label}@${list[i]!.id}`, label, inner);
      if (inner.length > 14) {
        group.members = byName(doc, inner, start.used, group.id);
      }
      result.push(group);
    }
    i = j;
  }
  return result;
}

/** The number that a chosen name ends with: `normal_conv_1_6`, `adjust_bn_6`. */
function ending(doc: FlowDoc, one: Item): string {
  if (one.node < 0 || !chosen(doc, one)) {
    return "";
  }
  return /[_/.]\D*?(\d+)$/.exec(doc.node(one.node).name)?.[1] ?? "";
}

/** Runs of names that share their last number, where most of a level is named so. */
export function byEnding(doc: FlowDoc, list: Item[], path: string): Item[] | null {
  const groups: Item[] = [];
  let covered = 0;
  let found = 0;
  let run: Item[] = [];
  let loose: Item[] = [];
  let key = "";
  const close = (): void => {
    const words = new Set(run.map((one) => doc.node(one.node).op));
    if (key && run.length > 5 && words.size > 2) {
      groups.push(made(`${path}~${key}@${run[0]!.id}`, trans.__("block %1", key), run));
      covered += run.length;
      found++;
    } else {
      groups.push(...run);
    }
    groups.push(...loose);
    [run, loose, key] = [[], [], ""];
  };
  for (const one of list) {
    const end = ending(doc, one);
    if (apart(doc, one) || one.node < 0) {
      close();
      groups.push(one);
    } else if (!end) {
      // Without a name of its own it belongs to what it stands in.
      (key ? loose : run).push(one);
    } else if (!key || key === end) {
      run.push(...loose, one);
      loose = [];
      key = end;
    } else {
      const between = loose;
      loose = [];
      close();
      run = [...between, one];
      key = end;
    }
  }
  close();
  return found > 2 && covered > 0.6 * list.length ? groups : null;
}
