/** Arguments as text in the cells of a table, and back. */

import type { Json } from "../protocol";
import { readValue } from "./field";
import { inlineJson } from "./jsontree";

/** What stands in the fields of a row, by argument. */
export type Cells = { readonly [name: string]: string };

/** Writes a value as it stands in a cell. */
export function textOf(value: Json): string {
  return typeof value === "string" ? value : inlineJson(value);
}

/** Writes arguments as they stand in the fields of a row. */
export function written(names: readonly string[], args: { [name: string]: Json }): Cells {
  return Object.fromEntries(
    names.map((name) => {
      const value = args[name];
      return [name, typeof value === "string" ? value : (JSON.stringify(value) ?? "")];
    }),
  );
}

/** Reads the fields of a row: a text stays text, an empty field that was empty stays away. */
export function readCells(cells: Cells, args: { [name: string]: Json }): { [name: string]: Json } {
  const values: { [name: string]: Json } = {};
  for (const [name, text] of Object.entries(cells)) {
    if (!(name in args) && !text) continue;
    values[name] = typeof args[name] === "string" ? text : readValue(text);
  }
  return values;
}
