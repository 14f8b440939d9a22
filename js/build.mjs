// Builds what ships, nbtools/static/{stub,runtime}.js; with --dev also the page in js/build/dev.
// `--into <folder>` builds what ships into another folder.
// The output depends on the sources alone: no hashes, no dates, no paths.

import { copyFile, mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build, transform } from "esbuild";

const HERE = dirname(fileURLToPath(import.meta.url));
const { values: options } = parseArgs({
  options: {
    dev: { type: "boolean" },
    into: { type: "string", default: join(HERE, "..", "nbtools", "static") },
  },
});

const styles = {
  name: "styles",
  setup(builder) {
    builder.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const css = await readFile(path, "utf8");
      const { code } = await transform(css, { loader: "css", minify: true, target: TARGET });
      return { contents: code.trim(), loader: "text" };
    });
  },
};

const TARGET = ["chrome111", "firefox113", "safari16.4"];
const OPTIONS = {
  absWorkingDir: HERE,
  bundle: true,
  charset: "utf8",
  format: "esm",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  logLevel: "warning",
  minify: true,
  plugins: [styles],
  target: TARGET,
};
const LICENCES = "/* nbtools; holds preact and marked, both under the MIT licence */";

await build({ ...OPTIONS, entryPoints: ["src/stub.ts"], outfile: join(options.into, "stub.js") });
await build({
  ...OPTIONS,
  banner: { js: LICENCES },
  entryPoints: ["src/runtime.tsx"],
  outfile: join(options.into, "runtime.js"),
});

if (options.dev) {
  const target = join(HERE, "build", "dev");
  await mkdir(target, { recursive: true });
  await build({ ...OPTIONS, minify: false, entryPoints: ["dev/page.ts"], outdir: target });
  await copyFile(join(HERE, "dev", "index.html"), join(target, "index.html"));
}
