/** A table whose rows are drawn only while they are in view. */
import type { ReactNode } from "react";
import { useWords, type Word } from "../../words";
import type { ListRow } from "./pages";
import type { useList } from "./useList";

interface Props<Row extends ListRow> {
  name: string;
  className: string;
  columns: readonly Word[];
  list: ReturnType<typeof useList<Row>>;
  empty: ReactNode;
  children: (row: Row, place: RowPlace) => ReactNode;
}

/** What every row has: its number in the table, from 2 on, since the head is the first; and where it is drawn. */
export interface RowPlace {
  "aria-rowindex": number;
  style: { transform: string };
}

export function ListTable<Row extends ListRow>({ name, className, columns, list, empty, children }: Props<Row>) {
  const t = useWords();
  const { box, rows, visible, height, total } = list;
  const { isPending, isPlaceholderData, isError, error, isFetchNextPageError, fetchNextPage, refetch } = list.list;
  const isEmpty = rows.length === 0 && !isPending && !isError && !list.list.hasNextPage;
  return (
    <div className={`list ${className}`} ref={box}>
      <div
        role="table"
        aria-label={name}
        aria-rowcount={total === null ? -1 : total + 1}
        aria-busy={isPending || isPlaceholderData}
      >
        <div role="rowgroup" className="list-head">
          <div role="row" aria-rowindex={1}>
            {columns.map((column) => (
              <span key={column} role="columnheader">
                {t(column)}
              </span>
            ))}
          </div>
        </div>
        <div role="rowgroup" className="list-rows" style={{ height: height }}>
          {visible.map(({ index, top }) => {
            const row = rows[index];
            const place = { "aria-rowindex": index + 2, style: { transform: `translateY(${top}px)` } };
            return row && children(row, place);
          })}
        </div>
      </div>
      {isPending && <p className="list-note muted">{t("list.loading")}</p>}
      {isError && (
        <p className="list-note problem" role="alert">
          {error.message}{" "}
          <button
            type="button"
            className="link"
            onClick={() => void (isFetchNextPageError ? fetchNextPage() : refetch())}
          >
            {t("error.retry")}
          </button>
        </p>
      )}
      {list.list.isFetchingNextPage && <p className="list-note muted">{t("list.loading")}</p>}
      {isEmpty && empty}
    </div>
  );
}
