/** What is shown of a MIME bundle: the richest form that can be drawn here. */

import type { AssetReference, MimeBundle, TablePage } from "../protocol";
import type { ChatStore } from "../store";
import { isRecord } from "../store";
import type { RenderMime } from "./host";

export const WIDGET = "application/vnd.jupyter.widget-view+json";
/** A page of rows, which is drawn here: the same look everywhere, and nobody's HTML. */
export const TABLE = "application/vnd.nbtools.table+json";
/** What is left out of the text or the data beside it, in words. */
const NOTE = "application/vnd.nbtools.note+json";
/** Bundles that are shown one below the other. */
export const SEVERAL = "application/vnd.nbtools.several+json";
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"];
/** Drawn here even where the host could do it too. */
const OWN = new Set([...PICTURES, WIDGET, NOTE, "text/plain", "text/markdown", "application/json"]);

/** How a bundle is shown. */
export type Face =
  | { readonly kind: "widget"; readonly model: string }
  | { readonly kind: "host"; readonly mime: string }
  | { readonly kind: "picture"; readonly mime: string; readonly data: string | AssetReference }
  | { readonly kind: "several"; readonly bundles: readonly MimeBundle[] }
  | { readonly kind: "table"; readonly table: TablePage }
  | { readonly kind: "markdown"; readonly text: string }
  | { readonly kind: "text"; readonly text: string; readonly note: string }
  | { readonly kind: "json"; readonly value: MimeBundle[string]; readonly note: string }
  | { readonly kind: "nothing" };

/** Chooses what to show of a bundle; `host` is the notebook's own renderer, if there is one. */
export function chooseFace(bundle: MimeBundle, host: RenderMime | undefined): Face {
  if (Array.isArray(bundle[SEVERAL]) || isTable(bundle[TABLE])) return ownFace(bundle);
  const widget = bundle[WIDGET];
  if (host && isRecord(widget)) return { kind: "widget", model: String(widget.model_id) };
  const mime = host && hostMime(bundle, host);
  return mime ? { kind: "host", mime } : ownFace(bundle);
}

/** Chooses among what is drawn here, as where the host refuses. */
export function ownFace(bundle: MimeBundle): Face {
  const several = bundle[SEVERAL];
  if (Array.isArray(several)) return { kind: "several", bundles: several.filter(isRecord) };
  const table = bundle[TABLE];
  if (isTable(table)) return { kind: "table", table };
  const mime = PICTURES.find((name) => isPictureSource(bundle[name]));
  if (mime) return { kind: "picture", mime, data: bundle[mime] as string | AssetReference };
  if (typeof bundle["text/markdown"] === "string") {
    return { kind: "markdown", text: bundle["text/markdown"] };
  }
  const note = String(bundle[NOTE] ?? "");
  if ("application/json" in bundle) {
    return { kind: "json", value: bundle["application/json"] ?? null, note };
  }
  const text = bundle["text/plain"];
  return text === undefined ? { kind: "nothing" } : { kind: "text", text: String(text), note };
}

/** Returns an address that holds a picture; never inline markup, so that it can run nothing. */
export async function pictureUrl(
  mime: string,
  data: string | AssetReference,
  store: ChatStore,
): Promise<string> {
  if (typeof data !== "string") return dataUrl(mime, (await store.assets.get(data.asset)).bytes);
  if (mime === "image/svg+xml") return `data:${mime},${encodeURIComponent(data)}`;
  return `data:${mime};base64,${data.replace(/\s/g, "")}`;
}

function dataUrl(mime: string, bytes: Uint8Array): Promise<string> {
  const reader = new FileReader();
  return new Promise((resolve, reject) => {
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(new Blob([bytes as BlobPart], { type: mime }));
  });
}

function hostMime(bundle: MimeBundle, host: RenderMime): string | undefined {
  const foreign = Object.fromEntries(Object.entries(bundle).filter(([mime]) => !OWN.has(mime)));
  return host.preferredMimeType(foreign, "ensure");
}

function isPictureSource(value: MimeBundle[string] | undefined): boolean {
  return typeof value === "string" || (isRecord(value) && typeof value.asset === "string");
}

/** Says whether a value is a page of rows; what others made may be anything. */
export function isTable(value: unknown): value is TablePage {
  if (!isRecord(value)) return false;
  const { columns, rows, shape = [], note = "", whole = "" } = value;
  return (
    [columns, rows, shape].every(Array.isArray) &&
    (rows as unknown[]).every(Array.isArray) &&
    [note, whole].every((words) => typeof words === "string")
  );
}
