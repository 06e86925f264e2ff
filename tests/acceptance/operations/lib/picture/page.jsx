// The panels of the dashboard, drawn by Grafana's components from what Prometheus has answered.
import { createTheme, dateTime, FieldType, getDisplayProcessor, ThemeContext } from "@grafana/data";
import { BigValue, GlobalStyles, PanelChrome, Table, TimeSeries, VizRepeater } from "@grafana/ui";
import React from "react";
import { createRoot } from "react-dom/client";
import "uplot/dist/uPlot.min.css";
import dashboard from "./dashboard.json";
import data from "./data.json";

const WIDTH = 1500, COLUMNS = 24, ROW = 38, GAP = 8, GAP_MS = 6000;
const theme = createTheme({ colors: { mode: "light" } });
const from = dateTime(data.from * 1000), to = dateTime(data.to * 1000);
const timeRange = { from, to, raw: { from, to } };
const lines = { drawStyle: "line", lineInterpolation: "linear", lineWidth: 1, fillOpacity: 0, showPoints: "auto", pointSize: 5, axisPlacement: "auto", spanNulls: false, scaleDistribution: { type: "linear" }, thresholdsStyle: { mode: "off" } };

const show = (field) => ({ ...field, display: getDisplayProcessor({ field, theme, timeZone: "utc" }) });
const write = (format, labels) => format.replace(/{{\s*(\w+)\s*}}/g, (_, label) => labels[label] ?? "");

function read(panel) {
  const defaults = panel.fieldConfig.defaults;
  return data.panels[panel.id].map(({ metric, value, values }, seriesIndex) => {
    const config = { ...defaults, displayName: write(panel.targets[0].legendFormat, metric), color: defaults.color ?? { mode: "palette-classic" }, custom: { ...lines, ...defaults.custom } };
    const [times, numbers] = separate(values ?? [value]);
    return { length: times.length, fields: [show({ name: "Time", type: FieldType.time, config: {}, values: times }), show({ name: "Value", type: FieldType.number, config, labels: metric, state: { seriesIndex }, values: numbers })] };
  });
}

// A gap where a server was not scraped.
function separate(samples) {
  const times = [], numbers = [];
  for (const [seconds, text] of samples) {
    const at = seconds * 1000, last = times.at(-1);
    if (last !== undefined && at - last > GAP_MS) times.push(last + 1), numbers.push(null);
    times.push(at), numbers.push(text === "NaN" ? null : Number(text));
  }
  return [times, numbers];
}

function Stat({ panel, width, height }) {
  const list = () => read(panel).map(({ fields: [, field] }) => ({ ...field.display(field.values[0]), title: field.config.displayName }));
  const render = ({ value, width, height }) => <BigValue {...panel.options} value={value} width={width} height={height} theme={theme} justifyMode="auto" />;
  return <VizRepeater width={width} height={height} orientation="auto" getValues={list} renderValue={render} />;
}

function Rows({ panel, width, height }) {
  const rows = data.panels[panel.id].map(({ metric, value }) => ({ ...metric, Value: Number(value[1]) }));
  const fields = Object.keys(rows[0] ?? {}).map((name) => show({ name, type: name === "Value" ? FieldType.number : FieldType.string, config: { custom: {} }, values: rows.map((row) => row[name]) }));
  return <Table data={{ fields, length: rows.length }} width={width} height={height} />;
}

function Lines({ panel, width, height }) {
  const legend = { showLegend: true, displayMode: "list", placement: "bottom", calcs: [] };
  return <TimeSeries frames={read(panel)} timeRange={timeRange} timeZone="utc" width={width} height={height} theme={theme} legend={legend} options={{}} />;
}

const KINDS = { stat: Stat, table: Rows, timeseries: Lines };

function Panel({ panel }) {
  const { x, y, w, h } = panel.gridPos, Kind = KINDS[panel.type], column = WIDTH / COLUMNS;
  return (
    <div style={{ position: "absolute", left: x * column + GAP / 2, top: y * ROW + GAP / 2 }}>
      <PanelChrome title={panel.title} width={w * column - GAP} height={h * ROW - GAP}>{(width, height) => <Kind panel={panel} width={width} height={height} />}</PanelChrome>
    </div>
  );
}

createRoot(document.getElementById("root")).render(
  <ThemeContext.Provider value={theme}>
    <GlobalStyles />
    {dashboard.panels.map((panel) => <Panel key={panel.id} panel={panel} />)}
  </ThemeContext.Provider>,
);
