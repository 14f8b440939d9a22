/** The rule that decided about a call, or was made of its approval, and taking it back. */

import type { FilledCall } from "../store";
import { CommandButton, CommandStatus } from "./controls";
import { Plain } from "./plain";
import { useTopic, useView } from "./view";

/** Names the rule in words while it is in force. */
export function Ruled({ call }: { call: FilledCall }) {
  return call.decision?.rule ? <Named call={call} rule={call.decision.rule} /> : null;
}

function Named({ call, rule }: { call: FilledCall; rule: string }) {
  const { store } = useView();
  useTopic(store.copy.shell);
  const known = store.copy.rules.find(({ id }) => id === rule);
  const decided = call.decision?.by === "rule";
  const subject = `rule:${rule}`;
  return (
    <div class="ruled">
      <span>
        {decided ? "Decided by a rule: " : "You made a rule of this: "}
        {known ? <Plain text={known.text} /> : "it is not in force any more."}
      </span>
      {known && (
        <CommandButton
          command={{ command: "revoke", rule }}
          subject={subject}
          label={`Take back the rule about ${call.tool}`}
        >
          Take back
        </CommandButton>
      )}
      <CommandStatus subject={subject} />
    </div>
  );
}
