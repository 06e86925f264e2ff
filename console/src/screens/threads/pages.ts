/** The pages of a list, which are read one after the other: each names where the next one begins. */
import type { InfiniteData } from "@tanstack/react-query";

export interface Page<Row> {
  rows: Row[];
  next: string | null;
  /** Of all pages; null if it is unknown. */
  total: number | null;
}

export type Pages<Row> = InfiniteData<Page<Row>, string>;

export interface ListRow {
  id: string;
  /** By which the list is ordered, the latest first. */
  stamp: string;
}

/**
 * Puts a first page that was read anew before the rows that are known.
 *
 * A changed row moves to the top, so reading one page is enough, however far the reader has scrolled. Rows that the new
 * page should have and does not are gone.
 */
export function mergeHead<Row extends ListRow>(pages: Pages<Row>, head: Page<Row>): Pages<Row> {
  const last = head.rows.at(-1);
  const end = pages.pages.at(-1);
  if (head.next === null || !last || !end) return { pages: [head], pageParams: [""] };
  const ids = new Set(head.rows.map((row) => row.id));
  const rest = rowsOfPages(pages).filter((row) => !ids.has(row.id) && row.stamp <= last.stamp);
  if (rest.length === 0) return { pages: [head], pageParams: [""] };
  return { pages: [head, { ...end, rows: rest }], pageParams: ["", head.next] };
}

export const rowsOfPages = <Row>(pages: Pages<Row> | undefined) => pages?.pages.flatMap((page) => page.rows) ?? [];

export function changeRow<Row extends ListRow>(pages: Pages<Row>, id: string, change: Partial<Row>): Pages<Row> {
  const update = (row: Row) => (row.id === id ? { ...row, ...change } : row);
  return { ...pages, pages: pages.pages.map((page) => ({ ...page, rows: page.rows.map(update) })) };
}

export function removeRow<Row extends ListRow>(pages: Pages<Row>, id: string): Pages<Row> {
  const without = (page: Page<Row>) => {
    const rows = page.rows.filter((row) => row.id !== id);
    return { ...page, rows, total: page.total === null ? null : page.total - (page.rows.length - rows.length) };
  };
  return { ...pages, pages: pages.pages.map(without) };
}
