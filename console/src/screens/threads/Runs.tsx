import { useCallback, useMemo } from "react";
import { Link } from "wouter";
import { getRuns } from "../../api/client";
import { useFlows, useMe } from "../../api/queries";
import type { RunLine, RunQuery } from "../../api/types";
import { UNKNOWN, useFormat } from "../../format";
import { useFilters } from "../../location";
import { useShownThread } from "../../log/LiveProvider";
import { VOTES, VoteMark } from "../../parts/feedback/VoteMark";
import { useFeedbackWords } from "../../parts/feedback/words";
import { useNow } from "../../useNow";
import { useWords, type Word } from "../../words";
import { describeCause } from "./causes";
import { Empty } from "./Empty";
import { Filters, Select, sinceOf, type Filter } from "./Filters";
import { ListHeader } from "./ListHeader";
import { ListTable, type RowPlace } from "./ListTable";
import type { ListRow, Page } from "./pages";
import { RunDrawer } from "./RunDrawer";
import { StopAll } from "./StopAll";
import { sumOf } from "./tokens";
import { PAGE_ROWS, useList } from "./useList";
import { useListWords } from "./words";
import "./threads.css";

const COLUMNS: readonly Word[] = [
  "runs.column.run",
  "list.state",
  "list.agent",
  "list.owner",
  "runs.column.modelCalls",
  "list.tokens",
  "list.time",
  "runs.column.waited",
  "runs.column.cost",
  "runs.column.began",
];

type RunRowData = RunLine & ListRow;

const isShown = () => true;

export default function Runs() {
  const t = useWords();
  const now = useNow();
  useShownThread(null);
  const [{ run, ...filters }, change] = useFilters<Filter | "run">();
  const { agent, state, owner, flow, feedback, code } = filters;
  const since = sinceOf(filters, now);
  const query: RunQuery = useMemo(
    () => ({ agent, outcome: state, owner, since, flow, feedback, code }),
    [agent, state, owner, since, flow, feedback, code],
  );
  const key = useMemo(() => ["runs", query], [query]);
  const read = useCallback((after?: string, signal?: AbortSignal) => readPage(query, after, signal), [query]);
  const list = useList(key, read, isShown);
  return (
    <>
      <ListHeader />
      <div className="list-bar">
        <Filters>
          <VoteSelect value={feedback} onChange={(value) => change({ feedback: value })} />
          <CauseSelect
            value={code}
            rows={list.rows}
            onChange={(value) => change({ code: value, ...(value && { state: "failed" }) })}
          />
          <FlowSelect value={flow} onChange={(value) => change({ flow: value })} />
          <StopAll query={query} rows={list.rows} />
        </Filters>
      </div>
      <div className="list-and-drawer">
        <ListTable
          name={t("runs.title")}
          className="runs"
          columns={COLUMNS}
          list={list}
          empty={<Empty isFiltered={Object.values(filters).some(Boolean)} />}
        >
          {(row, place) => (
            <RunRow
              key={row.id}
              row={row}
              place={place}
              now={now}
              isSelected={row.id === run}
              onSelect={() => change({ run: row.id })}
            />
          )}
        </ListTable>
        {run && <RunDrawer key={run} run={run} onClose={() => change({ run: "" })} />}
      </div>
    </>
  );
}

function VoteSelect({ value, onChange }: { value: string | undefined; onChange: (vote: string) => void }) {
  const t = useFeedbackWords();
  return (
    <Select name={t("feedback.title")} value={value} onChange={onChange}>
      <option value="">{t("feedback.any")}</option>
      {VOTES.map((vote) => (
        <option key={vote} value={vote}>
          {t(`feedback.${vote}`)}
        </option>
      ))}
    </Select>
  );
}

