/** Searches the text of log entries, whatever its case. */
import type { Entry } from "../../log/events";

const MAX_SUMMARY = 300;
const BEFORE_MATCH = 30;
const texts = new WeakMap<Entry, string>(); // of entries that were searched

export function textOf(entry: Entry): string {
  const known = texts.get(entry);
  if (known !== undefined) return known;
  const text = JSON.stringify(entry.event);
  texts.set(entry, text);
  return text;
}

/** As the server sends it. */
export const lineOf = (entry: Entry): string => `{"id":${JSON.stringify(entry.id)},"event":${textOf(entry)}}`;

export function findEntries(entries: readonly Entry[], query: string): readonly Entry[] {
  if (query === "") return entries;
  const pattern = matcher(query);
  return entries.filter((entry) => pattern.test(textOf(entry)) || pattern.test(entry.id));
}

/** The fields of the event in one line; if something is searched, from shortly before its place on. */
export function summarize(entry: Entry, query: string): string {
  const values = Object.entries(entry.event).filter(([name, value]) => name !== "type" && value != null);
  const text = values.map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  const line = text.join("  ");
  const at = query === "" ? -1 : line.search(matcher(query));
  const from = at > BEFORE_MATCH ? at - BEFORE_MATCH : 0;
  return (from > 0 ? "…" : "") + line.slice(from, from + MAX_SUMMARY);
}

const matcher = (query: string) => new RegExp(query.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
