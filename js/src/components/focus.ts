/**
 * Where the focus is in a view. When the focused element is taken away, the focus falls to the
 * notebook, and the next key would act on cells; here it goes to what is around the element.
 */

export class Focus {
  #way: HTMLElement[] = [];
  readonly #observer = new MutationObserver(() => this.#repair());

  constructor(
    host: HTMLElement,
    private readonly shadow: ShadowRoot,
  ) {
    for (const place of [shadow, host]) {
      // Moves within the shadow root are not told outside of it.
      place.addEventListener("focusin", (event) => this.#note(event as FocusEvent));
      place.addEventListener("focusout", () => this.#leave());
      this.#observer.observe(place, { childList: true, subtree: true });
    }
  }

  /** Whether the focus is in this view, or was until its element went. */
  get held(): boolean {
    return this.#way.length > 0;
  }

  /** Watches no more. */
  end(): void {
    this.#observer.disconnect();
  }

  #note(event: FocusEvent): void {
    this.#way = event.composedPath().filter((each) => each instanceof HTMLElement);
  }

  /** An element that is being taken away loses the focus while it is still there: look later. */
  #leave(): void {
    const way = this.#way;
    queueMicrotask(() => {
      if (this.#way === way && way[0]?.isConnected) this.#way = [];
    });
  }

  #repair(): void {
    if (!this.held || this.#way[0]?.isConnected) return;
    const around = this.#way.find((each) => this.#canTake(each));
    this.#way = [];
    if (this.shadow.activeElement) return; // what came in its place took it
    (around ?? this.shadow.querySelector("textarea"))?.focus({ preventScroll: true });
  }

  #canTake(element: HTMLElement): boolean {
    return element.hasAttribute("tabindex") && this.shadow.contains(element);
  }
}
