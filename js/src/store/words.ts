/** What became of a call, in words: for the card, and for those who hear instead of see. */

import type { Outcome } from "../protocol";
import type { FilledCall, FilledJob } from "./filled";

const OUTCOMES: Record<Outcome, string> = {
  "": "",
  ok: "done",
  failed: "failed",
  timeout: "timed out",
  cancelled: "cancelled",
  declined: "declined",
  expired: "expired",
  invalid: "invalid arguments",
  unknown: "no such tool",
  unanswered: "not answered",
  incomplete: "cut off",
  interrupted: "interrupted",
  limit: "over the limit",
};

/** Names the state of a job. */
export function jobWords({ state, outcome }: FilledJob): string {
  return state === "running" ? "running" : OUTCOMES[outcome] || "failed";
}

/** Names the state of a call, each outcome by its own words. */
export function stateWords(call: FilledCall): string {
  if (call.state === "streaming") return "preparing";
  if (call.state === "running") return call.question ? "asks you" : "running";
  if (call.state === "pending")
    return call.waiting === "result" ? "needs an answer" : "needs approval";
  return OUTCOMES[call.outcome] || (call.state === "result" ? "done" : "failed");
}
