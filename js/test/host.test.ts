import { describe, expect, it } from "vitest";
import { embedWidget, renderByHost, type WidgetManager } from "../src/renderers/host";
import { createElement } from "./person";

/** A widget that attaches, detaches and refuses as those of Lumino do. */
class Drawn {
  static readonly Msg = { BeforeDetach: "before-detach", AfterDetach: "after-detach" };

  static attach(widget: Drawn, el: HTMLElement): void {
    el.append(widget.node);
    widget.isAttached = true;
  }

  static detach(widget: Drawn): void {
    if (!widget.isAttached || !widget.node.isConnected) throw new Error("Widget is not attached.");
    widget.processMessage("before-detach");
    widget.node.remove();
    widget.processMessage("after-detach");
  }

  readonly node = document.createElement("p");
  readonly heard: unknown[] = [];
  isAttached = false;
  disposed = false;

  dispose(): void {
    if (this.isAttached) Drawn.detach(this);
    this.disposed = true;
  }

  processMessage(message: unknown): void {
    this.heard.push(message);
    if (message === "after-detach") this.isAttached = false;
  }

  async renderModel(): Promise<void> {}
}

type Way = (drawn: Drawn, el: HTMLElement, signal: AbortSignal) => Promise<void>;

const byHost: Way = (drawn, el, signal) => {
  const host = {
    preferredMimeType: () => "text/html",
    createRenderer: () => drawn,
    createModel: () => ({}),
  };
  return renderByHost(host, "text/html", {}, el, signal);
};

const embedded: Way = (drawn, el, signal) => {
  const view = { el: drawn.node, luminoWidget: drawn, remove: () => drawn.dispose() };
  const manager: WidgetManager = { get_model: async () => ({}), create_view: async () => view };
  return embedWidget(manager, "IPY_MODEL_m", el, signal);
};

describe.each([
  ["drawn by the notebook", byHost],
  ["a live widget", embedded],
])("what is %s", (_, draw) => {
  it("is detached and disposed of when its card goes", async () => {
    const [drawn, el, life] = [new Drawn(), createElement(), new AbortController()];
    await draw(drawn, el, life.signal);
    expect(el.firstChild).toBe(drawn.node);
    life.abort();
    expect(drawn).toMatchObject({ disposed: true, isAttached: false });
    expect(el.childNodes).toHaveLength(0);
    expect(drawn.heard).toEqual(["before-detach", "after-detach"]);
  });

  it("is told and disposed of where the notebook has taken away all around it", async () => {
    const [drawn, el, life] = [new Drawn(), createElement(), new AbortController()];
    await draw(drawn, el, life.signal);
    el.remove();
    life.abort();
    expect(drawn).toMatchObject({ disposed: true, isAttached: false });
    expect(drawn.heard).toEqual(["before-detach", "after-detach"]);
  });
});
