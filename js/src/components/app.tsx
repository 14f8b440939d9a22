/** A chat as one view shows it. */

import { Composer } from "./composer";
import { Header } from "./header";
import { Log } from "./log";
import { useTopic, type View, ViewContext } from "./view";

/** The whole of a view. */
export function App({ view }: { view: View }) {
  return (
    <ViewContext.Provider value={view}>
      <section class={view.exported ? "chat exported" : "chat"} aria-label="Chat">
        <Header />
        <Log />
        {!view.exported && <Composer />}
        <Announcer view={view} />
      </section>
    </ViewContext.Provider>
  );
}

/** Says changes of state to those who hear the page; the words of an answer are left to be read. */
function Announcer({ view }: { view: View }) {
  const { announcer } = view.store;
  useTopic(announcer.topic);
  return (
    <p class="announcer" role="status" aria-live="polite">
      {announcer.text}
    </p>
  );
}
