import { describe, expect, it } from "vitest";
import { answering, type Page, pending, press, show, typeInto } from "./page";
import { byPerson, pressKey } from "./person";

function field(page: Page): HTMLTextAreaElement {
  return page.find(".entry textarea") as HTMLTextAreaElement;
}

function texts(page: Page): unknown[] {
  return page.sent.map((message) => ("text" in message ? message.text : message.command));
}

describe("the composer", () => {
  it("sends with Enter and empties the field", async () => {
    const page = await show({});
    typeInto(field(page), "hello");
    expect(pressKey(field(page), "Enter").defaultPrevented).toBe(true);
    await page.settle();
    expect(texts(page)).toEqual(["hello"]);
    expect(field(page).value).toBe("");
  });

  it("makes a new line with Shift and Enter", async () => {
    const page = await show({});
    typeInto(field(page), "hello");
    expect(pressKey(field(page), "Enter", { shiftKey: true }).defaultPrevented).toBe(false);
    expect(page.sent).toEqual([]);
  });

  it("sends nothing with the Enter that ends a composition, in any browser's order", async () => {
    /* F-02 */
    const page = await show({});
    typeInto(field(page), "にほん");
    pressKey(field(page), "Enter", { isComposing: true, keyCode: 229 });
    pressKey(field(page), "Enter", { keyCode: 229 }); // Safari: the composition ended before
    expect(page.sent).toEqual([]);
    pressKey(field(page), "Enter");
    expect(texts(page)).toEqual(["にほん"]);
  });

  it("keeps the draft on Escape", async () => {
    const page = await show({});
    typeInto(field(page), "half a thought");
    pressKey(field(page), "Escape");
    await page.settle();
    expect(field(page).value).toBe("half a thought");
  });

  it("lets no key reach the notebook", async () => {
    /* F-01 */
    const page = await show({ conversation: answering([pending()]) });
    const heard: string[] = [];
    for (const name of ["keydown", "keypress", "keyup"]) {
      document.addEventListener(name, () => heard.push(name));
    }
    const targets = [field(page), page.button("Approve drop_rows"), page.find(".log")];
    for (const target of targets) {
      for (const name of ["keydown", "keypress", "keyup"]) {
        const init = { key: "d", bubbles: true, composed: true };
        target?.dispatchEvent(byPerson(new KeyboardEvent(name, init)));
      }
    }
    expect(heard).toEqual([]);
    expect(page.host.dataset.lmSuppressShortcuts).toBe("true");
  });

  it("refuses to paste more than a message can hold, with a note", async () => {
    const page = await show({});
    const paste = byPerson(new Event("paste", { bubbles: true, cancelable: true }));
    const clipboardData = { getData: () => "x".repeat(1_000_001) };
    Object.defineProperty(paste, "clipboardData", { value: clipboardData });
    field(page).dispatchEvent(paste);
    await page.settle();
    expect(paste.defaultPrevented).toBe(true);
    expect(page.find(".hints")?.textContent).toContain("over 1 MB");
  });

  it("keeps one message for later while an answer runs, which can be removed", async () => {
    const page = await show({ conversation: { status: "running" } });
    typeInto(field(page), "and then");
    pressKey(field(page), "Enter");
    await page.settle();
    expect(page.sent).toEqual([]);
    expect(page.find(".outgoing .typed")?.textContent).toBe("and then");
    press(page.button("Remove the waiting message"));
    await page.settle();
    expect(page.find(".outgoing")).toBeNull();
    expect(field(page).value).toBe("and then");
  });

  it("stops the turn", async () => {
    const page = await show({ conversation: { status: "running" } });
    press(page.button("Stop"));
    expect(page.sent).toMatchObject([{ command: "stop" }]);
  });

  it("says what sending would close", async () => {
    const conversation = { ...answering([pending()]), status: "waiting" as const };
    const page = await show({ conversation });
    expect(page.find(".hints")?.textContent).toBe("Sending closes 1 waiting call.");
  });

  it("cannot be used without a kernel", async () => {
    const page = await show({}, { live: false });
    page.store.close();
    await page.settle();
    expect(field(page).disabled).toBe(true);
    expect(page.button("Send")).toBeUndefined();
  });

  it("takes the draft over into another view of the same chat", async () => {
    const page = await show({});
    typeInto(field(page), "half");
    expect(page.store.draft.text).toBe("half");
  });
});
