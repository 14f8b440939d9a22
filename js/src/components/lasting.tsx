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

const LENGTHS = Object.fromEntries(Object.entries(SPANS).map(([name, { words }]) => [name, words]));
const REACH = { same: "with exactly these arguments", any: "with any arguments" };

interface LastingProps {
  readonly node: CallNode;
  readonly onClose: () => void;
}

/** The choice of a rule, and its preview. */
export function Lasting({ node, onClose }: LastingProps) {
  const { store } = useView();
  useTopic(store.copy.shell);
  const { id } = node.part;
  const [same, setSame] = useKept(`same:${id}`, true);
  const [span, setSpan] = useKept<Span>(`span:${id}`, "ten");
  const wish = wishOf(node, same, span);
  const subject = subjectOf(id);
  const preview = usePreview(wish, subject);
  const waiting = store.commands.rejection(subject) ? "" : "Looking at what this covers …";
  return (
    <div class="panel">
      <div class="choices">
        <Choice
          label="Calls"
          value={same ? "same" : "any"}
          options={REACH}
          onChoose={(value) => setSame(value === "same")}
        />
        <Choice
          label="How long"
          value={span}
          options={LENGTHS}
          onChoose={(value) => setSpan(value as Span)}
        />
      </div>
      <Covered lines={preview?.lines ?? [waiting]} />
      <Grant node={node} wish={wish} preview={preview} onClose={onClose} />
    </div>
  );
}

interface GrantProps extends LastingProps {
  readonly wish: Allow;
  readonly preview: AllowPreview | undefined;
}

/** Makes the rule, once it was shown what it covers. */
function Grant({ node, wish, preview, onClose }: GrantProps) {
  const { store } = useView();
  const { id, tool } = node.part;
  const sent = store.commands.sent(id) !== undefined;
  const confirm = () => void store.run({ ...wish, mark: preview?.mark ?? "" }, id);
  return (
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
      <CommandStatus subject={subjectOf(id)} />
      <CommandStatus subject={id} />
    </div>
  );
}

/** What looking at a rule is about, as opposed to deciding about the call. */
function subjectOf(id: string): string {
  return `lasting:${id}`;
}

function Covered({ lines }: { lines: readonly string[] }) {
  return (
    <ul class="covers" aria-live="polite">
      {lines.map((line) => (
        <li key={line}>
          <Plain text={line} />
        </li>
      ))}
    </ul>
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
