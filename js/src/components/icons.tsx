/** The signs of the page, drawn as lines in the colour of the text around them. */

const PATHS = {
  streaming: "M4 8h.01M8 8h.01M12 8h.01",
  pending: "M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11M6.5 6v4M9.5 6v4",
  running: "M8 2.5a5.5 5.5 0 1 1-5.5 5.5",
  ok: "M3.5 8.5l3 3l6-7",
  failed: "M4.5 4.5l7 7M11.5 4.5l-7 7",
  stopped: "M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11M5.5 8h5",
  warning: "M8 2.5l6 11h-12zM8 6.5v3.5M8 11.9v.1",
  send: "M8 13V3.5M4 7l4-4l4 4",
  stop: "M5 5h6v6h-6z",
  first: "M11 4.5l-3.5 3.5l3.5 3.5M5 4.5v7",
  back: "M9.5 4.5l-3.5 3.5l3.5 3.5",
  next: "M6.5 4.5l3.5 3.5l-3.5 3.5",
  last: "M5 4.5l3.5 3.5l-3.5 3.5M11 4.5v7",
  down: "M8 3v9.5M4 8.5l4 4l4-4",
  copy: "M5.5 5.5h7v8h-7zM3.5 10.5v-8h7",
  edit: "M3 13l.6-2.8L11 2.8l2.2 2.2L5.8 12.4z",
  again: "M12.8 6A5.2 5.2 0 1 0 13.2 8.8M13 2.8V6h-3.2",
  clear: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9",
  pin: "M6 2.5h4M6.8 2.5v4.2L4.5 9.5h7L9.2 6.7V2.5M8 9.5v4.5",
  close: "M4.5 4.5l7 7M11.5 4.5l-7 7",
} as const;

export type IconName = keyof typeof PATHS;

/** A sign beside words that say the same; it is hidden from those who hear the page. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
