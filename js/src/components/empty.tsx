/** What stands in a chat in which nothing was said. */

import type { ToolReference } from "../protocol";
import { Choices } from "./choices";
import { Button } from "./controls";
import { Plain } from "./plain";
import { useHere, useTopic, useView } from "./view";

/** How many tools are named. */
const NAMED = 6;

/** A short hint, and the tools that can be called by hand. */
export function Empty() {
  const { store } = useView();
  useTopic(store.copy.shell);
  const { model, tools } = store.copy;
  return (
    <div class="empty">
      <p>{model.demo ? DEMO : "Ask something, or call a tool yourself."}</p>
      {tools.length > 0 && (
        <ul aria-label="Tools">
          {tools.slice(0, NAMED).map((tool) => (
            <li key={tool.name}>
              <ToolHint tool={tool} />
            </li>
          ))}
          {tools.length > NAMED && <li class="muted">and {tools.length - NAMED} more</li>}
        </ul>
      )}
      <Choices />
    </div>
  );
}

const DEMO =
  "This is a demo, not a language model. Say anything for a short tour, or call a tool yourself.";

function ToolHint({ tool }: { tool: ToolReference }) {
  const { store } = useView();
  const here = useHere();
  const description = (tool.description ?? "").split("\n")[0] ?? "";
  const name = `/${tool.name}`;
  return (
    <>
      {here ? (
        <Button
          look="quiet"
          label={`Write ${name}`}
          onPress={() => store.draft.write(slashForm(tool))}
        >
          <code>{name}</code>
        </Button>
      ) : (
        <code>{name}</code>
      )}
      <span class="muted">
        <Plain text={description} />
      </span>
    </>
  );
}

/** Writes the beginning of a call by hand: "/drop_rows table= where=". */
function slashForm({ name, parameters }: ToolReference): string {
  const required = Array.isArray(parameters?.required) ? parameters.required : [];
  return [`/${name}`, ...required.map((parameter) => `${parameter}=`)].join(" ");
}
