// Bundles the browser builds that ship inside the Python package: the view's script, which a standalone report carries inline and
// a widget loads from a blob address, so that it may import nothing, and the few lines that fetch it.
import { readFile, stat, writeFile } from "node:fs/promises";
import { rspack } from "@rspack/core";
import { build, context } from "esbuild";
import { ownNames } from "./names.mjs";

const LIMIT = 150_000;
const folder = "jupyter_tpushape/static";
const common = {
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  loader: { ".css": "text", ".svg": "text" },
  logLevel: "warning",
};
const bundles = [
  {
    ...common,
    entryPoints: ["src/widget.ts"],
    format: "iife",
    globalName: "tpushape",
    outfile: `${folder}/view.js`,
    mangleProps: new RegExp(`^(${ownNames("src/view", ["wire.ts", "index.ts", "charts.ts"]).join("|")})$`),
  },
  { ...common, entryPoints: ["src/loader.ts"], format: "esm", outfile: `${folder}/loader.js` },
];

if (process.argv.includes("--watch")) {
  for (const options of bundles) {
    const watcher = await context({ ...options, logLevel: "info" });
    await watcher.watch();
  }
} else {
  for (const options of bundles) {
    await build(options);
    // Property names are esbuild's to shorten; what swc drops and joins after it is a twentieth of what a browser loads.
    const { code } = await rspack.experiments.swc.minify(await readFile(options.outfile, "utf8"), {
      compress: { passes: 3 },
      ecma: 2022,
      format: { comments: false },
      mangle: true,
      module: options.format === "esm",
    });
    await writeFile(options.outfile, code);
    const { size } = await stat(options.outfile);
    if (size > LIMIT) {
      throw new Error(`${options.outfile} has ${size} bytes; the budget is ${LIMIT}.`);
    }
    console.log(`${options.outfile}  ${size} bytes`);
  }
}
