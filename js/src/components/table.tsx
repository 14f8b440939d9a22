/** A table of values, drawn from the values themselves. */

import type { Table } from "../renderers/mime";

/** Shows a page of rows; numbers stand to the right, and what is left out is said below. */
export function DataTable({ table }: { table: Table }) {
  return (
    <figure class="data-table">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard */}
      <div class="data-scroll" tabIndex={0}>
        <table>
          <thead>
            <tr>
              {table.columns.map((name, index) => (
                <th key={String(index)} scope="col" class={isNumeric(table, index) ? "number" : ""}>
                  {String(name)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {table.rows.map((row, place) => (
              <tr key={String(place)}>
                {row.map((cell, index) => (
                  <td key={String(index)} class={isNumeric(table, index) ? "number" : ""}>
                    {written(cell)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {table.note ? <figcaption>{table.note}</figcaption> : null}
    </figure>
  );
}

function isNumeric(table: Table, index: number): boolean {
  const cells = table.rows.map((row) => row[index]).filter((cell) => cell !== null);
  return cells.length > 0 && cells.every((cell) => typeof cell === "number");
}

function written(cell: unknown): string {
  if (cell === null || cell === undefined) return "";
  return typeof cell === "object" ? JSON.stringify(cell) : String(cell);
}
