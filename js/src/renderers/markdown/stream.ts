/**
 * Markdown that is still being written, block by block.
 *
 * A block is finished when a later one has begun with a whole line; it is made once and never
 * touched again. Only what follows the last finished block is read anew, so that the cost of a
 * delta does not grow with the text. What is shown depends on the text alone, not on how it was cut.
 */

import type { Links, Token, Tokens } from "marked";
import { element } from "../dom";
import { blockNode, codeBlock, languageOf } from "./blocks";
import { readMarkdown } from "./bounded";
import type { CodeBlock } from "./code";

/** So many marks at the beginning of a line are no structure, and reading them would take the stack. */
const TOO_DEEP = /^(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t]))){40}/gm;

/** How many finished blocks are laid out together. */
const GROUP = 16;

interface Finished {
  readonly raw: string;
  node: HTMLElement;
}

export class MarkdownStream {
  #text = "";
  #writing = false;
  #finishedLength = 0;
  /** Definitions in finished blocks. */
  #links: Links = {};
  /** All definitions, as they were when finished blocks were last made. */
  #shownLinks: Links = {};
  #open: HTMLElement[] = [];
  /** The open block, where it is code and nothing else. */
  #code: CodeBlock | undefined;
  /** Finished blocks with a bracket in them: a definition that comes later may make it a link. */
  #bracketed: Finished[] = [];

  constructor(private readonly root: HTMLElement) {}

  /** Shows this text; cheap if it continues the text before. `writing`: its end may come yet. */
  update(written: string, writing = false): void {
    const text = written.includes("\r") ? written.replace(/\r\n?/g, "\n") : written;
    if (text === this.#text && writing === this.#writing) return;
    this.#writing = writing;
    if (!text.startsWith(this.#text)) this.#reset();
    this.#text = text;
    const rest = text.slice(this.#finishedLength).replace(TOO_DEEP, asWords);
    const { tokens, links } = readMarkdown(writing ? closeMarks(rest) : rest, this.#links);
    this.#relink(links);
    if (this.#growCode(tokens)) return;
    for (const node of this.#open) this.#take(node);
    const finished = countFinished(tokens);
    for (const token of tokens.slice(0, finished)) this.#finish(token);
    this.#showOpen(tokens.slice(finished));
  }

  /** A long block of code is not made anew for each of its lines. */
  #growCode(tokens: Token[]): boolean {
    const [token] = tokens;
    if (!this.#code || tokens.length !== 1 || token?.type !== "code") return false;
    const { language } = this.#code;
    return languageOf(token as Tokens.Code) === language && this.#code.grow(token.text);
  }

  #showOpen(tokens: Token[]): void {
    const [token] = tokens;
    const alone = tokens.length === 1 && token?.type === "code";
    this.#code = alone ? codeBlock(token as Tokens.Code) : undefined;
    const nodes = this.#code ? [this.#code.node] : tokens.map(blockNode);
    this.#open = nodes.filter((node) => node !== null);
    for (const node of this.#open) this.#place(node);
  }

  #reset(): void {
    this.root.replaceChildren();
    this.#finishedLength = 0;
    this.#links = {};
    this.#shownLinks = {};
    this.#open = [];
    this.#code = undefined;
    this.#bracketed = [];
  }

  #finish(token: Token): void {
    this.#finishedLength += token.raw.length;
    if (token.type === "def") this.#links[token.tag] ??= { href: token.href, title: token.title };
    const node = blockNode(token);
    if (!node) return;
    this.#place(node);
    if (token.raw.includes("[")) this.#bracketed.push({ raw: token.raw, node });
  }

  /** Makes finished blocks anew that mention a definition which came, changed or went. */
  #relink(shown: Links): void {
    const tags = [...Object.keys(shown), ...Object.keys(this.#shownLinks)];
    const changed = new Set(tags.filter((tag) => !isSameLink(shown[tag], this.#shownLinks[tag])));
    this.#shownLinks = shown;
    if (!changed.size) return;
    for (const block of this.#bracketed) {
      const text = block.raw.toLowerCase().replace(/\s+/g, " ");
      if ([...changed].some((tag) => text.includes(`[${tag}]`))) remake(block, shown);
    }
  }

  #place(node: HTMLElement): void {
    const last = this.root.lastElementChild;
    if (last && last.childElementCount < GROUP) last.append(node);
    else this.root.append(element("div", { class: "group" }, node));
  }

  #take(node: HTMLElement): void {
    const group = node.parentElement;
    node.remove();
    if (group?.childElementCount === 0) group.remove();
  }
}

/** Shows a text that is complete. */
export function showMarkdown(root: HTMLElement, text: string): void {
  new MarkdownStream(root).update(text);
}

function remake(block: Finished, links: Links): void {
  const [token] = readMarkdown(block.raw, links).tokens;
  const node = token && blockNode(token);
  if (!node) return;
  block.node.replaceWith(node);
  block.node = node;
}

function isSameLink(left: Links[string] | undefined, right: Links[string] | undefined): boolean {
  return left?.href === right?.href && left?.title === right?.title;
}

/** Lets a line of marks stand as text: its first one becomes a character of no width. */
function asWords(marks: string): string {
  return `\u2060${marks.slice(1)}`;
}

/** Closes bold type and code that are open at the end, so that their marks do not flash up. */
function closeMarks(text: string): string {
  if (/^[^\S\n]*(```|~~~)/m.test(text)) return text;
  const paragraph = text.slice(text.lastIndexOf("\n\n") + 1);
  if (count(paragraph, "`") % 2) return `${text}\``;
  const bare = paragraph.replace(/`[^`]*`/g, "");
  if (count(bare, "**") % 2 === 0) return text;
  const words = withoutEnd(text, /\s/);
  return words.endsWith("**") ? withoutEnd(words, /\*/) : `${withoutEnd(words, /[\s*]/)}**`;
}

/** Cuts characters off the end; a pattern of them would try each run within the text as well. */
function withoutEnd(text: string, cut: RegExp): string {
  let end = text.length;
  while (end > 0 && cut.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

function count(text: string, mark: string): number {
  return text.split(mark).length - 1;
}

/**
 * Counts the leading blocks that no further text can change. The last block ends those before it
 * once it cannot become part of them: after a blank line when its first line is whole, else when
 * two are, for the head of a table is known by its second line.
 */
function countFinished(tokens: Token[]): number {
  let last = tokens.length - 1;
  const needed = tokens[last - 1]?.type === "space" ? 1 : 2;
  if (count(tokens[last]?.raw.trimStart() ?? "", "\n") < needed) last -= 1;
  while (tokens[last]?.type === "space") last -= 1;
  return Math.max(0, last);
}
