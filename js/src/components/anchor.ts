/** Keeps what is read in its place while something above it grows, where the browser does not. */

/** How far apart the places are that are looked at for something to hold on to, in pixels. */
const STEP = 24;

export class Anchor {
  #held: { readonly element: Element; readonly top: number } | undefined;
  readonly #needed = !globalThis.CSS?.supports?.("overflow-anchor", "auto");

  constructor(private readonly box: HTMLElement) {}

  /** Notes what begins in the upper part of the box. */
  note(): void {
    if (!this.#needed) return;
    const { left, top, width, height } = this.box.getBoundingClientRect();
    const root = this.box.getRootNode() as ShadowRoot;
    this.#held = undefined;
    for (let down = STEP; down < height && !this.#held; down += STEP) {
      const element = root.elementFromPoint(left + width / 2, top + down);
      // What begins above the box may be what grows.
      if (element && this.#topOf(element) >= 0) this.#held = { element, top: this.#topOf(element) };
    }
  }

  /** Scrolls by as far as that has moved since. */
  restore(): void {
    const held = this.#held;
    if (held?.element.isConnected) this.box.scrollTop += this.#topOf(held.element) - held.top;
  }

  #topOf(element: Element): number {
    return element.getBoundingClientRect().top - this.box.getBoundingClientRect().top;
  }
}
