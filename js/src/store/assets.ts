/** Code and bytes that are too large for the state, fetched by id when they are first needed. */

/** Bytes, and what they are. */
export interface AssetContent {
  readonly mime: string;
  readonly bytes: Uint8Array;
}

interface Entry {
  readonly content: Promise<AssetContent>;
  readonly resolve: (content: AssetContent) => void;
  readonly reject: (error: Error) => void;
}

/** How many contents that were fetched are kept: those that are older can be fetched again. */
const KEPT = 64;

export class Assets {
  readonly #entries = new Map<string, Entry>();
  readonly #asked = new Set<string>();
  readonly #fetched: string[] = [];

  constructor(private readonly request: (id: string) => Promise<boolean>) {}

  /** Returns the content of an asset; rejects if Python has it no more. */
  get(id: string): Promise<AssetContent> {
    const known = this.#entries.get(id);
    if (known) return known.content;
    const entry = this.#add(id);
    this.#asked.add(id);
    this.request(id).then((accepted) => {
      if (!accepted) this.#fail(id);
    });
    return entry.content;
  }

  /** Takes an asset that came, or that comes with the page. */
  put(id: string, mime: string, bytes: Uint8Array | undefined): void {
    const entry = this.#entries.get(id) ?? this.#add(id);
    if (bytes) entry.resolve({ mime, bytes });
    else this.#fail(id);
    if (this.#asked.delete(id) && bytes) this.#keep(id);
  }

  #keep(id: string): void {
    if (this.#fetched.push(id) > KEPT) this.#entries.delete(this.#fetched.shift() ?? "");
  }

  #fail(id: string): void {
    this.#entries.get(id)?.reject(new Error(`The content "${id}" is gone; run the call again.`));
    this.#entries.delete(id);
    this.#asked.delete(id);
  }

  #add(id: string): Entry {
    const { promise, resolve, reject } = withResolvers<AssetContent>();
    promise.catch(() => {}); // whoever asked sees the error; nobody asking is no error
    const entry = { content: promise, resolve, reject };
    this.#entries.set(id, entry);
    return entry;
  }
}

function withResolvers<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<T>((accept, refuse) => {
    resolve = accept;
    reject = refuse;
  });
  return { promise, resolve, reject };
}

/** Reads base64 text. */
export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
