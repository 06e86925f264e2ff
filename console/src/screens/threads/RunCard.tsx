import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { getRun } from "../../api/client";
import type { RunLine, SpanLine } from "../../api/types";
import { UNKNOWN, useFormat } from "../../format";
import { VoteMark } from "../../parts/feedback/VoteMark";
import { useWords } from "../../words";
import { segmentsOf } from "./segments";
import { sumOf } from "./tokens";
import { useListWords } from "./words";

/** A run of the thread: its state, its numbers, and a bar of its work. */
export function RunCard({ run }: { run: RunLine }) {
  const t = useWords();
  const own = useListWords();
  const format = useFormat();
  const tokens = sumOf(run.tokens);
  return (
    <Link
      to={`/threads/${encodeURIComponent(run.thread)}?run=${encodeURIComponent(run.id)}`}
      className="run-card"
      data-testid="drawer-run"
      data-id={run.id}
    >
      <span className="run-card-head">
        <span className="state-chip" data-state={run.outcome}>
          {t(`run.${run.outcome}`)}
        </span>
        <strong title={run.flow ?? undefined}>{run.flow?.split(".").at(-1) ?? run.agent}</strong>
        {run.feedback && <VoteMark value={run.feedback} />}
        <span className="muted">
          {own("drawer.numbers", {
            time: run.milliseconds == null ? UNKNOWN : format.duration(run.milliseconds),
            tokens: tokens === null ? UNKNOWN : format.number(tokens),
          })}
        </span>
      </span>
      <RunBar run={run} />
    </Link>
  );
}

/** Asks again when the run has ended. */
export const useRun = (run: string, outcome?: string) =>
  useQuery({ queryKey: ["run", run, outcome], queryFn: () => getRun(run) });

function RunBar({ run }: { run: RunLine }) {
  const own = useListWords();
  const { data } = useRun(run.id, run.outcome);
  return (
    <>
      <SpanBar run={run} spans={data?.spans ?? []} />
      {data?.downgraded && <span className="muted">{own("drawer.downgraded", data.downgraded)}</span>}
    </>
  );
}

export function SpanBar({ run, spans }: { run: RunLine; spans: readonly SpanLine[] }) {
  const own = useListWords();
  return (
    <span className="run-bar" role="img" aria-label={own("drawer.bar")}>
      {segmentsOf(spans, run.milliseconds ?? 0, run.outcome === "waiting").map(({ kind, left, width }, index) => (
        <span key={index} data-kind={kind} style={{ left: `${left}%`, width: `${width}%` }} />
      ))}
    </span>
  );
}
