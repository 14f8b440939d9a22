// Bundles the page into build/, which the test's Jupyter server then serves.
import { copyFile } from "node:fs/promises";
import { build } from "esbuild";

await build({
  entryPoints: ["page.js"],
  outdir: "build",
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
await copyFile("index.html", "build/index.html");
