/** What an approval has to name: the call, and exactly what was shown of it. */

import type { FilledCall } from "../store";

/** Returns the part of an approval that names what is shown. */
export function approvalOf({ id, digest, preview }: FilledCall) {
  const shown = { call: id, approved: true, digest };
  return preview ? { ...shown, preview: preview.mark } : shown;
}

/** Says whether the whole arguments are on the page, so that there is something to approve. */
export function isWhole({ digest, args }: FilledCall): boolean {
  return digest !== "" && args !== null;
}
