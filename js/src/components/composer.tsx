/** Where the person writes. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { COMPOSER, CONVERSATION, LONGEST, TOO_LONG } from "../store";
import { Button, CommandStatus } from "./controls";
import { isPlainEnter } from "./field";
import { Icon } from "./icons";
import { useTopic, useView } from "./view";

/** The field, its button, and what sending would do besides. */
export function Composer() {
  const { store } = useView();
  useTopic(store.copy.shell);
  useTopic(store.presence.topic);
  useTopic(store.draft.topic);
  const { here } = store.presence;
  return (
    <footer class="composer">
      <Hints />
      <div class="entry">
        <Field enabled={here} />
        {here && <SendOrStop />}
      </div>
    </footer>
  );
}

function Field({ enabled }: { enabled: boolean }) {
  const { store } = useView();
  const { draft, copy } = store;
  const area = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    // Set only where it differs: setting the value would move the caret and end a composition.
    const field = area.current as HTMLTextAreaElement;
    if (field.value !== draft.text) field.value = draft.text;
    grow(field);
  });
  const submit = () => void draft.submit(copy.status === "running");
  return (
    <textarea
      ref={area}
      rows={1}
      aria-label="Message"
      placeholder={enabled ? "Message, or /tool" : ""}
      disabled={!enabled}
      onInput={(event) => {
        draft.type(event.currentTarget.value);
        grow(event.currentTarget);
      }}
      onKeyDown={(event) => {
        if (!isPlainEnter(event) || !event.isTrusted) return;
        event.preventDefault();
        submit();
      }}
      onPaste={(event) => {
        const pasted = event.clipboardData?.getData("text/plain") ?? "";
        if (pasted.length + draft.text.length <= LONGEST) return;
        event.preventDefault();
        draft.refuse(TOO_LONG);
      }}
    />
  );
}

/** Grows the field with its text; the style sheet sets the most. */
function grow(field: HTMLTextAreaElement): void {
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}

function SendOrStop() {
  const { store } = useView();
  const { draft, copy } = store;
  if (copy.status === "running") {
    const stopping = store.commands.sent(CONVERSATION) === "stop";
    const stop = () => void store.run({ command: "stop" }, CONVERSATION);
    return (
      <Button label="Stop" title="Stop the answer" disabled={stopping} onPress={stop}>
        <Icon name="stop" /> Stop
      </Button>
    );
  }
  return (
    <Button
      look="primary"
      label="Send"
      title="Send (Enter)"
      onPress={() => void draft.submit(false)}
    >
      <Icon name="send" />
    </Button>
  );
}

function Hints() {
  const { store } = useView();
  const { draft, copy, presence } = store;
  const waiting = copy.openCalls.size;
  return (
    <div class="hints" role="status">
      {draft.note && <span class="refused">{draft.note}</span>}
      {!draft.outgoing && <CommandStatus subject={COMPOSER} />}
      {presence.here && copy.status === "waiting" && waiting > 0 && (
        <span class="muted">
          Sending closes {waiting} waiting call{waiting === 1 ? "" : "s"}.
        </span>
      )}
      {presence.state === "gone" && <span class="muted">{GONE}</span>}
    </div>
  );
}

const GONE = "No kernel answers. This is the conversation as it was; run the cell again to go on.";
