/** Characters that change how other text reads without being seen, made visible. */

const ODD =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: single characters are looked for
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180E\u200B-\u200F\u2028-\u202E\u2060-\u206F\u3164\uFE00-\uFE0D\uFEFF\uFFA0\uFFF9-\uFFFB\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}]/gu;

/** A stretch of text, or one odd character by name. */
export interface Stretch {
  readonly text: string;
  readonly odd: boolean;
}

/** Cuts text into what reads as it looks and what does not. */
export function stretches(text: string): Stretch[] {
  const found: Stretch[] = [];
  let from = 0;
  for (const { 0: character, index } of text.matchAll(ODD)) {
    if (index > from) found.push({ text: text.slice(from, index), odd: false });
    found.push({ text: nameOf(character), odd: true });
    from = index + character.length;
  }
  if (from < text.length) found.push({ text: text.slice(from), odd: false });
  return found;
}

/** Returns the text with each odd character by name, such as ⟨U+202E⟩. */
export function visible(text: string): string {
  return text.replace(ODD, nameOf);
}

function nameOf(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  return `⟨U+${point.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
