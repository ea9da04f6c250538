// Generated from schema/report.schema.json, which describes each type, by `make types`. Do not edit. Fields with a default may be absent.

export type NodeKind = "input" | "layer" | "loss" | "metric" | "op" | "output" | "split" | "stage";
export type Status = "failed" | "not-reached" | "ok";
export type Severity = "error" | "note" | "silent" | "slow" | "tpu";
export type EditKind = "batching" | "data-transform" | "input-shape" | "insert-layer" | "label-transform" | "layer-config" | "loss" | "replace-layer" | "replace-op" | "strategy";
export type Shape = (number | null)[] | null;
export type Family = "" | "activation" | "attention" | "convolution" | "dense" | "embedding" | "light" | "merge" | "normalization" | "op" | "other" | "own" | "recurrent" | "shape";

export interface WireReport {
  version: number;
  title: string;
  summary: string;
  ok: boolean;
  flow: WireFlow;
  findings: Finding[];
  target?: Target | null;
  verdicts?: Verdict[];
  tool?: string;
  seconds?: number;
  limits?: string[];
  about?: About;
  overlays?: Overlay[];
  difference?: Difference | null;
}

export interface WireFlow {
  nodes: WireNode[];
  edges: WireEdge[];
  specs: Spec[];
  weights?: Weight[];
  placements?: WirePlacement[];
  devices?: string[];
  locations?: Location[];
  framework?: string;
  facts?: Record<string, unknown>;
  families?: Record<string, Family>;
}

export interface WireNode {
  id: string;
  name: string;
  kind: NodeKind;
  op: string;
  parent?: string;
  status?: Status;
  location?: number;
  called?: number;
  config?: Record<string, unknown>;
  weights?: number[];
  params?: number;
  failure?: Failure | null;
  note?: string;
  path?: (string | number)[];
  family?: Family | null;
}

export interface Failure {
  type: string;
  message: string;
  where?: "build" | "call" | "data" | "loss" | "metric" | "step";
  inner?: string;
}

export interface WireEdge {
  id: string;
  source: string;
  target: string;
  spec: number;
  status?: Status;
  placement?: number;
  label?: string;
}

export interface Spec {
  shape: Shape;
  dtype: string;
  kind?: "dense" | "ragged" | "sparse";
  axes?: string[];
}

export interface Weight {
  name: string;
  shape: Shape;
  dtype: string;
  trainable?: boolean;
  copies?: number;
  layout?: string[];
  shard?: Shape;
}

export interface WirePlacement {
  shapes: Shape[];
  layout?: string[];
}

export interface Location {
  file: string;
  line: number;
  cell?: string;
  execution?: number;
  text?: string;
}

export interface Finding {
  rule: string;
  severity: Severity;
  message: string;
  why?: string;
  expected?: Side | null;
  found?: Side | null;
  nodes?: string[];
  edges?: string[];
  location?: Location | null;
  fixes?: Fix[];
  rejected?: string[];
  docs?: string;
  behind?: string;
}

export interface Side {
  text: string;
  axes?: string[];
  differs?: number[];
}

export interface Fix {
  title: string;
  edits?: Edit[];
  verified?: boolean;
  effect?: Effect | null;
  patch?: string;
  reason?: string;
  cell?: string;
  file?: string;
  after?: After | null;
  proof?: "" | "live" | "source";
  mends?: boolean;
  then?: string[];
  also?: Patch[];
  execution?: number;
}

export interface Edit {
  kind: EditKind;
  target: string;
  detail?: Record<string, unknown>;
}

export interface Effect {
  before?: Shape;
  after?: Shape;
  output?: Shape;
  parameters?: number;
  text?: string;
}

export interface After {
  nodes?: Node[];
  edges?: AfterEdge[];
  specs?: Spec[];
  gone?: string[];
}

export interface Node {
  id: string;
  name: string;
  kind: NodeKind;
  op: string;
  parent?: string;
  status?: Status;
  location?: Location | null;
  called?: Location | null;
  config?: Record<string, unknown>;
  weights?: Weight[];
  params?: number;
  failure?: Failure | null;
  note?: string;
  path?: (string | number)[];
  family?: Family;
}

export interface AfterEdge {
  id: string;
  source: string;
  target: string;
  spec: number;
  label?: string;
  even?: boolean;
}

export interface Patch {
  patch: string;
  cell?: string;
  file?: string;
  execution?: number;
}

export interface Target {
  name: string;
  replicas: number;
  hosts?: number;
  generation?: string;
  hbm_bytes?: number;
  strategy?: string;
  live?: boolean;
  mesh?: MeshAxis[];
}

export interface MeshAxis {
  name: string;
  size: number;
}

export interface Verdict {
  program: string;
  compiler: string;
  ok: boolean;
  target?: string;
  message?: string;
  seconds?: number;
  effort?: string;
  cached?: boolean;
  hbm_bytes?: number;
  arguments?: number;
  outputs?: number;
  temporaries?: number;
  code?: number;
  flops?: number;
  moved?: number;
  intensity?: number;
  layers?: LayerMemory[];
  buffers?: Buffer[];
  unmapped?: number;
  tried?: Tried[];
  versions?: string;
  devices?: number;
  collectives?: Collective[];
}

export interface LayerMemory {
  node: string;
  name: string;
  bytes: number;
  logical?: number;
  temporaries?: number;
}

export interface Buffer {
  name: string;
  kind: string;
  dtype: string;
  shape: number[];
  padded: number[];
  bytes: number;
  logical: number;
  node?: string;
}

export interface Tried {
  rows: number;
  fits: boolean;
  bytes?: number;
  effort?: string;
  run?: number;
}

export interface Collective {
  kind: string;
  node: string;
  name: string;
  count: number;
  bytes: number;
  sent: number;
  group: number;
  least?: boolean;
}

export interface About {
  model?: string;
  data?: string;
  backend?: string;
  when?: string;
  cell?: string;
  execution?: number;
  kernel?: string;
  explains?: boolean;
}

export interface Overlay {
  name: string;
  values: Record<string, number>;
  unit?: string;
}

export interface Difference {
  before: string;
  after: string;
  nodes?: Record<string, Mark>;
  edges?: Record<string, Mark>;
  totals?: Change[];
  same?: number;
}

export interface Mark {
  state: "added" | "changed" | "removed";
  changes?: Change[];
  was?: string;
}

export interface Change {
  what: string;
  before: string;
  after: string;
}
