// Generated from schema/report.schema.json by `make types`. Do not edit. Fields with a default may be absent.

export type NodeKind = "input" | "layer" | "loss" | "metric" | "op" | "output" | "split" | "stage";
export type Status = "failed" | "not-reached" | "ok";
export type Severity = "error" | "note" | "silent" | "slow" | "tpu";
export type EditKind = "batching" | "data-transform" | "input-shape" | "insert-layer" | "label-transform" | "layer-config" | "loss" | "replace-layer" | "replace-op" | "strategy";
export type Shape = (number | null)[] | null;
export type Family = "" | "activation" | "attention" | "convolution" | "dense" | "embedding" | "light" | "merge" | "normalization" | "op" | "other" | "own" | "recurrent" | "shape";

/** The whole document. */
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

/**
 * A node. ``weights`` are indices into the flow's ``weights``, ``location`` and ``called`` into its ``locations``; -1: unknown.
 *
 * ``family`` is there only where it differs from what the flow's ``families`` say of its ``op``.
 */
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

/**
 * The error that the framework raised in a node.
 *
 * ``where`` is the phase: ``data``, ``build``, ``call``, ``loss``, ``metric`` or ``step``.
 * ``inner`` names the innermost object that raised (a cell, an op), if it is not the node itself.
 */
export interface Failure {
  type: string;
  message: string;
  where?: "build" | "call" | "data" | "loss" | "metric" | "step";
  inner?: string;
}

/** An edge. ``spec`` and ``placement`` are indices into the tables; -1: no replicas. */
export interface WireEdge {
  id: string;
  source: string;
  target: string;
  spec: number;
  status?: Status;
  placement?: number;
  label?: string;
}

/**
 * Shape and dtype of one tensor.
 *
 * ``shape`` has one entry per axis, an int or ``None`` if it is unknown; ``shape`` itself is
 * ``None`` if the rank is unknown. ``dtype`` is a framework-neutral name such as
 * ``"float32"``. ``axes`` names each axis (``"batch"``, ``"time"``, ...) if known.
 */
export interface Spec {
  shape: Shape;
  dtype: string;
  kind?: "dense" | "ragged" | "sparse";
  axes?: string[];
}

/**
 * One variable of a layer. ``copies`` is the number of its replicas on the target (1 without a target).
 *
 * On a mesh, ``layout`` names the mesh axis for each axis (``""``: replicated; empty: unknown), and ``shard``
 * is the shape on one device.
 */
export interface Weight {
  name: string;
  shape: Shape;
  dtype: string;
  trainable?: boolean;
  copies?: number;
  layout?: string[];
  shard?: Shape;
}

/**
 * What every replica holds of a tensor: ``shapes[i]`` on ``devices[i]`` of the document.
 *
 * Where all replicas hold the same shape it is given once. ``layout``: the mesh's axis that each axis lies along.
 */
export interface WirePlacement {
  shapes: Shape[];
  layout?: string[];
}

/**
 * A line of the user's source, in a file or a notebook cell.
 *
 * ``cell`` is the cell's id if the kernel reports it, and ``execution`` its ``In[n]`` number.
 * ``line`` starts at 1 in the file or the cell.
 */
export interface Location {
  file: string;
  line: number;
  cell?: string;
  execution?: number;
  text?: string;
}

/**
 * One problem or note.
 *
 * A rule creates it from a :class:`Fact` (:meth:`of`), and code that decides or compares reads only :attr:`fact`. ``message``,
 * ``why``, ``expected`` and ``found`` are the words for views; they are part of the JSON document, but the fact is not.
 */
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

/**
 * One side of a disagreement: words, and where it is a shape, its axes.
 *
 * ``axes`` holds the axes as shown, ``differs`` the indices of those that differ from the other side.
 */
export interface Side {
  text: string;
  axes?: string[];
  differs?: number[];
}

/**
 * One or more edits, in order.
 *
 * ``verified``: the program with the edits was traced up to the loss, and no serious problem is left. ``mends``: the edits remove
 * their finding. ``then``: the rules of the problems that come next, if the fix removes only its own finding.
 * ``proof``: ``"source"`` if the text of ``patch`` was run, ``"live"`` if the program was rebuilt with the
 * edits because there is no source to patch, ``""`` if nothing was tried.
 */
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
}

/** One change. ``target`` names the node, edge or stage; ``detail`` contains plain values. */
export interface Edit {
  kind: EditKind;
  target: string;
  detail?: Record<string, unknown>;
}

/** The effect of a fix: a tensor's shape before and after, and the number of added parameters. */
export interface Effect {
  before?: Shape;
  after?: Shape;
  output?: Shape;
  parameters?: number;
  text?: string;
}

