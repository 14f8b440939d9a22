import { describe, expect, it } from "vitest";
import recorded from "../../tests/patches.json";
import type { PatchMessage, Snapshot } from "../src/protocol";
import { ChatStore } from "../src/store";

interface Story {
  readonly name: string;
  readonly first: Snapshot;
  readonly messages: PatchMessage[];
  readonly last: Snapshot;
}

const STORIES = recorded as unknown as Story[];

/** Everything that a page knows of a chat. */
function picture({ copy }: ChatStore): unknown {
  const { status, error, model, renderers, tools } = copy;
  const messages = copy.messages.map(({ head, parts }) => ({
    ...head,
    parts: parts.map(({ part }) => part),
  }));
  return { status, error, model, renderers, tools, messages, open: [...copy.openCalls.keys()] };
}

describe("patches that Python wrote", () => {
  it.each(STORIES)("give the page what Python has: $name", ({ first, messages, last }) => {
    const store = new ChatStore(structuredClone(first), () => {});
    for (const message of messages) store.receive(structuredClone(message));
    expect(picture(store)).toEqual(picture(new ChatStore(last, () => {})));
  });
});
