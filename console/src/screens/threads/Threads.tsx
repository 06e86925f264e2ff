import { useCallback, useMemo, useState } from "react";
import { getThreads } from "../../api/client";
import type { ThreadLine, ThreadQuery } from "../../api/types";
import { useFormat } from "../../format";
import { useFilters } from "../../location";
import { useShownThread } from "../../log/LiveProvider";
import { SearchBox } from "../../parts/SearchBox";
import { useIsWide } from "../../useIsWide";
import { useNow } from "../../useNow";
import { useWords, type Word } from "../../words";
import { DRAWER_WINDOW_PX } from "./Drawer";
import { Empty } from "./Empty";
import { Filters, Select, sinceOf, type Filter } from "./Filters";
import { ListHeader } from "./ListHeader";
import { ListTable } from "./ListTable";
import type { ListRow, Page } from "./pages";
import { useHiddenThreads } from "./removal";
import { ThreadDrawer } from "./ThreadDrawer";
import { ThreadRow } from "./ThreadRow";
import { PAGE_ROWS, useList } from "./useList";
import { useTyped } from "./useTyped";
import "./threads.css";

const COLUMNS: readonly Word[] = [
  "threads.column.thread",
  "list.state",
  "list.agent",
  "list.owner",
  "threads.column.runs",
  "list.tokens",
  "list.time",
  "list.last",
  "list.actions",
];

export type ThreadRowData = ThreadLine & ListRow;

export default function Threads() {
  const t = useWords();
  const format = useFormat();
  const now = useNow();
  useShownThread(null);
  const [{ thread, ...filters }, change] = useFilters<Filter | "thread">();
  const isWide = useIsWide(DRAWER_WINDOW_PX);
  const [renamed, setRenamed] = useState<string | null>(null);
  const [typed, setTyped] = useTyped(filters.q ?? "", (q) => change({ q }));
  const { q, agent, state, owner, archived } = filters;
  const since = sinceOf(filters, now);
  const query: ThreadQuery = useMemo(
    () => ({ q, agent, state, owner, since, archived }),
    [q, agent, state, owner, since, archived],
  );
  const key = useMemo(() => ["threads", query], [query]);
  const read = useCallback((after?: string, signal?: AbortSignal) => readPage(query, after, signal), [query]);
  const hidden = useHiddenThreads();
  const list = useList(
    key,
    read,
    useCallback((row: ThreadRowData) => !hidden.has(row.id), [hidden]),
  );
  const isFiltered = Object.values(filters).some(Boolean);
  return (
    <>
      <ListHeader />
      <div className="list-bar">
        <SearchBox name={t("list.search")} placeholder={t("threads.searchHint")} value={typed} onChange={setTyped} />
        <Filters>
          <Select name={t("list.archived")} value={archived} onChange={(value) => change({ archived: value })}>
            <option value="">{t("list.notArchived")}</option>
            <option value="true">{t("list.onlyArchived")}</option>
          </Select>
        </Filters>
        <span className="list-count muted" role="status">
          {list.total !== null &&
            t(list.total === 1 ? "threads.one" : "threads.count", { count: format.number(list.total) })}
        </span>
      </div>
      <div className="list-and-drawer">
        <ListTable
          name={t("threads.title")}
          className="threads"
          columns={COLUMNS}
          list={list}
          empty={<Empty isFiltered={isFiltered} />}
        >
          {(row, place) => (
            <ThreadRow
              key={row.id}
              row={row}
              place={place}
              now={now}
              isArchived={archived === "true"}
              isSelected={isWide && row.id === thread}
              onSelect={isWide ? () => change({ thread: row.id }) : null}
              isRenaming={row.id === renamed}
              onRename={(isRenaming) => setRenamed(isRenaming ? row.id : null)}
            />
          )}
        </ListTable>
        {isWide && thread && (
          <ThreadDrawer
            key={thread}
            thread={thread}
            onRename={() => setRenamed(thread)}
            onClose={() => change({ thread: "" })}
          />
        )}
      </div>
    </>
  );
}

async function readPage(query: ThreadQuery, after?: string, signal?: AbortSignal): Promise<Page<ThreadRowData>> {
  const { threads, next, total = null } = await getThreads({ ...query, after, limit: PAGE_ROWS }, signal);
  return { rows: threads.map((row) => ({ ...row, stamp: row.updated_at })), next, total };
}
