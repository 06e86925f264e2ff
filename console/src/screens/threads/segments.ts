/** The work of a run as segments of one bar, in percent of its width. */
import type { SpanLine } from "../../api/types";

export interface Segment {
  kind: "model" | "tool" | "wait";
  left: number;
  width: number;
}

/** A wait has no length of its own yet, so it takes the rest of the bar. */
const WORK_SHARE_OF_WAITING = 60;

/** Tools come before models: a model call inside of a tool is drawn over it. */
export function segmentsOf(spans: readonly SpanLine[], milliseconds: number, isWaiting: boolean): Segment[] {
  const end = Math.max(milliseconds, 1, ...spans.map((span) => span.to ?? span.from));
  const share = isWaiting ? WORK_SHARE_OF_WAITING : 100;
  const draw = (kind: "model" | "tool") =>
    spans
      .filter((span) => span.kind === kind)
      .map((span) => ({
        kind,
        left: (span.from / end) * share,
        width: (((span.to ?? end) - span.from) / end) * share,
      }));
  const wait: Segment = { kind: "wait", left: share, width: 100 - share };
  return [...draw("tool"), ...draw("model"), ...(isWaiting ? [wait] : [])];
}
