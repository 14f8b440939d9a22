/** A JSON value as a tree that opens where one looks. */

import { useState } from "preact/hooks";
import type { Json } from "../protocol";
import { isRecord } from "../store";
import { LongText, Plain } from "./plain";

/** How many entries of a list are shown at first. */
const PAGE = 100;

/** A value; objects and lists can be opened, and are to begin with down to `open` levels. */
export function JsonTree({ value, open = 1 }: { value: Json; open?: number }) {
  if (Array.isArray(value) || isRecord(value)) return <Branch value={value} open={open} />;
  return <Scalar value={value} />;
}

/** A string, number, boolean or null, in its JSON form. */
export function Scalar({ value }: { value: Json }) {
  if (typeof value === "string") {
    return (
      <span class="json-text">
        "<LongText text={value} />"
      </span>
    );
  }
  return <span class="json-word">{numberText(value)}</span>;
}

/** Writes a number; beyond 2^53 a browser does not know every digit, which is said. */
export function numberText(value: Json): string {
  const inexact = Number.isInteger(value) && !Number.isSafeInteger(value);
  return inexact ? `≈ ${String(value)}` : String(value);
}

/** Writes a short JSON value on one line. */
export function inlineJson(value: Json): string {
  if (typeof value === "number") return numberText(value);
  return JSON.stringify(value) ?? "null";
}

function Branch({ value, open }: { value: Json[] | { [key: string]: Json }; open: number }) {
  const [isOpen, setOpen] = useState(open > 0);
  const entries = Object.entries(value);
  const summary = Array.isArray(value)
    ? `[${count(entries.length, "item")}]`
    : `{${count(entries.length, "key")}}`;
  if (!entries.length) return <span class="json-word">{Array.isArray(value) ? "[]" : "{}"}</span>;
  return (
    <details class="json" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen && <Entries entries={entries} open={open - 1} />}
    </details>
  );
}

function Entries({ entries, open }: { entries: [string, Json][]; open: number }) {
  const [shown, setShown] = useState(PAGE);
  return (
    <ul>
      {entries.slice(0, shown).map(([name, item]) => (
        <li key={name}>
          <span class="json-key">
            <Plain text={name} />:
          </span>
          <JsonTree value={item} open={open} />
        </li>
      ))}
      {shown < entries.length && (
        <li>
          <button type="button" class="more" onClick={() => setShown(shown + 10 * PAGE)}>
            Show more of {entries.length.toLocaleString("en")}
          </button>
        </li>
      )}
    </ul>
  );
}

function count(number: number, word: string): string {
  return `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
}
