/** Search by name, layer type, shape (`?x128`), dtype, and regular expression (`/conv\d/`). */

import type { FlowDoc } from "./doc";
import type { Item, Tree } from "./groups";
import { shortDtype } from "./text";
import type { Shape } from "./wire";
import * as trans from "./words";

/** A shape as it is typed: axes by `x`, `?` or `*` for any one; the whole shape or its end. */
export function shapeMatches(shape: Shape, typed: string): boolean {
  if (!shape) {
    return false;
  }
  const wanted = typed.split(/[x×,]/).map((part) => part.trim());
  if (wanted.length > shape.length) {
    return false;
  }
  const end = shape.slice(shape.length - wanted.length);
  return wanted.every((part, i) => part === "*" || part === "?" || String(end[i]) === part);
}

const SHAPE = /^\(?\s*(\?|\*|\d+)(\s*[x×,]\s*(\?|\*|\d+))+\s*,?\)?$/;

/** What is typed between slashes. */
function expression(typed: string): RegExp | null {
  const inner = /^\/(.+)\/$/.exec(typed)?.[1];
  try {
    return inner ? new RegExp(inner, "i") : null;
  } catch {
    return null;
  }
}

export function search(doc: FlowDoc, typed: string): number[] {
  const words = typed.trim().toLowerCase();
  if (!words) {
    return [];
  }
  const hits: number[] = [];
  if (SHAPE.test(words)) {
    const shape = words.replace(/[()]/g, "").replace(/,\s*$/, "");
    const specs = doc.report.flow.specs.map((spec) => shapeMatches(spec.shape, shape));
    doc.nodes.forEach((_, i) => {
      if (doc.outOf[i]!.some((e) => specs[doc.edges[e]!.spec])) {
        hits.push(i);
      }
    });
    return hits;
  }
  const pattern = expression(typed.trim());
  if (pattern) {
    doc.nodes.forEach((node, i) => {
      if (pattern.test(node.name) || pattern.test(node.op)) {
        hits.push(i);
      }
    });
    return hits;
  }
  const dtypes = doc.report.flow.specs.map((spec) => spec.dtype === words || shortDtype(spec.dtype) === words);
  const byType = dtypes.includes(true);
  doc.nodes.forEach((node, i) => {
    const named = node.name.toLowerCase().includes(words) || node.op.toLowerCase().includes(words);
    if (named || (byType && doc.outOf[i]!.some((e) => dtypes[doc.edges[e]!.spec]))) {
      hits.push(i);
    }
  });
  return hits;
}

/** What a search found, and the way from one to the next. */
export class Hits {
  items: Item[] = [];
  private at = -1;

  constructor(
    private readonly doc: FlowDoc,
    private readonly tree: Tree,
  ) {}

  /** Searches; gives the count in words. */
  find(words: string): string {
    this.items = search(this.doc, words).map((i) => this.tree.of[i]!);
    this.at = -1;
    if (!words.trim()) {
      return "";
    }
    return this.items.length ? trans.__("%1 found", this.items.length) : trans.__("none");
  }

  next(back: boolean): Item | undefined {
    const n = this.items.length;
    if (!n) {
      return undefined;
    }
    const from = this.at < 0 && back ? 0 : this.at;
    this.at = (from + (back ? n - 1 : 1)) % n;
    return this.items[this.at];
  }
}
