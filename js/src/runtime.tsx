/**
 * The front end as one module: an anywidget whose messages the stub may have kept, and
 * `mountStatic` for a page without a kernel.
 */

import { hideSibling, mount } from "./mount";
import type { PythonMessage, Snapshot } from "./protocol";
import type { WidgetManager } from "./renderers/host";
import { JavaScriptRenderers } from "./renderers/javascript";
import { ChatStore, fromBase64 } from "./store";

type Buffers = readonly (ArrayBuffer | ArrayBufferView)[];
export type Missed = [content: PythonMessage, buffers: Buffers];

/** The model of a widget, as anywidget hands it out. */
export interface WidgetModel {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  send(content: unknown): void;
  // biome-ignore lint/suspicious/noExplicitAny: a listener takes what its event brings
  on(name: string, callback: (...parameters: any[]) => void): void;
  widget_manager: WidgetManager;
}

interface Context {
  readonly model: WidgetModel;
  readonly signal?: AbortSignal;
}

const EMPTY: Snapshot = { seq: 0, boot: "", chat: "", conversation: {} };

/** Makes the anywidget of one chat; its state is shared by all views of that chat. */
export default function createWidget() {
  let chat: { store: ChatStore; renderers: JavaScriptRenderers } | undefined;
  return {
    initialize({ model, signal, missed = [] }: Context & { missed?: Missed[] }): void {
      const store = new ChatStore(snapshotOf(model), (message) => model.send(message));
      store.presence.isKernelBusy = () => model.widget_manager.kernel?.status === "busy";
      const modules = () => (model.get("modules") ?? {}) as Record<string, string>;
      const manager = model.widget_manager;
      chat = { store, renderers: new JavaScriptRenderers({ store, modules, manager }) };
      listen(model, store);
      for (const [content, buffers] of missed) store.receive(content, buffers);
      signal?.addEventListener("abort", () => chat?.renderers.end(), { once: true });
    },
    render({ model, el, signal, host }: Context & { el: HTMLElement; host?: object }): () => void {
      if (!chat) throw new Error("A view was asked for before its chat was initialised.");
      if (host) chat.renderers.host = host;
      const unmount = mount(el, { ...chat, manager: model.widget_manager });
      const show = hideSibling(chat.store.chat);
      chat.store.open();
      let shown = true;
      const end = () => {
        if (!shown) return;
        shown = false;
        unmount();
        show();
      };
      signal?.addEventListener("abort", end, { once: true });
      return end;
    },
  };
}

/** An asset as an exported page carries it. */
export interface StaticAsset {
  readonly mime: string;
  /** The content as base64 text. */
  readonly data: string;
}

/** Draws a conversation to be read, on a page without a kernel. */
export function mountStatic(
  el: HTMLElement,
  snapshot: Snapshot,
  assets: Record<string, StaticAsset> = {},
): () => void {
  const store = new ChatStore(snapshot, () => {});
  for (const [id, { mime, data }] of Object.entries(assets)) {
    store.assets.put(id, mime, fromBase64(data));
  }
  store.close();
  const renderers = new JavaScriptRenderers({ store, modules: () => ({}), manager: undefined });
  return mount(el, { store, renderers, exported: true });
}

function snapshotOf(model: WidgetModel): Snapshot {
  const state = model.get("state") as Partial<Snapshot> | undefined;
  return { ...EMPTY, ...state };
}

function listen(model: WidgetModel, store: ChatStore): void {
  model.on("msg:custom", (content: PythonMessage, buffers: Buffers) => {
    store.receive(content, buffers ?? []);
  });
  keepCurrent(model, store);
  model.on("comm:close", () => store.close());
  model.on("destroy", () => store.close());
  void watchComm(model, store);
}

/** Whoever saves the notebook reads the state of the model: it shall be the state of the page. */
function keepCurrent(model: WidgetModel, store: ChatStore): void {
  const current = store.liveSnapshot(snapshotOf(model).widget ?? "");
  const keep = () => model.set("state", current); // on this page alone: it is never sent
  model.on("change:state", () => {
    if (model.get("state") === current) return;
    store.take(snapshotOf(model));
    keep();
  });
  keep();
}

/** Follows whether the widget's channel to the kernel is open, which only its full model knows. */
async function watchComm(model: WidgetModel, store: ChatStore): Promise<void> {
  const id = snapshotOf(model).widget;
  if (!id) return;
  const full = (await model.widget_manager.get_model(id)) as { comm_live?: boolean };
  const follow = () => (full.comm_live === false ? store.close() : store.reopen());
  model.on("comm_live_update", follow);
  follow();
}
