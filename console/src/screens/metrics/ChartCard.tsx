import { useFormat, UNKNOWN } from "../../format";
import { hasValues, sum, tableRows, type Chart, type Line } from "./charts";
import { Plot } from "./Plot";
import { useMetricsWords, type TranslateMetrics } from "./words";

interface Props {
  chart: Chart;
  times: number[];
  step: number;
}

/** A chart: its picture, a legend, and the numbers in a table. */
export function ChartCard({ chart, times, step }: Props) {
  const t = useMetricsWords();
  const format = useFormat();
  const title = t(`metrics.chart.${chart.name}`);
  const lines = chart.lines ?? [];
  const isSum = chart.shape === "bars" || chart.name === "tokens";
  return (
    <section className="chart" data-testid="chart" data-series={chart.name} aria-label={title}>
      <h2>{title}</h2>
      {chart.lines === null && <p className="muted">{t("metrics.onlyDay")}</p>}
      {chart.lines !== null && !hasValues(lines) && <p className="muted">{t("metrics.none")}</p>}
      {hasValues(lines) && (
        <>
          <Plot chart={chart} lines={lines} times={times} step={step} label={t("metrics.picture", { title })} />
          <ul className="legend">
            {lines.map((line) => (
              <li key={line.name}>
                {/* The style is set by script, which the page's policy allows. */}
                <span className="swatch" style={{ background: `var(${line.color})` }} />
                {nameOf(line, t)}
                {isSum && <strong>{chart.show(sum(line.values), format)}</strong>}
              </li>
            ))}
          </ul>
        </>
      )}
      {chart.lines !== null && <Numbers chart={chart} lines={lines} times={times} title={title} />}
    </section>
  );
}

interface NumbersProps {
  chart: Chart;
  lines: Line[];
  times: number[];
  title: string;
}

function Numbers({ chart, lines, times, title }: NumbersProps) {
  const t = useMetricsWords();
  const format = useFormat();
  return (
    <details>
      <summary>{t("metrics.numbers")}</summary>
      {/* It scrolls, so it can have the focus. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className="numbers" role="region" aria-label={title} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t("metrics.time")}</th>
              {lines.map((line) => (
                <th key={line.name} scope="col" data-series={line.name}>
                  {nameOf(line, t)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {tableRows(lines, times).map((row) => (
              <tr key={row.time}>
                <th scope="row">{format.full(new Date(row.time * 1000).toISOString())}</th>
                {row.values.map((value, index) => (
                  <td key={lines[index]?.name} data-value={value ?? ""}>
                    {value === null ? UNKNOWN : chart.show(value, format)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

const nameOf = (line: Line, t: TranslateMetrics) =>
  line.isWord ? t(`metrics.series.${line.name as "done"}`) : line.name;
