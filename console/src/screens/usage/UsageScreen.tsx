import { useMemo } from "react";
import { useFormat } from "../../format";
import { useFilters } from "../../location";
import { useShownThread } from "../../log/LiveProvider";
import { ChartCard } from "../../parts/chart/ChartCard";
import { DAY_S } from "../../parts/chart/ticks";
import { Totals } from "../../parts/chart/Totals";
import { Header } from "../../parts/Header";
import { Notice } from "../../parts/Notice";
import { useRange } from "../../range";
import { useWords } from "../../words";
import { GROUPS, daysOf, PERIODS, useUsage, type Period, type Group, type UsageAnswer } from "./api";
import { GroupTable } from "./GroupTable";
import { LimitList } from "./LimitList";
import { NotCounted } from "./NotCounted";
import { buildCharts, COUNTS, listDays, sumUp, timeOf, type SeriesName } from "./sums";
import { useUsageWords } from "./words";
import "./usage.css";

/** What users, agents, models and keys used, by day, and what is left of the limits. */
export default function UsageScreen() {
  const t = useUsageWords();
  const common = useWords();
  useShownThread(null);
  const [{ by: chosen }, setFilters] = useFilters<"by">();
  const [range, setRange] = useRange(PERIODS, "30d");
  const by = GROUPS.find((one) => one === chosen) ?? "user";
  const { data: usage, isError, refetch } = useUsage(by, range);
  if (isError) return <Notice text={common("error.unreachable")} onRetry={() => void refetch()} />;
  return (
    <>
      <Header title={t("usage.title")}>
        {usage?.is_counted && (
          <>
            <select
              className="field usage-select"
              aria-label={t("usage.by")}
              value={by}
              onChange={(event) => setFilters({ by: event.target.value as Group })}
            >
              {GROUPS.map((one) => (
                <option key={one} value={one}>
                  {t(`usage.by.${one}`)}
                </option>
              ))}
            </select>
            <select
              className="field usage-select"
              aria-label={t("usage.days")}
              value={range}
              onChange={(event) => setRange(event.target.value as Period)}
            >
              {PERIODS.map((one) => (
                <option key={one} value={one}>
                  {t(`usage.days.${daysOf(one)}`)}
                </option>
              ))}
            </select>
          </>
        )}
      </Header>
      <div className="page usage">
        {usage && !usage.is_counted && <NotCounted />}
        {usage?.is_counted && (
          <>
            {!usage.is_everyone && <p className="muted">{t("usage.own")}</p>}
            <Sums usage={usage} />
            <LimitList currency={usage.currency} />
          </>
        )}
      </div>
    </>
  );
}

function Sums({ usage }: { usage: UsageAnswer }) {
  const t = useUsageWords();
  const format = useFormat();
  const days = useMemo(() => listDays(usage), [usage]);
  const times = useMemo(() => days.map(timeOf), [days]);
  const charts = useMemo(() => buildCharts(usage, days), [usage, days]);
  const totals = useMemo(() => sumUp(usage.days), [usage]);
  if (usage.days.length === 0) {
    return (
      <div className="welcome">
        <h2>{t("usage.empty")}</h2>
        <p className="muted">{t("usage.emptyHint")}</p>
      </div>
    );
  }
  return (
    <>
      <Totals
        values={COUNTS.map((name) => [
          t(`usage.count.${name}`),
          name === "cost" ? format.cost(totals.cost, usage.currency) : format.number(totals[name]),
        ])}
      />
      <div className="charts">
        {charts.map((chart) => (
          <ChartCard
            key={chart.name}
            chart={chart}
            title={t(`usage.chart.${chart.name}`, { timezone: usage.timezone })}
            nameOf={(line) => t(`usage.series.${line.name as SeriesName}`)}
            times={times}
            step={DAY_S}
          />
        ))}
      </div>
      <GroupTable usage={usage} />
    </>
  );
}
