/**
 * Places times on the width of the timeline.
 *
 * Runs are drawn to scale. The time between them is shortened where it is long: an answer that came the next day would
 * otherwise leave no width for the runs.
 */
import type { Span } from "../../log/timeline";

export interface Tick {
  /** From 0 to 1, as `position` returns it. */
  position: number;
  time: number;
}

export interface Scale {
  position(time: number): number;
  ticks: readonly Tick[];
  /** Milliseconds between two ticks. */
  step: number;
}

interface Segment {
  from: number;
  to: number;
  /** Where it is drawn, in milliseconds that are drawn before it. */
  start: number;
  length: number;
}

const MAX_GAP = 0.15; // of the time of all runs
const MAX_GAPS = 0.4; // all of them together
const STEPS_MS = [1, 2, 5].flatMap((unit) => [1, 10, 100, 1000, 10_000].map((ten) => unit * ten));
const LONG_STEPS_MS = [1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1440].map((minutes) => minutes * 60_000);
const NICE_STEPS_MS = [...STEPS_MS.sort((a, b) => a - b), ...LONG_STEPS_MS].filter((ms) => ms !== 50_000);

/** `spans` are runs and waits; `origin` is when the first run began. */
export function makeScale(spans: readonly Span[], now: number, origin = 0, maxTicks = 6): Scale {
  const segments = makeSegments(spans, now, origin);
  const last = segments.at(-1);
  const length = Math.max(1, last ? last.start + last.length : 0);
  const step = NICE_STEPS_MS.find((ms) => length / ms <= maxTicks) ?? length / maxTicks;
  const count = Math.floor(length / step);
  const ticks = Array.from({ length: count }, (_, index) => (index + 1) * step)
    .filter((drawn) => !isShortened(segmentAt(segments, drawn)))
    .map((drawn) => ({ position: drawn / length, time: timeAt(segments, drawn) }));
  return { position: (time) => clamp(drawnAt(segments, time) / length), ticks, step };
}

function makeSegments(spans: readonly Span[], now: number, origin: number): Segment[] {
  const runs = spans.filter((span) => span.kind === "run");
  const busy = mergeIntervals(runs.map((span, index) => [index === 0 ? origin : span.from, span.to ?? now]));
  const end = Math.max(...spans.map((span) => span.to ?? now), 0);
  const work = busy.reduce((sum, [from, to]) => sum + to - from, 0);
  const gaps = busy.length - (end > (busy.at(-1)?.[1] ?? 0) ? 0 : 1);
  const maxGap = Math.max(1, work * Math.min(MAX_GAP, MAX_GAPS / Math.max(1, gaps)));
  const segments: Segment[] = [];
  let start = 0;
  const add = (from: number, to: number, length: number) => {
    if (to <= from) return;
    segments.push({ from, to, start, length });
    start += length;
  };
  busy.forEach(([from, to], index) => {
    const before = busy[index - 1]?.[1];
    if (before !== undefined) add(before, from, Math.min(from - before, maxGap));
    add(from, to, to - from);
  });
  const worked = busy.at(-1)?.[1] ?? 0;
  add(worked, end, Math.min(end - worked, maxGap));
  return segments;
}

function mergeIntervals(intervals: [number, number][]): [number, number][] {
  const merged: [number, number][] = [];
  for (const [from, to] of intervals.sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else merged.push([from, Math.max(from, to)]);
  }
  return merged;
}

function drawnAt(segments: readonly Segment[], time: number): number {
  const inside = segments.findLast((segment) => segment.from <= time);
  if (!inside) return 0;
  const share = Math.min(1, (time - inside.from) / (inside.to - inside.from));
  return inside.start + share * inside.length;
}

const segmentAt = (segments: readonly Segment[], drawn: number) =>
  segments.findLast((segment) => segment.start <= drawn);

/** A time in the middle of a shortened segment says nothing. */
const isShortened = (segment: Segment | undefined) =>
  segment !== undefined && segment.length < segment.to - segment.from;

function timeAt(segments: readonly Segment[], drawn: number): number {
  const inside = segmentAt(segments, drawn);
  if (!inside) return drawn;
  return inside.from + Math.min(1, (drawn - inside.start) / inside.length) * (inside.to - inside.from);
}

const clamp = (value: number) => Math.min(1, Math.max(0, value));
