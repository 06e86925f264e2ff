/**
 * Folds the spans of a thread's runs onto one axis: milliseconds since the thread's first run began.
 *
 * A span never changes: a changed span is a new object, and entries without spans return the same timeline.
 */
import type { Entry, JsonObject, LogEvent, Usage } from "./events";
import type { RunState } from "./fold";

export type SpanKind = "run" | "model" | "tool" | "step" | "wait";
export type SpanState = "open" | "ended" | "failed" | "cancelled";

export interface Span {
  /** Unique in the thread; `id` is unique in its run. */
  key: string;
  id: string;
  run: string;
  kind: SpanKind;
  name: string;
  /** On the axis of the thread, as `to` and `first`. */
  from: number;
  to: number | null;
  /** When the first piece of a model's response came. */
  first: number | null;
  /** The `id` of the span that it is part of. */
  parent: string | null;
  state: SpanState;
  usage: Usage;
  reason: string;
  error: string;
  about: JsonObject;
  /** The entries of its start and its end: their positions in the log of the thread. */
  begin: number;
  end: number | null;
}

export interface TimelineRun {
  id: string;
  agent: string;
  state: RunState;
  /** When it began, on the axis of the thread. */
  from: number;
  /** The questions that it ended with, and those that it answers. */
  asked: readonly string[];
  answered: readonly string[];
}

export interface Timeline {
  /** When the first run began, in milliseconds of the clock; null if that is unknown. */
  origin: number | null;
  runs: readonly TimelineRun[];
  spans: readonly Span[];
}

export const NO_TIMELINE: Timeline = { origin: null, runs: [], spans: [] };

type Draft = { origin: number | null; runs: TimelineRun[]; spans: Span[] };
type TimedEvent = Extract<LogEvent, { type: "RunStarted" | "SpanStarted" | "SpanEnded" | "RunFinished" | "RunFailed" }>;

const TIMED = new Set<LogEvent["type"]>(["RunStarted", "SpanStarted", "SpanEnded", "RunFinished", "RunFailed"]);
const isTimed = (event: LogEvent): event is TimedEvent => TIMED.has(event.type);

/** The `error` of a span that ended because its run was stopped. */
const CANCELLED = "cancelled";

/** `position` is that of the first of the entries in the log of the thread. */
export function foldTimeline(timeline: Timeline, entries: readonly Entry[], position: number): Timeline {
  if (!entries.some(({ event }) => isTimed(event))) return timeline;
  const draft: Draft = { ...timeline, runs: [...timeline.runs], spans: [...timeline.spans] };
  entries.forEach(({ run, event }, index) => {
    if (isTimed(event)) apply(draft, run, event, position + index);
  });
  return draft;
}

function apply(draft: Draft, run: string, event: TimedEvent, position: number): void {
  switch (event.type) {
    case "RunStarted":
      startRun(draft, event);
      break;
    case "SpanStarted":
      startSpan(draft, run, event, position);
      break;
    case "SpanEnded":
      endSpan(draft, run, event, position);
      break;
    case "RunFinished":
      endRun(
        draft,
        run,
        event.outcome,
        (event.interrupts ?? []).map((one) => one.id),
        position,
      );
      break;
    case "RunFailed":
      endRun(draft, run, "failed", [], position);
  }
}

function startRun(draft: Draft, event: Extract<LogEvent, { type: "RunStarted" }>): void {
  if (draft.runs.some((run) => run.id === event.run_id)) return; // a takeover repeats it
  const began = event.began_at ? Date.parse(event.began_at) : null;
  draft.origin ??= began;
  draft.runs.push({
    id: event.run_id,
    agent: event.agent,
    state: "running",
    from: began === null || draft.origin === null ? lastTime(draft.spans) : Math.max(0, began - draft.origin),
    asked: [],
    answered: (event.answered ?? []).map((one) => one.interrupt_id),
  });
}

function startSpan(
  draft: Draft,
  run: string,
  event: Extract<LogEvent, { type: "SpanStarted" }>,
  position: number,
): void {
  draft.spans.push({
    key: `${run}/${event.span}`,
    id: event.span,
    run,
    kind: event.kind,
    name: event.name,
    from: offset(draft, run) + event.at,
    to: null,
    first: null,
    parent: event.parent ?? null,
    state: "open",
    usage: {},
    reason: "",
    error: "",
    about: event.about ?? {},
    begin: position,
    end: null,
  });
}

function endSpan(draft: Draft, run: string, event: Extract<LogEvent, { type: "SpanEnded" }>, position: number): void {
  const index = draft.spans.findLastIndex((span) => span.run === run && span.id === event.span);
  const span = draft.spans[index];
  if (!span) return;
  const began = offset(draft, run);
  draft.spans[index] = {
    ...span,
    to: began + event.at,
    first: typeof event.first === "number" ? began + event.first : null,
    state: event.error === CANCELLED ? "cancelled" : event.error ? "failed" : "ended",
    usage: event.usage ?? {},
    reason: event.reason ?? "",
    error: event.error ?? "",
    end: position,
  };
}

