/**
 * Reading markdown within bounds: time in proportion to the text, and little of the stack.
 *
 * A mark that opens emphasis is looked for its end in all that follows, and a letter that may begin
 * an e-mail address for its "@". In a long text of such beginnings and no end that took minutes.
 */

import { Lexer, type Links, type Rules, type Token, Tokenizer } from "marked";

/** Emphasis within emphasis that is read; deeper marks stay text. */
const DEEPEST = 40;
/** Characters that may be searched in vain for ends of emphasis, of any text and for each of it. */
const SEARCHED = 2_000_000;
const SEARCHED_EACH = 20;
/** Characters before the "@" of an address, by RFC 5321; of more the last ones are taken. */
const LONGEST_NAME = 64;
/** A longer address is no link. */
const TOO_LONG = /^(?:https?:\/\/|ftp:\/\/|www\.)[^\s<]{4096}/i;
/** How far a line of "=" or "-" below a heading is looked for. */
const LONGEST_HEADING = 4096;
const TWO_LINES = /^[^\n]*\n[^\n]*/;
const WITHIN_WORD = /[\p{L}\p{N}]$/u;

class BoundedTokenizer extends Tokenizer {
  #depth = 0;

  constructor(private left: number) {
    super();
  }

  override emStrong(text: string, masked: string, before = "") {
    if (text[0] === "_" && WITHIN_WORD.test(before)) return undefined;
    if (!this.rules.inline.emStrongLDelim.test(text)) return undefined;
    return this.#search(text, () => super.emStrong(text, masked, before));
  }

  override del(text: string, masked: string, before = "") {
    if (!this.rules.inline.delLDelim.test(text)) return undefined;
    return this.#search(text, () => super.del(text, masked, before));
  }

  /** Looks at the head of a table first: for any two lines, all that follows is read as rows. */
  override table(text: string) {
    const [head] = TWO_LINES.exec(text) ?? [];
    return head && super.table(head) ? super.table(text) : undefined;
  }

  override lheading(text: string) {
    const near = text.slice(0, LONGEST_HEADING);
    const found = super.lheading(near);
    return found?.raw.length === LONGEST_HEADING ? super.lheading(text) : found;
  }

  override url(text: string) {
    return TOO_LONG.test(text) ? undefined : super.url(text);
  }

  /** Finds what a mark encloses; what is searched in vain is taken from what is left. */
  #search<T>(text: string, find: () => T | undefined): T | undefined {
    if (this.#depth >= DEEPEST || this.left < 0) return undefined;
    this.#depth += 1;
    const found = find();
    this.#depth -= 1;
    if (!found) this.left -= text.length;
    return found;
  }
}

/**
 * Reads markdown.
 *
 * `known`: the definitions of links that came before. Returns the blocks, and all definitions.
 */
export function readMarkdown(text: string, known: Links): { tokens: Token[]; links: Links } {
  const tokenizer = new BoundedTokenizer(SEARCHED + SEARCHED_EACH * text.length);
  const lexer = new Lexer({ gfm: true, tokenizer });
  tokenizer.rules = boundedRules(tokenizer.rules);
  const links = Object.assign(Object.create(null), known);
  lexer.tokens.links = links;
  return { tokens: lexer.lex(text), links };
}

let bounded: Rules | undefined;

/**
 * The rules of marked, with a bound for the name in an e-mail address, and with paragraphs that end
 * before the head of a table: whether one begins there does not depend on its rows.
 */
function boundedRules({ block, inline, other }: Rules): Rules {
  bounded ??= {
    block: { ...block, paragraph: beforeTables(block.paragraph, block.table) },
    inline: { ...inline, text: shorten(inline.text), url: shorten(inline.url) },
    other,
  };
  return bounded;
}

function shorten({ source, flags }: RegExp): RegExp {
  return new RegExp(source.replace(/\]\+(?=\(?@)/g, `]{1,${LONGEST_NAME}}`), flags);
}

function beforeTables({ source, flags }: RegExp, table: RegExp): RegExp {
  const whole = table.source.replace(/^\^/, "");
  const [head] = whole.split("(?:\\n((?:");
  return new RegExp(source.split(whole).join(`${head}(?:\\n|$)`), flags);
}
