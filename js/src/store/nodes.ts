/** Messages and parts as the page keeps them: a value that changes in place, and who watches it. */

import type { Json } from "../protocol";
import type { FilledCall, FilledPart, MessageHead } from "./filled";
import { PartialJson } from "./partial";
import { Topic } from "./topic";

/** One part of a message, and who watches it. */
export class PartNode {
  readonly topic = new Topic();
  #partial: PartialJson | undefined;
  #read = 0;

  constructor(
    public part: FilledPart,
    readonly message: MessageNode,
  ) {}

  /** Takes another value for the same part. */
  replace(part: FilledPart): void {
    this.part = part;
    this.#partial = undefined;
    this.#read = 0;
  }

  /** Returns the arguments of a call; while they arrive, what can be read of them so far. */
  get args(): { [name: string]: Json } | null {
    if (this.part.type !== "tool-call") return null;
    if (this.part.state !== "streaming" || !this.part.raw) return this.part.args;
    this.#partial ??= new PartialJson();
    this.#partial.feed(this.part.raw.slice(this.#read));
    this.#read = this.part.raw.length;
    const { value } = this.#partial;
    return isRecord(value) ? value : this.part.args;
  }
}

/** A part that is a tool call. */
export type CallNode = PartNode & { part: FilledCall };

/** One message, and who watches it. */
export class MessageNode {
  readonly topic = new Topic();
  readonly parts: PartNode[] = [];

  constructor(public head: MessageHead) {}

  /** The tool calls of this message, in order. */
  get calls(): CallNode[] {
    return this.parts.filter(isCall);
  }
}

/** Says whether a call has ended. */
export function isFinal(call: FilledCall): boolean {
  return call.state === "result" || call.state === "error";
}

/** Says whether a part is a tool call. */
export function isCall(node: PartNode): node is CallNode {
  return node.part.type === "tool-call";
}

/** Says whether a JSON value is an object. */
export function isRecord(value: unknown): value is { [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
