/** The values of the wire with their defaults put back, so that nothing above asks what is absent. */

import type { Job, Message, Part, ToolCall } from "../protocol";

/** A wire value in which every field is there. */
export type Filled<T> = { [Key in keyof T]-?: Exclude<T[Key], undefined> };
type FilledUnion<T> = T extends unknown ? Filled<T> : never;

export type FilledPart = FilledUnion<Part>;
export type FilledCall = Filled<ToolCall>;
export type FilledJob = Filled<Job>;

/** A message without its parts. */
export type MessageHead = Omit<Filled<Message>, "parts">;

type Defaults<T extends Part> = Omit<Filled<T>, "type" | "id">;

const CALL: Omit<Defaults<ToolCall>, "tool"> = {
  state: "streaming",
  raw: "",
  args: null,
  proposed: null,
  digest: "",
  waiting: "",
  expires: null,
  preview: null,
  decision: null,
  progress: null,
  question: null,
  output: "",
  value: null,
  handle: "",
  display: null,
  drawn: null,
  told: "",
  pictures: [],
  outcome: "",
  error: "",
  trace: "",
  origin: "model",
  again: "",
  destructive: false,
  started: null,
  ended: null,
  sealed: null,
};

const JOB: Omit<Defaults<Job>, "call" | "tool"> = {
  state: "running",
  progress: null,
  output: "",
  value: null,
  handle: "",
  display: null,
  told: "",
  pictures: [],
  outcome: "",
  error: "",
  trace: "",
  started: null,
  ended: null,
};

const DEFAULTS: { [Type in Part["type"]]: object } = {
  text: { text: "", sealed: null },
  reasoning: { text: "", sealed: null },
  "tool-call": CALL,
  job: JOB,
  file: { name: "", data: "", about: "", sealed: null },
  source: { title: "" },
  data: { data: null },
  notice: { level: "info", hint: "", retry: false, limit: "", about: "", told: "", asks: false },
};

/** Returns the part with every field. */
export function fillPart(part: Part): FilledPart {
  return { ...DEFAULTS[part.type], ...part } as FilledPart;
}

/** Returns the message with every field but its parts. */
export function fillHead(message: Message): MessageHead {
  const { parts: _, ...head } = message;
  return { ...HEAD, ...head } as MessageHead;
}

const HEAD = {
  finish: "",
  reason: "",
  usage: null,
  model: "",
  time: null,
  pinned: false,
  unseen: false,
};
