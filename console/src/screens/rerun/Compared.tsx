/** The recorded run and the changed one: numbers, answers, calls and timelines side by side. */
import { useMemo } from "react";
import type { RerunOutcome } from "../../api/schema";
import { useMe } from "../../api/queries";
import { useFormat } from "../../format";
import type { Entry } from "../../log/events";
import { EMPTY, fold, type CallItem, type Conversation } from "../../log/fold";
import { lastTime, totalsOf } from "../../log/timeline";
import { Timeline } from "../../parts/timeline/Timeline";
import { useWords } from "../../words";
import { useRecorded, type Progress } from "./api";
import { compareCalls, plain } from "./changes";
import { useRerunWords } from "./words";
import "../../parts/timeline/timeline.css";

interface Side {
  conversation: Conversation;
  entries: Entry[];
  now: number;
  /** Null if a model has no price, or nothing was run. */
  cost: number | null;
  isLoaded: boolean;
}

export function Compared({ runs, progress }: { runs: readonly string[]; progress: Progress }) {
  const t = useRerunWords();
  const { data, isError } = useRecorded(runs);
  const before = useSide(data?.entries ?? [], sumOf(data?.costs ?? []), data !== undefined);
  const after = useSide(progress.entries, progress.outcome?.cost ?? null, progress.entries.length > 0);
  return (
    <div className="rerun-compared">
      <Numbers before={before} after={after} outcome={progress.outcome} />
      <div className="rerun-sides">
        <Shown name="before" side={before} note={isError ? t("rerun.notLoaded") : ""} isStored />
        <Shown name="after" side={after} note={noteOf(progress, t)}>
          {progress.outcome && (progress.outcome.diverged ?? progress.outcome.error) && (
            <p className="problem" data-testid="rerun-problem">
              {progress.outcome.diverged ?? progress.outcome.error}
            </p>
          )}
        </Shown>
      </div>
      <Calls before={before} after={after} />
    </div>
  );
}

function noteOf({ entries, outcome, problem, isRunning }: Progress, t: ReturnType<typeof useRerunWords>): string {
  if (isRunning || outcome !== null || problem) return "";
  return t(entries.length > 0 ? "rerun.stopped" : "rerun.notRun");
}

function useSide(entries: Entry[], cost: number | null, isLoaded: boolean): Side {
  const conversation = useMemo(() => fold(EMPTY, entries), [entries]);
  return { conversation, entries, now: lastTime(conversation.timeline.spans), cost, isLoaded };
}

const sumOf = (costs: readonly (number | null)[]) =>
  costs.some((cost) => cost === null) ? null : costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0);

function Numbers({ before, after, outcome }: { before: Side; after: Side; outcome: RerunOutcome | null }) {
  const t = useRerunWords();
  const common = useWords();
  const format = useFormat();
  const currency = useMe().data?.currency;
  const sides = [before, after];
  const totals = sides.map(({ conversation, now }) => totalsOf(conversation.timeline, now));
  const rows: [string, (side: Side, index: number) => string][] = [
    [
      t("rerun.outcome"),
      ({ conversation }, index) => {
        if (index === 1 && outcome?.error) return common("run.failed");
        return conversation.run ? common(`run.${conversation.run.state}`) : "–";
      },
    ],
    [common("totals.time"), (_, index) => format.duration(totals[index]?.time ?? 0)],
    [common("totals.modelCalls"), (_, index) => format.number(totals[index]?.modelCalls ?? 0)],
    [common("totals.tokensIn"), (_, index) => format.number(totals[index]?.input ?? 0)],
    [common("totals.tokensOut"), (_, index) => format.number(totals[index]?.output ?? 0)],
    [common("totals.cost"), ({ cost }) => format.cost(cost, currency)],
  ];
  return (
    <table className="rerun-numbers" aria-label={t("rerun.compared")}>
      <thead>
        <tr>
          <td />
          <th scope="col">{t("rerun.before")}</th>
          <th scope="col">{t("rerun.after")}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            {sides.map((side, index) => (
              <td key={index}>{side.isLoaded ? value(side, index) : "–"}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface ShownProps {
  name: "before" | "after";
  side: Side;
  note: string;
  isStored?: boolean;
  children?: React.ReactNode;
}

function Shown({ name, side, note, isStored = false, children }: ShownProps) {
  const t = useRerunWords();
  const answer = side.conversation.items.findLast((item) => item.kind === "message" && item.role === "assistant");
  const snapshot = { ...side, isCaughtUp: true };
  return (
    <section aria-label={t(`rerun.${name}`)} data-testid={`rerun-${name}`}>
      <h2>{t(`rerun.${name}`)}</h2>
      {note && <p className="muted">{note}</p>}
      {children}
      {side.isLoaded && (
        <>
          <h3>{t("rerun.answer")}</h3>
          <p className="rerun-answer" dir="auto">
            {answer?.kind === "message" && answer.text ? answer.text : t("rerun.noAnswer")}
          </p>
          <div className="rerun-timeline">
            <Timeline snapshot={snapshot} run={null} now={side.now} isStored={isStored} isCompact />
          </div>
        </>
      )}
    </section>
  );
}

function Calls({ before, after }: { before: Side; after: Side }) {
  const t = useRerunWords();
  const [left, right] = [before, after].map(({ conversation }) =>
    conversation.items.filter((item): item is CallItem => item.kind === "call"),
  );
  const rows = after.isLoaded ? compareCalls(left ?? [], right ?? []) : [];
  if (rows.length === 0) return null;
  return (
    <table aria-label={t("rerun.calls")} data-testid="rerun-calls">
      <thead>
        <tr>
          <th scope="col">{t("rerun.calls")}</th>
          <th scope="col">{t("rerun.before")}</th>
          <th scope="col">{t("rerun.after")}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <tr
            key={index}
            data-changed={row.before === null || row.after === null || plain(row.before) !== plain(row.after)}
          >
            <th scope="row">{row.name}</th>
            {[row.before, row.after].map((text, side) => (
              <td key={side}>
                {text === null ? <span className="muted">{t("rerun.noCall")}</span> : <code>{text}</code>}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
