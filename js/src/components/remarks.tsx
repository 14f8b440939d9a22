/** What the program has to say of one call, on its card. */

import type { CallNode, PartNode } from "../store";
import { Plain } from "./plain";
import { useTopic } from "./view";

/** Shows the notices about a call. */
export function Remarks({ node }: { node: CallNode }) {
  useTopic(node.message.topic);
  const remarks = node.message.parts.filter((other) => aboutOf(other) === node.part.id);
  if (!remarks.length) return null;
  return (
    <div class="remarks" role="note">
      {remarks.map(({ part }) => (
        <p key={part.id} class="muted">
          <Plain text={part.type === "notice" ? part.text : ""} />
        </p>
      ))}
    </div>
  );
}

/** Says whether a part is shown on the card of a call, and not for itself. */
export function isRemark(node: PartNode): boolean {
  const about = aboutOf(node);
  return about !== "" && node.message.calls.some(({ part }) => part.id === about);
}

function aboutOf({ part }: PartNode): string {
  return part.type === "notice" ? part.about : "";
}
