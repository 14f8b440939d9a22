/**
 * Prints, as JSON, how many times longer a character takes to read in a text of `TIMES` the length:
 * 1 is linear, `TIMES` quadratic.
 */

import { Window } from "happy-dom";
import { readMarkdown } from "../src/renderers/markdown/bounded";
import { MarkdownStream } from "../src/renderers/markdown/stream";

const SMALL = 8_000;
const TIMES = 8;
const ROUNDS = 5;

const filled = (unit: string, size: number) => unit.repeat(size / unit.length);
const read = (text: string) => readMarkdown(text, {});
const write = (text: string) =>
  new MarkdownStream(document.createElement("div")).update(text, true);

type Case = [make: (size: number) => string, take: (text: string) => unknown];

const repeated = (unit: string): [string, Case] => [unit, [(size) => filled(unit, size), read]];
const address = (begin: string, unit: string): [string, Case] => [
  begin + unit,
  [(size) => `${begin}${filled(unit, size)}@`, read],
];

const CASES: Record<string, Case> = Object.fromEntries([
  repeated("words and\n\n"),
  ...["_a", "*a", "_*a", "**a* ", "a***b", "a|b\n|-\n", "a|b\n-:\nc\n", "a\n-\n"].map(repeated),
  address("http://a", ")"),
  address("http://a", "("),
  address("", "a.b"),
  ["lines without words", [(size) => filled("\n", size), write]],
  ["stars before open bold type", [(size) => `**b ${filled("*", size)} a`, write]],
]);

function quickest([make, take]: Case, size: number): number {
  const text = make(size);
  const times = Array.from({ length: ROUNDS }, () => {
    const start = performance.now();
    take(text);
    return performance.now() - start;
  });
  return Math.min(...times);
}

globalThis.document = new Window().document as unknown as Document;
const growth = Object.entries(CASES).map(([name, each]) => {
  quickest(each, SMALL); // so that neither size is the first to run
  return [name, quickest(each, SMALL * TIMES) / quickest(each, SMALL) / TIMES];
});
console.info(JSON.stringify(Object.fromEntries(growth)));
