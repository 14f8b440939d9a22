/** Buttons, and what stands beside them while a command is on its way or was refused. */

import type { ComponentChildren } from "preact";
import type { Command } from "../protocol";
import type { ChatStore, Rejection } from "../store";
import { Plain } from "./plain";
import { trusted, useHere, useView } from "./view";

interface ButtonProps {
  readonly children: ComponentChildren;
  /** The name that is read out, where the visible text alone would not do. */
  readonly label?: string | undefined;
  readonly look?: "plain" | "primary" | "danger" | "risky" | "quiet";
  readonly disabled?: boolean | undefined;
  readonly title?: string | undefined;
  readonly onPress: () => void;
}

/** A button that only a person can press; disabled, it keeps the focus. */
export function Button({ children, label, look = "plain", disabled, title, onPress }: ButtonProps) {
  const press = trusted((event: Event) => {
    event.stopPropagation();
    if (!disabled) onPress();
  });
  return (
    <button
      type="button"
      class={`button ${look}`}
      aria-label={label}
      aria-disabled={disabled ? "true" : undefined}
      title={title ?? (look === "quiet" ? label : undefined)}
      onClick={press}
    >
      {children}
    </button>
  );
}

interface CommandButtonProps extends Omit<ButtonProps, "onPress"> {
  readonly command: Command;
  readonly subject: string;
}

/** A button that gives one command; nothing is shown where nobody would hear it. */
export function CommandButton({ command, subject, ...rest }: CommandButtonProps) {
  const { store } = useView();
  if (!useHere()) return null;
  const sent = store.commands.sent(subject) !== undefined;
  const press = () => void store.run(command, subject);
  return <Button {...rest} disabled={rest.disabled || sent} onPress={press} />;
}

/** Says that a command about a subject is on its way, or why it was refused. */
export function CommandStatus({ subject }: { subject: string }) {
  const { store } = useView();
  const here = useHere();
  const rejection = store.commands.rejection(subject);
  if (rejection) return <Refused rejection={rejection} />;
  if (!here || !store.commands.sent(subject)) return null;
  return <span class="sent">{sentWords(store)}</span>;
}

/** Seconds that something may still take, where a person gives it some time. */
const A_WHILE = 60;

/** Ends what runs, now or in a while. */
export function CancelButtons({ id, name }: { id: string; name: string }) {
  return (
    <div class="actions">
      <CommandButton
        command={{ command: "cancel", call: id }}
        subject={id}
        label={`Cancel ${name}`}
      >
        Cancel
      </CommandButton>
      <CommandButton
        command={{ command: "cancel", call: id, after: A_WHILE }}
        subject={id}
        look="quiet"
        label={`Cancel ${name} if it still runs in a minute`}
      >
        in 1 min
      </CommandButton>
      <CommandStatus subject={id} />
    </div>
  );
}

function sentWords(store: ChatStore): string {
  return store.presence.state === "busy" ? "sent, waits for the kernel" : "sent";
}

function Refused({ rejection }: { rejection: Rejection }) {
  return (
    <span class="refused" role="alert">
      {rejection.field && <strong>{rejection.field}: </strong>}
      <Plain text={rejection.text} />
    </span>
  );
}
