/** Who answers, and how things stand. */

import { useState } from "preact/hooks";
import type { Status } from "../protocol";
import { CONVERSATION, type Copy } from "../store";
import { Button } from "./controls";
import { Icon } from "./icons";
import { Plain } from "./plain";
import { useTopic, useView } from "./view";

/** The line above the conversation. */
export function Header() {
  const { store } = useView();
  useTopic(store.copy.shell);
  const { label, host, demo } = store.copy.model;
  return (
    <header class="head">
      <span class="model">
        <Plain text={label || "Chat"} />
      </span>
      <span class="where">{demo ? "demo, not a language model" : <Plain text={host ?? ""} />}</span>
      <Standing />
      <Clear />
    </header>
  );
}

const STANDING: Record<Status, string> = {
  ready: "",
  running: "answering",
  waiting: "waiting for you",
  error: "failed",
};
const ABSENT = { opening: "", live: "", busy: "kernel is busy", gone: "no kernel" };

/** The state of the kernel where it matters, else of the conversation. */
function Standing() {
  const { store, exported } = useView();
  useTopic(store.presence.topic);
  const { state } = store.presence;
  const absent = exported ? "" : ABSENT[state];
  const status = standing(store.copy);
  const words = absent || (store.presence.here ? wordsFor(status, store.copy) : "");
  return words ? <span class={`standing ${absent ? state : status}`}>{words}</span> : null;
}

/** A person is waited for as soon as one call needs them, whatever else still runs. */
function standing({ status, openCalls }: Copy): Status {
  const asks = [...openCalls.values()].some(
    ({ part }) => part.state === "pending" || part.question,
  );
  return status === "running" && asks ? "waiting" : status;
}

function wordsFor(status: Status, { openCalls }: Copy): string {
  return status === "waiting" && !openCalls.size ? "results not sent" : STANDING[status];
}

/** Emptying the chat is asked about once more. */
function Clear() {
  const { store } = useView();
  const [asking, setAsking] = useState(false);
  useTopic(store.copy.list);
  useTopic(store.presence.topic);
  if (!store.presence.here || !store.copy.messages.length) return null;
  const clear = () => {
    setAsking(false);
    void store.run({ command: "clear" }, CONVERSATION);
  };
  if (!asking) {
    return (
      <Button look="quiet" label="Clear the conversation" onPress={() => setAsking(true)}>
        <Icon name="clear" />
      </Button>
    );
  }
  return (
    <span class="asking">
      Clear everything?
      <Button look="danger" onPress={clear}>
        Clear
      </Button>
      <Button onPress={() => setAsking(false)}>Keep</Button>
    </span>
  );
}
