/** JSON that is still arriving: each character is read once, and a value is there all the time. */

import type { Json } from "../protocol";

type Container = Json[] | { [key: string]: Json };
type Mode =
  | "value"
  | "key"
  | "colon"
  | "comma"
  | "string"
  | "keystring"
  | "word"
  | "done"
  | "broken";

interface Level {
  readonly container: Container;
  key: string;
}

const BLANK = /\s/;
const SIMPLE_ESCAPES: Record<string, string> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/**
 * A push parser for one JSON value.
 *
 * Objects and arrays grow in place; an unfinished string is in the value as far as it came, an
 * unfinished key, number or word is not. Text that is not JSON stops it: `broken` is true then,
 * and the value stays as it was.
 */
export class PartialJson {
  /** What could be read so far; undefined before the first value begins. */
  value: Json | undefined;
  #mode: Mode = "value";
  #text = "";
  #escape = "";
  readonly #stack: Level[] = [];

  /** Whether the text turned out not to be JSON. */
  get broken(): boolean {
    return this.#mode === "broken";
  }

  /** Whether the value is complete. */
  get done(): boolean {
    return this.#mode === "done";
  }

  /** Reads more text. */
  feed(chunk: string): void {
    let at = 0;
    while (at < chunk.length && this.#mode !== "broken") at = this.#step(chunk, at);
    if (this.#mode === "string") this.#put(this.#text);
  }

  #step(chunk: string, at: number): number {
    if (this.#mode === "string" || this.#mode === "keystring") return this.#inString(chunk, at);
    const character = chunk[at] as string;
    if (this.#mode === "word") return this.#inWord(character, at);
    if (!BLANK.test(character)) this.#structure(character);
    return at + 1;
  }

  #structure(character: string): void {
    if (this.#mode === "value") this.#begin(character);
    else if (this.#mode === "key") this.#beginKey(character);
    else if (this.#mode === "colon") this.#mode = character === ":" ? "value" : "broken";
    else if (this.#mode === "comma") this.#next(character);
    else this.#mode = "broken";
  }

  #begin(character: string): void {
    if (character === "{") this.#open({}, "key");
    else if (character === "[") this.#open([], "value");
    else if (character === "]" && Array.isArray(this.#top?.container)) this.#close(character);
    else if (character === '"') this.#beginText("string");
    else if (/[-0-9tfn]/.test(character)) {
      this.#beginText("word");
      this.#text = character;
    } else this.#mode = "broken";
  }

  #beginKey(character: string): void {
    if (character === '"') this.#beginText("keystring");
    else if (character === "}") this.#close(character);
    else this.#mode = "broken";
  }

  #beginText(mode: Mode): void {
    this.#mode = mode;
    this.#text = "";
    this.#escape = "";
  }

  #next(character: string): void {
    const top = this.#top;
    if (character !== ",") this.#close(character);
    else this.#mode = top && Array.isArray(top.container) ? "value" : "key";
  }

  get #top(): Level | undefined {
    return this.#stack[this.#stack.length - 1];
  }

  #open(container: Container, mode: Mode): void {
    this.#put(container);
    this.#stack.push({ container, key: "" });
    this.#mode = mode;
  }

  #close(character: string): void {
    const top = this.#stack.pop();
    const expected = top && (Array.isArray(top.container) ? "]" : "}");
    this.#mode = character === expected ? this.#afterValue() : "broken";
  }

  #afterValue(): Mode {
    const top = this.#top;
    if (top && Array.isArray(top.container)) top.key = String(top.container.length);
    return top ? "comma" : "done";
  }

  #put(value: Json): void {
    const top = this.#top;
    if (!top) this.value = value;
    else if (Array.isArray(top.container)) top.container[Number(top.key)] = value;
    else if (top.key !== "__proto__") top.container[top.key] = value;
    else Object.defineProperty(top.container, top.key, { ...OWN, value });
  }

  #inString(chunk: string, at: number): number {
    if (this.#escape) return this.#inEscape(chunk[at] as string, at);
    let end = at;
    while (end < chunk.length && chunk[end] !== '"' && chunk[end] !== "\\") end += 1;
    this.#text += chunk.slice(at, end);
    if (chunk[end] === '"') this.#endString();
    else if (chunk[end] === "\\") this.#escape = "\\";
    return end + 1;
  }

  #inEscape(character: string, at: number): number {
    this.#escape += character;
    const letter = this.#escape[1] as string;
    if (letter !== "u") this.#endEscape(SIMPLE_ESCAPES[letter]);
    else if (this.#escape.length === 6) {
      const hex = this.#escape.slice(2);
      this.#endEscape(
        /^[0-9a-f]{4}$/i.test(hex) ? String.fromCharCode(parseInt(hex, 16)) : undefined,
      );
    }
    return at + 1;
  }

  #endEscape(text: string | undefined): void {
    this.#escape = "";
    if (text === undefined) this.#mode = "broken";
    else this.#text += text;
  }

  #endString(): void {
    if (this.#mode === "keystring") {
      (this.#top as Level).key = this.#text;
      this.#mode = "colon";
    } else {
      this.#put(this.#text);
      this.#mode = this.#afterValue();
    }
  }

  #inWord(character: string, at: number): number {
    if (!/[\s,\]}]/.test(character)) {
      this.#text += character;
      return at + 1;
    }
    this.#endWord();
    return at; // the character that ended the word is read as structure
  }

  #endWord(): void {
    try {
      this.#put(JSON.parse(this.#text));
      this.#mode = this.#afterValue();
    } catch {
      this.#mode = "broken";
    }
  }
}

const OWN = { configurable: true, enumerable: true, writable: true };
