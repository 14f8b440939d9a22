import { describe, expect, it } from "vitest";
import type { Message } from "../src/protocol";
import { press, show } from "./page";

function said(id: string, fields: Partial<Message> = {}): Message {
  return { id, role: "user", parts: [{ type: "text", id: `t${id}`, text: id }], ...fields };
}

describe("what the model no longer sees", () => {
  it("is marked below each run of messages, also when it changes", async () => {
    const messages = [
      said("a", { pinned: true }),
      said("b", { unseen: true }),
      said("c", { unseen: true }),
      said("d"),
    ];
    const page = await show({ conversation: { messages } });
    const marks = () =>
      [...page.root.querySelectorAll(".left-out")].map(({ textContent }) => textContent);
    expect(marks()).toEqual(["The model no longer sees the 2 messages above"]);
    const { parts: _, ...head } = said("b");
    page.store.receive({ seq: 1, ops: [["fields", "b", head as never]] });
    await page.settle();
    expect(marks()).toEqual(["The model no longer sees the message above"]);
  });
});

describe("a pinned message", () => {
  it("says so, and can be let go", async () => {
    const page = await show({
      conversation: { messages: [said("a", { pinned: true }), said("b")] },
    });
    expect(page.find(".message .mark")?.textContent).toBe("pinned");
    press(page.button("Let the model forget this in time"));
    press(page.button("Keep this in every request"));
    expect(page.sent).toMatchObject([
      { command: "pin", message: "a", pinned: false },
      { command: "pin", message: "b", pinned: true },
    ]);
  });
});

describe("a request that was held back", () => {
  it("asks whether the values may go", async () => {
    const error = { kind: "WithheldError", text: "It holds 1 of people.email." };
    const page = await show({ conversation: { status: "error", messages: [said("a")], error } });
    expect(page.find('[role="alert"]')?.textContent).toContain("It holds 1 of people.email.");
    press(page.button("Send without them"));
    expect(page.sent).toMatchObject([{ command: "resend" }]);
    const [first] = page.sent;
    page.store.receive({ acks: [{ ack: first?.id ?? "", ok: true }] });
    await page.settle();
    press(page.button("Send them"));
    expect(page.sent).toMatchObject([{ command: "resend" }, { command: "release" }]);
  });
});
