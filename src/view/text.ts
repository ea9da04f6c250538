/** Words for shapes, dtypes, numbers and places. */

import type { Location, Shape, Spec, WireNode, WireReport } from "./wire";
import * as trans from "./words";

const SHORT: Record<string, string> = {
  float16: "f16",
  float32: "f32",
  float64: "f64",
  bfloat16: "bf16",
  int8: "i8",
  int16: "i16",
  int32: "i32",
  int64: "i64",
  uint8: "u8",
  uint16: "u16",
  uint32: "u32",
  uint64: "u64",
  string: "str",
};

export type DtypeClass = "float" | "half" | "int" | "other";

export function shortDtype(dtype: string): string {
  return SHORT[dtype] ?? dtype;
}

/** The family that a dtype is drawn in: a dash pattern first, a colour second. */
export function dtypeClass(dtype: string): DtypeClass {
  if (/^(bfloat16|float16|float8)/.test(dtype)) {
    return "half";
  }
  if (/^(float|complex)/.test(dtype)) {
    return "float";
  }
  if (/^u?int/.test(dtype)) {
    return "int";
  }
  return "other";
}

export function shapeText(shape: Shape | undefined): string {
  if (!shape) {
    return "(…)";
  }
  const inner = shape.map((n) => (n === null ? "?" : String(n))).join(", ");
  return shape.length === 1 ? `(${inner},)` : `(${inner})`;
}

export function specText(spec: Spec): string {
  const kind = spec.kind && spec.kind !== "dense" ? spec.kind : "";
  return [shortDtype(spec.dtype), shapeText(spec.shape), kind].filter(Boolean).join(" ");
}

/** `batch 8 · time 26`, where axes are named. */
export function axesText(spec: Spec): string {
  const { shape, axes } = spec;
  if (!shape || !axes?.length) {
    return "";
  }
  return shape.map((n, i) => `${axes[i] ?? `axis ${i}`} ${n ?? "?"}`).join(" · ");
}

export function placeText(at: Location | null | undefined): string {
  if (!at) {
    return "";
  }
  if (at.execution) {
    return `In[${at.execution}]:${at.line}`;
  }
  if (at.cell) {
    return `cell ${at.cell.slice(0, 8)}:${at.line}`;
  }
  return `${at.file.split("/").pop() ?? at.file}:${at.line}`;
}

type Thing = "layer" | "node" | "op" | "parameter" | "part" | "replica" | "tensor";

/** `1,234 layers`. */
export function count(n: number, thing: Thing): string {
  const shown = n.toLocaleString("en");
  switch (thing) {
    case "layer":
      return trans._n("%2 layer", "%2 layers", n, shown);
    case "node":
      return trans._n("%2 node", "%2 nodes", n, shown);
    case "op":
      return trans._n("%2 op", "%2 ops", n, shown);
    case "parameter":
      return trans._n("%2 parameter", "%2 parameters", n, shown);
    case "part":
      return trans._n("%2 part", "%2 parts", n, shown);
    case "replica":
      return trans._n("%2 replica", "%2 replicas", n, shown);
    case "tensor":
      return trans._n("%2 tensor", "%2 tensors", n, shown);
  }
}

export function bytesText(n: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = n;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit && value < 100 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function numberText(n: number): string {
  if (n >= 1e9) {
    return `${(n / 1e9).toFixed(1)} G`;
  }
  if (n >= 1e6) {
    return `${(n / 1e6).toFixed(1)} M`;
  }
  if (n >= 1e4) {
    return `${(n / 1e3).toFixed(1)} k`;
  }
  return n.toLocaleString("en");
}

export function plain(value: unknown): string {
  if (value === null || value === undefined) {
    return "None";
  }
  if (typeof value === "boolean") {
    return value ? "True" : "False";
  }
  if (Array.isArray(value)) {
    return `(${value.map(plain).join(", ")}${value.length === 1 ? "," : ""})`;
  }
  if (typeof value === "object") {
    return JSON.stringify(value);
  }
  if (typeof value === "number" || typeof value === "bigint") {
    return String(value);
  }
  return typeof value === "string" ? value : "";
}

/** The few words of a config that tell one layer from its like. */
export function brief(node: WireNode): string {
  const config = node.config ?? {};
  const words: string[] = [];
  const size = config.filters ?? config.units ?? config.output_dim ?? config.num_heads;
  if (typeof size === "number") {
    words.push(String(size));
  }
  const window = config.kernel_size ?? config.pool_size;
  if (Array.isArray(window)) {
    words.push(window.map(plain).join("×"));
  }
  const to = config.target_shape;
  if (Array.isArray(to)) {
    words.push(plain(to));
  }
  if (typeof config.rate === "number") {
    words.push(String(Number(config.rate.toPrecision(3))));
  }
  const activation = config.activation;
  if (typeof activation === "string" && activation !== "linear" && activation !== "tanh") {
    words.push(activation);
  }
  return words.join(" · ");
}

/** Characters that a width holds, for a font whose mean glyph is `glyph` px wide. */
export function clip(text: string, width: number, glyph: number): string {
  const room = Math.max(2, Math.floor(width / glyph));
  return text.length <= room ? text : text.slice(0, room - 1) + "…";
}

/** What a report is of: model, data, target, cell and time, as far as they are known. */
export function aboutWords(report: WireReport): string {
  const { about = {}, title, target } = report;
  const when = new Date(about.when ?? NaN);
  const today = when.toDateString() === new Date().toDateString();
  const time = today
    ? when.toLocaleTimeString([], { timeStyle: "short" })
    : when.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  const place = about.execution ? `In[${about.execution}]` : "";
  const named = report.difference ? "" : (about.model ?? title);
  // An error that is explained was raised without a choice of data and target.
  const chosen = about.when && !about.explains;
  return [
    named,
    about.data ?? report.flow.nodes.find((node) => node.kind === "stage")?.name ?? (chosen ? trans.__("declared inputs") : ""),
    target?.name ?? (chosen ? trans.__("no target") : ""),
    place === named ? "" : place,
    about.when && !isNaN(when.getTime()) ? time : "",
  ]
    .filter(Boolean)
    .join(" · ");
}
