import { useMemo } from "react";
import type { Entry } from "../../log/events";
import type { FlowRun } from "../../log/flow";
import { useWords } from "../../words";
import { kindOf, type CallKind } from "./kinds";
import type { Position } from "./position";

interface Props {
  entries: readonly Entry[];
  flow: FlowRun;
  position: Position;
  isRunning: boolean;
}

/** Moves through the log of the run, entry by entry. The bar has the color of each step. */
export function Scrubber({ entries, flow, position, isRunning }: Props) {
  const t = useWords();
  const segments = useMemo(() => segmentsOf(entries, flow), [entries, flow]);
  const { value, total, isFollowing, change } = position;
  const text = t("flow.position", { position: value, total });
  const percent = (count: number) => `${(count / Math.max(1, total)) * 100}%`;
  return (
    <div className="scrubber">
      <div className="scrubber-track">
        {segments.map(({ from, to, kind }) => (
          <span
            key={from}
            data-kind={kind}
            data-ahead={from >= value || undefined}
            style={{ left: percent(from), width: percent(to - from) }}
          />
        ))}
        <input
          type="range"
          min={0}
          max={total}
          value={value}
          aria-label={t("flow.scrub")}
          aria-valuetext={text}
          onChange={(event) => change(Number(event.target.value))}
        />
      </div>
      <span className="scrubber-text">{text}</span>
      {isRunning && !isFollowing && (
        <button type="button" className="button" onClick={() => change(total)}>
          {t("flow.live")}
        </button>
      )}
    </div>
  );
}

interface Segment {
  from: number;
  to: number;
  kind: CallKind;
}

/** The entries between the start and the end of each step. */
export function segmentsOf(entries: readonly Entry[], flow: FlowRun): Segment[] {
  const segments: Segment[] = [];
  let open: Segment | undefined;
  entries.forEach(({ event }, index) => {
    if (event.type === "StepStarted") {
      open = { from: index, to: entries.length, kind: kindOf(flow.steps[event.name]?.call ?? "") };
      segments.push(open);
    } else if (event.type === "StepEnded" && open) {
      open.to = index + 1;
      open = undefined;
    }
  });
  return segments;
}
