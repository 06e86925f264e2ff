import { useMemo } from "react";
import { useKnownAgents, useMe } from "../../api/queries";
import { UNKNOWN, useFormat } from "../../format";
import { useFilters } from "../../location";
import { useShownThread } from "../../log/LiveProvider";
import { ChartCard } from "../../parts/chart/ChartCard";
import { Totals } from "../../parts/chart/Totals";
import { Header } from "../../parts/Header";
import { Notice } from "../../parts/Notice";
import { useRange } from "../../range";
import { useWords } from "../../words";
import { useMetrics, WINDOWS, type Metrics, type Window } from "./api";
import { buildCharts, rowsOf, sumUp } from "./charts";
import { VoteCharts } from "./VoteCharts";
import { useMetricsWords } from "./words";
import "./metrics.css";

/** Runs, times, tokens, cost and errors over time. */
export default function MetricsScreen() {
  const t = useMetricsWords();
  const common = useWords();
  useShownThread(null);
  const mayWatch = Boolean(useMe().data?.rights.watch);
  const agents = useKnownAgents();
  const [{ agent = "" }, setFilters] = useFilters<"agent">();
  const [window, setWindow] = useRange(WINDOWS, "1h");
  const { data: metrics, isError, refetch } = useMetrics(window, agent, mayWatch);
  if (isError) return <Notice text={common("error.unreachable")} onRetry={() => void refetch()} />;
  return (
    <>
      <Header title={t("metrics.title")}>
        {mayWatch && (
          <>
            {agents.length > 1 && (
              <select
                className="field metrics-select"
                aria-label={t("metrics.agent")}
                value={agent}
                onChange={(event) => setFilters({ agent: event.target.value })}
              >
                <option value="">{t("metrics.anyAgent")}</option>
                {agents.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            )}
            <select
              className="field metrics-select"
              aria-label={t("metrics.window")}
              value={window}
              onChange={(event) => setWindow(event.target.value as Window)}
            >
              {WINDOWS.map((one) => (
                <option key={one} value={one}>
                  {t(`metrics.window.${one}`)}
                </option>
              ))}
            </select>
          </>
        )}
      </Header>
      <div className="page metrics">
        {!mayWatch && (
          <div className="welcome">
            <h2>{t("metrics.noRight")}</h2>
            <p className="muted">{t("metrics.noRightHint")}</p>
          </div>
        )}
        {metrics && <Charts metrics={metrics} window={window} agent={agent} />}
        {mayWatch && <VoteCharts window={window} agent={agent} />}
      </div>
    </>
  );
}

function Charts({ metrics, window, agent }: { metrics: Metrics; window: Window; agent: string }) {
  const t = useMetricsWords();
  const format = useFormat();
  const charts = useMemo(() => buildCharts(metrics), [metrics]);
  const totals = useMemo(() => sumUp(metrics), [metrics]);
  return (
    <>
      <Totals
        values={[
          [t("metrics.total.runs"), format.number(totals.runs)],
          [t("metrics.total.failed"), format.number(totals.failed)],
          [t("metrics.running"), format.number(metrics.running)],
          [t("metrics.total.tokens"), totals.tokens === null ? UNKNOWN : format.number(totals.tokens)],
          [t("metrics.total.cost"), format.cost(totals.cost, metrics.currency)],
        ]}
      />
      {metrics.since && <p className="muted">{t("metrics.since", { when: format.full(metrics.since) })}</p>}
      {totals.runs === 0 ? (
        <div className="welcome">
          <h2>{t("metrics.empty")}</h2>
          <p className="muted">{t("metrics.emptyHint")}</p>
        </div>
      ) : (
        <div className="charts">
          {charts.map((chart) => (
            <ChartCard
              key={chart.name}
              chart={chart}
              title={t(`metrics.chart.${chart.name}`)}
              rowsOf={(line) => rowsOf(chart.name, line, { range: window, ...(agent && { agent }) })}
              nameOf={(line) => t(`metrics.series.${line.name as "done"}`)}
              whenUnknown={t("metrics.onlyDay")}
              times={metrics.times}
              step={metrics.step}
            />
          ))}
        </div>
      )}
    </>
  );
}