/** Ends what the log of the run has left open: its process has died, or the run was stopped. */
function endRun(draft: Draft, id: string, state: RunState, asked: readonly string[], position: number): void {
  draft.runs = draft.runs.map((run) => (run.id === id ? { ...run, state, asked } : run));
  const isOpen = (span: Span) => span.run === id && span.to === null;
  if (!draft.spans.some(isOpen)) return;
  const to = lastTime(draft.spans.filter((span) => span.run === id));
  const ended: SpanState = state === "cancelled" ? "cancelled" : "failed";
  draft.spans = draft.spans.map((span) => (isOpen(span) ? { ...span, to, state: ended, end: position } : span));
}

const offset = (draft: Draft, run: string) => draft.runs.findLast((one) => one.id === run)?.from ?? 0;

/** The latest time that spans tell of. */
export function lastTime(spans: readonly Span[]): number {
  return spans.reduce((latest, span) => Math.max(latest, span.to ?? span.from), 0);
}

/**
 * The waits for a person or a page: from the end of a run that waits to the begin of the run that answers.
 *
 * A question that is never answered ends its wait when the thread continues without it.
 */
export function waitsOf({ runs, spans }: Timeline): Span[] {
  return runs.flatMap((run, index) => {
    const root = run.state === "waiting" ? rootOf(spans, run.id) : undefined;
    if (!root || root.to === null) return [];
    const later = runs.slice(index + 1);
    const next = later.find((one) => one.answered.some((id) => run.asked.includes(id))) ?? later[0];
    const wait: Span = {
      ...root,
      key: `${run.id}/wait`,
      id: `wait-${run.id}`,
      kind: "wait",
      name: run.agent,
      from: root.to,
      to: next ? Math.max(next.from, root.to) : null,
      state: next ? "ended" : "open",
      parent: null,
      begin: root.end ?? root.begin,
    };
    return [wait];
  });
}

const rootOf = (spans: readonly Span[], run: string) => spans.find((span) => span.run === run && span.kind === "run");

export interface Totals {
  /** Milliseconds of runs, without waits. */
  time: number;
  waited: number;
  modelCalls: number;
  input: number;
  output: number;
  cached: number;
  /** Milliseconds between first and last piece of the models' responses. */
  generating: number;
}

/** `now` is on the axis of the thread; `run` narrows the sums to one run. */
export function totalsOf(timeline: Timeline, now: number, run: string | null = null): Totals {
  const totals: Totals = {
    time: 0,
    waited: 0,
    modelCalls: 0,
    input: 0,
    output: 0,
    cached: 0,
    generating: 0,
  };
  for (const span of timeline.spans) {
    if (run !== null && span.run !== run) continue;
    if (span.kind === "run") totals.time += lengthOf(span, now);
    if (span.kind !== "model") continue;
    totals.modelCalls += 1;
    if (span.to === null) continue;
    totals.input += span.usage.input_tokens ?? 0;
    totals.output += span.usage.output_tokens ?? 0;
    totals.cached += span.usage.cache_read_tokens ?? 0;
    if (span.first !== null) totals.generating += span.to - span.first;
  }
  for (const wait of waitsOf(timeline)) if (run === null || wait.run === run) totals.waited += lengthOf(wait, now);
  return totals;
}

export const lengthOf = (span: Span, now: number) => Math.max(0, (span.to ?? Math.max(now, span.from)) - span.from);

export interface TimelineRow {
  span: Span;
  /** From 1 on. */
  level: number;
  isParent: boolean;
  /** The number of the run in the thread, for rows of runs. */
  runNumber: number | null;
}

/** The spans as a tree: each below the span that it is part of, siblings by their start. */
export function rowsOf(timeline: Timeline, collapsed: ReadonlySet<string>, only: string | null = null): TimelineRow[] {
  const rows: TimelineRow[] = [];
  const children = groupByParent(timeline.spans);
  const waits = new Map(waitsOf(timeline).map((wait) => [wait.run, wait]));

  function add(span: Span, level: number, runNumber: number | null) {
    const parts = span.kind === "wait" ? [] : (children.get(span.key) ?? []);
    rows.push({ span, level, isParent: parts.length > 0, runNumber });
    if (!collapsed.has(span.key)) for (const part of parts) add(part, level + 1, null);
  }

  timeline.runs.forEach((run, index) => {
    if (only !== null && run.id !== only) return;
    for (const root of children.get(`${run.id}/`) ?? []) add(root, 1, index + 1);
    const wait = waits.get(run.id);
    if (wait) add(wait, 1, null);
  });
  return rows;
}

/** By the key of the parent; roots are below `RUN/`, and so are spans whose parent the log does not have. */
function groupByParent(spans: readonly Span[]): Map<string, Span[]> {
  const keys = new Set(spans.map((span) => span.key));
  const groups = new Map<string, Span[]>();
  for (const span of spans) {
    const parent = `${span.run}/${span.parent ?? ""}`;
    const group = keys.has(parent) ? parent : `${span.run}/`;
    const siblings = groups.get(group);
    if (siblings) siblings.push(span);
    else groups.set(group, [span]);
  }
  return groups;
}
