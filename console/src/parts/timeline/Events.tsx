/** The log entries of a thread, with a search over all of their text. Only the rows in view are in the page. */
import { useDeferredValue, useMemo, useState } from "react";
import { useFormat } from "../../format";
import type { Entry } from "../../log/events";
import { useWords } from "../../words";
import { Code } from "../Code";
import { Icon } from "../Icon";
import { SearchBox } from "../SearchBox";
import { useRows } from "../useRows";
import { findEntries, summarize, textOf } from "./search";

const ROW_PX = 30;

interface Props {
  entries: readonly Entry[];
  /** Whether the entries are of several runs, so that their ids repeat. */
  hasRuns: boolean;
}

export function Events({ entries, hasRuns }: Props) {
  const t = useWords();
  const format = useFormat();
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState<Entry | null>(null);
  const wanted = useDeferredValue(query);
  const found = useMemo(() => findEntries(entries, wanted), [entries, wanted]);
  const { box, rows, height } = useRows(found.length, ROW_PX);
  return (
    <>
      <div className="events-bar">
        <SearchBox name={t("events.search")} value={query} onChange={setQuery} />
        <span className="muted" role="status">
          {wanted && t("events.found", { count: format.number(found.length) })}
        </span>
      </div>
      <div className="events" ref={box}>
        {found.length === 0 && <p className="panel-empty muted">{t(wanted ? "events.none" : "timeline.none")}</p>}
        <ul style={{ height: height }} aria-label={t("timeline.tab.events")}>
          {rows.map(({ index, top }) => {
            const entry = found[index];
            return (
              entry && (
                <li
                  key={index}
                  className="entry"
                  data-testid="entry"
                  data-id={entry.id}
                  data-type={entry.event.type}
                  style={{ transform: `translateY(${top}px)` }}
                >
                  <button type="button" aria-pressed={entry === chosen} onClick={() => setChosen(entry)}>
                    <span className="entry-id">{entry.id}</span>
                    <span className="entry-type">{entry.event.type}</span>
                    <span className="entry-text">{summarize(entry, wanted)}</span>
                  </button>
                </li>
              )
            );
          })}
        </ul>
      </div>
      {chosen && (
        <section className="span-details" aria-label={t("timeline.details")}>
          <header>
            <h2>{chosen.event.type}</h2>
            <span className="entry-ids">{hasRuns ? `${chosen.run} ${chosen.id}` : chosen.id}</span>
            <button
              type="button"
              className="icon-button"
              aria-label={t("timeline.closeDetails")}
              onClick={() => setChosen(null)}
            >
              <Icon name="close" />
            </button>
          </header>
          <Code title={t("details.record")} text={textOf(chosen)} />
        </section>
      )}
    </>
  );
}
