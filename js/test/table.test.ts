import { describe, expect, it } from "vitest";
import type { Ack, Json, TablePage } from "../src/protocol";
import { answering, call, type Page, press, show } from "./page";

const TABLE = "application/vnd.nbtools.table+json";
const NOTE = "application/vnd.nbtools.note+json";
const WHOLE = 'All of it is in Python: chat.results["k"]';

/** Rows of a table of 105 rows and 30 columns, of which 20 columns are shown. */
function rows(start: number, count = 20, more: Partial<TablePage> = {}): TablePage {
  return {
    columns: Array.from({ length: 20 }, (_, place) => `c${place}`),
    rows: Array.from({ length: count }, (_, line) => new Array(20).fill(start + line)),
    shape: [105, 30],
    start,
    note: "105 rows and 30 columns; shown: 20 rows and 20 columns",
    call: "k",
    whole: WHOLE,
    ...more,
  };
}

function showTable(table: TablePage, options: { live?: boolean } = {}): Promise<Page> {
  const display = { [TABLE]: table as unknown as Json };
  const part = call({ state: "result", outcome: "ok", display });
  return show({ conversation: answering([part]) }, options);
}

async function answer(page: Page, ack: Partial<Ack>): Promise<void> {
  page.store.receive({ acks: [{ ack: page.sent.at(-1)?.id as string, ok: true, ...ack }] });
  await page.settle();
}

const range = (page: Page) =>
  [...page.root.querySelectorAll(".pager [role=status]")].map(({ textContent }) => textContent);
const first = (page: Page) => page.find("tbody td")?.textContent;
const isDisabled = (page: Page, name: string) =>
  page.button(name)?.getAttribute("aria-disabled") === "true";

