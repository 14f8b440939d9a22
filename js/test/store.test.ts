import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { CommandMessage, Message, Op, Part, Snapshot, State } from "../src/protocol";
import { ChatStore } from "../src/store";

/** What a page shows, in a form to compare. */
function picture(store: ChatStore): unknown {
  const { copy } = store;
  return {
    status: copy.status,
    messages: copy.messages.map(({ head, parts }) => ({
      ...head,
      parts: parts.map(({ part }) => part),
    })),
    open: [...copy.openCalls.keys()].sort(),
  };
}

/** Python's side, as small as it can be: a truth, patches of it, and snapshots. */
class Kernel {
  seq = 0;
  messages: Message[] = [];

  change(op: Op): { seq: number; ops: Op[] } {
    this.#apply(structuredClone(op));
    this.seq += 1;
    return { seq: this.seq, ops: [structuredClone(op)] };
  }

  get snapshot(): Snapshot {
    const conversation = structuredClone({ messages: this.messages });
    return { seq: this.seq, boot: "b", chat: "c", conversation };
  }

  #apply(op: Op): void {
    if (op[0] === "message") this.#put(this.messages, op[1]);
    else if (op[0] === "remove") this.messages = this.messages.filter(({ id }) => id !== op[1]);
    else if (op[0] === "part") this.#put(this.#find(op[1]).parts ?? [], op[2]);
    else if (op[0] === "fields") Object.assign(this.#find(op[1]), op[2]);
    else if (op[0] === "append") {
      const parts = this.messages.flatMap((message) => message.parts ?? []);
      const part = parts.find(({ id }) => id === op[1]) as unknown as Record<string, string>;
      part[op[2]] = (part[op[2]] ?? "") + op[3];
    }
  }

  #find(id: string): Message {
    return this.messages.find((message) => message.id === id) as Message;
  }

  #put<T extends { id: string }>(list: T[], item: T): void {
    const place = list.findIndex(({ id }) => id === item.id);
    if (place < 0) list.push(item);
    else list[place] = item;
  }
}

const STATES: State[] = ["streaming", "pending", "running", "result", "error"];

/** Turns random numbers into an op that fits what there is. */
function nextOp(kernel: Kernel, choice: number, pick: number, count: number): Op {
  const message = kernel.messages[pick % Math.max(1, kernel.messages.length)];
  const parts = message?.parts ?? [];
  const part = parts[pick % Math.max(1, parts.length)];
  if (!message || choice === 0)
    return ["message", { id: `m${count}`, role: "assistant", parts: [] }];
  if (choice === 1) return ["remove", message.id];
  if (choice === 2)
    return ["fields", message.id, { id: message.id, role: "assistant", finish: "stop" }];
  if (choice === 3 && part?.type === "text") return ["append", part.id, "text", `w${count} `];
  if (choice === 4 && part?.type === "tool-call") return ["append", part.id, "raw", `{${count}`];
  if (choice === 5 && part?.type === "tool-call") {
    return ["part", message.id, { ...part, state: STATES[pick % 5] }];
  }
  const made: Part =
    choice % 2
      ? { type: "text", id: `p${count}`, text: "t" }
      : { type: "tool-call", id: `p${count}`, tool: "f", state: "streaming" };
  return ["part", message.id, made];
}

function makeStore(snapshot: Snapshot) {
  const sent: CommandMessage[] = [];
  const store = new ChatStore(snapshot, (message) => sent.push(message));
  return { store, sent };
}

