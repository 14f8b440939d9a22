/** What a running call asks of the person: a form, a link to open, or a yes. */

import type { Question as Asked, Json } from "../protocol";
import { linkAddress } from "../renderers/markdown/links";
import {
  type CallNode,
  type Entered,
  type Entries,
  type FormField,
  readEntries,
  readForm,
} from "../store";
import { CommandButton, CommandStatus } from "./controls";
import { Plain } from "./plain";
import { useHere, useKept, useView } from "./view";

/** The question of a call, with what answers it. */
export function Question({ node }: { node: CallNode }) {
  const { id, question } = node.part;
  const { commands } = useView().store;
  const here = useHere();
  const fields = readForm(question?.form ?? null);
  const [entries, setEntries] = useKept<Entries>(`question:${question?.id}`, {});
  if (!question) return null;
  const wrong = commands.rejection(id)?.field;
  const enter = (name: string, value: Entered) => {
    commands.dismiss(id);
    setEntries({ ...entries, [name]: value });
  };
  return (
    <div class="panel">
      <p class="asked">
        <Plain text={question.text} />
      </p>
      {question.link && <Link address={question.link} />}
      {here &&
        fields.map((field) => (
          <Field
            key={field.name}
            field={field}
            value={entries[field.name] ?? field.initial}
            wrong={field.name === wrong}
            onEnter={(value) => enter(field.name, value)}
          />
        ))}
      {here && <Replies node={node} question={question} value={readEntries(fields, entries)} />}
    </div>
  );
}

interface RepliesProps {
  readonly node: CallNode;
  readonly question: Asked;
  /** What was entered. */
  readonly value: { [name: string]: Json };
}

/** Answer, refuse, or end the call. */
function Replies({ node, question, value }: RepliesProps) {
  const { id, tool } = node.part;
  const about = { call: id, question: question.id };
  return (
    <div class="actions">
      <CommandButton
        look="primary"
        command={{ command: "answer", ...about, value }}
        subject={id}
        label={`Answer ${tool}`}
      >
        {question.form ? "Answer" : question.link ? "Done" : "Agree"}
      </CommandButton>
      <CommandButton
        command={{ command: "decline", ...about }}
        subject={id}
        label={`Refuse to answer ${tool}`}
      >
        Refuse
      </CommandButton>
      <CommandButton
        command={{ command: "cancel", call: id }}
        subject={id}
        label={`Cancel ${tool}`}
      >
        Cancel the call
      </CommandButton>
      <CommandStatus subject={id} />
    </div>
  );
}

/** The whole address is shown: a person has to see where it leads. */
function Link({ address }: { address: string }) {
  const target = linkAddress(address);
  if (!target) return <Plain text={address} />;
  return (
    <a class="address" href={target} target="_blank" rel="noopener noreferrer">
      <Plain text={target} />
    </a>
  );
}

interface FieldProps {
  readonly field: FormField;
  readonly value: Entered;
  readonly wrong: boolean;
  readonly onEnter: (value: Entered) => void;
}

function Field(props: FieldProps) {
  const { field } = props;
  if (field.kind === "flag") return <Flag {...props} />;
  if (field.kind === "choices") return <Choices {...props} />;
  return field.kind === "choice" ? <Choice {...props} /> : <Line {...props} />;
}

function Label({ field }: { field: FormField }) {
  return (
    <span>
      <Plain text={field.label} />
      {field.required && <span title="needed"> *</span>}
      {field.help && (
        <>
          {" · "}
          <Plain text={field.help} />
        </>
      )}
    </span>
  );
}

function Line({ field, value, wrong, onEnter }: FieldProps) {
  return (
    <label class="field">
      <Label field={field} />
      <input
        type="text"
        inputMode={field.keys}
        placeholder={field.example}
        value={String(value)}
        aria-required={field.required}
        aria-invalid={wrong ? "true" : undefined}
        onInput={(event) => onEnter(event.currentTarget.value)}
      />
    </label>
  );
}

function Choice({ field, value, wrong, onEnter }: FieldProps) {
  const [place = -1] = value as readonly number[];
  return (
    <label class="field">
      <Label field={field} />
      <select
        value={String(place)}
        aria-required={field.required}
        aria-invalid={wrong ? "true" : undefined}
        onChange={(event) => {
          const chosen = Number(event.currentTarget.value);
          onEnter(chosen < 0 ? [] : [chosen]);
        }}
      >
        <option value="-1">choose …</option>
        {field.choices.map(({ label }, index) => (
          <option key={label} value={String(index)}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

function Choices({ field, value, wrong, onEnter }: FieldProps) {
  const chosen = value as readonly number[];
  const toggle = (place: number, on: boolean) => {
    const others = chosen.filter((each) => each !== place);
    onEnter(on ? [...others, place].sort((first, second) => first - second) : others);
  };
  return (
    <fieldset class="field" aria-invalid={wrong ? "true" : undefined}>
      <legend>
        <Label field={field} />
      </legend>
      {field.choices.map(({ label }, place) => (
        <label class="tick" key={label}>
          <input
            type="checkbox"
            checked={chosen.includes(place)}
            onChange={(event) => toggle(place, event.currentTarget.checked)}
          />
          <Plain text={label} />
        </label>
      ))}
    </fieldset>
  );
}

function Flag({ field, value, wrong, onEnter }: FieldProps) {
  return (
    <label class="tick">
      <input
        type="checkbox"
        checked={value === true}
        aria-invalid={wrong ? "true" : undefined}
        onChange={(event) => onEnter(event.currentTarget.checked)}
      />
      <Label field={field} />
    </label>
  );
}