describe("a table with more rows and columns than one page", () => {
  it("says which it shows, and where all of it is", async () => {
    const page = await showTable(rows(0));
    expect(range(page)).toEqual(["Rows 1–20 of 105", "Columns 1–20 of 30"]);
    expect(page.find("figcaption")?.textContent).toContain(WHOLE);
    expect(page.find("figcaption")?.textContent).not.toContain("shown:");
    expect(["First rows", "Previous rows", "Next rows"].map((it) => isDisabled(page, it))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("asks Python for other rows and shows what came", async () => {
    const page = await showTable(rows(0));
    press(page.button("Next rows"));
    await page.settle();
    expect(page.sent).toMatchObject([{ command: "rows", call: "k", start: 20, column: 0 }]);
    expect(isDisabled(page, "Next rows")).toBe(true);
    press(page.button("Next rows"));
    expect(page.sent).toHaveLength(1);
    await answer(page, { value: rows(20) as unknown as Json });
    expect(first(page)).toBe("20");
    expect(range(page)[0]).toBe("Rows 21–40 of 105");
  });

  it("leads to the last page, and from a short last page a whole page back", async () => {
    const page = await showTable(rows(0));
    press(page.button("Last rows"));
    await page.settle();
    expect(page.sent.at(-1)).toMatchObject({ start: 105 });
    await answer(page, { value: rows(100, 5) as unknown as Json });
    expect(range(page)[0]).toBe("Rows 101–105 of 105");
    expect(isDisabled(page, "Next rows")).toBe(true);
    press(page.button("Previous rows"));
    await page.settle();
    expect(page.sent.at(-1)).toMatchObject({ start: 80 });
  });

  it("keeps its rows while other columns are looked at", async () => {
    const page = await showTable(rows(40));
    press(page.button("Next columns"));
    await page.settle();
    expect(page.sent.at(-1)).toMatchObject({ start: 40, column: 20 });
  });

  it("keeps the page that it has where Python refuses, and says why", async () => {
    const page = await showTable(rows(0));
    press(page.button("Next rows"));
    await page.settle();
    const text = "The rows are not in the kernel any more.";
    await answer(page, { ok: false, error: "unknown", text });
    expect(page.find("figcaption [role=alert]")?.textContent).toBe(text);
    expect(first(page)).toBe("0");
    expect(isDisabled(page, "Next rows")).toBe(false);
  });

  it("keeps the page that it has where the kernel goes away, and has no buttons then", async () => {
    const page = await showTable(rows(0));
    press(page.button("Next rows"));
    page.store.take({
      seq: 0,
      boot: "another",
      chat: "c",
      conversation: page.store.copy.conversation,
    });
    await page.settle();
    expect(page.text()).toContain("The kernel was restarted before it answered.");
    page.store.close();
    await page.settle();
    expect(first(page)).toBe("0");
    expect(page.button("Next rows")).toBeUndefined();
    expect(range(page)).toEqual(["Rows 1–20 of 105", "Columns 1–20 of 30"]);
  });

  it("has no buttons without a kernel, and where nobody keeps its value", async () => {
    expect((await showTable(rows(0), { live: false })).button("Next rows")).toBeUndefined();
    const { call: _, ...kept } = rows(0);
    const page = await showTable(kept);
    expect(page.button("Next rows")).toBeUndefined();
    expect(range(page)[0]).toBe("Rows 1–20 of 105");
  });

  it("is another page in another view", async () => {
    const page = await showTable(rows(0));
    press(page.button("Next rows"));
    await answer(page, { value: rows(20) as unknown as Json });
    const other = await show({ conversation: page.store.copy.conversation });
    expect(range(other)[0]).toBe("Rows 1–20 of 105");
    expect(range(page)[0]).toBe("Rows 21–40 of 105");
  });

  it("keeps its page when the whole state comes anew", async () => {
    const page = await showTable(rows(0));
    press(page.button("Next rows"));
    await answer(page, { value: rows(20) as unknown as Json });
    const conversation = structuredClone(page.store.copy.conversation);
    page.store.take({ seq: 9, boot: "b", chat: "c", conversation });
    await page.settle();
    expect(range(page)[0]).toBe("Rows 21–40 of 105");
  });
});

describe("a table that is whole on its page", () => {
  it("names its size and has no pager", async () => {
    const page = await showTable({
      columns: ["", "a"],
      rows: [["x", 1]],
      shape: [1, 1],
      indexed: true,
      note: "1 row and 1 column",
      call: "k",
    });
    expect(page.find(".pager")).toBeNull();
    expect(page.find("figcaption")?.textContent).toBe("1 row and 1 column");
    expect(page.find("tbody th")?.getAttribute("scope")).toBe("row");
  });
});

describe("what only looks like a table", () => {
  it.each([{ rows: [1] }, { columns: 1 }, { note: {} }, { whole: 1 }, { shape: "2 x 2" }])(
    "is shown as text: %j",
    async (wrong) => {
      const display = { [TABLE]: { ...rows(0), ...wrong } as Json, "text/plain": "the text" };
      const part = call({ state: "result", outcome: "ok", display });
      const page = await show({ conversation: answering([part]) });
      expect(page.find("table")).toBeNull();
      expect(page.find(".output")?.textContent).toBe("the text");
    },
  );
});

describe("what is cut", () => {
  it("says of a text how much of it is there", async () => {
    const text = "x".repeat(65_500);
    const said = `The page has the first 65,500 of 20,000,000 characters. ${WHOLE}`;
    const display = { "text/plain": text, [NOTE]: said };
    const part = call({ state: "result", outcome: "ok", display });
    const page = await show({ conversation: answering([part]) });
    expect(page.find(".remark")?.textContent).toBe(said);
    expect(page.button("Show all 65,500 characters that the page has")).toBeDefined();
  });

  it("says of data that a part is there, and nothing where all is there", async () => {
    const said = `The page has a part of this value. ${WHOLE}`;
    const display = { "application/json": { a: 1 }, "text/plain": "{}", [NOTE]: said };
    const cut = call({ state: "result", outcome: "ok", display });
    const page = await show({ conversation: answering([cut]) });
    expect(page.find(".remark")?.textContent).toBe(said);
    const whole = call({ state: "result", display: { "text/plain": "y".repeat(5_000) } });
    const other = await show({ conversation: answering([whole]) });
    expect(other.find(".remark")).toBeNull();
    expect(other.button("Show all 5,000 characters")).toBeDefined();
  });
});
