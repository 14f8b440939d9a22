/**
 * What the notebook draws for us: other people's MIME types, and live widgets.
 *
 * Both are put into the light DOM, where the notebook's own style sheets reach them, and are never
 * trusted: scripts in such output do not run.
 */

import type { MimeBundle } from "../protocol";

interface Attachable {
  readonly node: HTMLElement;
  dispose(): void;
}

interface MimeRenderer extends Attachable {
  renderModel(model: unknown): Promise<void>;
}

/** The part of Jupyter's rendermime registry that is used. */
export interface RenderMime {
  preferredMimeType(bundle: MimeBundle, safe: "ensure"): string | undefined;
  createRenderer(mime: string): MimeRenderer;
  createModel(options: { data: MimeBundle; metadata: object; trusted: boolean }): unknown;
}

interface WidgetView {
  readonly el: HTMLElement;
  readonly luminoWidget?: Attachable;
  readonly pWidget?: Attachable;
  remove(): void;
}

/** The part of a widget manager that is used. */
export interface WidgetManager {
  readonly kernel?: { readonly status: string } | null;
  readonly rendermime?: RenderMime;
  readonly renderMime?: RenderMime;
  get_model(id: string): Promise<unknown>;
  create_view(model: unknown, options: object): Promise<WidgetView>;
}

/** Returns the notebook's renderer, if this page has one. */
export function renderMimeOf(manager: WidgetManager | undefined): RenderMime | undefined {
  return manager?.rendermime ?? manager?.renderMime;
}

/** Lets the notebook draw one type of a bundle into a connected element. */
export async function renderByHost(
  host: RenderMime,
  mime: string,
  bundle: MimeBundle,
  el: HTMLElement,
  signal: AbortSignal,
): Promise<void> {
  const renderer = host.createRenderer(mime);
  signal.addEventListener("abort", () => release(() => renderer.dispose()), { once: true });
  attach(renderer, el);
  await renderer.renderModel(host.createModel({ data: bundle, metadata: {}, trusted: false }));
}

/** Puts a live widget into a connected element. */
export async function embedWidget(
  manager: WidgetManager,
  reference: string,
  el: HTMLElement,
  signal: AbortSignal,
): Promise<void> {
  const id = reference.replace(/^(IPY_MODEL_|anywidget:)/, "");
  const view = await manager.create_view(await manager.get_model(id), {});
  if (signal.aborted) return view.remove();
  signal.addEventListener("abort", () => release(() => view.remove()), { once: true });
  const widget = view.luminoWidget ?? view.pWidget;
  if (widget) attach(widget, el);
  else el.append(view.el);
}

/** Lets go of what the notebook drew. It refuses to detach what has left the page before: no fault. */
function release(drop: () => void): void {
  try {
    drop();
  } catch (error) {
    if (!String(error).includes("not attached")) throw error;
  }
}

/** `attach` is a static method that every such class inherits, so no copy of Lumino is needed. */
function attach(widget: Attachable, el: HTMLElement): void {
  const kind = widget.constructor as { attach?(widget: Attachable, el: HTMLElement): void };
  if (kind.attach) kind.attach(widget, el);
  else el.append(widget.node);
}
