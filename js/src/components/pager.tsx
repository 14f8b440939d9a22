/** Which part of a long row of things is shown, and the buttons that lead to the others. */

import { Button } from "./controls";
import { Icon, type IconName } from "./icons";

/** Where a page stands. */
export interface Steps {
  readonly what: "rows" | "columns";
  /** How many stand before those that are shown. */
  readonly before: number;
  readonly shown: number;
  /** How many a whole page has. */
  readonly step: number;
  /** How many there are, where that is known. */
  readonly all: number | undefined;
}

interface PagerProps {
  readonly steps: Steps;
  /** Whether other pages can be had at all. */
  readonly live: boolean;
  readonly disabled: boolean;
  readonly onGo: (before: number) => void;
}

/** Nothing where all is shown; the words alone where nobody would answer. */
export function Pager({ steps, live, disabled, onGo }: PagerProps) {
  const { what, before, shown, step, all = 0 } = steps;
  if (shown >= all) return null;
  const end = before + shown;
  const button = (name: string, icon: IconName, place: number, reached: boolean) => (
    <Button
      look="quiet"
      label={`${name} ${what}`}
      disabled={disabled || reached}
      onPress={() => onGo(place)}
    >
      <Icon name={icon} />
    </Button>
  );
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would be drawn as a form
    <div class="pager" role="group" aria-label={`Pages of ${what}`}>
      {live && button("First", "first", 0, before === 0)}
      {live && button("Previous", "back", Math.max(0, before - step), before === 0)}
      {live && button("Next", "next", end, end >= all)}
      {live && button("Last", "last", all, end >= all)}
      <span role="status">
        {what === "rows" ? "Rows" : "Columns"} {number(before + 1)}–{number(end)} of {number(all)}
      </span>
    </div>
  );
}

function number(value: number): string {
  return value.toLocaleString("en");
}
