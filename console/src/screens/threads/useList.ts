/** A list that reads its next page when its end comes into view, and its first page again when something has changed. */
import { keepPreviousData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";
import { useLive } from "../../log/LiveProvider";
import { useRows } from "../../parts/useRows";
import { mergeHead, rowsOfPages, type ListRow, type Page, type Pages } from "./pages";

export const PAGE_ROWS = 100;
const ROW_PX = 56;
const NEAR_END_ROWS = 30;
/** Other servers of a fleet send no news to this one. */
const REFRESH_MS = 10_000;
const NEWS_DELAY_MS = 250;

export function useList<Row extends ListRow>(
  key: readonly unknown[],
  read: (after: string | undefined, signal?: AbortSignal) => Promise<Page<Row>>,
  isShown: (row: Row) => boolean,
) {
  const list = useInfiniteQuery<Page<Row>, Error, Pages<Row>, readonly unknown[], string>({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => read(pageParam || undefined, signal),
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false, // it would read all pages again
  });
  const rows = useMemo(() => rowsOfPages(list.data).filter(isShown), [list.data, isShown]);
  const { box, rows: visible, height } = useRows(rows.length, ROW_PX);
  const { hasNextPage, isFetching, isError, fetchNextPage } = list;
  const isNearEnd = (visible.at(-1)?.index ?? 0) >= rows.length - NEAR_END_ROWS;
  useEffect(() => {
    if (isNearEnd && hasNextPage && !isFetching && !isError) void fetchNextPage();
  }, [isNearEnd, hasNextPage, isFetching, isError, fetchNextPage]);
  useRefresh(key, read, box);
  return { box, list, rows, visible, height, total: totalOf(list.data, rows.length) };
}

/** Reads the first page again, while it is in view. */
function useRefresh<Row extends ListRow>(
  key: readonly unknown[],
  read: (after: string | undefined) => Promise<Page<Row>>,
  box: React.RefObject<HTMLDivElement | null>,
): void {
  const queries = useQueryClient();
  const live = useLive();
  const refresh = useCallback(async () => {
    if (document.hidden || (box.current?.scrollTop ?? 0) > 0 || queries.isFetching({ queryKey: key, exact: true }))
      return;
    const head = await read(undefined).catch(() => null); // the next time may succeed; the connection tells
    if (head) queries.setQueryData<Pages<Row>>(key, (pages) => pages && mergeHead(pages, head));
  }, [queries, key, read, box]);
  useEffect(() => {
    let soon: ReturnType<typeof setTimeout> | undefined;
    const timer = setInterval(() => void refresh(), REFRESH_MS);
    const unsubscribe = live.onNews((news) => {
      if (news !== "run" && news !== "thread" && news !== "reconnected") return;
      clearTimeout(soon);
      soon = setTimeout(() => void refresh(), NEWS_DELAY_MS);
    });
    const onVisible = () => void refresh();
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      clearInterval(timer);
      clearTimeout(soon);
      unsubscribe();
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, [live, refresh]);
}

/** A search does not count; when its last page is there, its rows are counted here. */
function totalOf<Row>(pages: Pages<Row> | undefined, rows: number): number | null {
  return pages?.pages[0]?.total ?? (pages?.pages.at(-1)?.next === null ? rows : null);
}
