/** Flows for the tests: made from a seed, so that a failure can be made again. */

import type { Severity, WireEdge, WireNode, WireReport } from "../wire";

/** Numbers in [0, 1) from a seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export function report(nodes: WireNode[], edges: WireEdge[], more: Partial<WireReport> = {}): WireReport {
  const specs = [{ shape: [8, 28, 28, 1], dtype: "float32", axes: ["batch", "rows", "columns", "channels"] }];
  const weights = [{ name: "kernel", shape: [3, 3, 1, 32], dtype: "float32", copies: 8 }];
  const placements = [{ shapes: [[8, 26, 26, 32]] }];
  const devices = Array.from({ length: 8 }, (_, i) => `TPU:${i}`);
  const flow = { nodes, edges, specs, weights, placements, devices, framework: "keras 3" };
  return { version: 1, title: "a flow", summary: "No problems found", ok: true, flow, findings: [], ...more };
}

export function node(id: string, op = "Dense", more: Partial<WireNode> = {}): WireNode {
  return { id, name: id, kind: "layer", op, ...more };
}

export function edge(source: string, target: string, more: Partial<WireEdge> = {}): WireEdge {
  return { id: `${source}>${target}`, source, target, spec: 0, ...more };
}

/** A flow with branches, skips, composites in composites, and a hub; composites are left for good, as calls are. */
export function wild(seed: number, size = 60): WireReport {
  const next = seeded(seed);
  const nodes: WireNode[] = [];
  const edges: WireEdge[] = [];
  const within: string[] = [];
  const leaves: string[] = [];
  for (let i = 0; i < size; i++) {
    const parent = within.length ? { parent: within[within.length - 1]! } : {};
    if (i && next() < 0.12 && within.length < 3) {
      nodes.push(node(`c${i}`, "Block", parent));
      within.push(`c${i}`);
      continue;
    }
    const id = `n${i}`;
    nodes.push(node(id, "Dense", parent));
    const reads = new Set<string>();
    for (let k = 0; leaves.length && k < 1 + Math.floor(next() * 2.4); k++) {
      const back = 1 + Math.floor(next() * (next() < 0.75 ? 3 : leaves.length));
      reads.add(leaves[Math.max(0, leaves.length - back)]!);
    }
    if (leaves.length && next() < 0.2) {
      reads.add(leaves[0]!);
    }
    edges.push(...[...reads].map((source) => edge(source, id)));
    leaves.push(id);
    if (within.length && next() < 0.2) {
      within.pop();
    }
  }
  return report(nodes, edges);
}

/** A chain with a residual every five layers. */
export function chain(size: number): WireReport {
  const nodes = [node("n0", "InputLayer", { kind: "input" })];
  const edges: WireEdge[] = [];
  const kinds = ["Conv2D", "BatchNormalization", "ReLU", "Conv2D", "Add"];
  for (let i = 1; i < size; i++) {
    nodes.push(node(`n${i}`, kinds[(i - 1) % 5]));
    edges.push(edge(`n${i - 1}`, `n${i}`));
    if (i % 5 === 0 && i > 5) {
      edges.push(edge(`n${i - 5}`, `n${i}`));
    }
  }
  return report(nodes, edges);
}

/** Conv2D into LSTM: a finding with two fixes. */
export function broken(severity: Severity = "error"): WireReport {
  return report(
    [
      node("slices", "TensorSlice", { kind: "stage" }),
      node("batch", "Batch", { kind: "stage" }),
      node("split", "", { kind: "split" }),
      node("model", "Sequential"),
      node("conv2d", "Conv2D", { parent: "model", config: { filters: 32, kernel_size: [3, 3] }, weights: [0], params: 320 }),
      node("lstm", "LSTM", { parent: "model", status: "failed", failure: { type: "ValueError", message: "expected ndim=3" } }),
      node("dense", "Dense", { parent: "model", status: "not-reached" }),
    ],
    [
      edge("slices", "batch"),
      edge("batch", "split"),
      edge("split", "conv2d"),
      edge("conv2d", "lstm", { status: "failed", placement: 0 }),
      edge("lstm", "dense", { status: "not-reached" }),
    ],
    {
      summary: "1 problem · fails",
      ok: false,
      target: { name: "v5e-8", replicas: 8 },
      findings: [
        {
          rule: "rank.recurrent",
          severity,
          message: "lstm cannot take what conv2d gives",
          why: "An LSTM reads a sequence of vectors.",
          expected: { text: "(batch, time, features)", axes: ["batch", "time", "features"], differs: [1, 2] },
          found: { text: "(8, 26, 26, 32)", axes: ["8", "26", "26", "32"], differs: [2, 3] },
          nodes: ["conv2d", "lstm"],
          edges: ["conv2d>lstm"],
          location: { file: "<cell>", line: 4, execution: 4 },
          rejected: ["Flatten gives rank 2"],
          fixes: [
            {
              title: "Read the rows as time steps",
              verified: true,
              proof: "source",
              effect: { before: [8, 26, 26, 32], after: [8, 26, 832], parameters: 229632 },
              patch: "--- In[4]\n+++ In[4]\n@@ -3,2 +3,3 @@\n Conv2D(32, 3),\n+Reshape((26, 832)),\n LSTM(64),\n",
            },
            { title: "Say nothing of time", patch: "+Flatten(),\n", reason: "fails: rank 2" },
          ],
        },
      ],
    },
  );
}
