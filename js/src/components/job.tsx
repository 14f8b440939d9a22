/** The card of a job: what a call left to go on in the background. */

import { type FilledJob, jobWords } from "../store";
import { Progress, Result } from "./body";
import { CancelButtons } from "./controls";
import { Duration } from "./duration";
import { FoldedText } from "./folds";
import { Icon, type IconName } from "./icons";
import { Plain } from "./plain";

/** One job, with its progress while it runs and what came of it. */
export function JobCard({ job }: { job: FilledJob }) {
  const { id, tool, state, outcome } = job;
  return (
    <section
      class={`card job state-${state} outcome-${outcome || "none"}`}
      aria-label={`Background job ${id} of ${tool}, ${jobWords(job)}`}
      tabIndex={-1}
    >
      <Head job={job} />
      {state === "running" && <Progress of={job} />}
      <Result of={job} />
      {job.error && (
        <p class="error-text">
          <Plain text={job.error} />
        </p>
      )}
      {(job.output || job.trace) && (
        <div class="folds">
          <FoldedText title="Output" text={job.output} open={state === "running"} />
          <FoldedText title="Traceback" text={job.trace} />
        </div>
      )}
      {state === "running" && (
        <div class="controls">
          <CancelButtons id={id} name={id} />
        </div>
      )}
    </section>
  );
}

function Head({ job }: { job: FilledJob }) {
  return (
    <header class="card-head">
      <Icon name={iconOf(job)} />
      <span class="tool">
        <Plain text={job.id} />
      </span>
      <span class="line">
        of <Plain text={job.tool} />
      </span>
      <span class="mark">background</span>
      <span class="state">{jobWords(job)}</span>
      <Duration started={job.started} ended={job.ended} running={job.state === "running"} />
    </header>
  );
}

function iconOf({ state, outcome }: FilledJob): IconName {
  if (state === "running") return "running";
  if (state === "result") return "ok";
  if (outcome === "cancelled") return "stopped";
  return outcome === "interrupted" || outcome === "timeout" ? "warning" : "failed";
}
