/** What lives in a kernel, compared with what lived there before. */

import type { Inventory, TraceRequest } from "./tokens";

export const NOTHING: Inventory = { models: [], data: [], pairs: {}, targets: [] };

/** Another text when a model or its data are other objects; without names, when any model is. */
export function keys({ models, data }: Inventory, model?: string, name?: string): string {
  const named = [...models.filter((one) => one.name === (model ?? one.name)), ...data.filter((one) => one.name === name)];
  return named.map((one) => one.key).join();
}

/** What a report is shown of, in the panel, a tab or an output, with its data: the chosen model first. */
export function inView({ model, data }: TraceRequest, inventory: Inventory): Map<string, string> {
  return new Map([[model, data], ...Object.entries(inventory.seen ?? {}).filter(([name]) => name !== model)]);
}

/** The model that was not there before: the one of this name, else a model rather than a function that builds one. */
export function madeBy(inventory: Inventory, before: ReadonlySet<string>, name = ""): Inventory["models"][number] | undefined {
  const fresh = inventory.models.filter((entry) => !before.has(entry.key));
  return fresh.find((entry) => entry.name === name) ?? fresh.find((entry) => entry.kind === "model") ?? fresh[0];
}

/** Names of data as the list has them: `(x,y)`, as it is typed, as `x, y`, and `[a,b], y` as `[a, b], y`. */
export function listed(data = ""): string {
  const names = data
    .replace(/^\(([^()]*)\)$/, "$1")
    .replace(/"/g, "'")
    .split(",");
  return names.map((name) => name.trim()).join(", ");
}
