/** Deciding about several calls of one answer at once. */

import type { Verdict } from "../protocol";
import type { CallNode, MessageNode } from "../store";
import { Batch } from "./batch";
import { Button, CommandStatus } from "./controls";
import { approvalOf, isWhole } from "./shown";
import { useHere, useTopic, useView } from "./view";

/** How many of several calls are decided, and the buttons that decide about the others together. */
export function Together({ node }: { node: MessageNode }) {
  const asked = node.calls.filter(
    ({ part }) => part.waiting === "approval" || (part.decision && isOfPerson(part.decision.by)),
  );
  const waiting = asked.filter(({ part }) => part.waiting === "approval");
  if (asked.length < 2 || !waiting.length) return null;
  return (
    <div class="together">
      <span class="decided" role="status">
        {asked.length - waiting.length} of {asked.length} decided
      </span>
      {waiting.length > 1 && <All message={node.head.id} nodes={waiting} />}
      {[...byTool(waiting)].map(([tool, nodes]) => (
        <Batch key={tool} message={node.head.id} tool={tool} nodes={nodes} />
      ))}
    </div>
  );
}

function isOfPerson(by: string): boolean {
  return by === "person" || by === "python";
}

interface AllProps {
  readonly message: string;
  readonly nodes: readonly CallNode[];
}

function All({ message, nodes }: AllProps) {
  const { store } = useView();
  useTopic(store.copy.shell);
  if (!useHere()) return null;
  const subject = `together:${message}`;
  const sent = store.commands.sent(subject) !== undefined;
  const whole = nodes.every(({ part }) => isWhole(part));
  const destructive = nodes.some(({ part }) => part.destructive);
  const decide = (verdicts: Verdict[]) => void store.run({ command: "decide", verdicts }, subject);
  return (
    <>
      <Button
        look={destructive ? "risky" : "plain"}
        disabled={sent || !whole}
        onPress={() => decide(nodes.map(({ part }) => approvalOf(part)))}
      >
        Approve all {nodes.length}
      </Button>
      <Button
        look="quiet"
        disabled={sent}
        onPress={() => decide(nodes.map(({ part }) => ({ ...approvalOf(part), approved: false })))}
      >
        Decline all {nodes.length}
      </Button>
      <CommandStatus subject={subject} />
    </>
  );
}

/** The tools of which several calls wait. */
function byTool(nodes: readonly CallNode[]): Map<string, CallNode[]> {
  const found = new Map<string, CallNode[]>();
  for (const node of nodes) {
    const { tool } = node.part;
    found.set(tool, [...(found.get(tool) ?? []), node]);
  }
  for (const [tool, calls] of found) if (calls.length < 2) found.delete(tool);
  return found;
}
