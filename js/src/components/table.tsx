/** A table of values, drawn from the values themselves, a page of its rows and columns at a time. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { TablePage } from "../protocol";
import { isTable } from "../renderers/mime";
import { CommandStatus } from "./controls";
import { Pager, type Steps } from "./pager";
import { Plain } from "./plain";
import { useHere, useView } from "./view";

/** Shows some rows of a table; which ones is this view's own affair. */
export function DataTable({ table }: { table: TablePage }) {
  const here = useHere();
  const box = useRef<HTMLDivElement>(null);
  const { page, asking, said, subject, look } = usePage(table);
  useLayoutEffect(() => {
    box.current?.scrollTo(0, 0);
  }, [page]);
  const go = (place: Place) => {
    const { current } = box;
    if (current) current.style.minHeight = `${current.offsetHeight}px`; // a last page may be short
    void look(place);
  };
  const pager = { disabled: asking, live: here && table.call !== undefined };
  return (
    <figure class="data-table">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard */}
      <div ref={box} class="data-scroll" tabIndex={0}>
        <Rows page={page} />
      </div>
      <figcaption>
        <div class="pages">
          {isWhole(page) && page.note}
          <Pager {...pager} steps={rowSteps(table, page)} onGo={(start) => go({ start })} />
          <Pager {...pager} steps={columnSteps(table, page)} onGo={(column) => go({ column })} />
          {said && <CommandStatus subject={subject} />}
        </div>
        {page.whole && <Plain text={page.whole} />}
      </figcaption>
    </figure>
  );
}

interface Place {
  readonly start?: number;
  readonly column?: number;
}

let views = 0;

/** The page that is looked at, and the way to others; where none comes, it stays. */
function usePage(table: TablePage) {
  const { store } = useView();
  const [other, setOther] = useState<TablePage>();
  const [asking, setAsking] = useState(false);
  const [subject] = useState(() => `rows:${++views}`);
  const page = other?.call === table.call && other ? other : table;
  const look = async (place: Place) => {
    setAsking(true);
    const { start = 0, column = 0, call = "" } = { ...page, ...place };
    const found = await store.ask({ command: "rows", call, start, column }, subject);
    if (isTable(found)) setOther(found);
    setAsking(false);
  };
  const said = !asking || store.presence.state === "busy"; // a short wait needs no words
  return { page, asking, said, subject, look };
}

function rowSteps(first: TablePage, page: TablePage): Steps {
  const { start = 0, rows, shape } = page;
  return {
    what: "rows",
    before: start,
    shown: rows.length,
    step: first.rows.length,
    all: shape?.[0],
  };
}

function columnSteps(first: TablePage, page: TablePage): Steps {
  const { column = 0, shape } = page;
  const [shown, step] = [width(page), width(first)];
  return { what: "columns", before: column, shown, step, all: shape?.[1] };
}

function width({ columns, indexed }: TablePage): number {
  return columns.length - (indexed ? 1 : 0);
}

function isWhole(page: TablePage): boolean {
  const [rows = 0, columns = 0] = page.shape ?? [];
  return page.rows.length >= rows && width(page) >= columns;
}

function Rows({ page }: { page: TablePage }) {
  const { columns, rows, indexed = false } = page;
  const kinds = columns.map((_, place) => kindOf(rows.map((row) => row[place])));
  return (
    <table>
      <thead>
        <tr>
          {columns.map((name, place) => (
            <th key={String(place)} scope="col" class={kinds[place]}>
              {written(name)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, line) => (
          <tr key={String(line)}>
            {row.map((cell, place) =>
              indexed && place === 0 ? (
                <th key="index" scope="row" class={kinds[place]}>
                  {written(cell)}
                </th>
              ) : (
                <td key={String(place)} class={kinds[place]}>
                  {written(cell)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** How many characters stand on one line, however narrow the table is. */
const ONE_LINE = 32;

/** How the cells of a column are set: numbers to the right, short texts on one line. */
function kindOf(cells: readonly unknown[]): "number" | "short" | "long" {
  const known = cells.filter((cell) => cell !== null);
  if (known.length && known.every((cell) => typeof cell === "number")) return "number";
  return known.every((cell) => written(cell).length <= ONE_LINE) ? "short" : "long";
}

function written(cell: unknown): string {
  if (cell === null || cell === undefined) return "";
  return typeof cell === "object" ? JSON.stringify(cell) : String(cell);
}