const EMPTY: Snapshot = { seq: 0, boot: "b", chat: "c", conversation: {} };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("the page's copy", () => {
  it("is Python's state after any order, loss and repetition of patches and a snapshot", () => {
    const steps = fc.array(fc.tuple(fc.nat(8), fc.nat(99)), { minLength: 1, maxLength: 40 });
    const fates = fc.array(fc.tuple(fc.nat(4), fc.nat(3)), { minLength: 40, maxLength: 40 });
    fc.assert(
      fc.property(steps, fates, (choices, delivery) => {
        const kernel = new Kernel();
        const { store, sent } = makeStore(kernel.snapshot);
        const patches = choices.map(([choice, pick], count) =>
          kernel.change(nextOp(kernel, choice, pick, count)),
        );
        const arriving = patches.flatMap((patch, index) => {
          const [fate = 0, late = 0] = delivery[index] ?? [];
          const copies = fate === 0 ? 0 : fate === 1 ? 2 : 1; // lost, repeated, or as it should be
          return Array.from({ length: copies }, () => ({ patch, at: index + late }));
        });
        arriving.sort((left, right) => left.at - right.at);
        for (const { patch } of arriving) store.receive(structuredClone(patch));
        if (sent.some(({ command }) => command === "sync"))
          store.receive({ state: kernel.snapshot });
        else store.take(kernel.snapshot);
        const { store: fresh } = makeStore(kernel.snapshot);
        expect(picture(store)).toEqual(picture(fresh));
      }),
      { numRuns: 500 },
    );
  });

  it("asks once for a snapshot when a patch is missing, and takes what waited on top of it", () => {
    const { store, sent } = makeStore(EMPTY);
    const kernel = new Kernel();
    const first = kernel.change(["message", { id: "m", role: "assistant", parts: [] }]);
    kernel.change(["part", "m", { type: "text", id: "t", text: "a" }]);
    const { snapshot } = kernel;
    const third = kernel.change(["append", "t", "text", "b"]);
    store.receive(first);
    store.receive(third);
    store.receive(structuredClone(third));
    expect(sent.map(({ command }) => command)).toEqual(["sync"]);
    store.receive({ state: snapshot });
    expect(store.copy.part("t")?.part).toMatchObject({ text: "ab" });
  });

  it("asks again, ever more rarely, when the snapshot itself is lost", () => {
    const { store, sent } = makeStore(EMPTY);
    store.receive({ seq: 5, ops: [] });
    vi.advanceTimersByTime(3000);
    vi.advanceTimersByTime(6000);
    vi.advanceTimersByTime(6000);
    expect(sent.filter(({ command }) => command === "sync")).toHaveLength(3);
  });

  it("keeps its nodes through a snapshot, so that nothing on the page is made anew", () => {
    const kernel = new Kernel();
    kernel.change([
      "message",
      { id: "m", role: "user", parts: [{ type: "text", id: "t", text: "a" }] },
    ]);
    const { store } = makeStore(kernel.snapshot);
    const node = store.copy.part("t");
    kernel.change(["append", "t", "text", "b"]);
    store.take(kernel.snapshot);
    expect(store.copy.part("t")).toBe(node);
    expect(node?.part).toMatchObject({ text: "ab" });
  });

  it("ignores a snapshot that is older than what it has", () => {
    const kernel = new Kernel();
    const old = kernel.snapshot;
    const { store } = makeStore(old);
    store.receive(kernel.change(["message", { id: "m", role: "user", parts: [] }]));
    store.take(old);
    expect(store.copy.messages).toHaveLength(1);
  });

  it("tells only those who watch what changed, at most once a frame", () => {
    const kernel = new Kernel();
    kernel.change([
      "message",
      {
        id: "m",
        role: "assistant",
        parts: [
          { type: "text", id: "a", text: "" },
          { type: "text", id: "b", text: "" },
        ],
      },
    ]);
    const { store } = makeStore(kernel.snapshot);
    store.frame.flush();
    const told = { a: 0, b: 0, message: 0, list: 0 };
    store.copy.part("a")?.topic.subscribe(() => {
      told.a += 1;
    });
    store.copy.part("b")?.topic.subscribe(() => {
      told.b += 1;
    });
    store.copy.message("m")?.topic.subscribe(() => {
      told.message += 1;
    });
    store.copy.list.subscribe(() => {
      told.list += 1;
    });
    for (let count = 0; count < 10; count += 1) {
      store.receive(kernel.change(["append", "b", "text", "x"]));
    }
    store.frame.flush();
    expect(told).toEqual({ a: 0, b: 1, message: 0, list: 0 });
  });

  it("reads the arguments of a call while they arrive", () => {
    const kernel = new Kernel();
    kernel.change(["message", { id: "m", role: "assistant", parts: [] }]);
    kernel.change(["part", "m", { type: "tool-call", id: "c", tool: "f" }]);
    const { store } = makeStore(kernel.snapshot);
    store.receive(kernel.change(["append", "c", "raw", '{"table": "ord']));
    expect(store.copy.part("c")?.args).toEqual({ table: "ord" });
    store.receive(kernel.change(["append", "c", "raw", 'ers", "n": 3}']));
    expect(store.copy.part("c")?.args).toEqual({ table: "orders", n: 3 });
  });

  it("announces each change of a call's state, and not each token", () => {
    const kernel = new Kernel();
    kernel.change(["message", { id: "m", role: "assistant", parts: [] }]);
    const { store } = makeStore(kernel.snapshot);
    const heard: string[] = [];
    store.announcer.topic.subscribe(() => heard.push(store.announcer.text));
    const states: Partial<Part>[] = [
      { state: "streaming" },
      { state: "pending", waiting: "approval" },
      { state: "error", outcome: "declined" },
    ];
    for (const state of states) {
      const part = { type: "tool-call", id: "c", tool: "f", ...state } as Part;
      store.receive(kernel.change(["part", "m", part]));
      store.frame.flush();
    }
    store.receive(kernel.change(["set", { status: "waiting" }]));
    store.receive(kernel.change(["set", { status: "ready" }]));
    store.frame.flush();
    expect(heard).toEqual([
      "f: needs approval.",
      "f: declined.",
      "The chat waits for you. The answer is complete.",
    ]);
  });
});

