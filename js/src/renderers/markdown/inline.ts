/** Written text within a block: tokens to nodes. Markup in the text stays text. */

import type { Token, Tokens } from "marked";
import { element } from "../dom";
import { decodeEntities } from "./entities";
import { isPictureData, linkAddress, pictureAddress } from "./links";

/** The one tag that is taken at its word: tables have no other way to break a line. */
const LINE_BREAK = /^<br\s*\/?>$/i;
const TAGS = { strong: "strong", em: "em", del: "del" } as const;

/** Returns the nodes of inline tokens. */
export function inlineNodes(tokens: readonly Token[] | undefined): (Node | string)[] {
  return (tokens ?? []).map(inlineNode);
}

function inlineNode(token: Token): Node | string {
  switch (token.type) {
    case "strong":
    case "em":
    case "del":
      return element(TAGS[token.type as keyof typeof TAGS], {}, ...inlineNodes(token.tokens));
    case "codespan":
      return element("code", {}, token.text);
    case "br":
      return element("br");
    case "link":
      return link(token as Tokens.Link);
    case "image":
      return picture(token as Tokens.Image);
    case "checkbox":
      return checkbox(token as Tokens.Checkbox);
    case "html":
      return LINE_BREAK.test(token.raw) ? element("br") : token.raw;
    case "escape":
      return token.text;
    default:
      return plain(token);
  }
}

function plain(token: Token): Node | string {
  const text = "text" in token ? String(token.text) : token.raw;
  if (!("tokens" in token) || !token.tokens) return decodeEntities(text);
  const fragment = document.createDocumentFragment();
  fragment.append(...inlineNodes(token.tokens));
  return fragment;
}

function link(token: Tokens.Link): Node | string {
  const href = linkAddress(decodeEntities(token.href));
  if (!href) return token.raw;
  const attributes = { href, target: "_blank", rel: "noopener noreferrer" };
  const made = element("a", attributes, ...inlineNodes(token.tokens));
  made.title = token.title ? `${decodeEntities(token.title)} (${href})` : href;
  return made;
}

function picture(token: Tokens.Image): Node | string {
  const address = decodeEntities(token.href);
  if (isPictureData(address)) return element("img", { src: address, alt: token.text });
  const url = pictureAddress(address);
  return url ? remotePicture(url, token.text) : token.raw;
}

/** A picture elsewhere is fetched only when asked for: the request itself would tell somebody. */
function remotePicture(url: URL, text: string): Node {
  const label = `Load image from ${url.host}${text ? `: ${text}` : ""}`;
  const button = element("button", { type: "button", class: "load", title: url.href }, label);
  button.addEventListener("click", (event) => {
    if (!event.isTrusted) return;
    const attributes = { src: url.href, alt: text, referrerpolicy: "no-referrer" };
    button.replaceWith(element("img", attributes));
  });
  return button;
}

function checkbox(token: Tokens.Checkbox): Node {
  const label = token.checked ? "done" : "not done";
  return element(
    "span",
    { class: "task", role: "img", "aria-label": label },
    token.checked ? "☑" : "☐",
  );
}