/** The causes of the failed runs that are in the list, and the one of the address. */
function CauseSelect({
  value,
  rows,
  onChange,
}: {
  value: string | undefined;
  rows: readonly RunRowData[];
  onChange: (code: string) => void;
}) {
  const t = useListWords();
  const listed = rows.flatMap((row) => (row.error ? [row.error.code] : []));
  const codes = [...new Set([...(value ? [value] : []), ...listed])].sort();
  if (codes.length === 0) return null;
  return (
    <Select name={t("cause.name")} value={value} onChange={onChange}>
      <option value="">{t("cause.any")}</option>
      {codes.map((code) => (
        <option key={code} value={code}>
          {describeCause(code, t)}
        </option>
      ))}
    </Select>
  );
}

/** Flows that the user may run, and the one of the address. */
function FlowSelect({ value, onChange }: { value: string | undefined; onChange: (flow: string) => void }) {
  const t = useWords();
  const known = (useFlows().data ?? []).map(({ plugin, flow }) => `${plugin}.${flow}`);
  const names = value && !known.includes(value) ? [...known, value] : known;
  if (names.length === 0) return null;
  return (
    <Select name={t("runs.flow")} value={value} onChange={onChange}>
      <option value="">{t("runs.anyFlow")}</option>
      {names.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </Select>
  );
}

interface RowProps {
  row: RunRowData;
  place: RowPlace;
  now: number;
  isSelected: boolean;
  onSelect: () => void;
}

function RunRow({ row, place, now, isSelected, onSelect }: RowProps) {
  const t = useWords();
  const own = useListWords();
  const format = useFormat();
  const me = useMe().data;
  const number = (value: number | null | undefined) => (value == null ? UNKNOWN : format.number(value));
  const duration = (value: number | null | undefined) => (value == null ? UNKNOWN : format.duration(value));
  return (
    <div
      className="list-row"
      role="row"
      data-testid="run"
      data-id={row.id}
      data-state={row.outcome}
      data-owner={row.owner}
      data-kept={row.kept ?? true}
      data-selected={isSelected || undefined}
      {...place}
    >
      <span role="cell" className="title-cell">
        {row.kept === false ? (
          <button type="button" className="row-link mono" title={row.id} onClick={onSelect}>
            {row.flow ?? row.id}
          </button>
        ) : (
          <Link
            to={`/threads/${encodeURIComponent(row.thread)}?run=${encodeURIComponent(row.id)}`}
            className="row-link mono"
            title={row.id}
          >
            {row.flow ?? row.id}
          </Link>
        )}
        <span className="row-note">
          {row.feedback && <VoteMark value={row.feedback} />}
          {row.kept === false && <span className="not-stored">{own("drawer.notStored")}</span>}
          {row.error && (
            <span className="state-chip cause" data-testid="cause" data-state="failed" title={row.error.code}>
              {row.error.message ?? describeCause(row.error.code, own)}
            </span>
          )}
          {!row.error && row.through && t("runs.through", { face: row.through })}
        </span>
      </span>
      <span role="cell">
        <span className="state-chip" data-state={row.outcome}>
          {t(`run.${row.outcome}`)}
        </span>
      </span>
      <span role="cell">{row.agent}</span>
      <span role="cell">{row.owner === me?.user ? t("list.you") : row.owner}</span>
      <span role="cell" className="number">
        {number(row.model_calls)}
      </span>
      <span role="cell" className="number">
        {number(sumOf(row.tokens))}
      </span>
      <span role="cell" className="number">
        {duration(row.milliseconds)}
      </span>
      <span role="cell" className="number" data-testid="run-waited" data-value={row.waited ?? undefined}>
        {duration(row.waited)}
      </span>
      <span role="cell" className="number">
        {format.cost(row.cost ?? null, me?.currency)}
      </span>
      <span role="cell" className="when" title={format.full(row.began_at)}>
        {format.when(row.began_at, now)}
      </span>
    </div>
  );
}

async function readPage(query: RunQuery, after?: string, signal?: AbortSignal): Promise<Page<RunRowData>> {
  const { runs, next } = await getRuns({ ...query, after, limit: PAGE_ROWS }, signal);
  return { rows: runs.map((row) => ({ ...row, stamp: row.began_at ?? "" })), next, total: null };
}
