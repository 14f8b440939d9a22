/** What the person is writing: the text, one message that waits for its turn, one on its way. */

import { type Frame, Topic } from "./topic";

/** The longest message that is taken, in characters; the server's limit for a message is near. */
export const LONGEST = 1_000_000;

export class Draft {
  /** Told when something else than typing changes the text, and when a message moves on. */
  readonly topic = new Topic();
  text = "";
  /** Written while an answer was running. */
  queued = "";
  /** Sent, and not yet answered. */
  outgoing = "";
  note = "";
  /** Where the conversation was scrolled to, so that a new view shows the same place. */
  scroll = { top: 0, following: true };

  constructor(
    private readonly frame: Frame,
    private readonly post: (text: string) => Promise<boolean>,
  ) {}

  /** Notes what was typed. */
  type(text: string): void {
    this.text = text;
    if (this.note) this.#change({ note: "" });
  }

  /** Puts a text into the field, as if it had been typed. */
  write(text: string): void {
    this.#change({ text, note: "" });
  }

  /** Sends the draft, or lets it wait while an answer runs. */
  async submit(running: boolean): Promise<void> {
    const text = this.text.trim();
    if (!text || this.outgoing) return;
    if (text.length > LONGEST) this.#change({ note: TOO_LONG });
    else if (!running) await this.#send(text, { text: "" });
    else if (this.queued) this.#change({ note: ONE_ONLY });
    else this.#change({ queued: text, text: "" });
  }

  /** Sends the message that waited. */
  async release(): Promise<void> {
    if (this.queued && !this.outgoing) await this.#send(this.queued, { queued: "" });
  }

  /** Takes the waiting message back into the draft. */
  unqueue(): void {
    this.#change({ queued: "", text: joined(this.queued, this.text) });
  }

  /** Says why a text was not taken. */
  refuse(note: string): void {
    this.#change({ note });
  }

  async #send(text: string, left: Partial<Draft>): Promise<void> {
    this.#change({ ...left, outgoing: text, note: "" });
    const accepted = await this.post(text);
    this.#change({ outgoing: "", ...(accepted ? {} : { text: joined(text, this.text) }) });
  }

  #change(changes: Partial<Draft>): void {
    Object.assign(this, changes);
    this.frame.touch(this.topic);
  }
}

export const TOO_LONG = "This text is over 1 MB; attach it as a file or a variable instead.";
const ONE_ONLY = "One message waits already; remove it first, or wait for its turn.";

function joined(first: string, second: string): string {
  return first && second ? `${first}\n${second}` : first || second;
}
