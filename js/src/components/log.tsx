/** The conversation in its own scroll box: it follows the end only for those who are there. */

import { Fragment } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Failure as FailureShown } from "../protocol";
import { CONVERSATION, type MessageNode } from "../store";
import { Anchor } from "./anchor";
import { Button, CommandButton, CommandStatus } from "./controls";
import { Empty } from "./empty";
import { Icon } from "./icons";
import { MessageView } from "./message";
import { NoticeView } from "./parts";
import { Plain } from "./plain";
import { useTopic, useView } from "./view";

/** How far from the end still counts as being there, in pixels. */
const NEAR = 8;

/** Everything that was said. */
export function Log() {
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const { following, follow } = useFollowing(box, content);
  return (
    <div class="log-area">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard */}
      <div ref={box} class="log" role="log" aria-live="off" aria-label="Conversation" tabIndex={0}>
        <div ref={content} class="log-content">
          <div>
            <Messages />
          </div>
          <Ongoing />
          <Failure />
          <Faults />
          <Outgoing />
        </div>
      </div>
      {!following && (
        <button type="button" class="jump" onClick={follow}>
          <Icon name="down" /> Jump to end
        </button>
      )}
    </div>
  );
}

function useFollowing(
  box: { readonly current: HTMLDivElement | null },
  content: { readonly current: HTMLDivElement | null },
) {
  const { scroll } = useView().store.draft;
  const [following, setFollowing] = useState(scroll.following);
  const set = (value: boolean) => {
    scroll.following = value;
    setFollowing(value);
  };
  const toEnd = (element: HTMLElement) => {
    element.scrollTop = element.scrollHeight;
    scroll.top = element.scrollTop;
  };
  const note = (element: HTMLElement) => {
    const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight <= NEAR;
    const movedUp = element.scrollTop < scroll.top;
    scroll.top = element.scrollTop;
    if (atEnd || movedUp) set(atEnd);
  };
  useLayoutEffect(() => {
    const element = box.current as HTMLDivElement;
    if (!scroll.following) element.scrollTop = scroll.top;
    const anchor = new Anchor(element);
    const scrolled = () => {
      anchor.note();
      note(element);
    };
    const grown = () => (scroll.following ? toEnd(element) : anchor.restore());
    return watch(element, content.current as HTMLDivElement, scrolled, grown);
  }, []);
  const follow = () => {
    set(true);
    toEnd(box.current as HTMLDivElement);
    box.current?.focus({ preventScroll: true });
  };
  return { following, follow };
}

/** Hears of a box that is scrolled, and of it or its content growing; returns what ends that. */
function watch(box: Element, content: Element, onScroll: () => void, onResize: () => void) {
  const observer = new ResizeObserver(onResize);
  box.addEventListener("scroll", onScroll, { passive: true });
  observer.observe(content);
  observer.observe(box);
  return () => {
    observer.disconnect();
    box.removeEventListener("scroll", onScroll);
  };
}

function Messages() {
  const { copy } = useView().store;
  useTopic(copy.list);
  if (!copy.messages.length) return <Empty />;
  const unseen = unseenRuns(copy.messages);
  return (
    <>
      {stretches(copy.messages).map((nodes, place) => (
        <div key={place} class="stretch">
          {nodes.map((node) => (
            <Fragment key={node.head.id}>
              <MessageView node={node} />
              {unseen.has(node) && <Unseen count={unseen.get(node) as number} />}
            </Fragment>
          ))}
        </div>
      ))}
    </>
  );
}

/** A mark below messages that were left out of the last request. */
function Unseen({ count }: { count: number }) {
  const what = count === 1 ? "the message" : `the ${count} messages`;
  return <p class="left-out">The model no longer sees {what} above</p>;
}