describe("commands", () => {
  it("carry their own id, the conversation's and the kernel's", () => {
    const { store, sent } = makeStore(EMPTY);
    void store.run({ command: "stop" }, "x");
    void store.run({ command: "stop" }, "x");
    expect(sent[0]).toMatchObject({ command: "stop", chat: "c", boot: "b" });
    expect(sent[0]?.id).not.toBe(sent[1]?.id);
  });

  it("are sent until they are answered, and a refusal stands where they were given", async () => {
    const { store, sent } = makeStore(EMPTY);
    const accepted = store.run({ command: "decline", call: "k", reason: "" }, "k");
    expect(store.commands.sent("k")).toBe("decline");
    const id = sent[0]?.id as string;
    store.receive({
      acks: [{ ack: id, ok: false, error: "late", text: "This call was already declined." }],
    });
    expect(await accepted).toBe(false);
    expect(store.commands.sent("k")).toBeUndefined();
    expect(store.commands.rejection("k")).toEqual({
      command: "decline",
      error: "late",
      text: "This call was already declined.",
      field: "",
    });
  });

  it("are repeated with the same id after reconnecting", () => {
    const { store, sent } = makeStore(EMPTY);
    void store.run({ command: "stop" }, "x");
    store.close();
    store.reopen();
    const repeats = sent.filter(({ command }) => command === "stop");
    expect(repeats).toHaveLength(2);
    expect(repeats[0]?.id).toBe(repeats[1]?.id);
  });

  it("are given up when another kernel answers", async () => {
    const { store } = makeStore(EMPTY);
    const accepted = store.run({ command: "stop" }, "x");
    store.take({ ...EMPTY, boot: "other" });
    expect(await accepted).toBe(false);
    expect(store.commands.rejection("x")?.text).toBe(
      "The kernel was restarted before it answered.",
    );
  });

  it("answer a ping at once", () => {
    const { store, sent } = makeStore(EMPTY);
    store.receive({ ping: 7 });
    expect(sent).toMatchObject([{ command: "pong", ping: 7 }]);
  });
});

describe("the states of the page", () => {
  it("is gone three seconds after opening when nobody answers, and live after any message", () => {
    const { store } = makeStore(EMPTY);
    store.open();
    expect(store.presence.state).toBe("opening");
    vi.advanceTimersByTime(2999);
    expect(store.presence.state).toBe("opening");
    vi.advanceTimersByTime(1);
    expect(store.presence.state).toBe("gone");
    store.receive({ ping: 1 });
    expect(store.presence.here).toBe(true);
  });

  it("is busy, not gone, while the notebook says that a silent kernel works", () => {
    const { store } = makeStore(EMPTY);
    let busy = true;
    store.presence.isKernelBusy = () => busy;
    store.open();
    vi.advanceTimersByTime(3000);
    expect(store.presence.state).toBe("busy");
    busy = false;
    vi.advanceTimersByTime(3000);
    expect(store.presence.state).toBe("gone");
  });

  it("is busy when a command waited for three seconds, and live when it is answered", () => {
    const { store, sent } = makeStore(EMPTY);
    store.open();
    store.receive({ acks: [{ ack: sent[0]?.id as string, ok: true }] });
    expect(store.presence.state).toBe("live");
    void store.run({ command: "stop" }, "x");
    vi.advanceTimersByTime(3000);
    expect(store.presence.state).toBe("busy");
    store.receive({ acks: [{ ack: sent[1]?.id as string, ok: true }] });
    expect(store.presence.state).toBe("live");
  });

  it("is gone when the way to the kernel closes", () => {
    const { store } = makeStore(EMPTY);
    store.receive({ ping: 1 });
    store.close();
    expect(store.presence.state).toBe("gone");
  });
});

