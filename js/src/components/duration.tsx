/** How long a call took, or has been running. */

import { useEffect, useState } from "preact/hooks";

interface DurationProps {
  readonly started: number | null;
  readonly ended: number | null;
  readonly running: boolean;
}

/** A time in seconds, minutes or hours; it goes on while the call runs. */
export function Duration({ started, ended, running }: DurationProps) {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => setNow(Date.now() / 1000), 1000);
    return () => clearInterval(timer);
  }, [running]);
  const end = running ? now : ended;
  if (started === null || end === null) return null;
  const seconds = Math.max(0, end - started);
  if (running && seconds < 1) return null;
  return <span class="duration">{running ? spent(Math.floor(seconds)) : spent(seconds)}</span>;
}

/** Says when a call ends that nobody decides about. */
export function Expiry({ at }: { at: number }) {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now() / 1000), 1000);
    return () => clearInterval(timer);
  }, [at]);
  return <span class="duration">expires in {spent(Math.max(0, Math.ceil(at - now)))}</span>;
}

/** Writes a number of seconds. */
export function spent(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${Number(seconds.toFixed(seconds < 10 ? 1 : 0))} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