/** The last message of each run that was left out, with how many there are in it. */
function unseenRuns(messages: readonly MessageNode[]): Map<MessageNode, number> {
  const runs = new Map<MessageNode, number>();
  let count = 0;
  messages.forEach((node, place) => {
    count = node.head.unseen ? count + 1 : 0;
    if (count && !messages[place + 1]?.head.unseen) runs.set(node, count);
  });
  return runs;
}

/** How many messages are laid out together, so that a long history does not slow down the last. */
const STRETCH = 16;

function stretches(messages: readonly MessageNode[]): MessageNode[][] {
  const count = Math.ceil(messages.length / STRETCH);
  return Array.from({ length: count }, (_, place) =>
    messages.slice(place * STRETCH, (place + 1) * STRETCH),
  );
}

/** A sign of life between the question and the first word. */
function Ongoing() {
  const { copy, presence } = useView().store;
  useTopic(copy.shell);
  useTopic(copy.list);
  useTopic(presence.topic);
  const last = copy.messages.at(-1);
  const quiet = !last || last.head.role === "user" || last.head.finish !== "" || !last.parts.length;
  if (copy.status !== "running" || !quiet || copy.openCalls.size || !presence.here) return null;
  return (
    <p class="ongoing">
      <span class="dots" aria-hidden="true" /> Waiting for the model
    </p>
  );
}

function Failure() {
  const { copy } = useView().store;
  useTopic(copy.shell);
  if (!copy.error) return null;
  const { kind, text, hint = "", retry = false } = copy.error;
  if (kind === "WithheldError") return <Withheld text={text} />;
  return <NoticeView notice={{ level: "error", text, hint, retry }} />;
}

/** A request that was held back: what it would give away is the person's to decide. */
function Withheld({ text }: { text: string }) {
  return (
    <div class="notice warning" role="alert">
      <Icon name="warning" />
      <div>
        <p>
          <Plain text={text} />
        </p>
        <div class="actions">
          <CommandButton command={{ command: "resend" }} subject={CONVERSATION}>
            Send without them
          </CommandButton>
          <CommandButton command={{ command: "release" }} subject={CONVERSATION} look="danger">
            Send them
          </CommandButton>
          <CommandStatus subject={CONVERSATION} />
        </div>
      </div>
    </div>
  );
}

function Faults() {
  const { store } = useView();
  useTopic(store.copy.shell);
  return (
    <>
      {store.faults.map((fault) => (
        <div class="fault">
          <NoticeView
            notice={{ level: "error", text: fault.text, hint: fault.hint ?? "", retry: false }}
          />
          <Button look="quiet" label="Dismiss" onPress={() => store.dismiss(fault)}>
            <Icon name="close" />
          </Button>
        </div>
      ))}
      {!offersRetry(store.copy.error) && <CommandStatus subject={CONVERSATION} />}
    </>
  );
}

function offersRetry(error: FailureShown | null): boolean {
  return error?.retry === true || error?.kind === "WithheldError";
}

/** A message on its way, or waiting for its turn. */
function Outgoing() {
  const { store } = useView();
  const { draft, copy, presence } = store;
  useTopic(draft.topic);
  useTopic(copy.shell);
  useTopic(presence.topic);
  const text = draft.outgoing || draft.queued;
  if (!text) return null;
  return (
    <article class="message user outgoing" aria-label="Your next message">
      <p class="typed">{text}</p>
      <div class="actions">
        <span class="sent">{outgoingWords(draft.outgoing !== "", presence.state === "busy")}</span>
        {!draft.outgoing && copy.status !== "running" && presence.here && (
          <Button onPress={() => void draft.release()}>Send now</Button>
        )}
        {!draft.outgoing && (
          <Button label="Remove the waiting message" onPress={() => draft.unqueue()}>
            Remove
          </Button>
        )}
      </div>
    </article>
  );
}

function outgoingWords(sent: boolean, busy: boolean): string {
  if (!sent) return "goes out when the turn ends";
  return busy ? "sent, waits for the kernel" : "sent";
}
