// The layout of one level by three engines, for layout.py, which bundles this and runs it in a browser.
import dagre from "@dagrejs/dagre";
import Elk from "elkjs/lib/elk.bundled.js";

import { order } from "../../src/view/layout/order";
import { place } from "../../src/view/layout/place";

/** A ResNet-like chain, or a transformer whose every block reads one mask. */
function graph(n, hub) {
  const from = [];
  const to = [];
  for (let i = 1; i < n; i++) {
    from.push(i - 1);
    to.push(i);
    if (i % 5 === 0 && i > 5) {
      from.push(i - 5);
      to.push(i);
    }
    if (hub && i % 10 === 0) {
      from.push(0);
      to.push(i);
    }
  }
  return { n, from, to };
}

const engines = {
  ours({ n, from, to }) {
    const level = { count: n, from: Int32Array.from(from), to: Int32Array.from(to), pin: new Int8Array(n), longest: 24 };
    const e = from.length;
    const fill = (size, value) => new Float64Array(size).fill(value);
    place(level, order(level), {
      width: fill(n, 180), height: fill(n, 50), fromOffset: fill(e, 0), toOffset: fill(e, 0), room: fill(e, 0), pull: fill(e, 1),
      apart: 30, gap: 46, portGap: 24, bendWidth: 4, laneWidth: 14,
    }); // prettier-ignore
  },
  dagre({ n, from, to }) {
    const g = new dagre.graphlib.Graph().setGraph({}).setDefaultEdgeLabel(() => ({}));
    for (let i = 0; i < n; i++) {
      g.setNode(String(i), { width: 180, height: 50 });
    }
    from.forEach((a, i) => g.setEdge(String(a), String(to[i])));
    dagre.layout(g);
  },
  elk({ n, from, to }) {
    return new Elk().layout({
      id: "root",
      layoutOptions: { "elk.algorithm": "layered", "elk.direction": "DOWN" },
      children: Array.from({ length: n }, (_, i) => ({ id: `n${i}`, width: 180, height: 50 })),
      edges: from.map((a, i) => ({ id: `e${i}`, sources: [`n${a}`], targets: [`n${to[i]}`] })),
    });
  },
};

/** Milliseconds that an engine takes for a graph of `n` nodes, the best of `times`. */
export async function run(engine, hub, n, times) {
  let best = Infinity;
  for (let k = 0; k < times; k++) {
    const start = performance.now();
    await engines[engine](graph(n, hub));
    best = Math.min(best, performance.now() - start);
  }
  return best;
}
