/** What a person can do with a call that waits: let it run, change it, refuse it, answer it. */

import type { Json } from "../protocol";
import type { CallNode } from "../store";
import { Button, CommandStatus } from "./controls";
import { Expiry } from "./duration";
import { isPlainEnter, JsonField, readObject, readValue, useFocus } from "./field";
import { Lasting } from "./lasting";
import { approvalOf, isWhole } from "./shown";
import { useHere, useKept, useView } from "./view";

type Editing = "" | "edit" | "decline" | "lasting";

/** The controls of a call that waits. */
export function Pending({ node }: { node: CallNode }) {
  const here = useHere();
  const [editing, setEditing] = useKept<Editing>(`editing:${node.part.id}`, "");
  if (!here) return <p class="muted">{WAITED[node.part.waiting]}</p>;
  const close = () => setEditing("");
  if (editing === "decline") return <Decline node={node} onClose={close} />;
  if (editing === "edit") return <Edit node={node} onClose={close} />;
  if (editing === "lasting") return <Lasting node={node} onClose={close} />;
  if (node.part.waiting === "result") return <Answer node={node} onEdit={setEditing} />;
  return <Approval node={node} onEdit={setEditing} />;
}

const WAITED = {
  "": "",
  approval: "This call was waiting for approval.",
  result: "This call was waiting for an answer.",
};

interface PanelProps {
  readonly node: CallNode;
  readonly onClose: () => void;
}

interface ChoiceProps {
  readonly node: CallNode;
  readonly onEdit: (editing: Editing) => void;
}

function useDecision(node: CallNode) {
  const { store } = useView();
  const { id } = node.part;
  const sent = store.commands.sent(id) !== undefined;
  return {
    sent,
    rejection: store.commands.rejection(id),
    dismiss: () => store.commands.dismiss(id),
    approve: (args?: { [name: string]: Json }) => {
      const approval = { command: "approve", ...approvalOf(node.part) } as const;
      return store.run(args ? { ...approval, args } : approval, id);
    },
    decline: (reason: string) => store.run({ command: "decline", call: id, reason }, id),
    answer: (value: Json) => store.run({ command: "answer", call: id, value }, id),
  };
}

function Approval({ node, onEdit }: ChoiceProps) {
  const { sent, approve } = useDecision(node);
  const { id, tool, destructive, expires } = node.part;
  const whole = isWhole(node.part);
  const look = destructive ? "danger" : "primary";
  return (
    <div class="actions">
      <Button look={look} label={`Approve ${tool}`} disabled={sent || !whole} onPress={approve}>
        Approve
      </Button>
      <Button label={`Decline ${tool}`} disabled={sent} onPress={() => onEdit("decline")}>
        Decline
      </Button>
      <span class="aside">
        <Button
          look="quiet"
          label={`Edit the arguments of ${tool}`}
          disabled={sent}
          onPress={() => onEdit("edit")}
        >
          Edit …
        </Button>
        <Button
          look="quiet"
          label={`Always allow ${tool} …`}
          disabled={sent || !whole}
          onPress={() => onEdit("lasting")}
        >
          Always allow …
        </Button>
      </span>
      <CommandStatus subject={id} />
      {expires !== null && <Expiry at={expires} />}
    </div>
  );
}

function Decline({ node, onClose }: PanelProps) {
  const { sent, decline } = useDecision(node);
  const { id, tool } = node.part;
  const [reason, setReason] = useKept(`reason:${id}`, "");
  const input = useFocus<HTMLInputElement>(true);
  const confirm = () => void decline(reason.trim());
  return (
    <div class="panel">
      <label class="field">
        <span>Reason, told to the model (optional)</span>
        <input
          ref={input}
          type="text"
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (isPlainEnter(event) && event.isTrusted && !sent) confirm();
          }}
        />
      </label>
      <div class="actions">
        <Button look="primary" label={`Decline ${tool}`} disabled={sent} onPress={confirm}>
          Decline
        </Button>
        <Button disabled={sent} onPress={onClose}>
          Cancel
        </Button>
        <CommandStatus subject={id} />
      </div>
    </div>
  );
}

function Edit({ node, onClose }: PanelProps) {
  const { sent, approve, rejection, dismiss } = useDecision(node);
  const { id, tool, preview } = node.part;
  const { field, reset, read } = useArguments(node, dismiss);
  const apply = () => {
    const args = read();
    const accepted = args && approve(args);
    // What the changed call would do is shown first; it is approved from there.
    if (preview) void accepted?.then((taken) => taken && onClose());
  };
  const leave = () => {
    reset();
    onClose();
  };
  return (
    <div class="panel">
      <JsonField opened label={`Arguments of ${tool}, as JSON`} rejection={rejection} {...field} />
      <div class="actions">
        <Button
          look="primary"
          label={preview ? `Apply to ${tool}` : `Apply and approve ${tool}`}
          disabled={sent}
          onPress={apply}
        >
          {preview ? "Apply & look again" : "Apply & approve"}
        </Button>
        <Button disabled={sent} onPress={leave}>
          Cancel
        </Button>
        {!rejection && <CommandStatus subject={id} />}
      </div>
    </div>
  );
}

/** The arguments as a person changes them, with what is wrong with their text. */
function useArguments({ part }: CallNode, onType: () => void) {
  const proposed = JSON.stringify(part.args ?? {}, null, 2);
  const [text, setText] = useKept(`edit:${part.id}`, proposed);
  const [problem, setProblem] = useKept(`problem:${part.id}`, "");
  const change = (value: string) => {
    setText(value);
    setProblem("");
    onType();
  };
  const read = () => {
    const value = readObject(text);
    const isWrong = typeof value === "string";
    setProblem(isWrong ? value : "");
    return isWrong ? undefined : value;
  };
  const field = { text, problem, onType: change };
  return { field, read, reset: () => change(proposed) };
}

function Answer({ node, onEdit }: ChoiceProps) {
  const { sent, answer, rejection, dismiss } = useDecision(node);
  const { id, tool } = node.part;
  const [text, setText] = useKept(`answer:${id}`, "");
  const type = (value: string) => {
    setText(value);
    dismiss();
  };
  return (
    <div class="panel">
      <JsonField
        label={`Result of ${tool}, as JSON or text`}
        text={text}
        problem=""
        rejection={rejection}
        onType={type}
      />
      <div class="actions">
        <Button
          look="primary"
          label={`Answer ${tool}`}
          disabled={sent || !text.trim()}
          onPress={() => void answer(readValue(text))}
        >
          Answer
        </Button>
        <Button label={`Decline ${tool}`} disabled={sent} onPress={() => onEdit("decline")}>
          Decline
        </Button>
        {!rejection && <CommandStatus subject={id} />}
      </div>
    </div>
  );
}
