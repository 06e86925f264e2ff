/** The time range of the operating screens. It stands in the address under one name, so that it stays from screen to screen. */
import { useFilters } from "./location";

const HOUR_MS = 3_600_000;
const HOURS = { "15m": 0.25, "1h": 1, "24h": 24, "7d": 168, "30d": 720, "90d": 2160, "365d": 8760 } as const;
export type Range = keyof typeof HOURS;

const isRange = (text: string | undefined): text is Range => text !== undefined && text in HOURS;

/** The range of the address as far as the screen has it: else the next longer one, or its longest. */
export function chooseRange<Own extends Range>(wanted: string | undefined, own: readonly Own[], fallback: Own): Own {
  if (!isRange(wanted)) return fallback;
  return own.find((range) => HOURS[range] >= HOURS[wanted]) ?? own.at(-1) ?? fallback;
}

export function useRange<Own extends Range>(own: readonly Own[], fallback: Own): [Own, (range: Own) => void] {
  const [{ range }, change] = useFilters<"range">();
  return [chooseRange(range, own, fallback), (chosen) => change({ range: chosen })];
}

/** The beginning of the range, in ISO 8601; undefined without one. */
export const beginOf = (range: string | undefined, now: number): string | undefined =>
  isRange(range) ? new Date(now - HOURS[range] * HOUR_MS).toISOString() : undefined;

/** What an address has to have so that the range of this screen stays. */
export function useRangeQuery(): string {
  const [{ range }] = useFilters<"range">();
  return isRange(range) ? `?range=${range}` : "";
}

/** The runs of everybody with these filters. */
export const runsAddress = (filters: Record<string, string>) =>
  `/runs?${new URLSearchParams({ owner: "*", ...filters }).toString()}`;
