/** Text exactly as it is: never markup, and with its unseen characters visible. */

import { useState } from "preact/hooks";
import { stretches } from "../renderers/visible";

/** Text of any origin on one line or several. */
export function Plain({ text }: { text: string }) {
  return (
    <>
      {stretches(text).map(({ text: part, odd }) =>
        odd ? (
          <span class="odd" title="A character that cannot be seen">
            {part}
          </span>
        ) : (
          part
        ),
      )}
    </>
  );
}

/** How many characters of a long text are shown before somebody asks for the rest. */
const SHORT = 4000;

interface LongTextProps {
  readonly text: string;
  /** Whether its end is shown, not its beginning. */
  readonly tail?: boolean;
  /** Whether it is itself only a part of what there is. */
  readonly part?: boolean;
}

/** Text that may be long: all of it that the page has can be reached. */
export function LongText({ text, tail = false, part = false }: LongTextProps) {
  const [whole, setWhole] = useState(false);
  if (whole || text.length <= SHORT) return <Plain text={text} />;
  const shown = tail ? text.slice(-SHORT) : text.slice(0, SHORT);
  const more = (
    <button type="button" class="more" onClick={() => setWhole(true)}>
      Show all {text.length.toLocaleString("en")} characters{part && " that the page has"}
    </button>
  );
  return (
    <>
      {tail && more}
      {tail && "…"}
      <Plain text={shown} />
      {!tail && "… "}
      {!tail && more}
    </>
  );
}
