import { describe, expect, it } from "vitest";
import type { Outcome, Part } from "../src/protocol";
import { answering, call, type Page, pending, press, show, typeInto } from "./page";

const TOOLS = [{ name: "drop_rows" }];

function showCall(part: Part, more: Part[] = []): Promise<Page> {
  return show({ conversation: answering([part, ...more]), tools: TOOLS });
}

describe("the card of a tool call", () => {
  it("tells each outcome by its own words", async () => {
    const outcomes: Outcome[] = [
      "failed",
      "timeout",
      "cancelled",
      "declined",
      "expired",
      "invalid",
      "unknown",
      "unanswered",
      "incomplete",
      "interrupted",
      "limit",
    ];
    const parts = outcomes.map((outcome) => call({ id: outcome, state: "error", outcome }));
    const page = await showCall(call({ id: "ok", state: "result", outcome: "ok" }), parts);
    const words = [...page.root.querySelectorAll(".state")].map(({ textContent }) => textContent);
    expect(words).toEqual([
      "done",
      "failed",
      "timed out",
      "cancelled",
      "declined",
      "expired",
      "invalid arguments",
      "no such tool",
      "not answered",
      "cut off",
      "interrupted",
      "over the limit",
    ]);
  });

  it("shows arguments while they arrive", async () => {
    const page = await showCall(call({ state: "streaming", args: null, raw: '{"where": "amou' }));
    expect(page.find("dt")?.textContent).toBe("where");
    expect(page.find("dd")?.textContent).toBe("amou");
    page.store.receive({ seq: 1, ops: [["append", "k", "raw", 'nt < 0", "n": 2}']] });
    await page.settle();
    const values = [...page.root.querySelectorAll("dd")].map(({ textContent }) => textContent);
    expect(values).toEqual(["amount < 0", "2"]);
  });

  it("approves with the digest of the arguments that are shown, once", async () => {
    const page = await showCall(pending());
    press(page.button("Approve drop_rows"));
    await page.settle();
    press(page.button("Approve drop_rows"));
    expect(page.sent).toMatchObject([
      { command: "approve", call: "k", approved: true, digest: "d1" },
    ]);
    expect(page.find(".sent")?.textContent).toBe("sent");
  });

  it("does not take the click of a script for a decision", async () => {
    const page = await showCall(pending());
    page.button("Approve drop_rows")?.click();
    expect(page.sent).toEqual([]);
  });

  it("cannot be approved before the whole arguments are there", async () => {
    const page = await showCall(pending({ digest: "" }));
    press(page.button("Approve drop_rows"));
    expect(page.sent).toEqual([]);
    expect(page.button("Approve drop_rows")?.getAttribute("aria-disabled")).toBe("true");
  });

  it("asks for a reason before it declines", async () => {
    const page = await showCall(pending());
    press(page.button("Decline drop_rows"));
    await page.settle();
    expect(page.sent).toEqual([]);
    typeInto(page.find("input"), "wrong table");
    await page.settle();
    press(page.button("Decline drop_rows"));
    expect(page.sent).toMatchObject([{ command: "decline", call: "k", reason: "wrong table" }]);
  });

  it("shows at the field what is wrong with edited arguments, here or in Python", async () => {
    const page = await showCall(pending());
    press(page.button("Edit the arguments of drop_rows"));
    await page.settle();
    typeInto(page.find("textarea.code"), "{oops");
    await page.settle();
    press(page.button("Apply and approve drop_rows"));
    await page.settle();
    expect(page.find("textarea.code")?.getAttribute("aria-invalid")).toBe("true");
    expect(page.find(".refused")?.textContent).toContain("This is not JSON");
    typeInto(page.find("textarea.code"), '{"n": "two"}');
    await page.settle();
    press(page.button("Apply and approve drop_rows"));
    expect(page.sent).toMatchObject([{ command: "approve", args: { n: "two" }, digest: "d1" }]);
    const ack = page.sent[0]?.id as string;
    const refusal = { ack, ok: false, error: "invalid" as const, text: "expected 2", field: "n" };
    page.store.receive({ acks: [refusal] });
    await page.settle();
    expect(page.find(".refused")?.textContent).toBe("n: expected 2");
    expect(page.find("textarea.code")?.getAttribute("aria-invalid")).toBe("true");
  });

  it("says what a person changed in the arguments", async () => {
    const page = await showCall(pending({ proposed: { n: 10 }, args: { n: 20 } }));
    expect(page.find(".changes")?.textContent).toBe("you changed n: 10 → 20");
  });

  it("takes JSON for JSON and anything else for text in an answer", async () => {
    const page = await showCall(call({ state: "pending", waiting: "result" }));
    typeInto(page.find("textarea.code"), "north");
    await page.settle();
    press(page.button("Answer drop_rows"));
    expect(page.sent).toMatchObject([{ command: "answer", call: "k", value: "north" }]);
  });

  it("says how many of several waiting calls are decided", async () => {
    const decision = { approved: true, by: "person" as const };
    const done = call({ id: "k2", state: "result", outcome: "ok", decision });
    const page = await showCall(pending(), [done, pending({ id: "k3" })]);
    expect(page.find(".decided")?.textContent).toBe("1 of 3 decided");
  });

  it("has progress, output and a way to cancel while it runs", async () => {
    const progress = { fraction: 0.4, text: "fold 4" };
    const page = await showCall(call({ state: "running", progress, output: "line\n" }));
    expect(page.find("progress")?.getAttribute("value")).toBe("0.4");
    expect(page.find(".progress")?.textContent).toBe("40 % fold 4");
    expect(page.find("pre.output")?.textContent).toBe("line\n");
    press(page.button("Cancel drop_rows"));
    expect(page.sent).toMatchObject([{ command: "cancel", call: "k" }]);
  });

  it("names the pictures that the model is given with what it is told", async () => {
    const pictures = [{ mime: "image/png", width: 640, height: 480 }];
    const told = "A figure was shown to the user.";
    const page = await showCall(call({ state: "result", outcome: "ok", told, pictures }));
    const fold = [...page.root.querySelectorAll("details.fold")].find(
      (each) => each.querySelector("summary")?.textContent === "Told to the model",
    );
    expect(fold?.querySelector("pre")?.textContent).toBe(
      `${told}\n[Picture of 640 × 480 pixels (image/png), where the model takes pictures]`,
    );
  });

  it("marks where a call came from, and what it repeats", async () => {
    const ended = { state: "result" as const, outcome: "ok" as const };
    const page = await showCall(call({ ...ended, origin: "user" }), [
      call({ ...ended, id: "k2", again: "k" }),
      call({ ...ended, id: "k3", origin: "provider", destructive: true }),
    ]);
    const marks = [...page.root.querySelectorAll(".mark")].map(({ textContent }) => textContent);
    expect(marks).toEqual([
      "run by you",
      "again of drop_rows",
      "destructive",
      "run by the provider",
    ]);
  });

  it("can be run again when it has ended", async () => {
    const page = await showCall(call({ state: "result", outcome: "ok", value: 3 }));
    press(page.button("Run drop_rows again"));
    expect(page.sent).toMatchObject([{ command: "rerun", call: "k" }]);
  });

  it("can be run again while another call runs, and not while the model writes", async () => {
    const ended = call({ state: "result", outcome: "ok", value: 3 });
    for (const [state, refused] of [
      ["running", null],
      ["pending", null],
      ["streaming", "true"],
    ] as const) {
      const parts = [ended, call({ id: "k2", state })];
      const conversation = { ...answering(parts), status: "running" as const };
      const page = await show({ conversation, tools: TOOLS });
      const button = page.button("Run drop_rows again");
      expect(button?.getAttribute("aria-disabled")).toBe(refused);
    }
  });

  it("makes characters visible that would change how the rest reads", async () => {
    const page = await showCall(
      pending({ tool: "dr\u202Eop", args: { path: "a\u200Bb", "\u2066key": 1 } }),
    );
    expect(page.find(".tool")?.textContent).toBe("dr⟨U+202E⟩op");
    expect(page.find("dd")?.textContent).toBe("a⟨U+200B⟩b");
    expect(page.text()).toContain("⟨U+2066⟩key");
  });

  it("says when a number has more digits than a browser can know", async () => {
    const page = await showCall(pending({ args: JSON.parse('{"id": 12345678901234567890}') }));
    expect(page.find("dd")?.textContent).toBe("≈ 12345678901234567000");
  });
});

