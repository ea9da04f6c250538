import type { Fix, Patch } from "./view/wire";

/** What a fix changes, by file or cell. */
export function changesOf({ patch, cell, file, execution, also }: Fix): Patch[] {
  const first = { ...(cell && { cell }), ...(file && { file }), ...(execution && { execution }) };
  return patch ? [{ patch, ...first }, ...(also ?? [])] : [];
}
