/** Text that is there to be unfolded. */

import { Output } from "./display";

interface FoldedTextProps {
  readonly title: string;
  readonly text: string;
  readonly open?: boolean;
}

/** Shows a title, and below it, once opened, the text; nothing where there is none. */
export function FoldedText({ title, text, open = false }: FoldedTextProps) {
  if (!text) return null;
  return (
    <details class="fold" open={open}>
      <summary>{title}</summary>
      <Output text={text} tail />
    </details>
  );
}
