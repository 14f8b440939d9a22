/**
 * What the notebook draws for us: other people's MIME types, and live widgets.
 *
 * Both are put into the light DOM, where the notebook's own style sheets reach them, and are never
 * trusted: scripts in such output do not run.
 */

import type { MimeBundle } from "../protocol";

/** The part of a widget of Lumino that is used. */
interface Attachable {
  readonly node: HTMLElement;
  readonly isAttached?: boolean;
  dispose(): void;
  processMessage?(message: unknown): void;
}

/** Static members that every class of such widgets inherits, so no copy of Lumino is needed. */
interface Kind {
  attach?(widget: Attachable, el: HTMLElement): void;
  detach?(widget: Attachable): void;
  readonly Msg?: { readonly BeforeDetach: unknown; readonly AfterDetach: unknown };
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
  const end = () => {
    detach(renderer);
    renderer.dispose();
  };
  signal.addEventListener("abort", end, { once: true });
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
  const widget = view.luminoWidget ?? view.pWidget;
  const end = () => {
    if (widget) detach(widget);
    view.remove();
  };
  signal.addEventListener("abort", end, { once: true });
  if (widget) attach(widget, el);
  else el.append(view.el);
}

function attach(widget: Attachable, el: HTMLElement): void {
  const { attach: place } = widget.constructor as Kind;
  if (place) place(widget, el);
  else el.append(widget.node);
}

/**
 * Takes a widget off the page before it is disposed of, which does it otherwise, and fails where the
 * notebook has taken away all that is around it: then only the widget is left to be told.
 */
function detach(widget: Attachable): void {
  const { detach: remove, Msg } = widget.constructor as Kind;
  if (!widget.isAttached) return;
  if (widget.node.isConnected) remove?.(widget);
  else for (const said of [Msg?.BeforeDetach, Msg?.AfterDetach]) widget.processMessage?.(said);
}
