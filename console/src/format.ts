/** Numbers, durations, money and times of day, in the user's language. */
import { useSettings, type Language } from "./settings";
import { translator } from "./words";

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
export const UNKNOWN = "–";

export interface Format {
  number(value: number): string;
  /** A share of 1, in percent. */
  share(value: number): string;
  /** Of milliseconds: `620 ms`, `1.2 s`, `41 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`. */
  duration(milliseconds: number): string;
  /** A duration on an axis whose ticks are `step` milliseconds apart. */
  tick(milliseconds: number, step: number): string;
  /** In the currency of the server's prices; null is unknown. */
  cost(value: number | null, currency?: string): string;
  /** The time of day if it was today, else the date. */
  when(iso: string | null | undefined, now: number): string;
  /** How long ago: `5 minutes ago`, `2 days ago`. */
  ago(iso: string, now: number): string;
  /** Date and time. */
  full(iso: string | null | undefined): string;
}

export const useFormat = (): Format => format(useSettings().language);

const formats = new Map<Language, Format>(); // making one takes longer than formatting a screen of numbers

export function format(language: Language): Format {
  const known = formats.get(language) ?? makeFormat(language);
  formats.set(language, known);
  return known;
}

function makeFormat(language: Language): Format {
  const plain = new Intl.NumberFormat(language);
  const percent = new Intl.NumberFormat(language, { style: "percent" });
  const time = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const day = new Intl.DateTimeFormat(language, { day: "numeric", month: "short" });
  const date = new Intl.DateTimeFormat(language, { day: "numeric", month: "short", year: "numeric" });
  const full = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
  const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  const t = translator(language);
  const tenths = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });

  return {
    number: (value) => plain.format(value),
    share: (value) => percent.format(value),
    duration(milliseconds) {
      const ms = Math.round(milliseconds);
      if (ms < SECOND_MS) return t("unit.ms", { count: ms });
      if (ms < 10 * SECOND_MS) return t("unit.s", { count: tenths.format(Math.floor(ms / 100) / 10) });
      const seconds = t("unit.s", { count: Math.floor((ms % MINUTE_MS) / SECOND_MS) });
      const minutes = t("unit.min", { count: Math.floor((ms % HOUR_MS) / MINUTE_MS) });
      const hours = t("unit.h", { count: Math.floor((ms % DAY_MS) / HOUR_MS) });
      if (ms < MINUTE_MS) return seconds;
      if (ms < HOUR_MS) return `${minutes} ${seconds}`;
      if (ms < DAY_MS) return `${hours} ${minutes}`;
      return `${t("unit.d", { count: plain.format(Math.floor(ms / DAY_MS)) })} ${hours}`;
    },
    tick(milliseconds, step) {
      if (milliseconds >= MINUTE_MS) return this.duration(milliseconds);
      if (step < 100) return t("unit.ms", { count: Math.round(milliseconds) });
      const seconds = milliseconds / SECOND_MS;
      return t("unit.s", { count: step < SECOND_MS ? tenths.format(seconds) : Math.round(seconds) });
    },
    cost(value, currency = "USD") {
      if (value === null) return UNKNOWN;
      const digits = value === 0 || value >= 1 ? 2 : Math.min(8, 1 - Math.floor(Math.log10(value))); // two that count
      const options = { minimumFractionDigits: 2, maximumFractionDigits: Math.max(2, digits) };
      try {
        return new Intl.NumberFormat(language, { style: "currency", currency, ...options }).format(value);
      } catch {
        return `${new Intl.NumberFormat(language, options).format(value)} ${currency}`; // no ISO 4217 code
      }
    },
    when(iso, now) {
      if (!iso) return UNKNOWN;
      const then = new Date(iso);
      const today = new Date(now);
      if (then.toDateString() === today.toDateString()) return time.format(then);
      return (then.getFullYear() === today.getFullYear() ? day : date).format(then);
    },
    ago(iso, now) {
      const seconds = Math.max(0, now - Date.parse(iso)) / SECOND_MS;
      if (seconds < 60) return relative.format(0, "second");
      if (seconds < 3600) return relative.format(-Math.floor(seconds / 60), "minute");
      if (seconds < 86_400) return relative.format(-Math.floor(seconds / 3600), "hour");
      return relative.format(-Math.floor(seconds / 86_400), "day");
    },
    full: (iso) => (iso ? full.format(new Date(iso)) : ""),
  };
}
