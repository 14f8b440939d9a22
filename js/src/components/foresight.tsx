/** What a call that waits would do, as its tool shows it. */

import type { FilledCall } from "../store";
import { Display } from "./display";
import { Plain } from "./plain";

/** The preview, and why it was made anew. */
export function Foresight({ call }: { call: FilledCall }) {
  const { preview, state, tool } = call;
  if (!preview || state !== "pending") return null;
  return (
    <section class="foresight" aria-label={`What ${tool} would do`}>
      <h4>What it would do</h4>
      {preview.note && (
        <p class="note" role="status">
          <Plain text={preview.note} />
        </p>
      )}
      <Display bundle={preview.display} />
    </section>
  );
}
