// Bundles the page into the folder that is named, which the test's Jupyter server then serves.
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";

const FOLDER = process.argv[2];

await build({
  entryPoints: ["page.js"],
  outdir: FOLDER,
  bundle: true,
  format: "iife",
  logLevel: "warning",
  alias: { path: "path-browserify" },
  define: {
    "process.env.NODE_ENV": '"production"',
    global: "window",
    __webpack_public_path__: '""',
  },
  loader: {
    ".eot": "empty",
    ".png": "dataurl",
    ".svg": "dataurl",
    ".ttf": "empty",
    ".woff": "empty",
    ".woff2": "dataurl",
  },
});
await copyFile("index.html", join(FOLDER, "index.html"));
