/** The log entries as lines of JSON, as `GET /operator/runs/ID/entries` sends them. Only the lines in view are in the page. */
import { copyText } from "../../copy";
import type { Entry } from "../../log/events";
import { useWords } from "../../words";
import { Icon } from "../Icon";
import { showToast } from "../toasts";
import { useRows } from "../useRows";
import { lineOf } from "./search";

const LINE_PX = 22;
/** Longer lines are cut on the page, and copied whole. */
const MAX_SHOWN = 2000;

export function RawLog({ entries }: { entries: readonly Entry[] }) {
  const t = useWords();
  const { box, rows, height } = useRows(entries.length, LINE_PX);

  async function copy() {
    if (await copyText(entries.map((entry) => `${lineOf(entry)}\n`).join(""))) showToast(t("copy.done"));
    else showToast(t("copy.failed"), { isProblem: true });
  }

  if (entries.length === 0) return <p className="panel-empty muted">{t("timeline.none")}</p>;
  return (
    <>
      <div className="events-bar">
        <button type="button" className="button" onClick={() => void copy()}>
          <Icon name="copy" />
          {t("copy.copy")}
        </button>
      </div>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls in both directions */}
      <div className="raw-log" ref={box} role="region" aria-label={t("timeline.tab.raw")} tabIndex={0}>
        <div style={{ height: height }}>
          {rows.map(({ index, top }) => {
            const entry = entries[index];
            return (
              entry && (
                <code key={index} style={{ transform: `translateY(${top}px)` }}>
                  {lineOf(entry).slice(0, MAX_SHOWN)}
                </code>
              )
            );
          })}
        </div>
      </div>
    </>
  );
}
