import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useFormat } from "../../format";
import { useSettings } from "../../settings";
import { MAX_DRAWN, stack, type Chart, type Line } from "./chart";
import { showTick } from "./ticks";

const HEIGHT_PX = 190;
const AXIS_PX = 64;

interface Props {
  chart: Chart;
  lines: Line[];
  times: number[];
  step: number;
  label: string;
}

/** The picture of a chart. The table beside it has the same numbers. */
export function Plot({ chart, lines, times, step, label }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const format = useFormat();
  const { theme, language } = useSettings();

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const drawn = lines.slice(0, MAX_DRAWN);
    const isBars = chart.shape === "bars";
    // The highest bar is drawn first, and those below it over it.
    const values = isBars ? stack(drawn).reverse() : drawn.map((line) => line.values);
    const ordered = isBars ? [...drawn].reverse() : drawn;
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT_PX,
        legend: { show: false },
        cursor: { show: false },
        scales: {
          x: { range: () => [(times[0] ?? 0) - step / 2, (times.at(-1) ?? 0) + step / 2] },
          y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
        },
        axes: [
          { ...axis(), values: (_, ticks) => ticks.map((tick) => showTick(tick, step, language)), space: 70, size: 30 },
          {
            ...axis(),
            values: (_, ticks) =>
              ticks.map((tick) => (chart.isFractional || Number.isInteger(tick) ? chart.show(tick, format) : "")),
            size: AXIS_PX,
            space: 36,
          },
        ],
        series: [
          {},
          ...ordered.map((line) => ({
            stroke: color(line.color),
            width: isBars ? 0 : 2,
            ...(isBars
              ? { fill: color(line.color), paths: uPlot.paths.bars?.({ size: [0.7, 24] }), points: { show: false } }
              : { spanGaps: true, points: { show: true, size: 5, fill: color(line.color) } }),
          })),
        ],
      },
      [times, ...values],
      element,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    observer.observe(element);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const redraw = () => plot.redraw();
    scheme.addEventListener("change", redraw);
    return () => {
      scheme.removeEventListener("change", redraw);
      observer.disconnect();
      plot.destroy();
    };
  }, [chart, lines, times, step, format, theme, language]);

  return <div ref={box} className="plot" role="img" aria-label={label} />;
}

/** Colors are read when they are drawn, so that they follow the theme. */
const color = (name: string) => () => {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
};

const axis = () => ({
  stroke: color("--muted"),
  grid: { stroke: color("--border"), width: 1 },
  ticks: { show: false },
  font: "12px Inter, system-ui, sans-serif",
});
