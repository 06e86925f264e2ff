/** The spans of the runs as a tree beside a time axis. Only the rows in view are in the page. */
import { useMemo, useState, type KeyboardEvent } from "react";
import { useFormat } from "../../format";
import type { LiveSnapshot } from "../../log/live";
import { rowsOf, waitsOf, type TimelineRow } from "../../log/timeline";
import { useIsWide } from "../../useIsWide";
import { useWords } from "../../words";
import { useRows } from "../useRows";
import { makeScale } from "./scale";
import { SpanDetails } from "./SpanDetails";
import { SpanRow } from "./SpanRow";

const ROW_PX = 30;
const NARROW_PX = 721;

/** The part of a snapshot that is drawn; a run that is not stored has it, too. */
export type ShownRuns = Pick<LiveSnapshot, "conversation" | "entries" | "isCaughtUp">;

interface Props {
  snapshot: ShownRuns;
  /** Only the spans of this run, if it is not null. */
  run: string | null;
  now: number;
  /** Without it, nothing about the runs can be asked of the server. */
  isStored?: boolean;
  /** Whether it shares its width with another one. */
  isCompact?: boolean;
}

export function Timeline({ snapshot, run, now, isStored = true, isCompact = false }: Props) {
  const t = useWords();
  const format = useFormat();
  const { timeline } = snapshot.conversation;
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(new Set());
  const [chosen, setChosen] = useState<string | null>(null);
  const isNarrow = !useIsWide(NARROW_PX);
  const rows = useMemo(() => rowsOf(timeline, collapsed, run), [timeline, collapsed, run]);
  const origin = timeline.runs.find((one) => run === null || one.id === run)?.from ?? 0;
  const scale = useMemo(() => {
    const all = [...timeline.spans.filter((span) => span.kind === "run"), ...waitsOf(timeline)];
    return makeScale(
      all.filter((span) => run === null || span.run === run),
      now,
      origin,
      isCompact ? 2 : isNarrow ? 3 : 6,
    );
  }, [timeline, run, now, origin, isNarrow, isCompact]);
  const { box, rows: visible, height, scrollTo } = useRows(rows.length, ROW_PX);
  const current = rows.findIndex((row) => row.span.key === chosen);
  const row = rows[current];

  function choose(index: number) {
    const next = rows[Math.min(rows.length - 1, Math.max(0, index))];
    if (!next) return;
    setChosen(next.span.key);
    scrollTo(rows.indexOf(next));
  }

  function toggle(key: string) {
    setCollapsed((before) => {
      const next = new Set(before);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  }

  function onKeyDown(event: KeyboardEvent) {
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 0) / ROW_PX) - 1);
    const isCollapsed = row ? collapsed.has(row.span.key) : false;
    const moves: Record<string, () => void> = {
      ArrowDown: () => choose(current + 1),
      ArrowUp: () => choose(current - 1),
      PageDown: () => choose(current + page),
      PageUp: () => choose(current - page),
      Home: () => choose(0),
      End: () => choose(rows.length - 1),
      ArrowRight: () => row?.isParent && (isCollapsed ? toggle(row.span.key) : choose(current + 1)),
      ArrowLeft: () => row && (row.isParent && !isCollapsed ? toggle(row.span.key) : choose(parentOf(rows, current))),
      Escape: () => setChosen(null),
    };
    const move = moves[event.key];
    if (!move || event.metaKey || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    move();
  }

  if (rows.length === 0) {
    return <p className="panel-empty muted">{snapshot.isCaughtUp ? t("timeline.none") : t("timeline.loading")}</p>;
  }
  return (
    <>
      <div className="timeline" ref={box}>
        <div className="axis" aria-hidden="true">
          <span className="axis-title">
            {t(timeline.runs.length === 1 ? "timeline.oneRun" : "timeline.runs", {
              count: format.number(timeline.runs.length),
            })}
          </span>
          <span className="axis-ticks">
            {scale.ticks.map((tick) => (
              <span key={tick.position} style={{ left: `${tick.position * 100}%` }}>
                {format.tick(tick.time - origin, scale.step)}
              </span>
            ))}
          </span>
        </div>
        <div className="rows" style={{ height: height }}>
          <div className="grid-lines" aria-hidden="true">
            <span style={{ left: 0 }} />
            {scale.ticks.map((tick) => (
              <span key={tick.position} style={{ left: `${tick.position * 100}%` }} />
            ))}
          </div>
          <div
            className="tree"
            role="tree"
            aria-label={t("timeline.tree")}
            tabIndex={0}
            aria-activedescendant={row ? rowId(row) : undefined}
            onKeyDown={onKeyDown}
            onFocus={() => current < 0 && choose(0)}
          >
            {visible.map(({ index, top }) => {
              const one = rows[index];
              return (
                one && (
                  <SpanRow
                    key={index % visible.length} // a row that scrolls out of view becomes one that scrolls in
                    id={rowId(one)}
                    row={one}
                    top={top}
                    scale={scale}
                    now={now}
                    runState={timeline.runs.find((other) => other.id === one.span.run)?.state}
                    isChosen={one.span.key === chosen}
                    isCollapsed={collapsed.has(one.span.key)}
                    onChoose={() => setChosen(one.span.key)}
                    onToggle={() => toggle(one.span.key)}
                  />
                )
              );
            })}
          </div>
        </div>
      </div>
      {row && (
        <SpanDetails
          span={row.span}
          snapshot={snapshot}
          now={now}
          isStored={isStored}
          onClose={() => setChosen(null)}
        />
      )}
    </>
  );
}

const rowId = (row: TimelineRow) => `span-${row.span.key}`;

function parentOf(rows: readonly TimelineRow[], index: number): number {
  const level = rows[index]?.level ?? 1;
  const found = rows.slice(0, index).findLastIndex((row) => row.level < level);
  return found < 0 ? index : found;
}
