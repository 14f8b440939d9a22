/** Whether somebody is there: the states of the page, from what was heard of the kernel. */

import { type Frame, Topic } from "./topic";

/** `opening` is the short time before the first answer; nothing can be clicked then. */
export type PresenceState = "opening" | "live" | "busy" | "gone";

/** How long an answer may take before the page says so. */
export const PATIENCE_MS = 3000;

export class Presence {
  readonly topic = new Topic();
  #state: PresenceState = "opening";
  /** Whether the notebook itself says that the kernel works on something. */
  isKernelBusy: () => boolean = () => false;
  #heard = false;
  #closed = false;
  #late = new Set<string>();

  constructor(private readonly frame: Frame) {}

  get state(): PresenceState {
    return this.#state;
  }

  /** Whether commands can be given. */
  get here(): boolean {
    return this.#state === "live" || this.#state === "busy";
  }

  /** Notes that a view asked whether anybody is there. */
  open(): void {
    if (this.#state === "opening") setTimeout(() => this.#judgeSilence(), PATIENCE_MS);
  }

  /** Nothing was heard yet: a kernel that the notebook knows to be busy may still answer. */
  #judgeSilence(): void {
    if (this.#heard || this.#closed) return;
    this.#become(this.isKernelBusy() ? "busy" : "gone");
    if (this.#state === "busy") setTimeout(() => this.#judgeSilence(), PATIENCE_MS);
  }

  /** Notes a message from Python. */
  hear(): void {
    this.#closed = false;
    this.#heard = true;
    this.#become(this.#late.size ? "busy" : "live");
  }

  /** Watches a command until `answered` says yes; after three seconds the kernel counts as busy. */
  watch(id: string, isUnanswered: () => boolean): void {
    setTimeout(() => {
      if (!isUnanswered()) return;
      this.#late.add(id);
      if (this.#state === "live") this.#become("busy");
    }, PATIENCE_MS);
  }

  /** Notes that a command was answered. */
  settle(id: string): void {
    this.#late.delete(id);
  }

  /** Notes that the way to the kernel is closed. */
  close(): void {
    this.#closed = true;
    this.#late.clear();
    this.#become("gone");
  }

  /** Notes that the way to the kernel is open again; says whether it had been closed. */
  reopen(): boolean {
    const was = this.#closed;
    this.#closed = false;
    return was;
  }

  #become(state: PresenceState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.frame.touch(this.topic);
  }
}
