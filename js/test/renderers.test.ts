import { beforeEach, describe, expect, it, vi } from "vitest";
import { chooseFace, ownFace } from "../src/renderers/mime";
import { answering, call, type Page, show } from "./page";

// Node imports data: addresses and no blob: ones; the code is the same.
beforeEach(() => {
  vi.stubGlobal(
    "Blob",
    class {
      constructor(readonly parts: string[]) {}
    },
  );
  URL.createObjectURL = (blob) =>
    `data:text/javascript,${encodeURIComponent((blob as unknown as { parts: string[] }).parts.join(""))}`;
  URL.revokeObjectURL = () => {};
});

function withResolvers() {
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<void>((_, refuse) => {
    reject = refuse;
  });
  return { promise, reject };
}

async function showWith(code: string, traits: "" | "args" = ""): Promise<Page> {
  const renderers = { drop_rows: { kind: "javascript" as const, asset: "r1", traits } };
  const conversation = answering([call({ state: "running", args: { n: 1 } })]);
  const page = await show({ conversation, renderers }, { modules: { r1: code } });
  await vi.waitFor(() => {
    if (!drawn(page) && !page.find(".refused")) throw new Error("nothing is drawn yet");
  });
  return page;
}

function drawn(page: Page): string {
  return [...page.host.querySelectorAll("div[slot]")].map((el) => el.textContent).join();
}

describe("a JavaScript renderer", () => {
  it("draws the call inside the card, in the light DOM", async () => {
    const page = await showWith(
      "export default { render({ model, el }) { el.textContent = 'n is ' + model.get('args').n; } }",
    );
    expect(drawn(page)).toBe("n is 1");
    expect(page.find(".bounds slot")).not.toBeNull();
    expect(page.find(".card-head .tool")?.textContent).toBe("drop_rows");
  });

  it("hears what changes, and is cleaned up", async () => {
    const page = await showWith(
      `export default () => ({ render({ model, el, signal }) {
        const draw = () => { el.textContent = String(model.get("n")); };
        draw();
        model.on("change:n", draw);
      } })`,
      "args",
    );
    expect(drawn(page)).toBe("1");
    const part = call({ state: "running", args: { n: 2 } });
    page.store.receive({ seq: 1, ops: [["part", "a", part]] });
    await page.settle();
    expect(drawn(page)).toBe("2");
    page.store.receive({ seq: 2, ops: [["remove", "a"]] });
    await page.settle();
    expect(page.host.querySelectorAll("div[slot]")).toHaveLength(0);
  });

  it("sends what it changed as one act", async () => {
    const page = await showWith(
      `export default { render({ model, el }) {
        el.textContent = "ready";
        model.set("n", 5); model.set("m", 6); model.save_changes();
      } }`,
      "args",
    );
    expect(page.sent).toMatchObject([{ command: "act", call: "k", changes: { n: 5, m: 6 } }]);
  });

  it("that throws is replaced by the built-in card with a note, and tried again on a change", async () => {
    const page = await showWith(
      `export default { render({ model, el }) {
        if (model.get("state") === "running") throw new Error("not yet");
        el.textContent = "drawn at last";
      } }`,
    );
    expect(page.find(".refused")?.textContent).toContain("The renderer failed: Error: not yet");
    const part = call({ state: "result", outcome: "ok", value: 1 });
    page.store.receive({ seq: 1, ops: [["part", "a", part]] });
    await page.settle();
    await vi.waitFor(() => expect(drawn(page)).toBe("drawn at last"));
    expect(page.find(".refused")).toBeNull();
  });

  it("that fails for what the call was before is tried with what it is now", async () => {
    const fails = withResolvers();
    const begun = vi.fn();
    vi.stubGlobal("rendering", { begun, fails: fails.promise });
    const renderers = {
      drop_rows: { kind: "javascript" as const, asset: "r1", traits: "" as const },
    };
    const conversation = answering([call({ state: "running" })]);
    const code = `export default { async render({ model, el }) {
      const state = model.get("state");
      rendering.begun(state);
      if (state === "running") await rendering.fails;
      el.textContent = "drawn at last";
    } }`;
    const page = await show({ conversation, renderers }, { modules: { r1: code } });
    await vi.waitFor(() => expect(begun).toHaveBeenCalledWith("running"));
    const part = call({ state: "result", outcome: "ok", value: 1 });
    page.store.receive({ seq: 1, ops: [["part", "a", part]] });
    await page.settle();
    fails.reject(new Error("not yet"));
    await vi.waitFor(() => expect(drawn(page)).toBe("drawn at last"));
    expect(page.find(".refused")).toBeNull();
    expect(begun).toHaveBeenCalledTimes(2);
  });

  it("initialises once a call, whatever the number of views", async () => {
    const page = await showWith(
      `let count = 0;
       export default {
         initialize() { count += 1; },
         render({ el }) { el.textContent = String(count); },
       }`,
    );
    expect(drawn(page)).toBe("1");
  });
});

describe("a MIME bundle", () => {
  const host = {
    preferredMimeType: (bundle: object) =>
      ["application/vnd.plotly.v1+json", "text/html"].find((mime) => mime in bundle),
    createRenderer: () => {
      throw new Error("not asked");
    },
    createModel: () => ({}),
  };

  it("goes to the notebook for what is not drawn here", () => {
    const bundle = { "text/html": "<table>", "text/plain": "t" };
    expect(chooseFace(bundle, host)).toEqual({ kind: "host", mime: "text/html" });
  });

  it("never shows HTML by itself", () => {
    const bundle = { "text/html": "<b>", "text/plain": "plain" };
    expect(chooseFace(bundle, undefined)).toEqual({ kind: "text", text: "plain", note: "" });
  });

  it("prefers pictures, then markdown, then JSON, then text", () => {
    const bundle: Record<string, string> = { "text/plain": "t" };
    expect(ownFace(bundle).kind).toBe("text");
    bundle["application/json"] = "j";
    expect(ownFace(bundle).kind).toBe("json");
    bundle["text/markdown"] = "m";
    expect(ownFace(bundle).kind).toBe("markdown");
    bundle["image/png"] = "p";
    expect(ownFace(bundle)).toEqual({ kind: "picture", mime: "image/png", data: "p" });
  });

  it("shows an SVG as a picture, never inline", async () => {
    const display = { "image/svg+xml": "<svg><script>1</script></svg>" };
    const page = await show({
      conversation: answering([call({ state: "result", outcome: "ok", display })]),
    });
    await page.settle();
    expect(page.root.querySelector("script")).toBeNull();
    expect(page.find("img.picture")?.getAttribute("src")).toMatch(/^data:image\/svg\+xml,/);
  });

  it("says in words that a picture is broken", async () => {
    const display = { "image/png": "AAAA" };
    const page = await show({
      conversation: answering([call({ state: "result", outcome: "ok", display })]),
    });
    await page.settle();
    page.find("img.picture")?.dispatchEvent(new Event("error"));
    await page.settle();
    expect(page.find("img.picture")).toBeNull();
    expect(page.find(".result")?.textContent).toBe("This picture is broken.");
  });
});