/**
 * How the traced flow with a fix differs from the flow without it.
 *
 * ``nodes`` are new or replace the node with the same id; so do ``edges``. ``gone`` lists the ids of removed
 * nodes and edges. Everything else is unchanged and reached.
 */
export interface After {
  nodes?: Node[];
  edges?: AfterEdge[];
  specs?: Spec[];
  gone?: string[];
}

/**
 * One node of the program. ``location`` is the line that created it, ``called`` the line that called it.
 *
 * ``path`` of an input or an output is its key path in the data or in the outputs.
 */
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

/**
 * A tensor that a fix changes or adds. ``spec`` is an index into the specs of :class:`After`.
 *
 * ``even``: every replica has this shape.
 */
export interface AfterEdge {
  id: string;
  source: string;
  target: string;
  spec: number;
  label?: string;
  even?: boolean;
}

/** The TPU slice to plan for, or the devices of a live strategy. ``mesh``: its axes with their sizes, if it has any. */
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

/** One axis of a device mesh: its name and its number of devices. */
export interface MeshAxis {
  name: string;
  size: number;
}

/**
 * What a compiler said of one program (``forward``, ``train`` or ``predict``). Sizes in bytes.
 *
 * ``moved``: bytes that its operations read and write, as the compiler counts them; ``intensity``: ``flops / moved``, an estimate.
 * ``unmapped``: what of the whole is given to no layer; ``tried``: the batches that were compiled, by their rows: this one, and
 * others where they were asked for. ``devices``: for how many devices one program was cut, 1 where each runs its own replica's; then
 * ``collectives`` is what they exchange, and all sizes are of one device.
 */
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

/**
 * Bytes that the compiler gave to one node's tensors, as laid out and as counted by shape.
 *
 * ``temporaries`` of ``bytes`` are tensors of the program's own at the moment when they take most.
 */
export interface LayerMemory {
  node: string;
  name: string;
  bytes: number;
  logical?: number;
  temporaries?: number;
}

/**
 * One tensor in the core's memory: its shape, and ``padded`` with every tile filled. ``node`` is ``""`` where it is no layer's.
 *
 * ``kind``: ``argument`` (data, a variable, an optimizer's slot) or ``temporary`` (alive when temporaries take most).
 */
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

/**
 * One batch that was compiled: ``rows`` on one core, whether they fit, and the ``bytes`` that the program takes with them.
 *
 * Where they do not fit, ``bytes`` is what the compiler says it lacks room for, or 0 where it does not say. ``run``: with what a run keeps
 * beside the program (batches on their way to the device, room for gaps), an estimate.
 */
export interface Tried {
  rows: number;
  fits: boolean;
  bytes?: number;
  effort?: string;
  run?: number;
}

/**
 * Exchanges of one ``kind`` (``all-reduce``, ``all-gather``, ...) that the compiler put into a program at one node, per step.
 *
 * ``count`` of them, ``bytes`` of tensors in all; ``sent`` by each device, in rings of ``group`` devices. ``node`` is ``""`` where it is
 * no layer's. ``least``: a loop turns an unknown number of times, and one turn is counted.
 */
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

/**
 * What a report is of, as the user called it, and when and where it was asked for; ``""`` where that is not known.
 *
 * ``when``: local time in ISO 8601. ``cell`` and ``execution``: the notebook's cell that asked or, for one asked from outside, that ran
 * last. ``kernel``: changes when a kernel restarts. ``explains``: it is of an error that was raised, for which no data and no target were chosen.
 */
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

/** Numbers that the user lays over the picture: ``values`` by node id, ``unit`` as it is written behind them. */
export interface Overlay {
  name: string;
  values: Record<string, number>;
  unit?: string;
}

/**
 * How the program of this document differs from another. The flow then holds both: what only the other has is marked as removed.
 *
 * ``before`` and ``after`` name the two; ``nodes`` and ``edges`` are marks by id, ``totals`` changes of the whole, ``same`` the number of
 * layers that are alike.
 */
export interface Difference {
  before: string;
  after: string;
  nodes?: Record<string, Mark>;
  edges?: Record<string, Mark>;
  totals?: Change[];
  same?: number;
}

/** What became of a node or an edge. ``was``: its name in the program before, where that is another. */
export interface Mark {
  state: "added" | "changed" | "removed";
  changes?: Change[];
  was?: string;
}

/** One thing that two programs have otherwise: what it is, and its values as they are said. */
export interface Change {
  what: string;
  before: string;
  after: string;
}
