/**
 * The card of a tool call. Its frame (name, arguments, state, controls) is always drawn here;
 * renderers draw inside it, so none can hide or fake what a person decides about.
 */

import type { Outcome, State } from "../protocol";
import { type CallNode, type Copy, isFinal, stateWords } from "../store";
import { ArgumentTable, argumentLine, Changes } from "./arguments";
import { Body } from "./body";
import { CancelButtons, CommandButton, CommandStatus } from "./controls";
import { Duration } from "./duration";
import { FoldedText } from "./folds";
import { Foresight } from "./foresight";
import { Icon, type IconName } from "./icons";
import { Pending } from "./pending";
import { Plain } from "./plain";
import { Question } from "./question";
import { Remarks } from "./remarks";
import { Ruled } from "./ruled";
import { memo, useTopic, useView } from "./view";

/** One tool call. */
export const Card = memo(({ node }: { node: CallNode }) => {
  useTopic(node.topic);
  const { part: call } = node;
  return (
    <section
      class={`card state-${call.state} outcome-${call.outcome || "none"}`}
      aria-label={`Tool call ${call.tool}, ${stateWords(call)}`}
      tabIndex={-1}
    >
      <Head node={node} />
      <OpenArguments node={node} />
      <Changes node={node} />
      <Foresight call={call} />
      <Body node={node} />
      <Ruled call={call} />
      <Remarks node={node} />
      <Folds node={node} />
      <Controls node={node} />
    </section>
  );
});

function Head({ node }: { node: CallNode }) {
  const { part: call } = node;
  return (
    <header class="card-head">
      <Icon name={iconOf(node)} />
      <span class="tool">
        <Plain text={call.tool || "unnamed tool"} />
      </span>
      <span class="line">{isFinal(call) && argumentLine(node.args)}</span>
      <Marks node={node} />
      <span class="state">{stateWords(call)}</span>
      <Duration started={call.started} ended={call.ended} running={call.state === "running"} />
    </header>
  );
}

function Marks({ node }: { node: CallNode }) {
  const { store } = useView();
  const { origin, again, destructive, handle } = node.part;
  const earlier = again && store.copy.part(again)?.part;
  const name = earlier && earlier.type === "tool-call" ? earlier.tool : again;
  return (
    <>
      {destructive && <span class="mark warn">destructive</span>}
      {origin === "user" && !again && <span class="mark">run by you</span>}
      {origin === "provider" && <span class="mark">run by the provider</span>}
      {again && (
        <span class="mark" title={`Repeats the call ${again}`}>
          again of <Plain text={name} />
        </span>
      )}
      {handle && (
        <span class="mark" title={`Kept: a later call can name it, and so can chat.results`}>
          <Plain text={handle} />
        </span>
      )}
    </>
  );
}

/** Open while there is something to decide or to watch; the head has them in one line later. */
function OpenArguments({ node }: { node: CallNode }) {
  const { part: call } = node;
  if (isFinal(call) || (!node.args && !call.raw)) return null;
  return <ArgumentTable node={node} />;
}

/** What can be unfolded of a call, in one row until it is. */
function Folds({ node }: { node: CallNode }) {
  const { part: call } = node;
  const ended = isFinal(call);
  const known = Object.keys(node.args ?? {}).length > 0 || (!node.args && call.raw !== "");
  return (
    <div class="folds">
      {ended && known && (
        <details class="fold">
          <summary>Arguments</summary>
          <ArgumentTable node={node} />
        </details>
      )}
      <FoldedText title="Output" text={call.output} open={!ended} />
      <FoldedText title="Traceback" text={call.trace} />
      {ended && <FoldedText title="Told to the model" text={toldOf(call)} />}
      {ended && <Ended node={node} />}
    </div>
  );
}

/** What the model is told, with a line for each picture that it is given besides. */
function toldOf({ told, pictures }: CallNode["part"]): string {
  const lines = pictures.map(
    ({ mime, width, height }) =>
      `[Picture of ${width} × ${height} pixels (${mime}), where the model takes pictures]`,
  );
  return [told, ...lines].join("\n");
}

/** The buttons of a call. */
function Controls({ node }: { node: CallNode }) {
  const { id, tool, state, question } = node.part;
  return (
    <div key={isFinal(node.part) ? "final" : state} class="controls">
      {state === "pending" && <Pending node={node} />}
      {state === "running" && !question && <CancelButtons id={id} name={tool} />}
      {question && <Question key={question.id} node={node} />}
    </div>
  );
}

function Ended({ node }: { node: CallNode }) {
  const { store } = useView();
  useTopic(store.copy.shell);
  const { id, tool } = node.part;
  const known = store.copy.tools.some(({ name }) => name === tool) && node.args;
  return (
    <div class="actions again">
      {known && (
        <CommandButton
          command={{ command: "rerun", call: id }}
          subject={id}
          look="quiet"
          label={`Run ${tool} again`}
          disabled={isAsking(store.copy)}
        >
          <Icon name="again" /> Run again
        </CommandButton>
      )}
      <CommandStatus subject={id} />
    </div>
  );
}

/** Whether the model is being asked; while calls of its answer run, it is not. */
function isAsking({ status, openCalls }: Copy): boolean {
  return (
    status === "running" && ![...openCalls.values()].some(({ part }) => AT_WORK.has(part.state))
  );
}

const AT_WORK: ReadonlySet<State> = new Set(["running", "pending"]);

const WARNINGS: ReadonlySet<Outcome> = new Set([
  "timeout",
  "expired",
  "incomplete",
  "interrupted",
  "limit",
]);
const STOPPED: ReadonlySet<Outcome> = new Set(["cancelled", "declined", "unanswered"]);

function iconOf(node: CallNode): IconName {
  const { state, outcome, question } = node.part;
  if (state === "result") return "ok";
  if (question) return "pending";
  if (state !== "error") return state;
  if (WARNINGS.has(outcome)) return "warning";
  return STOPPED.has(outcome) ? "stopped" : "failed";
}
