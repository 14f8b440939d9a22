/** Who answers, and how things stand. */

import { useState } from "preact/hooks";
import { CONVERSATION } from "../store";
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

const STANDING = { ready: "", running: "answering", waiting: "waiting for you", error: "failed" };
const ABSENT = { opening: "", live: "", busy: "kernel is busy", gone: "no kernel" };

/** The state of the kernel where it matters, else of the conversation. */
function Standing() {
  const { store, exported } = useView();
  useTopic(store.presence.topic);
  const { state } = store.presence;
  const absent = exported ? "" : ABSENT[state];
  const words = absent || (store.presence.here ? standing(store.copy.status, store) : "");
  return words ? (
    <span class={`standing ${absent ? state : store.copy.status}`}>{words}</span>
  ) : null;
}

function standing(
  status: keyof typeof STANDING,
  store: ReturnType<typeof useView>["store"],
): string {
  const held = status === "waiting" && store.copy.openCalls.size === 0;
  return held ? "results not sent" : STANDING[status];
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
