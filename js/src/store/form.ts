/** What a form asks for: its fields, and the answer that entered values make. */

import type { Json } from "../protocol";
import { isRecord } from "./nodes";

/** One value that a person may choose. */
export interface Choice {
  readonly value: Json;
  readonly label: string;
}

export type FieldKind = "text" | "number" | "flag" | "choice" | "choices";

/** One field of a form. */
export interface FormField {
  readonly name: string;
  readonly label: string;
  readonly help: string;
  readonly kind: FieldKind;
  /** The keys that suit the value. */
  readonly keys: "text" | "email" | "url" | "decimal";
  /** How it is written, where that is not plain. */
  readonly example: string;
  readonly choices: readonly Choice[];
  readonly initial: Entered;
  readonly required: boolean;
}

/** What stands in a field: text, a tick, or the places of what was chosen. */
export type Entered = string | boolean | readonly number[];
export type Entries = { readonly [name: string]: Entered };

const KEYS = { email: "email", uri: "url" } as const;
const EXAMPLES = { date: "2030-12-31", "date-time": "2030-12-31T18:00:00Z" } as const;

/** Reads the fields of a schema of type object; what is no plain value is entered as text. */
export function readForm(form: { readonly [name: string]: Json } | null): FormField[] {
  const properties = isRecord(form?.properties) ? form.properties : {};
  const required = Array.isArray(form?.required) ? form.required : [];
  return Object.entries(properties).map(([name, schema]) =>
    readField(name, isRecord(schema) ? schema : {}, required.includes(name)),
  );
}

/** Makes the answer of what was entered; an empty field is left out. */
export function readEntries(fields: readonly FormField[], entries: Entries) {
  const answer: { [name: string]: Json } = {};
  for (const field of fields) {
    const value = readEntry(field, entries[field.name] ?? field.initial);
    if (value !== undefined) answer[field.name] = value;
  }
  return answer;
}

type Schema = { readonly [name: string]: unknown };

function readField(name: string, schema: Schema, required: boolean): FormField {
  const choices = readChoices(schema);
  const kind = readKind(schema, choices);
  const format = String(schema.format);
  return {
    name,
    label: typeof schema.title === "string" ? schema.title : name,
    help: typeof schema.description === "string" ? schema.description : "",
    kind,
    keys: kind === "number" ? "decimal" : (KEYS[format as keyof typeof KEYS] ?? "text"),
    example: EXAMPLES[format as keyof typeof EXAMPLES] ?? "",
    choices,
    initial: readInitial(kind, schema.default, choices),
    required,
  };
}

function readKind(schema: Schema, choices: readonly Choice[]): FieldKind {
  if (schema.type === "array" && choices.length) return "choices";
  if (choices.length) return "choice";
  if (schema.type === "boolean") return "flag";
  return schema.type === "number" || schema.type === "integer" ? "number" : "text";
}

function readChoices(schema: Schema): Choice[] {
  const source = schema.type === "array" && isRecord(schema.items) ? schema.items : schema;
  if (Array.isArray(source.enum)) {
    const names = Array.isArray(source.enumNames) ? source.enumNames : [];
    return source.enum.map((value, place) => ({ value, label: String(names[place] ?? value) }));
  }
  const titled = source.oneOf ?? source.anyOf;
  const known = Array.isArray(titled) ? titled.filter(isRecord) : [];
  return known
    .filter((each) => "const" in each)
    .map((each) => ({ value: each.const as Json, label: String(each.title ?? each.const) }));
}

function readInitial(kind: FieldKind, value: unknown, choices: readonly Choice[]): Entered {
  const places = (wanted: readonly unknown[]) =>
    choices.flatMap((choice, place) => (wanted.includes(choice.value) ? [place] : []));
  if (kind === "flag") return value === true;
  if (kind === "choice") return places([value]);
  if (kind === "choices") return places(Array.isArray(value) ? value : []);
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function readEntry(field: FormField, entered: Entered): Json | undefined {
  if (typeof entered === "boolean") return entered;
  if (typeof entered === "string") return readText(field, entered);
  const chosen = entered.map((place) => field.choices[place]?.value ?? null);
  if (field.kind === "choice") return chosen[0];
  return chosen.length || field.required ? chosen : undefined;
}

/** What is no number is sent as it stands: Python says what is wrong with it. */
function readText(field: FormField, text: string): Json | undefined {
  if (!text.trim()) return undefined;
  const number = Number(text);
  return field.kind === "number" && Number.isFinite(number) ? number : text;
}
