/**
 * Markdown that is still being written, block by block.
 *
 * A block is finished when a later one has begun with a whole line; it is made once and never
 * touched again. Only what follows the last finished block is read anew, so that the cost of a
 * delta does not grow with the text. What is shown depends on the text alone, not on how it was cut.
 */

import { Lexer, type Links, type Token } from "marked";
import { element } from "../dom";
import { blockNode } from "./blocks";

/** How many finished blocks are laid out together. */
const GROUP = 16;

interface Finished {
  readonly raw: string;
  node: HTMLElement;
}

export class MarkdownStream {
  #text = "";
  #finishedLength = 0;
  #links: Links = {};
  #group: HTMLElement | undefined;
  #open: HTMLElement[] = [];
  /** Finished blocks with a bracket in them: a definition that comes later may make it a link. */
  #bracketed: Finished[] = [];

  constructor(private readonly root: HTMLElement) {}

  /** Shows this text; cheap if it continues the text before. */
  update(written: string): void {
    const text = written.includes("\r") ? written.replace(/\r\n?/g, "\n") : written;
    if (text === this.#text) return;
    if (!text.startsWith(this.#text)) this.#reset();
    this.#text = text;
    const tokens = read(text.slice(this.#finishedLength), this.#links);
    const finished = countFinished(tokens);
    for (const node of this.#open) node.remove();
    for (const token of tokens.slice(0, finished)) this.#finish(token);
    this.#open = tokens
      .slice(finished)
      .map(blockNode)
      .filter((node) => node !== null);
    this.#currentGroup().append(...this.#open);
  }

  #reset(): void {
    this.root.replaceChildren();
    this.#finishedLength = 0;
    this.#links = {};
    this.#group = undefined;
    this.#open = [];
    this.#bracketed = [];
  }

  #finish(token: Token): void {
    this.#finishedLength += token.raw.length;
    if (token.type === "def") this.#define(token);
    const node = blockNode(token);
    if (!node) return;
    this.#currentGroup().append(node);
    if (token.raw.includes("[")) this.#bracketed.push({ raw: token.raw, node });
  }

  #define(token: Token): void {
    const { tag, href, title } = token as Token & { tag: string; href: string; title: string };
    if (this.#links[tag]) return;
    this.#links[tag] = { href, title };
    for (const block of this.#bracketed) this.#relink(block, tag);
  }

  #relink(block: Finished, tag: string): void {
    if (!block.raw.toLowerCase().replace(/\s+/g, " ").includes(`[${tag}]`)) return;
    const [token] = read(block.raw, this.#links);
    const node = token && blockNode(token);
    if (!node) return;
    block.node.replaceWith(node);
    block.node = node;
  }

  #currentGroup(): HTMLElement {
    if (!this.#group || this.#group.childElementCount >= GROUP) {
      this.#group = element("div", { class: "group" });
      this.root.append(this.#group);
    }
    return this.#group;
  }
}

/** Shows a text that is complete. */
export function showMarkdown(root: HTMLElement, text: string): void {
  new MarkdownStream(root).update(text);
}

function read(text: string, links: Links): Token[] {
  const lexer = new Lexer({ gfm: true });
  lexer.tokens.links = { ...links };
  return lexer.lex(text);
}

/** Counts the leading blocks that no further text can change. */
function countFinished(tokens: Token[]): number {
  let last = tokens.length - 1;
  while (last >= 0 && !beginsWithWholeLine(tokens[last] as Token)) last -= 1;
  return Math.max(0, last);
}

function beginsWithWholeLine(token: Token): boolean {
  return token.type !== "space" && token.raw.trimStart().includes("\n");
}
