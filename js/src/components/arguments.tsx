/** The arguments of a call: a compact table, as JSON, and what a person changed in them. */

import type { ComponentChildren } from "preact";
import type { Json } from "../protocol";
import { isEqual } from "../renderers/equal";
import { visible } from "../renderers/visible";
import { type CallNode, isRecord } from "../store";
import { inlineJson, JsonTree, numberText } from "./jsontree";
import { LongText, Plain } from "./plain";
import { useKept } from "./view";

type Arguments = { [name: string]: Json };

/** How long a value may be to stand on one line. */
const ON_ONE_LINE = 72;

/** The arguments as they are known now, whole. */
export function ArgumentTable({ node }: { node: CallNode }) {
  const [asJson, setAsJson] = useKept(`json:${node.part.id}`, false);
  const { args } = node;
  const writing = node.part.state === "streaming";
  if (!args) return <RawArguments node={node} />;
  if (!Object.keys(args).length) return <p class="muted">{writing ? "…" : "no arguments"}</p>;
  return (
    <div class="arguments">
      {asJson ? <JsonView args={args} /> : <Rows args={args} writing={writing} />}
      {!writing && (
        <button
          type="button"
          class="more"
          aria-label={asJson ? "Show the arguments as a table" : "Show the arguments as JSON"}
          onClick={() => setAsJson(!asJson)}
        >
          {asJson ? "Table" : "JSON"}
        </button>
      )}
    </div>
  );
}

function RawArguments({ node }: { node: CallNode }) {
  if (!node.part.raw) return null;
  return (
    <pre class="output">
      <LongText text={node.part.raw} />
    </pre>
  );
}

function JsonView({ args }: { args: Arguments }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard
    <pre class="output" tabIndex={0}>
      <LongText text={JSON.stringify(args, null, 2)} />
    </pre>
  );
}

function Rows({ args, writing }: { args: Arguments; writing: boolean }) {
  return (
    <dl class="rows">
      {Object.entries(args).map(([name, value]) => (
        <Row key={name} name={name}>
          <ArgumentValue value={value} writing={writing} />
        </Row>
      ))}
    </dl>
  );
}

function Row({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div class="row">
      <dt>
        <Plain text={name} />
      </dt>
      <dd>{children}</dd>
    </div>
  );
}

function ArgumentValue({ value, writing }: { value: Json; writing: boolean }) {
  if (typeof value === "string") return <TextValue value={value} writing={writing} />;
  if (Array.isArray(value) || isRecord(value)) {
    const line = visible(inlineJson(value));
    return line.length <= ON_ONE_LINE ? <code>{line}</code> : <JsonTree value={value} />;
  }
  return <code>{numberText(value)}</code>;
}

function TextValue({ value, writing }: { value: string; writing: boolean }) {
  if (value.trim() === value && value !== "") {
    return (
      <span class="text-value">
        <LongText text={value} tail={writing} />
      </span>
    );
  }
  // Blanks at an end would not be seen without quotation marks.
  return (
    <span class="text-value">
      “<LongText text={value} tail={writing} />”
    </span>
  );
}

/** One line that names the arguments, for the head of a card. */
export function argumentLine(args: Arguments | null): string {
  if (!args) return "";
  const parts = Object.entries(args).map(([name, value]) => `${name}: ${inlineJson(value)}`);
  return visible(parts.join(", ").slice(0, 200));
}

/** Says what a person changed in the arguments that the model had proposed. */
export function Changes({ node }: { node: CallNode }) {
  const { proposed, args, decision } = node.part;
  if (!proposed || !args) return null;
  const names = [...new Set([...Object.keys(proposed), ...Object.keys(args)])];
  const changed = names.filter((name) => !isEqual(proposed[name], args[name]));
  if (!changed.length) return null;
  return (
    <ul class="changes" aria-label="Changed arguments">
      {changed.map((name) => (
        <li key={name}>
          {decision?.by === "python" ? "changed " : "you changed "}
          <strong>
            <Plain text={name} />
          </strong>
          : <Side value={proposed[name]} /> → <Side value={args[name]} />
        </li>
      ))}
    </ul>
  );
}

function Side({ value }: { value: Json | undefined }) {
  if (value === undefined) return <em>nothing</em>;
  return (
    <code>
      <LongText text={typeof value === "string" ? value : inlineJson(value)} />
    </code>
  );
}
