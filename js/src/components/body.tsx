/** What a call shows of itself: a renderer's drawing, or progress, result and error. */

import { useLayoutEffect, useState } from "preact/hooks";
import type { MimeBundle, RendererReference } from "../protocol";
import type { CallNode, FilledCall } from "../store";
import { Display } from "./display";
import { JsonTree } from "./jsontree";
import { Plain } from "./plain";
import { LightSlot } from "./slot";
import { useView } from "./view";

/** The inside of a card. */
export function Body({ node }: { node: CallNode }) {
  const { part: call } = node;
  return (
    <>
      {call.state === "running" && !call.question && <Progress of={call} />}
      <Drawing node={node} />
      <ErrorText call={call} />
    </>
  );
}

/** How far a call or a job is. */
export function Progress({ of }: { of: Pick<FilledCall, "progress" | "tool"> }) {
  const fraction = of.progress?.fraction ?? undefined;
  const text = of.progress?.text ?? "";
  return (
    <div class="progress">
      <progress value={fraction} max={1} aria-label={`Progress of ${of.tool}`} />
      <span>
        {fraction !== undefined && `${Math.round(fraction * 100)} % `}
        <Plain text={text} />
      </span>
    </div>
  );
}

/** Stands in a bundle where a Python renderer failed. */
const DRAWING_ERROR = "nbt/error";

/** What a renderer made of the call; without one, its result. */
function Drawing({ node }: { node: CallNode }) {
  const { store } = useView();
  const { renderers } = store.copy;
  const reference = renderers[node.part.tool] ?? renderers["*"];
  if (reference?.kind === "javascript" && isComplete(node, reference))
    return <ScriptDrawing node={node} reference={reference} />;
  const { drawn } = node.part;
  if (drawn?.[DRAWING_ERROR])
    return <Fallback call={node.part} text={String(drawn[DRAWING_ERROR])} />;
  if (drawn) return <Display bundle={drawn} />;
  return <Result of={node.part} />;
}

/** A published widget expects every value of its model to be there. */
function isComplete({ part }: CallNode, { traits }: RendererReference): boolean {
  return traits !== "args" || part.state !== "streaming";
}

interface ScriptDrawingProps {
  readonly node: CallNode;
  readonly reference: RendererReference;
}

function ScriptDrawing({ node, reference }: ScriptDrawingProps) {
  const { renderers } = useView();
  const [failure, setFailure] = useState<{ of: FilledCall; text: string; count: number }>();
  const fail = (error: unknown, of = node.part) =>
    setFailure((last) => ({
      of,
      text: `The renderer failed: ${error}`,
      count: (last?.count ?? 0) + 1,
    }));
  // A module may fail for what the call was when it began: then it draws what the call is now.
  const draw = async (el: HTMLElement, signal: AbortSignal) => {
    const of = node.part;
    try {
      await renderers.render(node, reference, el, signal);
    } catch (error) {
      if (!signal.aborted) fail(error, of);
    }
  };
  useLayoutEffect(() => {
    try {
      renderers.update(node);
    } catch (error) {
      fail(error);
    }
  });
  if (failure?.of === node.part) return <Fallback call={node.part} text={failure.text} />;
  return <LightSlot of={`${reference.asset} ${failure?.count ?? 0}`} draw={draw} onError={fail} />;
}

function Fallback({ call, text }: { call: FilledCall; text: string }) {
  return (
    <>
      <p class="refused">
        <Plain text={text} />
      </p>
      <Result of={call} />
    </>
  );
}

/** What a call or a job gave, or shows on its way. */
export function Result({ of }: { of: Pick<FilledCall, "display" | "state" | "value"> }) {
  const { display, value } = of;
  if (display && Object.keys(display).length) return <Shown bundle={display} />;
  if (of.state !== "result") return null;
  if (value === null) return <p class="muted">No value was returned.</p>;
  if (typeof value === "string") return <Shown bundle={{ "text/plain": value }} />;
  return (
    <div class="result">
      <JsonTree value={value} open={2} />
    </div>
  );
}

function Shown({ bundle }: { bundle: MimeBundle }) {
  return (
    <div class="result">
      <Display bundle={bundle} />
    </div>
  );
}

function ErrorText({ call }: { call: FilledCall }) {
  const reason = call.decision && !call.decision.approved ? call.decision.reason : "";
  if (call.state !== "error") return null;
  return (
    <>
      {call.error && (
        <p class="error-text">
          <Plain text={call.error} />
        </p>
      )}
      {reason && !call.error.includes(reason) && (
        <p class="muted">
          Reason: <Plain text={reason} />
        </p>
      )}
    </>
  );
}
