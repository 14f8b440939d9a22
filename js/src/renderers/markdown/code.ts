/**
 * A block of code that may still grow. Its lines are laid out in stretches, so that a longer block
 * makes a new line no dearer.
 */

import { copyText, element } from "../dom";

/** How many lines are laid out together. */
const STRETCH = 64;

export class CodeBlock {
  readonly node: HTMLElement;
  #text = "";
  /** Where the last stretch begins, in characters. */
  #lastStart = 0;
  readonly #code = element("code");

  constructor(
    readonly language: string,
    text: string,
  ) {
    const bar = element("div", { class: "codebar" }, element("span", {}, language), this.#copy());
    const lines = element("pre", { tabindex: "0" }, this.#code);
    this.node = element("div", { class: language ? "code" : "code bare" }, bar, lines);
    this.grow(text);
  }

  /** Shows a longer text; false if it does not continue the text that is shown. */
  grow(text: string): boolean {
    if (!text.startsWith(this.#text)) return false;
    this.#text = text;
    this.#code.lastElementChild?.remove();
    for (const stretch of stretches(text.slice(this.#lastStart))) {
      this.#code.append(element("span", { class: "lines" }, stretch));
    }
    this.#lastStart = text.length - (this.#code.lastElementChild?.textContent?.length ?? 0);
    return true;
  }

  #copy(): HTMLElement {
    const button = element("button", { type: "button", "aria-label": "Copy code" }, "Copy");
    button.addEventListener("click", async () => {
      await copyText(this.#text);
      button.textContent = "Copied";
      setTimeout(() => {
        button.textContent = "Copy";
      }, 1500);
    });
    return button;
  }
}

/** Cuts a text after every so many lines. */
function stretches(text: string): string[] {
  const found: string[] = [];
  let from = 0;
  let lines = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
    lines += 1;
    if (lines % STRETCH) continue;
    found.push(text.slice(from, at + 1));
    from = at + 1;
  }
  if (from < text.length) found.push(text.slice(from));
  return found;
}
