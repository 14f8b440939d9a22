/** A chat on a page, and what a person would do to it. */

import { mount } from "../src/mount";
import type { CommandMessage, Message, Part, Snapshot, ToolCall } from "../src/protocol";
import { JavaScriptRenderers } from "../src/renderers/javascript";
import { ChatStore } from "../src/store";
import { createElement } from "./person";

export { press, typeInto } from "./person";

export interface Page {
  readonly store: ChatStore;
  readonly sent: CommandMessage[];
  readonly root: ShadowRoot;
  readonly host: HTMLElement;
  /** Draws what changed. */
  settle(): Promise<void>;
  find(selector: string): HTMLElement | null;
  button(name: string): HTMLElement | undefined;
  text(): string;
}

interface Options {
  readonly live?: boolean;
  readonly modules?: Record<string, string>;
  readonly exported?: boolean;
}

/** Shows a conversation; it is live unless the test says otherwise. */
export async function show(snapshot: Partial<Snapshot>, options: Options = {}): Promise<Page> {
  const { live = true, modules = {}, exported = false } = options;
  const sent: CommandMessage[] = [];
  const whole = { seq: 0, boot: "b", chat: "c", conversation: {}, ...snapshot };
  const store = new ChatStore(whole, (message) => sent.push(message));
  const renderers = new JavaScriptRenderers({ store, modules: () => modules, manager: undefined });
  const el = createElement();
  mount(el, { store, renderers, exported });
  if (live) store.receive({ acks: [] });
  const host = el.firstElementChild as HTMLElement;
  const page = {
    store,
    sent,
    host,
    root: host.shadowRoot as ShadowRoot,
    settle: async () => {
      store.frame.flush();
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setTimeout(resolve));
    },
    find: (selector: string) => page.root.querySelector<HTMLElement>(selector),
    button: (name: string) =>
      [...page.root.querySelectorAll<HTMLElement>("button")].find(
        (button) => (button.getAttribute("aria-label") ?? button.textContent)?.trim() === name,
      ),
    text: () => page.root.textContent ?? "",
  };
  await page.settle();
  return page;
}

/** A conversation with one answer made of these parts. */
export function answering(parts: Part[], fields: Partial<Message> = {}): Snapshot["conversation"] {
  return { messages: [{ id: "a", role: "assistant", finish: "calls", parts, ...fields }] };
}

/** A tool call. */
export function call(fields: Partial<ToolCall> = {}): ToolCall {
  return { type: "tool-call", id: "k", tool: "drop_rows", args: { n: 1 }, ...fields };
}

/** A tool call that waits for approval. */
export function pending(fields: Partial<ToolCall> = {}): ToolCall {
  return call({ state: "pending", waiting: "approval", digest: "d1", ...fields });
}
