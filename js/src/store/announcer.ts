/** What a screen reader says next: changes of state, and never the words of an answer. */

import type { Status } from "../protocol";
import type { FilledCall } from "./filled";
import { isFinal } from "./nodes";
import { type Frame, Topic } from "./topic";
import { stateWords } from "./words";

const STATUSES: Record<Status, string> = {
  ready: "The answer is complete.",
  running: "Answering.",
  waiting: "The chat waits for you.",
  error: "The request failed.",
};

export class Announcer {
  readonly topic = new Topic();
  /** The sentences since the page was last told. */
  text = "";
  #version = -1;

  constructor(private readonly frame: Frame) {}

  /** Says what became of a call. */
  call(before: FilledCall | undefined, call: FilledCall): void {
    if (call.state === "streaming" || (!before && isFinal(call))) return;
    this.#say(`${call.tool}: ${stateWords(call)}.`);
  }

  /** Says how the conversation stands. */
  status(status: Status): void {
    this.#say(STATUSES[status]);
  }

  #say(sentence: string): void {
    const untold = this.#version === this.topic.version;
    this.text = untold ? `${this.text} ${sentence}` : sentence;
    this.#version = this.topic.version;
    this.frame.touch(this.topic);
  }
}
