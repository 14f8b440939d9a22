/**
 * The page's copy of a conversation: what a snapshot or an op changes in it, in place.
 *
 * Each message and each part has its own topic, so a change costs the same however long the
 * conversation is. An op that names something unknown throws `Mismatch`: the copy is then stale.
 */

import type {
  Choice,
  Conversation,
  Failure,
  Field,
  Json,
  Message,
  ModelLabel,
  Op,
  Part,
  RendererReference,
  RuleReference,
  Settings,
  Status,
  ToolReference,
} from "../protocol";
import { type FilledCall, type FilledPart, fillHead, fillPart } from "./filled";
import { type CallNode, isFinal, MessageNode, PartNode } from "./nodes";
import { type Frame, Topic } from "./topic";

/** An op does not fit this copy. */
export class Mismatch extends Error {}

/** The whole of a conversation, and what a page has to know besides. */
export class Copy {
  readonly messages: MessageNode[] = [];
  /** Calls that are not final, by id. */
  readonly openCalls = new Map<string, CallNode>();
  /** Told when messages come or go. */
  readonly list = new Topic();
  /** Told when the status, the error, a call's state, or what `#set` replaces change. */
  readonly shell = new Topic();
  status: Status = "ready";
  error: Failure | null = null;
  model: ModelLabel = { label: "" };
  renderers: { [name: string]: RendererReference } = {};
  tools: ToolReference[] = [];
  rules: RuleReference[] = [];
  /** The models that are offered; null where nobody has looked for any. */
  choices: Choice[] | null = null;
  /** Called when the state of a call changes. */
  onCall: (before: FilledCall | undefined, after: FilledCall) => void = () => {};
  /** Called when the status changes. */
  onStatus: (status: Status) => void = () => {};
  readonly #messages = new Map<string, MessageNode>();
  readonly #parts = new Map<string, PartNode>();

  constructor(private readonly frame: Frame) {}

  /** The conversation as a snapshot has it; it shares its parts with this copy. */
  get conversation(): Conversation {
    const messages = this.messages.map(({ head, parts }) => ({
      ...head,
      parts: parts.map(({ part }) => part),
    }));
    return { messages, status: this.status, error: this.error };
  }

  /** Returns a message by id. */
  message(id: string): MessageNode | undefined {
    return this.#messages.get(id);
  }

  /** Returns a part by id. */
  part(id: string): PartNode | undefined {
    return this.#parts.get(id);
  }

  /** Makes the copy equal to a snapshot; what is in both keeps its nodes. */
  take(conversation: Conversation, settings: Settings): void {
    const messages = conversation.messages ?? [];
    const kept = new Set(messages.map(({ id }) => id));
    for (const { head } of [...this.messages]) if (!kept.has(head.id)) this.#remove(head.id);
    for (const message of messages) this.#putMessage(message);
    sortLike(messages, this.messages, ({ head }) => head.id);
    const none = { model: null, renderers: null, tools: null, rules: null, choices: null };
    this.#set({ ...none, ...settings });
    this.#set({ status: conversation.status ?? "ready", error: conversation.error ?? null });
  }

  /** Carries out one op. */
  apply(op: Op): void {
    if (op[0] === "append") this.#append(op[1], op[2], op[3]);
    else if (op[0] === "part") this.#putPart(this.#find(op[1]), op[2]);
    else if (op[0] === "message") this.#putMessage(op[1]);
    else if (op[0] === "fields") this.#setFields(this.#find(op[1]), op[2]);
    else if (op[0] === "remove") this.#remove(this.#find(op[1]).head.id);
    else this.#set(op[1]);
  }