describe("harmful text on a card", () => {
  const HARM = '<img src=x onerror="window.__hit=1"><style>body{display:none}</style>';

  it("is text in the name, arguments, result, error, reason, output and progress", async () => {
    const args = { [HARM]: HARM, nested: { [HARM]: [HARM] } };
    const decision = { approved: false, by: "person" as const, reason: HARM };
    const page = await showCall(call({ id: "1", tool: HARM, state: "result", value: args, args }), [
      call({ id: "2", tool: HARM, state: "error", outcome: "declined", error: HARM, decision }),
      call({ id: "3", state: "running", output: HARM, progress: { text: HARM }, args }),
      call({ id: "4", state: "result", display: { "text/plain": HARM, "text/html": HARM } }),
      pending({ id: "5", args, proposed: { [HARM]: "x" } }),
      { type: "notice", id: "6", text: HARM, hint: HARM },
      { type: "source", id: "7", url: "javascript:window.__hit=1", title: HARM },
      { type: "data", id: "8", name: HARM, data: { [HARM]: HARM } },
      { type: "file", id: "9", mime: "text/html", name: HARM, data: "" },
    ]);
    expect(page.root.querySelector("img, style, script")).toBeNull();
    expect(page.root.querySelectorAll(".sources a")).toHaveLength(0);
    expect(page.find(".tool")?.textContent).toBe(HARM);
  });
});

describe("a page without a kernel", () => {
  it("shows no button of a card and says why", async () => {
    const page = await show({ conversation: answering([pending()]), tools: TOOLS });
    expect(page.button("Approve drop_rows")).toBeDefined();
    page.store.close();
    await page.settle();
    expect(page.button("Approve drop_rows")).toBeUndefined();
    expect(page.text()).toContain("This call was waiting for approval.");
    expect(page.text()).toContain("No kernel answers.");
    page.store.receive({ acks: [] });
    await page.settle();
    expect(page.button("Approve drop_rows")).toBeDefined();
  });

  it("marks a click as waiting when the kernel is busy", async () => {
    const page = await showCall(pending());
    page.store.run({ command: "stop" }, "x");
    press(page.button("Approve drop_rows"));
    Object.defineProperty(page.store.presence, "state", { value: "busy" });
    page.store.frame.touch(page.store.presence.topic);
    await page.settle();
    expect(page.find(".card .sent")?.textContent).toBe("sent, waits for the kernel");
  });
});
