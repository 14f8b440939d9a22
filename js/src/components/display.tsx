/** A MIME bundle on the page. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { MimeBundle } from "../protocol";
import { embedWidget, renderByHost, renderMimeOf, type WidgetManager } from "../renderers/host";
import { showMarkdown } from "../renderers/markdown/stream";
import { chooseFace, type Face, ownFace, pictureUrl } from "../renderers/mime";
import { JsonTree } from "./jsontree";
import { LongText, Plain } from "./plain";
import { LightSlot } from "./slot";
import { DataTable } from "./table";
import { useView } from "./view";

/** Shows the richest form of a bundle that can be shown here. */
export function Display({ bundle }: { bundle: MimeBundle }) {
  const { manager } = useView();
  const [refused, setRefused] = useState<MimeBundle>();
  const host = renderMimeOf(manager);
  const face = refused === bundle ? ownFace(bundle) : chooseFace(bundle, host);
  if (face.kind !== "widget" && face.kind !== "host") return <OwnFace face={face} />;
  const key = face.kind === "widget" ? face.model : bundle;
  return (
    <LightSlot
      of={key}
      draw={(el, signal) => drawForeign(face, bundle, manager as WidgetManager, el, signal)}
      onError={() => setRefused(bundle)}
    />
  );
}

type Foreign = Extract<Face, { kind: "widget" | "host" }>;

async function drawForeign(
  face: Foreign,
  bundle: MimeBundle,
  manager: WidgetManager,
  el: HTMLElement,
  signal: AbortSignal,
): Promise<void> {
  const host = renderMimeOf(manager);
  if (face.kind === "widget") await embedWidget(manager, face.model, el, signal);
  else if (host) await renderByHost(host, face.mime, bundle, el, signal);
}

function OwnFace({ face }: { face: Exclude<Face, Foreign> }) {
  if (face.kind === "several") {
    return (
      <>
        {face.bundles.map((one, index) => (
          <Display key={String(index)} bundle={one} />
        ))}
      </>
    );
  }
  if (face.kind === "table") return <DataTable table={face.table} />;
  if (face.kind === "picture") return <Picture mime={face.mime} data={face.data} />;
  if (face.kind === "markdown") return <StaticMarkdown text={face.text} />;
  if (face.kind === "json") {
    return (
      <>
        <JsonTree value={face.value as never} open={2} />
        <Remark text={face.note} />
      </>
    );
  }
  if (face.kind === "text") return <Output text={face.text} note={face.note} />;
  return <p class="muted">Nothing to show.</p>;
}

interface OutputProps {
  readonly text: string;
  readonly tail?: boolean;
  /** What of the text is not on the page, in words. */
  readonly note?: string;
}

/** Text in the type of a terminal, in a box that scrolls. */
export function Output({ text, tail = false, note = "" }: OutputProps) {
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard */}
      <pre class="output" tabIndex={0}>
        <LongText text={text} tail={tail} part={note !== ""} />
      </pre>
      <Remark text={note} />
    </>
  );
}

/** What is left out, below what is shown. */
function Remark({ text }: { text: string }) {
  if (!text) return null;
  return (
    <p class="remark">
      <Plain text={text} />
    </p>
  );
}

/** Markdown that is complete. */
export function StaticMarkdown({ text }: { text: string }) {
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (root.current) showMarkdown(root.current, text);
  }, [text]);
  return <div class="prose" ref={root} />;
}

type PictureProps = Omit<Extract<Face, { kind: "picture" }>, "kind"> & { name?: string };

/** A picture, fetched first if it is only named. */
export function Picture({ mime, data, name = "Picture of the result" }: PictureProps) {
  const { store } = useView();
  const [shown, setShown] = useState({ url: "", error: "" });
  useEffect(() => {
    let current = true;
    pictureUrl(mime, data, store).then(
      (url) => current && setShown({ url, error: "" }),
      (error) => current && setShown({ url: "", error: String(error.message) }),
    );
    return () => {
      current = false;
    };
  }, [mime, typeof data === "string" ? data : data.asset]);
  if (shown.error) return <p class="muted">{shown.error}</p>;
  if (!shown.url) return <p class="muted">Loading the picture…</p>;
  const refuse = () => setShown({ url: "", error: "This picture is broken." });
  return <img class="picture" src={shown.url} alt={name} onError={refuse} />;
}