describe("the draft", () => {
  const running: Snapshot = { ...EMPTY, conversation: { status: "running" } };

  it("waits while an answer runs, and goes out when the turn ends", async () => {
    const { store, sent } = makeStore(running);
    store.draft.type("next");
    await store.draft.submit(true);
    expect(store.draft).toMatchObject({ queued: "next", text: "" });
    store.receive({ seq: 1, ops: [["set", { status: "waiting" }]] });
    expect(sent).toEqual([]);
    store.receive({ seq: 2, ops: [["set", { status: "ready" }]] });
    expect(sent).toMatchObject([{ command: "send", text: "next" }]);
    expect(store.draft).toMatchObject({ queued: "", outgoing: "next" });
  });

  it("comes back when the message that waited is removed", async () => {
    const { store } = makeStore(running);
    store.draft.type("next");
    await store.draft.submit(true);
    store.draft.type("more");
    store.draft.unqueue();
    expect(store.draft).toMatchObject({ queued: "", text: "next\nmore" });
  });

  it("comes back when Python does not take the message", async () => {
    const { store, sent } = makeStore(EMPTY);
    store.draft.type("hello");
    const submitted = store.draft.submit(false);
    expect(store.draft.text).toBe("");
    const ack = { ack: sent[0]?.id as string, ok: false, error: "busy" as const, text: "busy" };
    store.receive({ acks: [ack] });
    await submitted;
    expect(store.draft).toMatchObject({ text: "hello", outgoing: "" });
  });

  it("is not sent when it is longer than a message can be", async () => {
    const { store, sent } = makeStore(EMPTY);
    store.draft.type("x".repeat(1_000_001));
    await store.draft.submit(false);
    expect(sent).toEqual([]);
    expect(store.draft.note).toContain("over 1 MB");
  });
});

describe("assets", () => {
  it("are fetched once and given to everybody who asked", async () => {
    const { store, sent } = makeStore(EMPTY);
    const [first, second] = [store.assets.get("a1"), store.assets.get("a1")];
    expect(sent).toMatchObject([{ command: "asset", asset: "a1" }]);
    store.receive({ asset: "a1", mime: "image/png" }, [new Uint8Array([1, 2]).buffer]);
    expect((await first).bytes).toEqual(new Uint8Array([1, 2]));
    expect(await second).toBe(await first);
  });

  it("that are old are let go, and fetched again; what came with the page stays", async () => {
    const { store, sent } = makeStore(EMPTY);
    store.assets.put("own", "image/png", new Uint8Array([7]));
    for (let number = 0; number < 100; number++) {
      const frame = store.assets.get(`f${number}`);
      store.receive({ asset: `f${number}`, mime: "image/png" }, [new Uint8Array([number]).buffer]);
      expect((await frame).bytes).toEqual(new Uint8Array([number]));
    }
    expect(sent).toHaveLength(100);
    await store.assets.get("f99");
    expect((await store.assets.get("own")).bytes).toEqual(new Uint8Array([7]));
    expect(sent).toHaveLength(100);
    store.assets.get("f0").catch(() => {});
    expect(sent).toHaveLength(101);
  });

  it("that are gone are an error, and asked for again the next time", async () => {
    const { store, sent } = makeStore(EMPTY);
    const first = store.assets.get("a1");
    store.receive({ asset: "a1" });
    await expect(first).rejects.toThrow('The content "a1" is gone');
    store.assets.get("a1").catch(() => {});
    expect(sent).toHaveLength(2);
  });
});