  #find(id: string): MessageNode {
    const node = this.#messages.get(id);
    if (!node) throw new Mismatch(`There is no message "${id}".`);
    return node;
  }

  #append(id: string, field: Field, text: string): void {
    const node = this.#parts.get(id);
    const part = node?.part as { [name in Field]?: string } | undefined;
    if (!node || typeof part?.[field] !== "string") {
      throw new Mismatch(`There is no part "${id}" whose "${field}" could grow.`);
    }
    part[field] += text;
    this.frame.touch(node.topic);
  }

  #putMessage(message: Message): void {
    let node = this.#messages.get(message.id);
    if (node) node.head = fillHead(message);
    else node = this.#addMessage(message);
    this.frame.touch(node.topic);
    const parts = message.parts ?? [];
    this.#dropParts(node, new Set(parts.map(({ id }) => id)));
    for (const part of parts) this.#putPart(node, part);
    sortLike(parts, node.parts, ({ part }) => part.id);
  }

  #setFields(node: MessageNode, fields: Json): void {
    const { unseen } = node.head;
    node.head = fillHead({ ...(fields as unknown as Message), id: node.head.id });
    if (node.head.unseen !== unseen) this.frame.touch(this.list);
    this.frame.touch(node.topic);
    for (const { topic } of node.parts) this.frame.touch(topic);
  }

  #addMessage(message: Message): MessageNode {
    const node = new MessageNode(fillHead(message));
    this.#messages.set(message.id, node);
    this.messages.push(node);
    this.frame.touch(this.list);
    return node;
  }

  #dropParts(node: MessageNode, kept: Set<string>): void {
    for (const { part } of node.parts) if (!kept.has(part.id)) this.#forget(part.id);
    node.parts.splice(0, node.parts.length, ...node.parts.filter(({ part }) => kept.has(part.id)));
  }

  #putPart(message: MessageNode, wire: Part): void {
    const part = fillPart(wire);
    const known = this.#parts.get(part.id);
    const before = known?.part;
    const node = known?.message === message ? known : this.#addPart(message, part);
    node.replace(part);
    this.frame.touch(node.topic);
    if (part.type === "tool-call")
      this.#noteCall(node as CallNode, before as FilledCall | undefined);
  }

  #addPart(message: MessageNode, part: FilledPart): PartNode {
    const node = new PartNode(part, message);
    this.#parts.set(part.id, node);
    message.parts.push(node);
    this.frame.touch(message.topic);
    return node;
  }

  #noteCall(node: CallNode, before: FilledCall | undefined): void {
    const { part: call, message } = node;
    if (isFinal(call)) this.openCalls.delete(call.id);
    else this.openCalls.set(call.id, node);
    const asks = before?.question?.id === call.question?.id;
    if (asks && before?.state === call.state && before.waiting === call.waiting) return;
    this.frame.touch(message.topic);
    this.frame.touch(this.shell);
    this.onCall(before, call);
  }

  #remove(id: string): void {
    const node = this.#find(id);
    for (const { part } of node.parts) this.#forget(part.id);
    this.#messages.delete(id);
    this.messages.splice(this.messages.indexOf(node), 1);
    this.frame.touch(this.list);
    this.frame.touch(this.shell);
  }

  #forget(part: string): void {
    this.#parts.delete(part);
    this.openCalls.delete(part);
  }

  #set(settings: Settings): void {
    if (settings.status !== undefined) this.#setStatus(settings.status);
    if (settings.error !== undefined) this.error = settings.error;
    if (settings.model !== undefined) this.model = settings.model ?? { label: "" };
    if (settings.renderers !== undefined) this.#setRenderers(settings.renderers ?? {});
    if (settings.tools !== undefined) this.tools = settings.tools ?? [];
    if (settings.rules !== undefined) this.rules = settings.rules ?? [];
    if (settings.choices !== undefined) this.choices = settings.choices;
    this.frame.touch(this.shell);
  }

  #setStatus(status: Status): void {
    const changed = status !== this.status;
    this.status = status;
    if (changed) this.onStatus(status);
  }

  #setRenderers(renderers: { [name: string]: RendererReference }): void {
    this.renderers = renderers;
    for (const { topic, part } of this.#parts.values()) {
      if (part.type === "tool-call") this.frame.touch(topic);
    }
  }
}

function sortLike<T>(model: { id: string }[], items: T[], idOf: (item: T) => string): void {
  const places = new Map(model.map(({ id }, place) => [id, place]));
  const place = (item: T) => places.get(idOf(item)) ?? model.length;
  items.sort((left, right) => place(left) - place(right));
}
