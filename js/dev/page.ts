/** Shows one story with a stand-in for the kernel: #story=waiting&theme=dark&kernel=gone */

import type { CommandMessage, Op, PythonMessage, Snapshot } from "../src/protocol";
import createWidget, { mountStatic, type WidgetModel } from "../src/runtime";
import { STORIES } from "./stories";
import { useTheme } from "./themes";

type Callback = (...parameters: unknown[]) => void;

const COVERED = {
  mark: "m1",
  lines: [
    'Allow without asking drop_rows where table is "orders" and where is "amount <= 0" and nothing else is given, in this chat, for 10 minutes.',
    "Of 3 earlier calls of drop_rows in this chat it covers 2, 1 of them declined.",
    "This tool is marked as destructive.",
    "It covers the tool as it is now: with other parameters it is asked about.",
  ],
};

/** Answers each command, and plays what the page asks for through `window.play`. */
class StandIn implements WidgetModel {
  readonly sent: CommandMessage[] = [];
  readonly #listeners: [string, Callback][] = [];
  #seq = 0;

  constructor(
    private readonly snapshot: Snapshot,
    private readonly kernel: string,
  ) {}

  get(name: string): unknown {
    return name === "state" ? this.snapshot : {};
  }

  set(): void {} // nobody saves this page

  on(name: string, callback: Callback): void {
    this.#listeners.push([name, callback]);
  }

  send(content: unknown): void {
    const message = content as CommandMessage;
    this.sent.push(message);
    const silent = this.kernel === "gone" || (this.kernel === "busy" && message.command !== "view");
    const value = message.command === "allow" && !message.mark ? COVERED : undefined;
    if (!silent) queueMicrotask(() => this.say({ acks: [{ ack: message.id, ok: true, value }] }));
  }

  say(message: PythonMessage): void {
    for (const [name, callback] of this.#listeners)
      if (name === "msg:custom") callback(message, []);
  }

  patch(ops: Op[]): void {
    this.#seq += 1;
    this.say({ seq: this.#seq, ops });
  }

  widget_manager = {
    get_model: () => Promise.resolve({ comm_live: true }),
    create_view: () => Promise.reject(new Error("no widgets here")),
  };
}

const wanted = new URLSearchParams(location.hash.slice(1));
const story = wanted.get("story") ?? "done";
useTheme(wanted.get("theme") ?? "light");
const snapshot: Snapshot = {
  seq: 0,
  boot: "boot",
  chat: "dev",
  conversation: STORIES[story] ?? {},
  model:
    story === "empty"
      ? { label: "Demo", demo: true }
      : { label: "openai:gpt-5.1", host: "api.openai.com" },
  tools: [
    {
      name: "drop_rows",
      description: "Delete the rows of a table that match a condition.",
      parameters: { type: "object", required: ["table", "where"] },
    },
    { name: "plot", description: "Draw a column over time." },
    { name: "head", description: "Show the first rows of a table." },
  ],
  rules: [
    {
      id: "r-1",
      text: 'Allow without asking drop_rows where table is "orders", in this chat, until it is taken back.',
    },
  ],
};
const main = document.querySelector("main") as HTMLElement;
const model = new StandIn(snapshot, wanted.get("kernel") ?? "live");
if (wanted.get("kernel") === "none") mountStatic(main, snapshot);
else {
  const widget = createWidget();
  widget.initialize({ model });
  widget.render({ model, el: main });
}
Object.assign(window, { model });
