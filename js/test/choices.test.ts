import { describe, expect, it } from "vitest";
import type { Choice, CommandMessage } from "../src/protocol";
import { type Page, press, show } from "./page";

const OLLAMA = { name: "ollama:qwen3", ready: true, why: "answers at localhost:11434" };
const OPENAI = { name: "OpenAI", ready: false, why: "OPENAI_API_KEY is not set" };

function lastOf(page: Page): CommandMessage {
  return page.sent.at(-1) as CommandMessage;
}

async function answer(page: Page, choices: Choice[] | null, ack: object = {}): Promise<void> {
  const seq = (page.store.liveSnapshot("").seq ?? 0) + 1;
  const patch = choices && { seq, ops: [["set", { choices }] as ["set", object]] };
  page.store.receive({ ...patch, acks: [{ ack: lastOf(page).id, ok: true, ...ack }] });
  await page.settle();
}

describe("the models that an empty chat offers", () => {
  it("are looked for when a person asks, and not before", async () => {
    const page = await show({});
    expect(page.sent).toEqual([]);
    press(page.button("Choose a model"));
    await page.settle();
    expect(page.sent).toMatchObject([{ command: "choices" }]);
    const button = page.button("Looking for models…");
    expect(button?.getAttribute("aria-disabled")).toBe("true");
    press(button);
    expect(page.sent).toHaveLength(1);
  });

  it("are chosen by a click; the others say what is missing", async () => {
    const page = await show({});
    press(page.button("Choose a model"));
    await answer(page, [OLLAMA, OPENAI]);
    expect(page.find("[aria-label=Models]")?.textContent).toBe(
      "ollama:qwen3answers at localhost:11434",
    );
    expect(page.find("details")?.textContent).toBe(
      "What the others lackOpenAIOPENAI_API_KEY is not set",
    );
    expect((page.find("details") as HTMLDetailsElement).open).toBe(false);
    press(page.button("Use ollama:qwen3"));
    expect(lastOf(page)).toMatchObject({ command: "choose", model: "ollama:qwen3" });
  });

  it("have no button where they cannot be used, and their list is then open", async () => {
    const page = await show({ choices: [OPENAI] });
    expect(page.text()).toContain("No model is set up on this machine yet.");
    expect((page.find("details") as HTMLDetailsElement).open).toBe(true);
    expect(page.button("Use OpenAI")).toBeUndefined();
    press(page.button("Look again"));
    expect(lastOf(page)).toMatchObject({ command: "choices" });
  });

  it("stand above the button that looks again", async () => {
    const page = await show({});
    press(page.button("Choose a model"));
    await page.settle();
    await answer(page, [OPENAI]);
    const order = page.find(".choices")?.textContent ?? "";
    expect(order.indexOf("Look again")).toBeGreaterThan(order.indexOf("OPENAI_API_KEY"));
  });

  it("say in words why one was not taken", async () => {
    const page = await show({ choices: [OLLAMA] });
    press(page.button("Use ollama:qwen3"));
    await answer(page, null, { ok: false, error: "busy", text: "The chat is answering." });
    expect(page.find(".choices [role=alert]")?.textContent).toBe("The chat is answering.");
    expect(page.button("Use ollama:qwen3")?.getAttribute("aria-disabled")).toBeNull();
  });

  it("are offered to nobody where no kernel answers, and are not saved", async () => {
    const page = await show({ choices: [OLLAMA] }, { live: false });
    page.store.close();
    await page.settle();
    expect(page.find(".choices")).toBeNull();
    expect(page.store.liveSnapshot("")).not.toHaveProperty("choices");
  });
});
