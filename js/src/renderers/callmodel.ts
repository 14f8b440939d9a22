/**
 * A tool call as the model of an anywidget module.
 *
 * It gives what anywidget's own proxy gives, so whoever has written an anywidget has written a
 * renderer. `get` reads the call (or, with traits "args", its arguments); `set` changes a draft;
 * `save_changes` sends what was changed; `send` sends anything.
 */

import { isEqual } from "./equal";

export type Values = Record<string, unknown>;
// biome-ignore lint/suspicious/noExplicitAny: a listener takes what its event brings
type Callback = (...parameters: any[]) => void;

/** The model as one hook of a module sees it. */
export interface CallProxy {
  get(name: string): unknown;
  set(name: string | Values, value?: unknown): CallProxy;
  save_changes(): void;
  send(content: unknown, callbacks?: unknown, buffers?: unknown): void;
  on(names: string, callback: Callback): void;
  off(names?: string | null, callback?: Callback | null): void;
  widget_manager: unknown;
}

interface Registration {
  readonly name: string;
  readonly callback: Callback;
  readonly proxy: CallProxy;
}

export class CallModel {
  readonly #source: Values;
  readonly #values: Values;
  readonly #dirty = new Set<string>();
  #registrations: Registration[] = [];

  constructor(
    source: Values,
    private readonly act: (changes: Values) => void,
    private readonly manager: unknown,
  ) {
    this.#source = structuredClone(source);
    this.#values = structuredClone(source);
  }

  /** Takes the call as it is now, and tells the module what is new. */
  update(source: Values): void {
    const names = new Set([...Object.keys(this.#source), ...Object.keys(source)]);
    const changed = [...names].filter((name) => !isEqual(this.#source[name], source[name]));
    for (const name of changed) {
      this.#source[name] = structuredClone(source[name]);
      this.#values[name] = structuredClone(source[name]);
      this.#dirty.delete(name);
    }
    this.#tell(changed);
  }

  /** Returns the model for one hook; `release` drops the listeners of that hook alone. */
  proxy(): { proxy: CallProxy; release: () => void } {
    const proxy: CallProxy = {
      get: (name) => this.#values[name],
      set: (name, value) => {
        this.#set(typeof name === "string" ? { [name]: value } : name);
        return proxy;
      },
      save_changes: () => this.#save(),
      send: (content) => this.act(isPlain(content) ? content : { content }),
      on: (names, callback) => {
        for (const name of words(names)) this.#registrations.push({ name, callback, proxy });
      },
      off: (names, callback) => this.#off(proxy, words(names), callback),
      widget_manager: this.manager,
    };
    return { proxy, release: () => this.#off(proxy, [], null) };
  }

  #off(proxy: CallProxy, names: string[], callback?: Callback | null): void {
    this.#registrations = this.#registrations.filter(
      (known) =>
        known.proxy !== proxy ||
        (names.length > 0 && !names.includes(known.name)) ||
        (callback && known.callback !== callback),
    );
  }

  #set(values: Values): void {
    const changed = Object.keys(values).filter((key) => !isEqual(this.#values[key], values[key]));
    for (const name of changed) {
      this.#values[name] = values[name];
      this.#dirty.add(name);
    }
    this.#tell(changed);
  }

  #save(): void {
    if (!this.#dirty.size) return;
    const changes = Object.fromEntries([...this.#dirty].map((name) => [name, this.#values[name]]));
    this.#dirty.clear();
    this.act(structuredClone(changes));
  }

  #tell(changed: string[]): void {
    if (!changed.length) return;
    for (const name of changed) this.#emit(`change:${name}`, [this.#values[name]]);
    this.#emit("change", []);
  }

  #emit(event: string, values: unknown[]): void {
    for (const { name, callback, proxy } of [...this.#registrations]) {
      if (name === event) callback(proxy, ...values, {});
    }
  }
}

function words(names: string | null | undefined): string[] {
  return (names ?? "").split(/\s+/).filter(Boolean);
}

function isPlain(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
