/** Calls of one tool that wait, as a table: tick, edit, and decide about the ticked ones at once. */

import type { Json, Verdict } from "../protocol";
import { isEqual } from "../renderers/equal";
import type { CallNode } from "../store";
import { type Cells, readCells, textOf, written } from "./cells";
import { Button, CommandStatus } from "./controls";
import { LongText, Plain } from "./plain";
import { approvalOf, isWhole } from "./shown";
import { useHere, useKept, useTopic, useView } from "./view";

/** What a person has done in the table and not yet sent. */
interface Draft {
  readonly open: boolean;
  readonly ticked: readonly string[];
  /** What stands in the fields of the rows that are being edited, by call. */
  readonly edited: { readonly [call: string]: Cells };
  readonly reason: string;
}

const NOTHING: Draft = { open: false, ticked: [], edited: {}, reason: "" };

interface BatchProps {
  readonly message: string;
  readonly tool: string;
  readonly nodes: readonly CallNode[];
}

/** A table of all calls of a tool that wait in one answer; none is left out. */
export function Batch({ message, tool, nodes }: BatchProps) {
  const { store } = useView();
  useTopic(store.copy.shell);
  const subject = `batch:${message}:${tool}`;
  const [draft, setDraft] = useKept<Draft>(subject, NOTHING);
  const change = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes });
  if (!useHere()) return null;
  if (!draft.open) {
    return (
      <Button
        look="quiet"
        label={`Decide about ${nodes.length} calls of ${tool} in a table`}
        onPress={() => change({ open: true })}
      >
        {nodes.length} × <Plain text={tool} /> in a table …
      </Button>
    );
  }
  return (
    <section class="batch" aria-label={`Calls of ${tool} that wait`}>
      <CallTable nodes={nodes} draft={draft} onChange={change} />
      <Decisions nodes={nodes} draft={draft} subject={subject} onChange={change} />
    </section>
  );
}

interface TableProps {
  readonly nodes: readonly CallNode[];
  readonly draft: Draft;
  readonly onChange: (changes: Partial<Draft>) => void;
}

function CallTable({ nodes, draft, onChange }: TableProps) {
  const names = [...new Set(nodes.flatMap(({ part }) => Object.keys(part.args ?? {})))];
  const ids = nodes.map(({ part }) => part.id);
  const all = ids.every((id) => draft.ticked.includes(id));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard
    <div class="data-scroll" tabIndex={0}>
      <table>
        <Head names={names} all={all} onTick={() => onChange({ ticked: all ? [] : ids })} />
        <tbody>
          {nodes.map((node, place) => (
            <Row
              key={node.part.id}
              node={node}
              place={place + 1}
              names={names}
              draft={draft}
              onChange={onChange}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface HeadProps {
  readonly names: readonly string[];
  readonly all: boolean;
  readonly onTick: () => void;
}

function Head({ names, all, onTick }: HeadProps) {
  return (
    <thead>
      <tr>
        <th scope="col">
          <input type="checkbox" aria-label="Tick all" checked={all} onChange={onTick} />
        </th>
        {names.map((name) => (
          <th key={name} scope="col">
            <Plain text={name} />
          </th>
        ))}
        <th scope="col">
          <span class="unseen">Edit</span>
        </th>
      </tr>
    </thead>
  );
}

interface RowProps extends Omit<TableProps, "nodes"> {
  readonly node: CallNode;
  readonly place: number;
  readonly names: readonly string[];
}

function Row({ node, place, names, draft, onChange }: RowProps) {
  const { id } = node.part;
  const args = node.part.args ?? {};
  const cells = draft.edited[id];
  const ticked = draft.ticked.includes(id);
  const tick = () =>
    onChange({
      ticked: ticked ? draft.ticked.filter((each) => each !== id) : [...draft.ticked, id],
    });
  const edit = (changed: Cells | undefined) => {
    const { [id]: _, ...others } = draft.edited;
    onChange({ edited: changed ? { ...others, [id]: changed } : others });
  };
  return (
    <tr class={ticked ? "ticked" : ""}>
      <td>
        <input type="checkbox" aria-label={`Call ${place}`} checked={ticked} onChange={tick} />
      </td>
      {names.map((name) => (
        <td key={name}>
          <Cell
            label={`${name} of call ${place}`}
            value={args[name]}
            text={cells?.[name]}
            onType={(text) => edit({ ...cells, [name]: text })}
          />
        </td>
      ))}
      <td>
        <Button
          look="quiet"
          label={cells ? `Leave call ${place} as it was` : `Edit call ${place}`}
          onPress={() => edit(cells ? undefined : written(names, args))}
        >
          {cells ? "Undo" : "Edit"}
        </Button>
      </td>
    </tr>
  );
}

interface CellProps {
  readonly label: string;
  readonly value: Json | undefined;
  /** What stands in the field while the row is being edited. */
  readonly text: string | undefined;
  readonly onType: (text: string) => void;
}

function Cell({ label, value, text, onType }: CellProps) {
  if (text !== undefined) {
    return (
      <input
        type="text"
        aria-label={label}
        value={text}
        onInput={(event) => onType(event.currentTarget.value)}
      />
    );
  }
  if (value === undefined) return <em class="muted">nothing</em>;
  return (
    <span class="text-value">
      <LongText text={textOf(value)} />
    </span>
  );
}

interface DecisionsProps extends TableProps {
  readonly subject: string;
}

function Decisions({ nodes, draft, subject, onChange }: DecisionsProps) {
  const { store } = useView();
  const sent = store.commands.sent(subject) !== undefined;
  const ticked = nodes.filter(({ part }) => draft.ticked.includes(part.id));
  const whole = ticked.every(({ part }) => isWhole(part));
  const destructive = ticked.some(({ part }) => part.destructive);
  const decide = async (approved: boolean) => {
    const verdicts = ticked.map((node) => verdictOf(node, draft, approved));
    if (await store.run({ command: "decide", verdicts }, subject)) onChange(NOTHING);
  };
  return (
    <>
      <label class="field">
        <span>Reason for declining, told to the model (optional)</span>
        <input
          type="text"
          value={draft.reason}
          onInput={(event) => onChange({ reason: event.currentTarget.value })}
        />
      </label>
      <div class="actions">
        <Button
          look={destructive ? "danger" : "primary"}
          disabled={sent || !ticked.length || !whole}
          onPress={() => void decide(true)}
        >
          Approve {ticked.length} of {nodes.length}
        </Button>
        <Button disabled={sent || !ticked.length} onPress={() => void decide(false)}>
          Decline {ticked.length} of {nodes.length}
        </Button>
        <Button look="quiet" disabled={sent} onPress={() => onChange({ open: false })}>
          Close the table
        </Button>
        <CommandStatus subject={subject} />
      </div>
    </>
  );
}

function verdictOf(node: CallNode, draft: Draft, approved: boolean): Verdict {
  const shown = { ...approvalOf(node.part), approved };
  if (!approved) return { ...shown, reason: draft.reason.trim() };
  const cells = draft.edited[node.part.id];
  const args = cells && readCells(cells, node.part.args ?? {});
  return args && !isEqual(args, node.part.args) ? { ...shown, args } : shown;
}
