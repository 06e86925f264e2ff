/** Beside the list of runs: the work of a run that is not stored, and so has no thread to open. */
import type { RunDetails } from "../../api/types";
import { mayDo } from "../../api/rights";
import { useMe } from "../../api/queries";
import { nameFace } from "../../faces";
import { useFormat } from "../../format";
import { VoteMark } from "../../parts/feedback/VoteMark";
import { VoteNotes } from "../../parts/feedback/VoteNotes";
import { useFeedbackWords } from "../../parts/feedback/words";
import { PinButton } from "../../parts/pin/PinButton";
import { useWords } from "../../words";
import { Drawer } from "./Drawer";
import { SpanBar, useRun } from "./RunCard";
import { useListWords } from "./words";

export function RunDrawer({ run, onClose }: { run: string; onClose: () => void }) {
  const own = useListWords();
  const { data, error } = useRun(run);
  return (
    <Drawer label={own("drawer.run")} id={run} error={error} isLoading={!data} onClose={onClose}>
      {data && <Details run={data} />}
    </Drawer>
  );
}

function Details({ run }: { run: RunDetails }) {
  const t = useWords();
  const own = useListWords();
  const feedback = useFeedbackWords();
  const format = useFormat();
  const me = useMe().data;
  const isReadable = run.owner === me?.user || mayDo(me, "read", run.agent ?? "");
  const work = run.spans.filter((span) => span.kind !== "run");
  return (
    <>
      <h2>{run.flow ?? run.agent}</h2>
      <p className="muted">
        <code title={run.id}>{run.id}</code> · {run.owner} · {format.full(run.began_at)}
      </p>
      <p className="run-card-head">
        <span className="state-chip" data-state={run.outcome}>
          {t(`run.${run.outcome}`)}
        </span>
        {run.error && <code>{run.error.code}</code>}
        {run.feedback && <VoteMark value={run.feedback} />}
      </p>
      <SpanBar run={run} spans={run.spans} />
      <h3>{own("drawer.spans")}</h3>
      <ul className="drawer-spans">
        {work.map((span) => (
          <li key={span.span} data-testid="drawer-span" data-kind={span.kind}>
            <span className="state-chip" data-kind={span.kind}>
              {t(`timeline.kind.${span.kind}`)}
            </span>
            <span>{span.name}</span>
            <span className="muted">{span.to !== null && format.duration(span.to - span.from)}</span>
          </li>
        ))}
      </ul>
      {run.feedback && isReadable && (
        <>
          <h3>{feedback("feedback.title")}</h3>
          <VoteNotes owner={run.owner} run={run.id} />
        </>
      )}
      {run.through && (
        <>
          <h3>{own("drawer.faces")}</h3>
          <p>{nameFace(run.through, own("drawer.console"))}</p>
        </>
      )}
      <div className="drawer-actions">
        <PinButton run={run.id} agent={run.agent ?? ""} owner={run.owner} hasText />
      </div>
      <p className="drawer-note" role="note">
        {own("drawer.notStoredNote")}
      </p>
    </>
  );
}
