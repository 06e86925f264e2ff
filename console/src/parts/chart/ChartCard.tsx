import { Link } from "wouter";
import { useFormat, UNKNOWN } from "../../format";
import { useSettings } from "../../settings";
import { hasValues, sum, tableRows, type Chart, type Line } from "./chart";
import { Plot } from "./Plot";
import { DAY_S } from "./ticks";
import { useChartWords } from "./words";
import "./chart.css";

interface Props {
  chart: Chart;
  title: string;
  /** The address of the rows that a line counts, if there is a list of them. */
  rowsOf?: (line: Line) => string | undefined;
  /** The text for a line whose name is a word. */
  nameOf: (line: Line) => string;
  /** Shown instead of a chart whose numbers are not known. */
  whenUnknown?: string;
  /** Starts of the points, in seconds since 1970, `step` seconds apart. */
  times: number[];
  step: number;
}

/** A chart: its picture, a legend, and the numbers in a table. */
export function ChartCard({ chart, title, rowsOf, nameOf, whenUnknown, times, step }: Props) {
  const t = useChartWords();
  const format = useFormat();
  const lines = chart.lines ?? [];
  const label = (line: Line) => (line.isWord ? nameOf(line) : line.name);
  return (
    <section className="chart" data-testid="chart" data-series={chart.name} aria-label={title}>
      <h2>{title}</h2>
      {chart.lines === null && <p className="muted">{whenUnknown}</p>}
      {chart.lines !== null && !hasValues(lines, chart.hasZeros) && <p className="muted">{t("chart.none")}</p>}
      {hasValues(lines, chart.hasZeros) && (
        <>
          <Plot chart={chart} lines={lines} times={times} step={step} label={t("chart.picture", { title })} />
          <ul className="legend">
            {lines.map((line) => (
              <li key={line.name}>
                {/* The style is set by script, which the page's policy allows. */}
                <span className="swatch" style={{ background: `var(${line.color})` }} />
                <LegendName to={rowsOf?.(line)} text={label(line)} />
                {chart.hasSums && <strong>{chart.show(sum(line.values), format)}</strong>}
              </li>
            ))}
          </ul>
        </>
      )}
      {chart.lines !== null && (
        <Numbers chart={chart} lines={lines} label={label} times={times} step={step} title={title} />
      )}
    </section>
  );
}

function LegendName({ to, text }: { to: string | undefined; text: string }) {
  return to === undefined ? text : <Link to={to}>{text}</Link>;
}

interface NumbersProps {
  chart: Chart;
  lines: Line[];
  label: (line: Line) => string;
  times: number[];
  step: number;
  title: string;
}

function Numbers({ chart, lines, label, times, step, title }: NumbersProps) {
  const t = useChartWords();
  const format = useFormat();
  const { language } = useSettings();
  const showTime = (seconds: number) => {
    const date = new Date(seconds * 1000);
    return step < DAY_S ? format.full(date.toISOString()) : date.toLocaleDateString(language, { dateStyle: "medium" });
  };
  return (
    <details>
      <summary>{t("chart.numbers")}</summary>
      {/* It scrolls, so it can have the focus. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className="numbers" role="region" aria-label={title} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t("chart.time")}</th>
              {lines.map((line) => (
                <th key={line.name} scope="col" data-series={line.name}>
                  {label(line)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {tableRows(lines, times, chart.hasZeros).map((row) => (
              <tr key={row.time}>
                <th scope="row">{showTime(row.time)}</th>
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
