/** A place inside a card for what others draw: in the light DOM, painted within its bounds. */

import { useEffect, useRef, useState } from "preact/hooks";
import { useView } from "./view";

let made = 0;

interface LightSlotProps {
  /** Draws into a connected element until the signal aborts. */
  readonly draw: (el: HTMLElement, signal: AbortSignal) => Promise<void>;
  /** What it depends on: another value draws anew. */
  readonly of: unknown;
  readonly onError: (error: unknown) => void;
}

/** Gives `draw` an element that the notebook's own style sheets reach. */
export function LightSlot({ draw, of, onError }: LightSlotProps) {
  const { host } = useView();
  const [name] = useState(() => `nbtools-${++made}`);
  const latest = useRef(draw);
  latest.current = draw;
  useEffect(() => {
    const controller = new AbortController();
    const el = document.createElement("div");
    el.slot = name;
    host.append(el);
    const { signal } = controller;
    const start = async () => {
      await connected(el, signal);
      if (!signal.aborted) await latest.current(el, signal);
    };
    start().catch((error) => {
      if (!signal.aborted) onError(error);
    });
    return () => {
      controller.abort();
      el.remove();
    };
  }, [name, host, of]);
  return (
    <div class="bounds">
      <slot name={name} />
    </div>
  );
}

/** A view is drawn before the notebook puts it on the page. */
async function connected(el: HTMLElement, signal: AbortSignal): Promise<void> {
  while (!el.isConnected && !signal.aborted) {
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
}
