/** Who is told of a change, and when: listeners of one thing, called at most once a frame. */

export type Listener = () => void;

/** One thing that changes. */
export class Topic {
  /** Grows by one with each change that was told. */
  version = 0;
  readonly #listeners = new Set<Listener>();

  /** Calls `listener` after each change until the returned function is called. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells the listeners now. */
  publish(): void {
    this.version += 1;
    for (const listener of [...this.#listeners]) listener();
  }
}

/** The longest that a change waits where no frame comes, as in a tab in the background. */
const WITHOUT_FRAMES_MS = 250;

/** Gathers changes and tells them together before the next paint. */
export class Frame {
  readonly #touched = new Set<Topic>();
  #cancel: (() => void) | undefined;

  /** Notes that a topic changed. */
  touch(topic: Topic): void {
    this.#touched.add(topic);
    this.#cancel ??= this.#schedule();
  }

  /** Tells everything that was touched, now. */
  flush(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const touched = [...this.#touched];
    this.#touched.clear();
    for (const topic of touched) topic.publish();
  }

  #schedule(): () => void {
    const run = () => this.flush();
    const frame = requestAnimationFrame(run);
    const timer = setTimeout(run, WITHOUT_FRAMES_MS);
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  }
}
