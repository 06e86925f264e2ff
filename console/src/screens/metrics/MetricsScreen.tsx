import { useMemo } from "react";
import { useAgents, useMe } from "../../api/queries";
import { UNKNOWN, useFormat } from "../../format";
import { useFilters } from "../../location";
import { useShownThread } from "../../log/LiveProvider";
import { Header } from "../../parts/Header";
import { Notice } from "../../parts/Notice";
import { useWords } from "../../words";
import { useMetrics, WINDOWS, type Metrics, type Window } from "./api";
import { ChartCard } from "./ChartCard";
import { buildCharts, sumUp } from "./charts";
import { useMetricsWords } from "./words";
import "./metrics.css";

/** Runs, times, tokens, cost and errors over time. */
export default function MetricsScreen() {
  const t = useMetricsWords();
  const common = useWords();
  useShownThread(null);
  const mayWatch = Boolean(useMe().data?.rights.watch);
  const agents = useAgents().data ?? [];
  const [{ window: chosen, agent = "" }, setFilters] = useFilters<"window" | "agent">();
  const window = WINDOWS.find((one) => one === chosen) ?? "1h";
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
                {agents.map(({ name }) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            )}
            <select
              className="field metrics-select"
              aria-label={t("metrics.window")}
              value={window}
              onChange={(event) => setFilters({ window: event.target.value as Window })}
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
        {metrics && <Charts metrics={metrics} />}
      </div>
    </>
  );
}

function Charts({ metrics }: { metrics: Metrics }) {
  const t = useMetricsWords();
  const format = useFormat();
  const charts = useMemo(() => buildCharts(metrics), [metrics]);
  const totals = useMemo(() => sumUp(metrics), [metrics]);
  return (
    <>
      <dl className="metric-totals">
        <Total name={t("metrics.total.runs")} value={format.number(totals.runs)} />
        <Total name={t("metrics.total.failed")} value={format.number(totals.failed)} />
        <Total name={t("metrics.running")} value={format.number(metrics.running)} />
        <Total
          name={t("metrics.total.tokens")}
          value={totals.tokens === null ? UNKNOWN : format.number(totals.tokens)}
        />
        <Total name={t("metrics.total.cost")} value={format.cost(totals.cost, metrics.currency)} />
      </dl>
      {metrics.since && <p className="muted">{t("metrics.since", { when: format.full(metrics.since) })}</p>}
      {totals.runs === 0 ? (
        <div className="welcome">
          <h2>{t("metrics.empty")}</h2>
          <p className="muted">{t("metrics.emptyHint")}</p>
        </div>
      ) : (
        <div className="charts">
          {charts.map((chart) => (
            <ChartCard key={chart.name} chart={chart} times={metrics.times} step={metrics.step} />
          ))}
        </div>
      )}
    </>
  );
}

function Total({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
