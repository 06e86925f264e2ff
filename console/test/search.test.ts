import { expect, test } from "vitest";
import type { Entry } from "../src/log/events";
import { findEntries, lineOf, summarize } from "../src/parts/timeline/search";

const entry = (id: string, text: string): Entry => ({
  run: "r",
  id,
  event: { type: "TextDelta", message_id: "m", text },
});
const ENTRIES = [entry("1-1", "Good day"), entry("1-2", "a (b)*"), entry("1-3", "主机上有漏洞")];
const found = (query: string) => findEntries(ENTRIES, query).map((one) => one.id);

test("entries are found by their text in any case, by two characters, and by their id", () => {
  expect(found("")).toEqual(["1-1", "1-2", "1-3"]);
  expect(found("gOOD")).toEqual(["1-1"]);
  expect(found("漏洞")).toEqual(["1-3"]);
  expect(found("1-2")).toEqual(["1-2"]);
  expect(found("(b)*")).toEqual(["1-2"]);
  expect(found("nothing")).toEqual([]);
});

test("the line of a long entry shows the place that was found", () => {
  const long = entry("1-4", `${"x".repeat(1000)}needle`);

  expect(summarize(long, "needle")).toContain("needle");
  expect(summarize(long, "")).not.toContain("needle");
});

test("a line of the raw log is the JSON that the server sends", () => {
  expect(JSON.parse(lineOf(entry("1-5", 'a "word"')))).toEqual({
    id: "1-5",
    event: { type: "TextDelta", message_id: "m", text: 'a "word"' },
  });
});
