import type { Fix, Patch } from "./view/wire";

/** What a fix changes, by file or cell. */
export function changesOf({ patch, cell, file, also }: Fix): Patch[] {
  return patch ? [{ patch, ...(cell && { cell }), ...(file && { file }) }, ...(also ?? [])] : [];
}
