/**
 * One chat on the page: the copy of its conversation, and everything that its views share.
 *
 * It is made once per widget model and outlives its views: messages from Python come in here,
 * commands go out from here.
 */

import type {
  Ack,
  Command,
  CommandMessage,
  Failure,
  Json,
  PatchMessage,
  PythonMessage,
  Snapshot,
} from "../protocol";
import { Announcer } from "./announcer";
import { Assets } from "./assets";
import { Commands } from "./commands";
import { Copy, Mismatch } from "./copy";
import { Draft } from "./draft";
import { Presence } from "./presence";
import { type Patch, Sequence } from "./sequence";
import { Frame } from "./topic";

/** Where commands about no call or message belong. */
export const COMPOSER = "composer";
export const CONVERSATION = "conversation";
const PAGE = "page";

/** How long the answer to `sync` may take before it is asked for again; doubles each time. */
const SYNC_PATIENCE_MS = 3000;

/** A message may wake nobody (seen with ipykernel 7.3); the next one then wakes for both. */
const KNOCK_AGAIN_MS = 1000;

type Buffer = ArrayBuffer | ArrayBufferView;

export class ChatStore {
  readonly frame = new Frame();
  readonly copy = new Copy(this.frame);
  readonly presence = new Presence(this.frame);
  readonly draft = new Draft(this.frame, (text) => this.run({ command: "send", text }, COMPOSER));
  readonly assets = new Assets((asset) => this.run({ command: "asset", asset }, PAGE));
  readonly commands: Commands;
  /** Errors of the widget itself. */
  readonly faults: Failure[] = [];
  readonly announcer = new Announcer(this.frame);
  /** What components remember beyond their own life: open editors and what stands in them. */
  readonly kept = new Map<string, unknown>();
  readonly #address = { chat: "", boot: "" };
  readonly #sequence = new Sequence(0);
  #syncing: ReturnType<typeof setTimeout> | undefined;

  constructor(snapshot: Snapshot, post: (message: CommandMessage) => void) {
    this.commands = new Commands(this.#address, post, (subject) => this.#touch(subject));
    this.take(snapshot);
    this.copy.onCall = (before, call) => this.announcer.call(before, call);
    this.copy.onStatus = (status) => this.announcer.status(status);
  }

  /** The conversation's id. */
  get chat(): string {
    return this.#address.chat;
  }

  /**
   * Returns a snapshot that is always current: it is written when somebody reads it.
   *
   * It is saved with the notebook, so what one machine could use is no part of it.
   */
  liveSnapshot(widget: string): Snapshot {
    const { copy } = this;
    const address = this.#address;
    const sequence = this.#sequence;
    return {
      widget,
      get seq() {
        return sequence.seq;
      },
      get boot() {
        return address.boot;
      },
      get chat() {
        return address.chat;
      },
      get conversation() {
        return copy.conversation;
      },
      get model() {
        return copy.model;
      },
      get renderers() {
        return copy.renderers;
      },
      get tools() {
        return copy.tools;
      },
      get rules() {
        return copy.rules;
      },
    };
  }

  /** Sends a command; the promise says whether Python accepted it. */
  async run(command: Command, subject: string): Promise<boolean> {
    return (await this.#send(command, subject))?.ok === true;
  }

  /** Sends a command that asks for something; the promise gives it, or nothing. */
  async ask(command: Command, subject: string): Promise<Json | undefined> {
    return (await this.#send(command, subject))?.value;
  }

  #send(command: Command, subject: string): Promise<Ack | undefined> {
    const answered = this.commands.ask(command, subject);
    const id = this.commands.lastId;
    this.presence.watch(id, () => this.commands.isUnanswered(id));
    return answered;
  }

  /** Tells Python that a view appeared, and finds out whether anybody is there. */
  open(): void {
    this.presence.open();
    this.run({ command: "view" }, PAGE);
    setTimeout(() => {
      if (this.presence.state === "opening") this.commands.repeat();
    }, KNOCK_AGAIN_MS);
  }

  /** Takes a whole state: at the start, as the answer to `sync`, or because Python pushed it. */
  take(snapshot: Snapshot): void {
    const { conversation, seq, model, renderers, tools, rules, choices } = snapshot;
    const known = snapshot.boot === this.#address.boot && snapshot.chat === this.#address.chat;
    if (known && seq < this.#sequence.seq) return;
    if (!known) this.#moveTo(snapshot);
    this.copy.take(conversation, {
      model: model ?? null,
      renderers: renderers ?? null,
      tools: tools ?? null,
      rules: rules ?? null,
      choices: choices ?? null,
    });
    this.#apply(this.#sequence.restart(seq));
    this.#settleSync();
    this.#afterChange();
  }

  /** Takes one message from Python. */
  receive(message: PythonMessage, buffers: readonly Buffer[] = []): void {
    if ("ping" in message) this.commands.notify({ command: "pong", ping: message.ping });
    else if ("state" in message) this.take(message.state);
    else if ("asset" in message) {
      this.assets.put(message.asset, message.mime ?? "", toBytes(buffers[0]));
    } else if ("error" in message) this.#fault(message.error);
    else this.#patch(message);
    this.presence.hear();
  }

  /** Notes that the kernel cannot be reached. */
  close(): void {
    this.presence.close();
  }

  /** Notes that the kernel can be reached again. */
  reopen(): void {
    if (!this.presence.reopen()) return;
    this.commands.repeat();
    this.open();
    this.#sync();
  }

  /** Takes an error of the widget off the page. */
  dismiss(fault: Failure): void {
    this.faults.splice(this.faults.indexOf(fault), 1);
    this.frame.touch(this.copy.shell);
  }

  #moveTo({ chat, boot }: Snapshot): void {
    const first = this.#address.boot === "";
    Object.assign(this.#address, { chat, boot });
    this.#sequence.clear();
    if (!first) this.commands.abandon();
  }

  #patch({ seq, ops, acks }: PatchMessage): void {
    if (seq !== undefined && ops) this.#apply(this.#sequence.offer({ seq, ops }));
    if (this.#sequence.gap) this.#sync();
    for (const ack of acks ?? []) this.#acknowledge(ack);
    this.#afterChange();
  }

  #apply(patches: Patch[]): void {
    try {
      for (const { ops } of patches) for (const op of ops) this.copy.apply(op);
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error;
      this.#sync();
    }
  }

  #acknowledge(ack: Ack): void {
    if (this.commands.acknowledge(ack)) this.presence.settle(ack.ack);
  }

  #sync(patience = SYNC_PATIENCE_MS): void {
    if (this.#syncing !== undefined) return;
    this.#syncing = setTimeout(() => {
      this.#syncing = undefined;
      if (this.presence.state !== "gone") this.#sync(2 * patience);
    }, patience);
    this.run({ command: "sync" }, PAGE);
  }

  #settleSync(): void {
    clearTimeout(this.#syncing);
    this.#syncing = undefined;
    if (this.#sequence.gap) this.#sync();
  }

  #afterChange(): void {
    if (this.copy.status === "ready" && this.draft.queued) void this.draft.release();
  }

  #fault(error: Failure): void {
    this.faults.push(error);
    this.frame.touch(this.copy.shell);
  }

  #touch(subject: string): void {
    const node = this.copy.part(subject) ?? this.copy.message(subject);
    this.frame.touch(node?.topic ?? this.copy.shell);
  }
}

function toBytes(buffer: Buffer | undefined): Uint8Array | undefined {
  if (!buffer) return undefined;
  if (buffer instanceof ArrayBuffer) return new Uint8Array(buffer);
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}
