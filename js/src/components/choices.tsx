/** The models that this machine could use; nobody looks for them before a person asks. */

import type { Choice } from "../protocol";
import { CommandButton, CommandStatus } from "./controls";
import { Plain } from "./plain";
import { useHere, useView } from "./view";

/** What is said of both commands, looking and choosing. */
const CHOICES = "choices";

/** A quiet button; once somebody has looked, what was found, usable models first. */
export function Choices() {
  const { store } = useView();
  const here = useHere();
  const { choices } = store.copy;
  if (!here) return null;
  const looking = store.commands.sent(CHOICES) === "choices";
  return (
    <div class="choices">
      {choices && <Found choices={choices} />}
      <div class="actions">
        <CommandButton look="quiet" command={{ command: "choices" }} subject={CHOICES}>
          {looking ? "Looking for models…" : choices ? "Look again" : "Choose a model"}
        </CommandButton>
        {!looking && <CommandStatus subject={CHOICES} />}
      </div>
    </div>
  );
}

function Found({ choices }: { choices: readonly Choice[] }) {
  const usable = choices.filter(({ ready }) => ready);
  const others = choices.filter(({ ready }) => !ready);
  return (
    <div class="found">
      <p>{usable.length ? "This machine could use:" : "No model is set up on this machine yet."}</p>
      {usable.length > 0 && (
        <ul aria-label="Models">
          {usable.map((choice) => (
            <li key={choice.name}>
              <CommandButton
                label={`Use ${choice.name}`}
                command={{ command: "choose", model: choice.name }}
                subject={CHOICES}
              >
                <Plain text={choice.name} />
              </CommandButton>
              <Why choice={choice} />
            </li>
          ))}
        </ul>
      )}
      {others.length > 0 && (
        <details class="fold" open={!usable.length}>
          <summary>{usable.length ? "What the others lack" : "What is missing"}</summary>
          <ul aria-label="Not usable yet">
            {others.map((choice) => (
              <li key={choice.name}>
                <Plain text={choice.name} />
                <Why choice={choice} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

function Why({ choice: { why } }: { choice: Choice }) {
  return (
    <span class="muted">
      <Plain text={why} />
    </span>
  );
}
