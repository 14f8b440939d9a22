/// <reference types="vite/client" />
import { describe, expect, it } from "vitest";

const LAYERS = ["protocol", "store", "renderers", "components"];
const SOURCES: Record<string, string> = import.meta.glob("../src/**/*.{ts,tsx}", {
  query: "?raw",
  import: "default",
  eager: true,
});

interface Import {
  readonly file: string;
  readonly target: string;
}

function importsOf([file, text]: [string, string]): Import[] {
  return [...text.matchAll(/from "(\.[^"]+)"/g)].map(([, path]) => ({
    file: pathFrom(file, "."),
    target: pathFrom(file, path as string),
  }));
}

/** Returns a path from the folder of the sources. */
function pathFrom(file: string, path: string): string {
  const base = new URL(file, "file:///test/");
  return new URL(path === "." ? base : path, base).pathname.replace("/src/", "");
}

function layerOf(path: string): number {
  const top = (path.split("/")[0] as string).replace(/\.tsx?$/, "");
  const layer = LAYERS.indexOf(top);
  return layer < 0 ? LAYERS.length : layer;
}

describe("the layers of the front end", () => {
  const imports = Object.entries(SOURCES).flatMap(importsOf);

  it("import downward only: components, renderers, store, protocol", () => {
    const upward = imports.filter(({ file, target }) => layerOf(target) > layerOf(file));
    expect(upward).toEqual([]);
  });

  it("know the store by its index, and nothing behind it", () => {
    const behind = imports.filter(
      ({ file, target }) => layerOf(file) > 1 && target.startsWith("store/"),
    );
    expect(behind).toEqual([]);
  });

  it("make no node from a string of markup and evaluate no text", () => {
    const forbidden =
      /innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|\beval\(|new Function/;
    const found = Object.keys(SOURCES).filter((file) => forbidden.test(SOURCES[file] as string));
    expect(found).toEqual([]);
  });
});
