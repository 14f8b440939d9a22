/** Blocks of written text: tokens to elements. */

import type { Token, Tokens } from "marked";
import { element } from "../dom";
import { CodeBlock } from "./code";
import { inlineNodes } from "./inline";

/** Returns the element of a block, or null for one that shows nothing. */
export function blockNode(token: Token): HTMLElement | null {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return heading(token as Tokens.Heading);
    case "code":
      return codeBlock(token as Tokens.Code).node;
    case "blockquote":
      return element("blockquote", {}, ...blockNodes((token as Tokens.Blockquote).tokens));
    case "list":
      return list(token as Tokens.List);
    case "table":
      return table(token as Tokens.Table);
    case "hr":
      return element("hr");
    case "html":
      return element("p", { class: "markup" }, token.raw.trimEnd());
    default:
      return element("p", {}, ...inlineNodes(tokensOf(token)));
  }
}

function blockNodes(tokens: readonly Token[]): HTMLElement[] {
  return tokens.map(blockNode).filter((node) => node !== null);
}

/** Headings of an answer stand below those of the page: # is level 3 to a screen reader. */
function heading(token: Tokens.Heading): HTMLElement {
  const level = String(Math.min(6, token.depth + 2));
  const attributes = { class: `h${token.depth}`, role: "heading", "aria-level": level };
  return element("div", attributes, ...inlineNodes(token.tokens));
}

/** Makes the block of code of a token. */
export function codeBlock(token: Tokens.Code): CodeBlock {
  return new CodeBlock(languageOf(token), token.text);
}

/** Returns the language that a block of code names, or "". */
export function languageOf({ lang = "" }: Tokens.Code): string {
  return lang.trim().split(/\s/)[0] ?? "";
}

/** A list without a word in it is no list: an answer may be "4." and nothing more. */
function list(token: Tokens.List): HTMLElement {
  if (token.items.every((item) => !item.text.trim())) return element("p", {}, token.raw.trim());
  const items = token.items.map((item) => listItem(item));
  if (!token.ordered) return element("ul", {}, ...items);
  return element("ol", { start: String(token.start || 1) }, ...items);
}

function listItem(item: Tokens.ListItem): HTMLElement {
  const children = item.tokens.map((token) => itemChild(token, item.loose));
  return element("li", item.task ? { class: "todo" } : {}, ...children);
}

function itemChild(token: Token, loose: boolean): Node | null {
  if (token.type === "checkbox") return inlineFragment([token]);
  if (token.type !== "text" || loose) return blockNode(token);
  return inlineFragment(tokensOf(token));
}

function tokensOf(token: Token): readonly Token[] {
  return ("tokens" in token && token.tokens) || [token];
}

function inlineFragment(tokens: readonly Token[]): Node {
  const fragment = document.createDocumentFragment();
  fragment.append(...inlineNodes(tokens));
  return fragment;
}

function table(token: Tokens.Table): HTMLElement {
  const head = element("thead", {}, tableRow(token.header, "th"));
  const body = element("tbody", {}, ...token.rows.map((row) => tableRow(row, "td")));
  return element("div", { class: "table", tabindex: "0" }, element("table", {}, head, body));
}

function tableRow(cells: Tokens.TableCell[], tag: "th" | "td"): HTMLElement {
  const made = cells.map((cell) =>
    element(tag, cell.align ? { class: `align-${cell.align}` } : {}, ...inlineNodes(cell.tokens)),
  );
  return element("tr", {}, ...made);
}
