// Layout of one level, ours beside dagre and elk, one after the other in one process. Times in ms, the best of three.
//   node benchmarks/view/layout.mjs            ours alone
//   npm install --no-save --prefix out/rivals dagre elkjs && node benchmarks/view/layout.mjs out/rivals
import { createRequire } from "node:module";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

const entry = "export { order } from './order'; export { place } from './place';";
const outfile = join(mkdtempSync(join(tmpdir(), "layout-")), "layout.mjs");
await build({ stdin: { contents: entry, resolveDir: "src/view/layout", loader: "ts" }, bundle: true, format: "esm", outfile });
const { order, place } = await import(pathToFileURL(outfile).href);

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

function ours({ n, from, to }) {
  const level = { count: n, from: Int32Array.from(from), to: Int32Array.from(to), pin: new Int8Array(n), longest: 24 };
  const e = from.length;
  const fill = (size, value) => new Float64Array(size).fill(value);
  place(level, order(level), {
    width: fill(n, 180), height: fill(n, 50), fromOffset: fill(e, 0), toOffset: fill(e, 0), room: fill(e, 0), pull: fill(e, 1),
    apart: 30, gap: 46, portGap: 24, bendWidth: 4, laneWidth: 14,
  }); // prettier-ignore
}

const engines = { ours };
if (process.argv[2]) {
  const require = createRequire(join(resolve(process.argv[2]), "package.json"));
  const dagre = require("dagre");
  const Elk = require("elkjs");
  engines.dagre = ({ n, from, to }) => {
    const g = new dagre.graphlib.Graph().setGraph({}).setDefaultEdgeLabel(() => ({}));
    for (let i = 0; i < n; i++) {
      g.setNode(i, { width: 180, height: 50 });
    }
    from.forEach((a, i) => g.setEdge(a, to[i]));
    dagre.layout(g);
  };
  engines.elk = ({ n, from, to }) =>
    new Elk().layout({
      id: "root",
      layoutOptions: { "elk.algorithm": "layered", "elk.direction": "DOWN" },
      children: Array.from({ length: n }, (_, i) => ({ id: `n${i}`, width: 180, height: 50 })),
      edges: from.map((a, i) => ({ id: `e${i}`, sources: [`n${a}`], targets: [`n${to[i]}`] })),
    });
}

for (const [name, hub] of [
  ["residual chain", false],
  ["one mask hub", true],
]) {
  for (const [engine, run] of Object.entries(engines)) {
    const row = [];
    for (const n of [100, 1000, 5000, 10_000]) {
      // What takes minutes is not waited for.
      if (engine !== "ours" && n > (hub && engine === "dagre" ? 100 : 1000)) {
        row.push("-");
        continue;
      }
      let best = Infinity;
      for (let k = 0; k < (engine === "ours" ? 3 : 1); k++) {
        const start = performance.now();
        await run(graph(n, hub));
        best = Math.min(best, performance.now() - start);
      }
      row.push(best.toFixed(1));
    }
    console.log(`${name.padEnd(16)} ${engine.padEnd(6)} 100 / 1k / 5k / 10k: ${row.join(" / ")} ms`);
  }
}
