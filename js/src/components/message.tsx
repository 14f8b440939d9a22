/** One message: its parts, how it ended, and what can be done with it. */

import { useState } from "preact/hooks";
import type { Finish, Role, Usage } from "../protocol";
import { copyText } from "../renderers/dom";
import type { MessageNode, PartNode } from "../store";
import { Button, CommandButton, CommandStatus } from "./controls";
import { Icon } from "./icons";
import { PartView, Sources } from "./parts";
import { isRemark } from "./remarks";
import { Together } from "./together";
import { memo, useHere, useKept, useTopic, useView } from "./view";

/** A message of the user or of the model. */
export const MessageView = memo(({ node }: { node: MessageNode }) => {
  useTopic(node.topic);
  const { role, id } = node.head;
  const note = isNote(node);
  const [editing, setEditing] = useKept(`message:${id}`, false);
  if (editing) return <EditMessage node={node} onClose={() => setEditing(false)} />;
  return (
    <article class={`message ${note ? "note" : role}`} aria-label={note ? "Note" : NAMES[role]}>
      {node.parts.map((part) =>
        isRemark(part) ? null : <PartView key={part.part.id} node={part} />,
      )}
      <Together node={node} />
      <Sources nodes={node.parts} />
      <Ending finish={node.head.finish} />
      {!note && <MessageActions node={node} onEdit={() => setEditing(true)} />}
    </article>
  );
});

const NAMES: Record<Role, string> = { user: "You", assistant: "Answer" };

/** Says whether a message holds what the program said, and nothing of a person. */
function isNote({ head, parts }: MessageNode): boolean {
  return head.role === "user" && parts.length > 0 && parts.every(isNotice);
}

const isNotice = ({ part }: PartNode) => part.type === "notice";

const ENDINGS: Partial<Record<Finish, string>> = {
  length: "The answer was cut off: it reached the length limit.",
  filter: "The provider withheld the rest of this answer.",
  cut: "The answer broke off.",
  stopped: "Stopped.",
};

function Ending({ finish }: { finish: Finish }) {
  const text = ENDINGS[finish];
  return text ? <p class="ending">{text}</p> : null;
}

function textOf(node: MessageNode): string {
  const texts = node.parts.flatMap(({ part }) => (part.type === "text" ? [part.text] : []));
  return texts.join("\n\n");
}

interface ActionsProps {
  readonly node: MessageNode;
  readonly onEdit: () => void;
}

function MessageActions({ node, onEdit }: ActionsProps) {
  const { store } = useView();
  useTopic(store.copy.shell);
  const { role, finish, id, usage } = node.head;
  if (role === "assistant" && !finish) return null;
  const resting = store.copy.status !== "running" && !store.copy.error;
  const last = store.copy.messages.at(-1) === node;
  return (
    <div class="message-actions">
      {textOf(node) && <CopyMessage node={node} />}
      {role === "user" && resting && <EditButton onPress={onEdit} />}
      {role === "assistant" && last && resting && store.copy.openCalls.size === 0 && (
        <CommandButton
          command={{ command: "regenerate", message: id }}
          subject={id}
          look="quiet"
          label="Answer again"
        >
          <Icon name="again" />
        </CommandButton>
      )}
      <PinButton node={node} />
      {usage && <span class="usage">{usageText(usage)}</span>}
      <CommandStatus subject={id} />
    </div>
  );
}

function EditButton({ onPress }: { onPress: () => void }) {
  if (!useHere()) return null;
  return (
    <Button look="quiet" label="Edit this message and go on from here" onPress={onPress}>
      <Icon name="edit" />
    </Button>
  );
}

function PinButton({ node }: { node: MessageNode }) {
  const { id, pinned } = node.head;
  if (!useHere()) return pinned ? <span class="mark">pinned</span> : null;
  return (
    <>
      <CommandButton
        command={{ command: "pin", message: id, pinned: !pinned }}
        subject={id}
        look="quiet"
        label={pinned ? "Let the model forget this in time" : "Keep this in every request"}
      >
        <Icon name="pin" />
      </CommandButton>
      {pinned && <span class="mark">pinned</span>}
    </>
  );
}

function CopyMessage({ node }: { node: MessageNode }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(textOf(node));
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <Button look="quiet" label={copied ? "Copied" : "Copy this text"} onPress={() => void copy()}>
      <Icon name={copied ? "ok" : "copy"} />
    </Button>
  );
}

function usageText({ input, output }: Usage): string {
  const number = (value: number | null | undefined) => (value ?? 0).toLocaleString("en");
  return `${number(input)} tokens in, ${number(output)} out`;
}

interface EditProps {
  readonly node: MessageNode;
  readonly onClose: () => void;
}

function EditMessage({ node, onClose }: EditProps) {
  const { store } = useView();
  const { id } = node.head;
  const [text, setText] = useKept(`text:${id}`, textOf(node));
  const sent = store.commands.sent(id) !== undefined;
  const apply = async () => {
    if (await store.run({ command: "edit_message", message: id, text }, id)) onClose();
  };
  return (
    <article class="message user panel" aria-label="Edit your message">
      <label class="field">
        <span>What follows this message is replaced</span>
        <textarea
          value={text}
          rows={Math.min(8, text.split("\n").length + 1)}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <div class="actions">
        <Button look="primary" disabled={sent || !text.trim()} onPress={() => void apply()}>
          Send
        </Button>
        <Button disabled={sent} onPress={onClose}>
          Cancel
        </Button>
        <CommandStatus subject={id} />
      </div>
    </article>
  );
}
