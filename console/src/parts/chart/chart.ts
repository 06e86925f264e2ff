/** A chart as numbers, without the page. */
import type { Format } from "../../format";

/** One value for each point of a chart; null where there is none. */
export type Values = (number | null)[];

export interface Line {
  /** Of the server: an outcome, a quantile, an agent, a code … */
  name: string;
  /** Whether the page has a text for the name; others are names of the configuration. */
  isWord: boolean;
  /** A color of the tokens. */
  color: string;
  values: Values;
}

export interface Chart<Name extends string = string> {
  name: Name;
  /** Null if the numbers are not known for this period. */
  lines: Line[] | null;
  /** Bars are stacked sums; lines are measurements. */
  shape: "bars" | "lines";
  /** Whether the legend has the sum of each line. */
  hasSums: boolean;
  /** Whether values between whole numbers are possible. */
  isFractional: boolean;
  /** Whether 0 is a measurement. Otherwise it means that there is nothing. */
  hasZeros?: boolean;
  show: (value: number, format: Format) => string;
}

export const showNumber: Chart["show"] = (value, format) => format.number(value);

/** Sums on top of each other. Only costs are between whole numbers. */
export function barChart<Name extends string>(
  name: Name,
  lines: Line[] | null,
  show: Chart["show"] = showNumber,
): Chart<Name> {
  return { name, shape: "bars", lines, hasSums: true, isFractional: name === "cost", show };
}

/** Of the names of one chart, these are drawn; the table has all of them. */
export const MAX_DRAWN = 7;

export const sum = (values: Values) => values.reduce<number>((total, value) => total + (value ?? 0), 0);

/** Whether the chart has something to draw. */
export const hasValues = (lines: Line[], hasZeros = false) =>
  lines.some((line) => line.values.some((value) => isValue(value, hasZeros)));

const isValue = (value: number | null, hasZeros: boolean) => (hasZeros ? value !== null : Boolean(value));

/** For bars on top of each other: each line with the values of those below it added. */
export function stack(lines: Line[]): Values[] {
  const heights: number[] = [];
  return lines.map((line) =>
    line.values.map((value, index) => (heights[index] = (heights[index] ?? 0) + (value ?? 0))),
  );
}

/** The points that the table lists: those with a value. */
export function tableRows(lines: Line[], times: number[], hasZeros = false): { time: number; values: Values }[] {
  return times
    .map((time, index) => ({ time, values: lines.map((line) => line.values[index] ?? null) }))
    .filter((row) => row.values.some((value) => isValue(value, hasZeros)));
}
