// Bundles the browser builds that ship inside the Python package: the widget's ESM, which is loaded from a blob address and
// therefore may import nothing, the few lines that fetch it, and the script that the standalone HTML report carries inline.
import { stat } from "node:fs/promises";
import { build, context } from "esbuild";

const LIMIT = 150_000;
const folder = "jupyter_tpushape/static";
// Long names of the view's own, which neither a document nor a browser knows.
const OWN = [
  "bookmarks",
  "chooseQuietly",
  "disagreement",
  "downStart",
  "edgeById",
  "edgeFindings",
  "edgeMarks",
  "edgeSeverity",
  "fillDetails",
  "fromOffset",
  "laneWidth",
  "nodeFindings",
  "nodeSeverity",
  "rowBottom",
  "selectedLine",
  "showOnly",
  "toOffset",
  "touched",
  "viewport",
  "schedule",
  "callbacks",
  "isStage",
  "byItem",
  "rowTop",
  "corners",
  "painted",
  "followed",
  "minimap",
  "fitting",
  "builder",
  "pills",
  "marked",
];
const common = {
  mangleProps: new RegExp(`^(${OWN.join("|")})$`),
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  loader: { ".css": "text", ".svg": "text" },
  logLevel: "warning",
};
const bundles = [
  { ...common, entryPoints: ["src/widget.ts"], format: "esm", outfile: `${folder}/widget.js` },
  { ...common, entryPoints: ["src/loader.ts"], format: "esm", outfile: `${folder}/loader.js` },
  {
    ...common,
    entryPoints: ["src/view/index.ts"],
    format: "iife",
    globalName: "tpushape",
    outfile: `${folder}/report.js`,
  },
];

if (process.argv.includes("--watch")) {
  for (const options of bundles) {
    const watcher = await context({ ...options, logLevel: "info" });
    await watcher.watch();
  }
} else {
  for (const options of bundles) {
    await build(options);
    const { size } = await stat(options.outfile);
    if (size > LIMIT) {
      throw new Error(`${options.outfile} has ${size} bytes; the budget is ${LIMIT}.`);
    }
    console.log(`${options.outfile}  ${size} bytes`);
  }
}
