import { useMemo } from "react";
import { useFormat } from "../../format";
import { ChartCard } from "../../parts/chart/ChartCard";
import { Totals } from "../../parts/chart/Totals";
import { DAY_S } from "../../parts/chart/ticks";
import { useVoteCounts } from "../../parts/feedback/api";
import { useFeedbackWords } from "../../parts/feedback/words";
import { useNow } from "../../useNow";
import { REFRESH_MS, type Window } from "./api";
import { bucketOf, bucketTimes, buildVoteCharts, HOUR_S } from "./voteCharts";

const SECONDS: Record<Window, number> = { "1h": HOUR_S, "24h": DAY_S, "7d": 7 * DAY_S, "30d": 30 * DAY_S };

/** What users think of the answers of the period; nothing if nobody has voted. */
export function VoteCharts({ window, agent }: { window: Window; agent: string }) {
  const t = useFeedbackWords();
  const format = useFormat();
  const bucket = bucketOf(SECONDS[window]);
  const step = bucket === "day" ? DAY_S : HOUR_S;
  const times = useTimes(SECONDS[window], step);
  const since = new Date((times[0] ?? 0) * 1000).toISOString();
  const counts = useVoteCounts(bucket, since, agent, REFRESH_MS).data;
  const unknown = t("feedback.unknown");
  const charts = useMemo(() => counts && buildVoteCharts(counts, times, unknown), [counts, times, unknown]);
  if (!charts || !counts?.length) return null;
  const total = (value: "up" | "down") => counts.reduce((sum, count) => sum + count[value], 0);
  return (
    <section className="vote-charts" aria-label={t("feedback.title")}>
      <h2>{t("feedback.title")}</h2>
      <Totals
        values={[
          [t("feedback.line.up"), format.number(total("up"))],
          [t("feedback.line.down"), format.number(total("down"))],
        ]}
      />
      <div className="charts">
        {charts.map((chart) => (
          <ChartCard
            key={chart.name}
            chart={chart}
            title={t(`feedback.${chart.name}`)}
            nameOf={(line) => t(`feedback.line.${line.name as "up"}`)}
            times={times}
            step={step}
          />
        ))}
      </div>
    </section>
  );
}

/** They change when an hour or a day has ended, not with every render. */
function useTimes(seconds: number, step: number): number[] {
  const last = Math.floor(useNow() / 1000 / step) * step;
  return useMemo(() => bucketTimes(last * 1000, seconds, step), [last, seconds, step]);
}
