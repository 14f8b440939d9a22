/** The parts of a message other than tool calls. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Data, File, Notice, Source } from "../protocol";
import { linkAddress } from "../renderers/markdown/links";
import { MarkdownStream } from "../renderers/markdown/stream";
import { visible } from "../renderers/visible";
import { CONVERSATION, type Filled, isCall, type PartNode } from "../store";
import { Card } from "./card";
import { CommandButton, CommandStatus } from "./controls";
import { Picture } from "./display";
import { Icon } from "./icons";
import { JobCard } from "./job";
import { JsonTree } from "./jsontree";
import { Plain } from "./plain";
import { memo, useTopic } from "./view";

const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"]);

/** One part; sources are listed by the message. */
export const PartView = memo(({ node }: { node: PartNode }) => {
  const { part } = node;
  if (isCall(node)) return <Card node={node} />;
  if (part.type === "text") return <WrittenText node={node} />;
  if (part.type === "reasoning") return <ReasoningView node={node} />;
  return <SmallPart node={node} />;
});

function SmallPart({ node }: { node: PartNode }) {
  useTopic(node.topic);
  const { part } = node;
  if (part.type === "file") return <FileView file={part} />;
  if (part.type === "data") return <NamedData data={part} />;
  if (part.type === "notice") return <NoticeView notice={part} />;
  if (part.type === "job") return <JobCard job={part} />;
  return null;
}

function WrittenText({ node }: { node: PartNode }) {
  return node.message.head.role === "user" ? <TypedText node={node} /> : <Markdown node={node} />;
}

/** What the user typed is shown as typed. */
function TypedText({ node }: { node: PartNode }) {
  useTopic(node.topic);
  return <p class="typed">{"text" in node.part && node.part.text}</p>;
}

/** Markdown that grows: the store tells the stream directly, no component is drawn again. */
function Markdown({ node }: { node: PartNode }) {
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const stream = new MarkdownStream(root.current as HTMLDivElement);
    const show = () => stream.update("text" in node.part ? node.part.text : "", isWriting(node));
    show();
    return node.topic.subscribe(show);
  }, [node]);
  return <div class="prose" ref={root} />;
}

function isWriting({ message, part }: PartNode): boolean {
  return message.head.finish === "" && message.parts.at(-1)?.part === part;
}

function ReasoningView({ node }: { node: PartNode }) {
  useTopic(node.message.topic);
  const [open, setOpen] = useState(false);
  const text = "text" in node.part ? node.part.text : "";
  if (!text && !isWriting(node)) return null; // its sealed form is the provider's affair
  return (
    <details class="reasoning" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{isWriting(node) ? "Thinking…" : "Thought"}</summary>
      {open && <Markdown node={node} />}
    </details>
  );
}

function FileView({ file }: { file: Filled<File> }) {
  const name = visible(file.name || file.mime);
  if (PICTURES.has(file.mime) && file.data) {
    const data = file.mime === "image/svg+xml" ? decode(file.data) : file.data;
    return <Picture mime={file.mime} data={data} name={name} />;
  }
  return (
    <a class="file" href={`data:application/octet-stream;base64,${file.data}`} download={name}>
      {name}
    </a>
  );
}

function decode(base64: string): string {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}

function NamedData({ data }: { data: Filled<Data> }) {
  return (
    <div class="data">
      <span class="muted">
        <Plain text={data.name} />
      </span>
      <JsonTree value={data.data} />
    </div>
  );
}

type Shown = Pick<Filled<Notice>, "level" | "text" | "hint" | "retry">;

/** A sentence from the program, with what to do about it. */
export function NoticeView({ notice }: { notice: Shown }) {
  const { level, text, hint, retry } = notice;
  return (
    <div class={`notice ${level}`} role={level === "error" ? "alert" : "note"}>
      {level !== "info" && <Icon name="warning" />}
      <div>
        <p>
          <Plain text={text} />
        </p>
        {hint && (
          <p class="muted">
            <Plain text={hint} />
          </p>
        )}
        {retry && <Retry />}
      </div>
    </div>
  );
}

function Retry() {
  return (
    <div class="actions">
      <CommandButton command={{ command: "resend" }} subject={CONVERSATION}>
        Try again
      </CommandButton>
      <CommandStatus subject={CONVERSATION} />
    </div>
  );
}

/** What an answer cites. */
export function Sources({ nodes }: { nodes: PartNode[] }) {
  const sources = nodes.flatMap(({ part }) => (part.type === "source" ? [part] : []));
  if (!sources.length) return null;
  return (
    <ul class="sources" aria-label="Sources">
      {sources.map((source) => (
        <li key={source.id}>
          <SourceLink source={source} />
        </li>
      ))}
    </ul>
  );
}

function SourceLink({ source }: { source: Filled<Source> }) {
  const href = linkAddress(source.url);
  const text = visible(source.title || source.url);
  if (!href) return <span>{text}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" title={href}>
      {text}
    </a>
  );
}
