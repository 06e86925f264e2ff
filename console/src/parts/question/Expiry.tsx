import { useSettings } from "../../settings";
import { useNow } from "../../useNow";
import { useWords } from "../../words";

const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

export function Expiry({ at }: { at: string }) {
  const t = useWords();
  const { language } = useSettings();
  const left = Date.parse(at) - useNow();
  const [unit, size] = UNITS.find(([, milliseconds]) => left >= milliseconds) ?? UNITS[2];
  const when = new Intl.RelativeTimeFormat(language).format(Math.max(1, Math.round(left / size)), unit);
  return (
    <time className="expiry" dateTime={at}>
      {t("question.expires", { when })}
    </time>
  );
}

export const isExpired = (at: string | null) => at !== null && Date.parse(at) < Date.now();
