import { readFile } from "node:fs/promises";
import { defineConfig } from "vitest/config";

const styles = {
  name: "styles",
  enforce: "pre" as const,
  async load(id: string) {
    if (!id.endsWith(".css")) return null;
    return `export default ${JSON.stringify(await readFile(id, "utf8"))}`;
  },
};

export default defineConfig({
  plugins: [styles],
  test: {
    environment: "happy-dom",
    include: ["test/**/*.test.{ts,tsx}"],
    pool: "vmForks", // each file has globals of its own, and not a new process for them
    testTimeout: 20_000, // two busy cores may need longer than the usual five seconds
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
