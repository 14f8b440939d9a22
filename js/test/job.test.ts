import { describe, expect, it } from "vitest";
import type { Job, Notice, Part } from "../src/protocol";
import { answering, call, press, show } from "./page";

const job = (fields: Partial<Job> = {}): Part => ({
  type: "job",
  id: "job-1",
  call: "k",
  tool: "fit",
  ...fields,
});
const about = (fields: Partial<Notice> = {}): Part => ({
  type: "notice",
  id: "n",
  text: "Its function still runs; what it returns is not used.",
  about: "k",
  ...fields,
});
const started = call({ state: "result", outcome: "ok", tool: "fit" });

describe("the card of a job", () => {
  it("shows how far it is, and ends it", async () => {
    const parts = [started, job({ progress: { fraction: 0.4, text: "epoch 4" } })];
    const page = await show({ conversation: answering(parts) });
    const card = page.find(".card.job");
    expect(card?.getAttribute("aria-label")).toBe("Background job job-1 of fit, running");
    expect(card?.textContent).toContain("40 % epoch 4");
    press(page.button("Cancel job-1"));
    expect(page.sent).toMatchObject([{ command: "cancel", call: "job-1" }]);
  });

  it("gives it one more minute, as a call", async () => {
    const page = await show({ conversation: answering([started, job()]) });
    press(page.button("Cancel job-1 if it still runs in a minute"));
    expect(page.sent).toMatchObject([{ command: "cancel", call: "job-1", after: 60 }]);
  });

  it("shows what came of it, and has nothing to press then", async () => {
    const done = job({ state: "result", outcome: "ok", value: 0.93 });
    const page = await show({ conversation: answering([started, done]) });
    expect(page.find(".card.job .state")?.textContent).toBe("done");
    expect(page.find(".card.job")?.textContent).toContain("0.93");
    expect(page.button("Cancel job-1")).toBeUndefined();
  });

  it("says why it has no value, in the words of a call", async () => {
    const failed = job({ state: "error", outcome: "interrupted", error: "The program restarted." });
    const page = await show({ conversation: answering([started, failed]) });
    expect(page.find(".card.job .state")?.textContent).toBe("interrupted");
    expect(page.find(".card.job .error-text")?.textContent).toBe("The program restarted.");
  });

  it("grows its output and changes in place", async () => {
    const page = await show({ conversation: answering([started, job({ output: "one\n" })]) });
    page.store.receive({ seq: 1, ops: [["append", "job-1", "output", "two\n"]] });
    await page.settle();
    expect(page.find(".card.job pre")?.textContent).toContain("one\ntwo");
  });
});

describe("what is said of one call", () => {
  it("stands on its card and nowhere else", async () => {
    const page = await show({ conversation: answering([call({ state: "running" }), about()]) });
    expect(page.find(".card .remarks")?.textContent).toContain("still runs");
    expect(page.find(".notice")).toBeNull();
  });

  it("stands for itself where it is about a job", async () => {
    const parts = [started, job(), about({ about: "job-1", text: "job-1 (fit) is done." })];
    const page = await show({ conversation: answering(parts) });
    expect(page.find(".notice")?.textContent).toBe("job-1 (fit) is done.");
  });

  it("joins the card when it comes", async () => {
    const page = await show({ conversation: answering([call({ state: "running" })]) });
    page.store.receive({ seq: 1, ops: [["part", "a", about()]] });
    await page.settle();
    expect(page.find(".card .remarks")?.textContent).toContain("still runs");
  });
});

describe("the card of a call", () => {
  it("gives a running call one more minute", async () => {
    const page = await show({ conversation: answering([call({ state: "running" })]) });
    press(page.button("Cancel drop_rows if it still runs in a minute"));
    expect(page.sent).toMatchObject([{ command: "cancel", call: "k", after: 60 }]);
  });

  it("names the handle of a kept value", async () => {
    const kept = call({ state: "result", outcome: "ok", handle: "top_customers#2" });
    const page = await show({ conversation: answering([kept]) });
    expect(page.find(".mark")?.textContent).toBe("top_customers#2");
  });
});

describe("a message of the program", () => {
  it("is neither the user's nor an answer, and cannot be edited", async () => {
    const parts = [about({ about: "job-1", text: "job-1 (fit) is done." })];
    const page = await show({ conversation: { messages: [{ id: "n1", role: "user", parts }] } });
    expect(page.find(".message")?.className).toBe("message note");
    expect(page.find(".message")?.getAttribute("aria-label")).toBe("Note");
    expect(page.find(".message-actions")).toBeNull();
  });
});
