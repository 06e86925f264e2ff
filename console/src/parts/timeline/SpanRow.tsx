import { useFormat } from "../../format";
import type { RunState } from "../../log/fold";
import { lengthOf, type Span, type TimelineRow } from "../../log/timeline";
import { useWords } from "../../words";
import { Icon, type IconName } from "../Icon";
import type { Scale } from "./scale";

const ICONS: Record<Span["kind"], IconName> = {
  run: "run",
  model: "model",
  tool: "tool",
  step: "step",
  wait: "clock",
};
const MIN_WIDTH = 0.006; // of the axis, so that a short span can be seen

interface Props {
  id: string;
  row: TimelineRow;
  top: number;
  scale: Scale;
  now: number;
  runState: RunState | undefined;
  isChosen: boolean;
  isCollapsed: boolean;
  onChoose: () => void;
  onToggle: () => void;
}

/** The tree has the focus and handles the keys; a row can be clicked. */
export function SpanRow({ id, row, top, scale, now, runState, isChosen, isCollapsed, onChoose, onToggle }: Props) {
  const t = useWords();
  const { span, level, isParent, runNumber } = row;
  return (
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
    <div
      id={id}
      className="span"
      role="treeitem"
      aria-level={level}
      aria-selected={isChosen}
      aria-expanded={isParent ? !isCollapsed : undefined}
      data-testid="span"
      data-span={span.id}
      data-kind={span.kind}
      data-name={span.name}
      data-from={span.from}
      data-to={span.to ?? undefined}
      data-state={span.state}
      style={{ transform: `translateY(${top}px)` }}
      onClick={onChoose}
    >
      <span className="span-label" style={{ paddingLeft: 12 + (level - 1) * 14 }}>
        {isParent ? (
          <button
            type="button"
            className="twist"
            tabIndex={-1}
            aria-hidden="true"
            onClick={(event) => {
              event.stopPropagation();
              onToggle();
            }}
          >
            <Icon name="right" />
          </button>
        ) : (
          <span className="twist" />
        )}
        <Icon name={ICONS[span.kind]} />
        <span className="visually-hidden">{t(`timeline.kind.${span.kind}`)} </span>
        {runNumber !== null && span.kind === "run" && <strong>{t("timeline.run", { number: runNumber })}</strong>}
        <span className="span-name" title={span.name}>
          {span.kind === "wait" ? t("timeline.wait") : span.name}
        </span>
        {span.kind === "run" && runState && (
          <span className="state-chip" data-state={runState}>
            {t(`run.${runState}`)}
          </span>
        )}
        {span.kind !== "run" && (span.state === "failed" || span.state === "cancelled") && (
          <span className="state-chip" data-state={span.state}>
            {t(span.state === "failed" ? "timeline.failed" : "run.cancelled")}
          </span>
        )}
      </span>
      <Bar span={span} scale={scale} now={now} />
    </div>
  );
}

function Bar({ span, scale, now }: { span: Span; scale: Scale; now: number }) {
  const format = useFormat();
  const from = scale.position(span.from);
  const width = Math.max(MIN_WIDTH, scale.position(span.to ?? now) - from);
  const left = Math.min(from, 1 - width);
  const first = span.first === null ? null : (scale.position(span.first) - from) / width;
  return (
    <span className="span-bars">
      <span className="bar" style={{ left: `${left * 100}%`, width: `${width * 100}%` }}>
        {first !== null && <span className="first-token" style={{ left: `${Math.min(1, first) * 100}%` }} />}
      </span>
      <span className="bar-label" style={{ left: `calc(${(left + width) * 100}% + 7px)` }}>
        {format.duration(lengthOf(span, now))}
      </span>
    </span>
  );
}
