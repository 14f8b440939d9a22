import { describe, expect, it } from "vitest";
import type { Json, Question } from "../src/protocol";
import { readEntries, readForm } from "../src/store/form";
import { answering, call, type Page, press, show, typeInto } from "./page";
import { byPerson } from "./person";

const FORM = {
  type: "object",
  properties: {
    name: { type: "string", title: "Name", description: "as in the passport" },
    age: { type: "integer", minimum: 1 },
    fast: { type: "boolean", default: true },
    pet: { type: "string", enum: ["c", "d"], enumNames: ["Cat", "Dog"], default: "d" },
    days: {
      type: "array",
      items: { anyOf: [{ const: "mon", title: "Monday" }, { const: "tue" }] },
    },
    mail: { type: "string", format: "email" },
  },
  required: ["name"],
} as const;

function showQuestion(fields: Partial<Question> = {}): Promise<Page> {
  const question = { id: "q1", text: "Who travels?", form: FORM as never, ...fields };
  return show({ conversation: answering([call({ state: "running", question })]) });
}

describe("what a running call asks", () => {
  it("is shown as a form on its card, in the words of the server", async () => {
    const page = await showQuestion();
    expect(page.find(".asked")?.textContent).toBe("Who travels?");
    expect(page.find(".state")?.textContent).toBe("asks you");
    const labels = [...page.root.querySelectorAll("label.field > span, .tick, legend")];
    expect(labels.map(({ textContent }) => textContent)).toEqual([
      "Name * · as in the passport",
      "age",
      "fast",
      "pet",
      "days",
      "Monday",
      "tue",
      "mail",
    ]);
    expect(page.root.querySelectorAll("progress")).toHaveLength(0);
  });

  it("is answered with typed values; what may be left out and is empty is left out", async () => {
    const page = await showQuestion();
    const [name, age] = page.root.querySelectorAll(".field > input");
    typeInto(name as Element, "Ada");
    await page.settle();
    typeInto(age as Element, "36");
    await page.settle();
    const monday = page.root.querySelectorAll<HTMLInputElement>(".tick input")[1];
    if (monday) monday.checked = true;
    monday?.dispatchEvent(byPerson(new Event("change", { bubbles: true })));
    await page.settle();
    press(page.button("Answer drop_rows"));
    const value = { name: "Ada", age: 36, fast: true, pet: "d", days: ["mon"] };
    expect(page.sent).toMatchObject([{ command: "answer", call: "k", question: "q1", value }]);
  });

  it("is asked on where the answer does not fit, and marks the field", async () => {
    const page = await showQuestion();
    press(page.button("Answer drop_rows"));
    const ack = page.sent[0]?.id as string;
    const refusal = { ack, ok: false, error: "invalid" as const, text: "too short", field: "name" };
    page.store.receive({ acks: [refusal] });
    await page.settle();
    expect(page.find(".refused")?.textContent).toBe("name: too short");
    expect(page.find("[aria-invalid=true]")).toBe(page.find(".field > input"));
  });

  it("can be refused, and the call can be cancelled", async () => {
    const page = await showQuestion();
    press(page.button("Refuse to answer drop_rows"));
    expect(page.sent).toMatchObject([{ command: "decline", call: "k", question: "q1" }]);
    expect(page.button("Cancel drop_rows")).toBeDefined();
  });

  it("asks to open a link, whole and apart from the page", async () => {
    const link = "https://example.org/pay?order=1";
    const page = await showQuestion({ form: null, link });
    const anchor = page.find("a.address");
    expect(anchor?.textContent).toBe(link);
    expect(anchor?.getAttribute("rel")).toBe("noopener noreferrer");
    expect(page.button("Answer drop_rows")?.textContent).toBe("Done");
  });

  it("makes no link of an address that a click must not open", async () => {
    const page = await showQuestion({ form: null, link: "javascript:alert(1)" });
    expect(page.find("a")).toBeNull();
    expect(page.text()).toContain("javascript:alert(1)");
  });

  it("is shown without a form where nobody hears the answer", async () => {
    const question = { id: "q1", text: "Who travels?", form: FORM as never };
    const conversation = answering([call({ state: "running", question })]);
    const page = await show({ conversation }, { live: false, exported: true });
    expect(page.find(".asked")?.textContent).toBe("Who travels?");
    expect(page.root.querySelectorAll(".card input, .card button.primary")).toHaveLength(0);
  });
});

describe("a form", () => {
  it("sends what is no number as it stands, for Python to judge", () => {
    const fields = readForm({ properties: { n: { type: "number" } } });
    expect(readEntries(fields, { n: "many" })).toEqual({ n: "many" });
    expect(readEntries(fields, { n: " " })).toEqual({});
  });

  it("takes any schema", () => {
    const odd: (null | { [name: string]: Json })[] = [
      null,
      {},
      { properties: 3 },
      { properties: { a: null, b: { oneOf: [1] }, c: { enum: [] } } },
    ];
    expect(odd.map((form) => readForm(form).map(({ kind }) => kind))).toEqual([
      [],
      [],
      [],
      ["text", "text", "text"],
    ]);
  });
});
