/** Putting a view on a page: its host element, its shadow root, its style sheets. */

import { render } from "preact";
import { App } from "./components/app";
import { Focus } from "./components/focus";
import type { View } from "./components/view";
import type { WidgetManager } from "./renderers/host";
import type { JavaScriptRenderers } from "./renderers/javascript";
import type { ChatStore } from "./store";
import { STYLES } from "./styles";

const KEYS = ["keydown", "keypress", "keyup"] as const;

interface Mount {
  readonly store: ChatStore;
  readonly renderers: JavaScriptRenderers;
  readonly manager?: WidgetManager | undefined;
  readonly exported?: boolean;
}

/** Draws a chat into `el`; the returned function takes it away. */
export function mount(el: HTMLElement, options: Mount): () => void {
  const host = document.createElement("div");
  host.className = "nbtools-chat";
  host.dataset.lmSuppressShortcuts = "true"; // JupyterLab listens before any of our listeners
  for (const name of KEYS) host.addEventListener(name, (event) => event.stopPropagation());
  const shadow = host.attachShadow({ mode: "open" });
  shadow.adoptedStyleSheets = [sheet()];
  const focus = new Focus(host, shadow);
  const view: View = { manager: undefined, exported: false, ...options, host, focus };
  el.append(host);
  render(<App view={view} />, shadow);
  return () => {
    focus.end();
    render(null, shadow);
    host.remove();
  };
}

let shared: CSSStyleSheet | undefined;

function sheet(): CSSStyleSheet {
  if (!shared) {
    shared = new CSSStyleSheet();
    shared.replaceSync(STYLES);
  }
  return shared;
}

const hidden = new Map<string, { sheet: CSSStyleSheet; views: number }>();

/** Hides the static output beside a live view, as long as any view of the chat is there. */
export function hideSibling(chat: string): () => void {
  if (!/^[\w-]+$/.test(chat)) return () => {};
  const entry = hidden.get(chat) ?? { sheet: siblingSheet(chat), views: 0 };
  hidden.set(chat, entry);
  if (entry.views === 0)
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, entry.sheet];
  entry.views += 1;
  return () => {
    entry.views -= 1;
    if (entry.views > 0) return;
    hidden.delete(chat);
    const others = document.adoptedStyleSheets.filter((other) => other !== entry.sheet);
    document.adoptedStyleSheets = others;
  };
}

function siblingSheet(chat: string): CSSStyleSheet {
  const name = `.nbt-static-${chat}`;
  const made = new CSSStyleSheet();
  // A chat shown in an Output widget lies in two outputs: the outer one holds the view as well.
  const innermost = `.jp-OutputArea-child:has(${name}):not(:has(.jp-OutputArea-child ${name}))`;
  made.replaceSync(`${innermost}, ${name} { display: none !important; }`);
  return made;
}
