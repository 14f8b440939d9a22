/** A field for JSON, with what is wrong with its text, and how fields take focus and keys. */

import { useLayoutEffect, useRef } from "preact/hooks";
import type { Json } from "../protocol";
import { isRecord, type Rejection } from "../store";
import { Plain } from "./plain";
import { useView } from "./view";

interface JsonFieldProps {
  /** Whether a person asked for the field, so that it takes the focus. */
  readonly opened?: boolean;
  readonly label: string;
  readonly text: string;
  readonly problem: string;
  readonly rejection: Rejection | undefined;
  readonly onType: (text: string) => void;
}

/** A text area for JSON. */
export function JsonField({
  opened = false,
  label,
  text,
  problem,
  rejection,
  onType,
}: JsonFieldProps) {
  const area = useFocus<HTMLTextAreaElement>(opened);
  const wrong = problem || rejection?.text || "";
  return (
    <label class="field">
      <span>
        <Plain text={label} />
      </span>
      <textarea
        ref={area}
        class="code"
        spellcheck={false}
        rows={Math.min(12, Math.max(2, text.split("\n").length))}
        value={text}
        aria-invalid={wrong ? "true" : undefined}
        onInput={(event) => onType(event.currentTarget.value)}
      />
      {wrong && (
        <span class="refused" role="alert">
          {!problem && rejection?.field && <strong>{rejection.field}: </strong>}
          <Plain text={wrong} />
        </span>
      )}
    </label>
  );
}

/** Puts the focus into a field that a person just opened. */
export function useFocus<T extends HTMLElement>(opened: boolean) {
  const field = useRef<T>(null);
  const { focus } = useView();
  useLayoutEffect(() => {
    if (opened && focus.held) field.current?.focus({ preventScroll: true });
  }, []);
  return field;
}

/** Says whether a key means "done", and not the end of a composition. */
export function isPlainEnter(event: KeyboardEvent): boolean {
  return event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229;
}

/** Reads an object, or says why the text is none. */
export function readObject(text: string): { [name: string]: Json } | string {
  try {
    const value = JSON.parse(text);
    return isRecord(value) ? value : 'The arguments are one JSON object, such as {"name": 1}.';
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}`;
  }
}

/** Reads JSON; what is not JSON is meant as text. */
export function readValue(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
