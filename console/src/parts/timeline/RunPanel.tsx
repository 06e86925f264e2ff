/** What the runs of a thread did, when, and what they cost: totals, timeline, events, state and the log. */
import { memo, Suspense, useEffect, useMemo, useState } from "react";
import { useMe } from "../../api/queries";
import { mayDo } from "../../api/rights";
import type { RunLine } from "../../api/types";
import { useFormat } from "../../format";
import { lazyPart } from "../../loadChunk";
import { useFilters } from "../../location";
import type { Conversation } from "../../log/fold";
import type { LiveSnapshot } from "../../log/live";
import { lastTime, totalsOf, waitsOf, type Timeline as TimelineData } from "../../log/timeline";
import { mark } from "../../marks";
import { useNow } from "../../useNow";
import { useWords } from "../../words";
import { VoteNotes } from "../feedback/VoteNotes";
import { Icon } from "../Icon";
import { PinButton } from "../pin/PinButton";
import { Tabs } from "../Tabs";
import { Events } from "./Events";
import { priceOf } from "./price";
import { RawLog } from "./RawLog";
import { ThreadState } from "./ThreadState";
import { Timeline } from "./Timeline";
import { TotalsBar } from "./TotalsBar";
import { useStored } from "./useStored";
import "./timeline.css";

const RUNNING_INTERVAL_MS = 250;
const WAITING_INTERVAL_MS = 1000;
const TABS = ["timeline", "prompt", "flow", "events", "state", "raw"] as const;
type Tab = (typeof TABS)[number];

const Prompt = lazyPart(() => import("../prompt/Prompt"));
const ThreadFlows = lazyPart(() => import("../flow/ThreadFlows"));

interface Props {
  thread: string;
  snapshot: LiveSnapshot;
  onClose: () => void;
}

export default memo(function RunPanel({ thread, snapshot, onClose }: Props) {
  const t = useWords();
  const format = useFormat();
  const { timeline, flows } = snapshot.conversation;
  const [chosen, setChosen] = useState<Tab | null>(null);
  const tab = chosen ?? (isFlowOfAgent(snapshot.conversation) ? "flow" : "timeline");
  const [{ run: wanted }, changeFilters] = useFilters<"run">();
  const run = timeline.runs.some((one) => one.id === wanted) ? (wanted ?? null) : null;
  const now = useTimelineNow(timeline, snapshot.clockOffset);
  const stored = useStored(thread, timeline.runs);
  const lines = stored?.runs;
  const me = useMe().data;
  const isOwn = stored?.thread.owner === me?.user;
  const latest = run === null ? timeline.runs.at(-1) : timeline.runs.find((one) => one.id === run);
  const mayRead = mayDo(me, "read", latest?.agent ?? "");
  const names = TABS.filter((name) => (name === "flow" ? flows.length > 0 : name !== "prompt" || mayRead));
  const judged = lines?.some((line) => line.feedback && (run === null || line.id === run));
  const pinned = lines?.findLast((line) => line.outcome !== "running" && (run === null || line.id === run));
  const totals = useMemo(() => totalsOf(timeline, now, run), [timeline, now, run]);
  const entries = useMemo(
    () => (run === null ? snapshot.entries : snapshot.entries.filter((entry) => entry.run === run)),
    [snapshot.entries, run],
  );
  useEffect(() => {
    if (snapshot.isCaughtUp) mark("run-drawn");
  }, [snapshot.isCaughtUp]);

  return (
    <section className="run-panel" aria-label={t("timeline.panel")}>
      <TotalsBar totals={totals} cost={costOf(lines, run)} price={priceOf(lines ?? [], run)} />
      {stored && judged && (stored.readable || isOwn) && (
        <VoteNotes owner={stored.thread.owner} {...(run === null ? { thread } : { run })} />
      )}
      <div className="panel-bar">
        <Tabs id="run" label={t("timeline.panel")} names={names} selected={tab} onSelect={setChosen}>
          {(name) => (
            <>
              {t(`timeline.tab.${name}`)}
              {name === "events" && (
                <span className="tab-count" aria-hidden="true">
                  {format.number(entries.length)}
                </span>
              )}
            </>
          )}
        </Tabs>
        {timeline.runs.length > 1 && (
          <RunSelect timeline={timeline} value={run} onChange={(one) => changeFilters({ run: one ?? "" })} />
        )}
        {stored && pinned && <PinButton run={pinned.id} agent={pinned.agent} owner={stored.thread.owner} />}
        <button type="button" className="icon-button close" aria-label={t("timeline.close")} onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      <div className="panel-body" role="tabpanel" id="run-body" aria-labelledby={`run-tab-${tab}`}>
        {tab === "timeline" && <Timeline snapshot={snapshot} run={run} now={now} />}
        {tab === "events" && <Events entries={entries} hasRuns={timeline.runs.length > 1} />}
        {tab === "state" && <ThreadState state={stored?.state} />}
        {tab === "raw" && <RawLog entries={entries} />}
        {tab === "prompt" && latest && (
          <Suspense fallback={null}>
            <Prompt key={latest.id} run={latest.id} isRunning={latest.state === "running"} />
          </Suspense>
        )}
        {tab === "flow" && (
          <Suspense fallback={null}>
            <ThreadFlows key={run} snapshot={snapshot} run={run} />
          </Suspense>
        )}
      </div>
    </section>
  );
});

/** Whether the last run is a flow; a flow that a model has called as a tool is one part of its run. */
function isFlowOfAgent({ flows, items, run }: Conversation): boolean {
  const flow = flows.at(-1);
  const isLast = flow !== undefined && flow.plugin !== "" && flow.run === run?.id;
  return isLast && !items.some((item) => item.kind === "call" && item.run === flow.run);
}

/** The time on the axis of the thread. It moves while something is open. */
function useTimelineNow(timeline: TimelineData, clockOffset: number): number {
  const isRunning = timeline.runs.some((run) => run.state === "running");
  const isWaiting = useMemo(() => waitsOf(timeline).some((wait) => wait.to === null), [timeline]);
  const clock = useNow(isRunning ? RUNNING_INTERVAL_MS : isWaiting ? WAITING_INTERVAL_MS : 0);
  const latest = useMemo(() => lastTime(timeline.spans), [timeline]);
  return Math.max(latest, timeline.origin === null ? 0 : clock + clockOffset - timeline.origin);
}

/** The sum of the known costs; null if none is known. */
function costOf(lines: RunLine[] | undefined, run: string | null): number | null {
  const costs = (lines ?? []).filter((line) => run === null || line.id === run).map((line) => line.cost ?? null);
  const known = costs.filter((cost) => cost !== null);
  return known.length === 0 ? null : known.reduce((sum, cost) => sum + cost, 0);
}

interface RunSelectProps {
  timeline: TimelineData;
  value: string | null;
  onChange: (run: string | null) => void;
}

function RunSelect({ timeline, value, onChange }: RunSelectProps) {
  const t = useWords();
  return (
    <select
      className="field run-select"
      aria-label={t("timeline.scope")}
      value={value ?? ""}
      onChange={(event) => onChange(event.target.value || null)}
    >
      <option value="">{t("timeline.thisThread")}</option>
      {timeline.runs.map((run, index) => (
        <option key={run.id} value={run.id}>
          {t("timeline.run", { number: index + 1 })} · {t(`run.${run.state}`)}
        </option>
      ))}
    </select>
  );
}
