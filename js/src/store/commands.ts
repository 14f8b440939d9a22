/** Commands on their way to Python: their ids, who waits for which, and what was refused. */

import type { Ack, Command, CommandMessage, Refusal } from "../protocol";

/** Why Python did not carry out a command, to be shown where the command was given. */
export interface Rejection {
  readonly command: Command["command"];
  readonly error: Refusal;
  readonly text: string;
  readonly field: string;
}

/** A command that has no answer yet. */
export interface Unanswered {
  readonly message: CommandMessage;
  /** What it is about: the id of a call or message, or the name of a place on the page. */
  readonly subject: string;
  readonly resolve: (answer: Ack | undefined) => void;
}

/** The conversation and the kernel that commands are meant for. */
export interface Address {
  chat: string;
  boot: string;
}

export class Commands {
  readonly #unanswered = new Map<string, Unanswered>();
  readonly #rejections = new Map<string, Rejection>();
  readonly #page = pageId();
  #count = 0;

  constructor(
    private readonly address: Address,
    private readonly post: (message: CommandMessage) => void,
    private readonly changed: (subject: string) => void,
  ) {}

  /** Sends a command; the promise says whether Python accepted it. */
  async send(command: Command, subject: string): Promise<boolean> {
    return (await this.ask(command, subject))?.ok === true;
  }

  /** Sends a command; the promise gives the answer, and nothing where the kernel went away. */
  ask(command: Command, subject: string): Promise<Ack | undefined> {
    const message = this.#address(command);
    this.#rejections.delete(subject);
    const answered = new Promise<Ack | undefined>((resolve) => {
      this.#unanswered.set(message.id, { message, subject, resolve });
    });
    this.changed(subject);
    this.post(message);
    return answered;
  }

  /** Sends a command that nobody answers. */
  notify(command: Command): void {
    this.post(this.#address(command));
  }

  /** Takes the answer to a command; says whether this page had asked. */
  acknowledge(ack: Ack): boolean {
    const waiting = this.#unanswered.get(ack.ack);
    if (!waiting) return false;
    this.#unanswered.delete(ack.ack);
    if (!ack.ok) this.#reject(waiting, ack.error ?? "invalid", ack.text ?? "", ack.field ?? "");
    waiting.resolve(ack);
    this.changed(waiting.subject);
    return true;
  }

  /** Sends every unanswered command once more, with the id it had. */
  repeat(): void {
    for (const { message } of this.#unanswered.values()) this.post(message);
  }

  /** Gives up what was asked of a kernel that is gone. */
  abandon(): void {
    for (const [id, waiting] of [...this.#unanswered]) {
      this.#unanswered.delete(id);
      this.#reject(waiting, "foreign", "The kernel was restarted before it answered.", "");
      waiting.resolve(undefined);
      this.changed(waiting.subject);
    }
  }

  /** Says whether any command has no answer yet. */
  get waiting(): boolean {
    return this.#unanswered.size > 0;
  }

  /** Returns the command about a subject that has no answer yet. */
  sent(subject: string): Command["command"] | undefined {
    for (const waiting of this.#unanswered.values()) {
      if (waiting.subject === subject) return waiting.message.command;
    }
    return undefined;
  }

  /** Says whether this very command has no answer yet. */
  isUnanswered(id: string): boolean {
    return this.#unanswered.has(id);
  }

  /** The id that the last command got. */
  get lastId(): string {
    return `${this.#page}-${this.#count}`;
  }

  /** Returns why the last command about a subject was refused. */
  rejection(subject: string): Rejection | undefined {
    return this.#rejections.get(subject);
  }

  /** Takes a refusal off the page. */
  dismiss(subject: string): void {
    if (this.#rejections.delete(subject)) this.changed(subject);
  }

  #address(command: Command): CommandMessage {
    this.#count += 1;
    return { id: this.lastId, chat: this.address.chat, boot: this.address.boot, ...command };
  }

  #reject({ message, subject }: Unanswered, error: Refusal, text: string, field: string): void {
    const { command } = message;
    this.#rejections.set(subject, { command, error, text: text || `Refused: ${error}.`, field });
  }
}

/** A name for this page: Python answers a repeated id as before, so no two pages may share ids. */
function pageId(): string {
  const numbers = crypto.getRandomValues(new Uint32Array(2));
  return `p${[...numbers].map((number) => number.toString(36)).join("")}`;
}
