/**
 * Making a rule of an approval. What it would cover is asked of Python and shown word by word; the
 * rule is made only of what was shown.
 */

import { useEffect, useState } from "preact/hooks";
import type { Allow, AllowPreview } from "../protocol";
import type { CallNode } from "../store";
import { Button, CommandStatus } from "./controls";
import { Plain } from "./plain";
import { approvalOf } from "./shown";
import { useKept, useTopic, useView } from "./view";

/** How long and where a rule can hold. */
const SPANS = {
  ten: { words: "for 10 minutes", scope: "chat", minutes: 10 },
  hour: { words: "for an hour", scope: "chat", minutes: 60 },
  chat: { words: "in this chat", scope: "chat" },
  notebook: { words: "in every chat of this kernel", scope: "notebook" },
} as const;
type Span = keyof typeof SPANS;

interface LastingProps {
  readonly node: CallNode;
  readonly onClose: () => void;
}

/** The choice of a rule, and its preview. */
export function Lasting({ node, onClose }: LastingProps) {
  const { store } = useView();
  useTopic(store.copy.shell);
  const { id, tool } = node.part;
  const [same, setSame] = useKept(`same:${id}`, true);
  const [span, setSpan] = useKept<Span>(`span:${id}`, "ten");
  const wish = wishOf(node, same, span);
  const subject = `lasting:${id}`;
  const preview = usePreview(wish, subject);
  const sent = store.commands.sent(id) !== undefined;
  const waiting = store.commands.rejection(subject) ? "" : "Looking at what this covers …";
  const confirm = () => void store.run({ ...wish, mark: preview?.mark ?? "" }, id);
  return (
    <div class="panel">
      <div class="choices">
        <Choice
          label="Calls"
          value={same ? "same" : "any"}
          options={{ same: "with exactly these arguments", any: "with any arguments" }}
          onChoose={(value) => setSame(value === "same")}
        />
        <Choice
          label="How long"
          value={span}
          options={Object.fromEntries(
            Object.entries(SPANS).map(([name, { words }]) => [name, words]),
          )}
          onChoose={(value) => setSpan(value as Span)}
        />
      </div>
      <ul class="covers" aria-live="polite">
        {(preview?.lines ?? [waiting]).map((line) => (
          <li key={line}>
            <Plain text={line} />
          </li>
        ))}
      </ul>
      <div class="actions">
        <Button
          look="primary"
          label={`Allow ${tool} by this rule, and run this call`}
          disabled={sent || !preview}
          onPress={confirm}
        >
          Allow, and run this call
        </Button>
        <Button disabled={sent} onPress={onClose}>
          Cancel
        </Button>
        <CommandStatus subject={subject} />
        <CommandStatus subject={id} />
      </div>
    </div>
  );
}

function wishOf(node: CallNode, same: boolean, span: Span): Allow {
  const { approved: _, ...shown } = approvalOf(node.part);
  const { words: __, ...lasting } = SPANS[span];
  return { command: "allow", ...shown, same, ...lasting };
}

/** Asks what a rule would cover, each time the wish for it changes. */
function usePreview(wish: Allow, subject: string): AllowPreview | undefined {
  const { store } = useView();
  const [preview, setPreview] = useState<{ of: string; shown: AllowPreview }>();
  const key = JSON.stringify(wish);
  useEffect(() => {
    let current = true;
    void store.ask(wish, subject).then((value) => {
      if (current) setPreview(value ? { of: key, shown: value as never } : undefined);
    });
    return () => {
      current = false;
    };
  }, [key]);
  return preview?.of === key ? preview.shown : undefined;
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: { readonly [value: string]: string };
  readonly onChoose: (value: string) => void;
}

function Choice({ label, value, options, onChoose }: ChoiceProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
        {Object.entries(options).map(([name, words]) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}
