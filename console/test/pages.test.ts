import { expect, test } from "vitest";
import { changeRow, mergeHead, removeRow, rowsOfPages, type Page, type Pages } from "../src/screens/threads/pages";

interface Row {
  id: string;
  stamp: string;
  name?: string;
}
const row = (id: string, stamp: number): Row => ({ id, stamp: String(stamp) });
const page = (rows: Row[], next: string | null, total = 9): Page<Row> => ({ rows, next, total });
const pages = (...all: Page<Row>[]): Pages<Row> => ({ pages: all, pageParams: all.map(() => "") });
const ids = (list: Pages<Row>) => rowsOfPages(list).map((one) => one.id);

const LIST = pages(
  page([row("a", 9), row("b", 8)], "8/b"),
  page([row("c", 7), row("d", 6)], "6/d"),
  page([row("e", 5), row("f", 4)], "4/f"),
);

test("a row that has changed moves to the top, and nothing is lost or doubled", () => {
  const merged = mergeHead(LIST, page([row("e", 10), row("a", 9)], "9/a"));

  expect(ids(merged)).toEqual(["e", "a", "b", "c", "d", "f"]);
  expect(merged.pages.at(-1)?.next).toBe("4/f");
});

test("a new row comes first, and a deleted one goes", () => {
  const merged = mergeHead(LIST, page([row("new", 11), row("b", 8)], "8/b", 10));

  expect(ids(merged)).toEqual(["new", "b", "c", "d", "e", "f"]);
  expect(merged.pages[0]?.total).toBe(10);
});

test("a first page without a next one is the whole list", () => {
  expect(ids(mergeHead(LIST, page([row("a", 9)], null)))).toEqual(["a"]);
  expect(ids(mergeHead(LIST, page([], null)))).toEqual([]);
});

test("a list of one page continues where it ended", () => {
  const one = pages(page([row("a", 9), row("b", 8)], "8/b"));
  const merged = mergeHead(one, page([row("new", 10), row("a", 9)], "9/a"));

  expect(ids(merged)).toEqual(["new", "a", "b"]);
  expect(merged.pages.at(-1)?.next).toBe("8/b");
});

test("a row can be changed and removed on every page", () => {
  const renamed = changeRow(LIST, "d", { name: "other" });
  const removed = removeRow(LIST, "d");

  expect(rowsOfPages(renamed).find((one) => one.id === "d")?.name).toBe("other");
  expect(ids(removed)).toEqual(["a", "b", "c", "e", "f"]);
  expect(removed.pages[1]?.total).toBe(8);
});
