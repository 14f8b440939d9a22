import { describe, expect, it } from "vitest";
import type { Part, Snapshot } from "../src/protocol";
import { answering, call, type Page, pending, press, show, typeInto } from "./page";

const ARGS = { user: "ann", level: 1 };

function grants(...users: string[]): Part[] {
  return users.map((user) =>
    pending({ id: user, tool: "grant", digest: `d-${user}`, args: { ...ARGS, user } }),
  );
}

function showParts(parts: Part[], more: Partial<Snapshot> = {}): Promise<Page> {
  return show({ conversation: answering(parts), ...more });
}

/** What was sent, without the address. */
function sent(page: Page) {
  return page.sent.map(({ id: _, chat: __, boot: ___, ...command }) => command);
}

async function answer(page: Page, fields: object = { ok: true }): Promise<void> {
  const last = page.sent.at(-1);
  page.store.receive({ acks: [{ ack: last?.id ?? "", ok: true, ...fields }] });
  await page.settle();
}

describe("what a call would do", () => {
  const preview = { mark: "m1", note: "It has changed.", display: { "text/plain": "3 rows" } };

  it("is shown while it waits, with why it is another one, and named by the approval", async () => {
    const page = await showParts([pending({ preview })]);
    expect(page.find(".foresight")?.textContent).toContain("It has changed.3 rows");
    press(page.button("Approve drop_rows"));
    const shown = { call: "k", approved: true, digest: "d1", preview: "m1" };
    expect(sent(page)).toEqual([{ command: "approve", ...shown }]);
  });

  it("is looked at again before changed arguments can be approved", async () => {
    const page = await showParts([pending({ preview })]);
    press(page.button("Edit the arguments of drop_rows"));
    await page.settle();
    typeInto(page.find("textarea.code"), '{"n": 2}');
    await page.settle();
    press(page.button("Apply to drop_rows"));
    expect(sent(page)).toMatchObject([{ command: "approve", args: { n: 2 }, preview: "m1" }]);
    await answer(page);
    expect(page.button("Approve drop_rows")).toBeDefined();
  });

  it("is no part of a call that is over", async () => {
    const page = await showParts([call({ state: "result", outcome: "ok", preview })]);
    expect(page.find(".foresight")).toBeNull();
  });
});

describe("a call that expires", () => {
  it("says when", async () => {
    const page = await showParts([pending({ expires: Date.now() / 1000 + 89.5 })]);
    expect(page.text()).toContain("expires in 1 min 30 s");
  });
});

describe("always allow", () => {
  const wish = { command: "allow", call: "k", digest: "d1" };

  it("shows what Python says it would cover, and confirms exactly that", async () => {
    const page = await showParts([pending()]);
    press(page.button("Always allow drop_rows …"));
    await page.settle();
    const confirm = () => page.button("Allow drop_rows by this rule, and run this call");
    expect(sent(page)).toEqual([{ ...wish, same: true, scope: "chat", minutes: 10 }]);
    expect(confirm()?.getAttribute("aria-disabled")).toBe("true");
    press(confirm());
    expect(page.sent).toHaveLength(1);
    await answer(page, { value: { mark: "m1", lines: ["Allow this.", "It covers 2."] } });
    expect(page.find(".covers")?.textContent).toBe("Allow this.It covers 2.");
    press(confirm());
    expect(sent(page)[1]).toEqual({ ...wish, same: true, scope: "chat", minutes: 10, mark: "m1" });
  });

  it("asks anew when the choice changes, and cannot confirm what it showed before", async () => {
    const page = await showParts([pending()]);
    press(page.button("Always allow drop_rows …"));
    await page.settle();
    await answer(page, { value: { mark: "m1", lines: ["Allow this."] } });
    const [calls, span] = [...page.root.querySelectorAll("select")];
    choose(calls, "any");
    await page.settle();
    choose(span, "notebook");
    await page.settle();
    expect(sent(page).at(-1)).toEqual({ ...wish, same: false, scope: "notebook" });
    press(page.button("Allow drop_rows by this rule, and run this call"));
    expect(page.sent).toHaveLength(3);
  });

  it("says why Python refuses", async () => {
    const page = await showParts([pending()]);
    press(page.button("Always allow drop_rows …"));
    await page.settle();
    await answer(page, { ok: false, error: "late", text: "This call is over already (ok)." });
    expect(page.text()).toContain("This call is over already (ok).");
  });

  it("can be taken back from the card while the rule is in force", async () => {
    const decision = { approved: true, by: "rule" as const, rule: "r-1" };
    const ended = call({ state: "result", outcome: "ok", decision });
    const page = await showParts([ended], { rules: [{ id: "r-1", text: "Allow it all." }] });
    expect(page.find(".ruled")?.textContent).toContain("Decided by a rule: Allow it all.");
    press(page.button("Take back the rule about drop_rows"));
    expect(sent(page)).toEqual([{ command: "revoke", rule: "r-1" }]);
    page.store.receive({ seq: 1, ops: [["set", { rules: [] }]] });
    await page.settle();
    expect(page.button("Take back the rule about drop_rows")).toBeUndefined();
    expect(page.find(".ruled")?.textContent).toContain("it is not in force any more");
  });
});

