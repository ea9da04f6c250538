import { Token } from "@lumino/coreutils";
import type { ISignal } from "@lumino/signaling";

import type { Location, WireReport } from "../view";

export const MIME = "application/vnd.tpushape.report.v1+json";
export const HINT_MIME = "application/vnd.tpushape.hint.v1+json";
export const COMM_TARGET = "jupyter_tpushape";

/** A model or a function that builds one, as the kernel lists it. */
export interface ModelEntry {
  name: string;
  kind: "model" | "builder";
  class: string;
  params: number | null;
  inputs: string;
  outputs: string;
  /** Changes when the object behind the name does. */
  key: string;
  /** The cells that create it, by their ids in order, where a fit that raised left it half built. */
  left?: string[];
}

/** Something that `fit` takes, as the kernel lists it. */
export interface DataEntry {
  name: string;
  class: string;
  spec: string;
  key: string;
}

export interface Inventory {
  models: ModelEntry[];
  data: DataEntry[];
  /** For each model the data that fits it best. */
  pairs: Record<string, string>;
  targets: string[];
  /** The models that a report was made of in this kernel, each with the data of the last. */
  seen?: Record<string, string>;
  /** The line under the last cell's traceback, where that cell failed over shapes. */
  failed?: string;
}

export interface TraceRequest {
  model: string;
  data: string;
  tpu: string;
  compile: string;
  batches: number;
  /** How hard the TPU's compiler tries: quick or full. */
  effort: string;
}

/** What the followed kernel is to the sidebar. */
export type KernelState = "none" | "connecting" | "waiting" | "silent" | "refused" | "other-language" | "missing" | "ready" | "dead";

/** What went wrong with a fix, and the way on: what takes it back, or makes the model anew. */
export interface Alarm {
  text: string;
  undo?: () => void;
  anew?: () => void;
}

/** A fix that stands in a cell: how the cell is run, what it raised when it did, and what takes the fix back. */
export interface Mended {
  /** Whether the cell is the one that failed, and not one that made what it uses. */
  failed: boolean;
  /** The cells that the report speaks of behind the fixed one, by their ids in order, up to the one that failed. */
  later: string[];
  run(): Promise<boolean>;
  /** Runs other cells of the notebook, by their ids in order, up to the first that raises. */
  runCells(ids: string[]): Promise<boolean>;
  raised(): string;
  undo(): void;
}

/** The one state behind panel, tab and commands: the followed kernel, what lives in it, the chosen pair, the report. */
export interface ITracer {
  readonly changed: ISignal<ITracer, void>;
  readonly reported: ISignal<ITracer, WireReport>;
  /** What a watched cell changed, in a sentence. */
  readonly noticed: ISignal<ITracer, string>;
  readonly state: KernelState;
  readonly place: string;
  readonly inventory: Inventory;
  readonly request: TraceRequest;
  readonly running: boolean;
  readonly message: string;
  readonly report: WireReport | null;
  /** Whether the report is of what failed last. */
  readonly explained: boolean;
  /** Why the report is old; `""`: it is not. */
  readonly old: string;
  readonly alarm: Alarm | null;
  readonly finding: number;
  /** Counts up each time that a problem is asked for, also the one that is shown. */
  readonly asked: number;
  watching: boolean;
  /** Whether a model that a cell has just made is traced at once. */
  autoTrace: boolean;
  /** Whether a line under a traceback says where shapes part. */
  hints: boolean;
  /** Where a failure is explained. */
  explainIn: "panel" | "tab";
  /** Tells whether a view is in sight: nothing is asked of a kernel while none is. */
  look(view: object, seen: boolean): void;
  choose(part: Partial<TraceRequest>): void;
  refresh(): Promise<void>;
  trace(): Promise<void>;
  /** Traces what failed last in the kernel or, given its number, what a cell of that number failed over; the report, where there is one. */
  explain(execution?: number): Promise<WireReport | null>;
  /** Ports a Python file of the kernel's folder from TPUStrategy to Keras on JAX. */
  port(path: string): Promise<{ text: string; left: string[]; said: string } | null>;
  /** Runs a cell that a fix went into and traces what it made, and says what is other than in the report before. */
  again(before: WireReport, mended: Mended): Promise<void>;
  /** Traces once more what a report is of. */
  retrace(report: WireReport): Promise<void>;
  cancel(): Promise<void>;
  /** A cell of the user's wants the kernel: a watched trace that runs ends, and comes again after the cell. */
  makeWay(): void;
  /** Who knows which reports are old. */
  ageBy(age: ILocator["age"]): void;
  /** Moves to a problem by its index; the views follow. */
  show(finding: number): void;
}

export const ITracer = new Token<ITracer>(
  "jupyter_tpushape:ITracer",
  "Traces Keras models of the active kernel and holds the last report.",
);

/** Goes from a report to the code it speaks of. */
export interface ILocator {
  /** Tells, now and whenever it changes, why a report is old (`""`: it is not); gives what ends it. */
  age(report: WireReport, tell: (reason: string) => void): () => void;
  open(location: Location): Promise<void>;
  apply(report: WireReport, finding: number, fix: number): Promise<void>;
}

export const ILocator = new Token<ILocator>("jupyter_tpushape:ILocator", "Opens the code that a report speaks of, and puts fixes into it.");
