/**
 * JavaScript renderers: anywidget modules over one call each.
 *
 * A module is evaluated and initialised once a call, as anywidget does once a model, and rendered
 * once a view. What it throws is told to whoever draws the card; the next change tries again.
 */

import type { Json, RendererReference } from "../protocol";
import type { CallNode, ChatStore } from "../store";
import { CallModel, type CallProxy, type Values } from "./callmodel";

type Cleanup = (() => unknown) | undefined;

interface Hooks {
  initialize?(context: Context): unknown;
  render?(context: Context & { host: unknown; el: HTMLElement }): unknown;
}

interface Context {
  readonly model: CallProxy;
  readonly signal: AbortSignal;
  readonly experimental: { invoke(): Promise<never> };
}

/** What the modules of one chat need from the page. */
export interface Surroundings {
  readonly store: ChatStore;
  /** Small modules that came with the state, by asset. */
  readonly modules: () => Record<string, string>;
  readonly manager: unknown;
}

/** One renderer module on one call, shared by all views of that call. */
class Instance {
  readonly model: CallModel;
  readonly #hooks: Promise<Hooks>;
  readonly #life = new AbortController();

  constructor(
    readonly asset: string,
    readonly node: CallNode,
    readonly traits: string,
    surroundings: Surroundings,
  ) {
    const act = (changes: Values) => this.#act(surroundings.store, changes);
    this.model = new CallModel(valuesOf(node, traits), act, surroundings.manager);
    this.#hooks = this.#start(surroundings);
  }

  async render(el: HTMLElement, signal: AbortSignal, host: unknown): Promise<void> {
    const hooks = await this.#hooks;
    if (signal.aborted) return;
    const { proxy, release } = this.model.proxy();
    const cleanup = await hooks.render?.({ ...contextOf(proxy, signal), host, el });
    const end = () => {
      release();
      callCleanup(cleanup);
    };
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  }

  end(): void {
    this.#life.abort();
  }

  async #start({ modules, store }: Surroundings): Promise<Hooks> {
    const code = modules()[this.asset] ?? (await textOf(store, this.asset));
    const hooks = await evaluate(code);
    const { proxy } = this.model.proxy();
    const cleanup = await hooks.initialize?.(contextOf(proxy, this.#life.signal));
    this.#life.signal.addEventListener("abort", () => callCleanup(cleanup), { once: true });
    return hooks;
  }

  /** While the call waits, the act is an edit of its arguments; the person still decides. */
  #act(store: ChatStore, changes: Values): void {
    const { args, ...rest } = changes as { args?: Values };
    const flat = this.traits === "" && this.node.part.state === "pending" && args;
    const sent = (flat ? { ...rest, ...args } : changes) as { [name: string]: Json };
    const call = this.node.part.id;
    if (store.presence.here) void store.run({ command: "act", call, changes: sent }, call);
  }
}

export class JavaScriptRenderers {
  /** What anywidget gives a view to reach other widgets with; it comes with the first view. */
  host: unknown = {};
  readonly #instances = new Map<string, Instance>();

  constructor(private readonly surroundings: Surroundings) {}

  /** Draws a call into `el` until `signal` aborts; rejects with what the module threw. */
  async render(
    node: CallNode,
    reference: RendererReference,
    el: HTMLElement,
    signal: AbortSignal,
  ): Promise<void> {
    const instance = this.#instanceFor(node, reference);
    try {
      await instance.render(el, signal, this.host);
    } catch (error) {
      this.#drop(node.part.id, instance);
      throw error;
    }
  }

  /** Tells the module of a call that the call changed. */
  update(node: CallNode): void {
    const instance = this.#instances.get(node.part.id);
    instance?.model.update(valuesOf(node, instance.traits));
  }

  /** Ends every module. */
  end(): void {
    for (const [id, instance] of this.#instances) this.#drop(id, instance);
  }

  #instanceFor(node: CallNode, { asset = "", traits = "" }: RendererReference): Instance {
    const known = this.#instances.get(node.part.id);
    if (known?.asset === asset && known.node === node) return known;
    if (known) this.#drop(node.part.id, known);
    const made = new Instance(asset, node, traits, this.surroundings);
    this.#instances.set(node.part.id, made);
    return made;
  }

  #drop(id: string, instance: Instance): void {
    instance.end();
    if (this.#instances.get(id) === instance) this.#instances.delete(id);
  }
}

function valuesOf(node: CallNode, traits: string): Values {
  return traits === "args" ? { ...node.args } : { ...node.part, args: node.args ?? {} };
}

async function textOf(store: ChatStore, asset: string): Promise<string> {
  const { bytes } = await store.assets.get(asset);
  return new TextDecoder().decode(bytes);
}

/** Evaluates a module anew: calls must not share its variables, as widgets do not. */
async function evaluate(code: string): Promise<Hooks> {
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  try {
    const module = await import(/* @vite-ignore */ url);
    const made = module.default ?? module;
    return typeof made === "function" ? await made() : made;
  } finally {
    URL.revokeObjectURL(url);
  }
}

function contextOf(model: CallProxy, signal: AbortSignal): Context {
  return { model, signal, experimental: { invoke: refuseInvoke } };
}

function refuseInvoke(): Promise<never> {
  return Promise.reject(new Error("A call has no commands to invoke; use model.send."));
}

function callCleanup(cleanup: unknown): void {
  if (typeof cleanup !== "function") return;
  Promise.resolve()
    .then(cleanup as NonNullable<Cleanup>)
    .catch(console.warn);
}