function choose(select: HTMLSelectElement | undefined, value: string): void {
  if (!select) throw new Error("There is no such choice.");
  select.value = value;
  select.dispatchEvent(new Event("change", { bubbles: true }));
}

describe("several calls that wait", () => {
  it("are approved or declined all at once, each by its own name and digest", async () => {
    const page = await showParts(grants("ann", "bob"));
    press(page.button("Approve all 2"));
    expect(sent(page)).toEqual([
      {
        command: "decide",
        verdicts: [
          { call: "ann", approved: true, digest: "d-ann" },
          { call: "bob", approved: true, digest: "d-bob" },
        ],
      },
    ]);
    await answer(page);
    press(page.button("Decline all 2"));
    expect(sent(page)[1]).toMatchObject({ verdicts: [{ approved: false }, { approved: false }] });
  });

  it("stand in a table that hides none of them", async () => {
    const page = await showParts([...grants("ann", "bob", "cy"), pending()]);
    press(page.button("Decide about 3 calls of grant in a table"));
    await page.settle();
    const cells = [...page.root.querySelectorAll(".batch td .text-value")];
    expect(cells.map(({ textContent }) => textContent)).toEqual(
      ["ann", "bob", "cy"].flatMap((user) => [user, "1"]),
    );
    expect(page.button("Approve 0 of 3")?.getAttribute("aria-disabled")).toBe("true");
  });

  it("are ticked, edited and approved there, and the others wait on", async () => {
    const page = await showParts(grants("ann", "bob", "cy"));
    press(page.button("Decide about 3 calls of grant in a table"));
    await page.settle();
    tick(page, "Call 1");
    await page.settle();
    tick(page, "Call 3");
    await page.settle();
    press(page.button("Edit call 3"));
    await page.settle();
    typeInto(page.find('input[aria-label="level of call 3"]'), "7");
    await page.settle();
    press(page.button("Approve 2 of 3"));
    expect(sent(page)).toEqual([
      {
        command: "decide",
        verdicts: [
          { call: "ann", approved: true, digest: "d-ann" },
          { call: "cy", approved: true, digest: "d-cy", args: { user: "cy", level: 7 } },
        ],
      },
    ]);
    await answer(page, { ok: false, error: "late", text: "The arguments are others." });
    expect(page.find(".batch")?.textContent).toContain("The arguments are others.");
  });

  it("are declined there with a reason", async () => {
    const page = await showParts(grants("ann", "bob"));
    press(page.button("Decide about 2 calls of grant in a table"));
    await page.settle();
    tick(page, "Tick all");
    await page.settle();
    typeInto(page.find(".batch .field input"), "not today");
    await page.settle();
    press(page.button("Decline 2 of 2"));
    const declined = { approved: false, reason: "not today" };
    expect(sent(page)[0]).toMatchObject({ verdicts: [declined, declined] });
  });
});

function tick(page: Page, name: string): void {
  const box = page.find(`input[aria-label="${name}"]`) as HTMLInputElement;
  box.checked = !box.checked;
  box.dispatchEvent(new Event("change", { bubbles: true }));
}

describe("what a person is asked for", () => {
  it("stands in the head as soon as one call waits, though another still runs", async () => {
    const running = call({ id: "r", state: "running" });
    const conversation = { ...answering([pending(), running]), status: "running" as const };
    const page = await show({ conversation });
    expect(page.find(".standing")?.textContent).toBe("waiting for you");
    expect(page.find(".standing.waiting")).not.toBeNull();
    const done = pending({ state: "result", waiting: "", outcome: "ok" });
    page.store.receive({ seq: 1, ops: [["part", "a", done]] });
    await page.settle();
    expect(page.find(".standing")?.textContent).toBe("answering");
  });

  it("is to approve or to decline, and all else stands back", async () => {
    const page = await show({ conversation: answering([pending()]) });
    const buttons = [...page.root.querySelectorAll(".controls .button")];
    const looks = buttons.map((button) => [button.textContent, button.className]);
    expect(looks).toEqual([
      ["Approve", "button primary"],
      ["Decline", "button plain"],
      ["Edit …", "button quiet"],
      ["Always allow …", "button quiet"],
    ]);
  });
});
