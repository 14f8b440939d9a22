/** The order of patches: which apply now, which wait, and when a snapshot has to be asked for. */

import type { Op } from "../protocol";

/** The numbered part of a message from Python. */
export interface Patch {
  readonly seq: number;
  readonly ops: Op[];
}

/** How many early patches are kept while a snapshot is awaited. */
const KEPT = 1000;

/** Whether there is something missing before a patch that has come. */
export class Sequence {
  readonly #early = new Map<number, Patch>();

  constructor(public seq: number) {}

  /** Whether patches wait for one that has not come. */
  get gap(): boolean {
    return this.#early.size > 0;
  }

  /** Takes a patch; returns those that apply now, in order. */
  offer(patch: Patch): Patch[] {
    if (patch.seq > this.seq && this.#early.size < KEPT) this.#early.set(patch.seq, patch);
    return this.#ready();
  }

  /** Jumps to the number of a snapshot; returns the patches that apply on top of it. */
  restart(seq: number): Patch[] {
    this.seq = seq;
    for (const early of [...this.#early.keys()]) if (early <= seq) this.#early.delete(early);
    return this.#ready();
  }

  /** Forgets everything that waits. */
  clear(): void {
    this.#early.clear();
  }

  #ready(): Patch[] {
    const ready: Patch[] = [];
    for (let patch = this.#take(); patch; patch = this.#take()) ready.push(patch);
    return ready;
  }

  #take(): Patch | undefined {
    const patch = this.#early.get(this.seq + 1);
    if (!patch) return undefined;
    this.#early.delete(patch.seq);
    this.seq = patch.seq;
    return patch;
  }
}
