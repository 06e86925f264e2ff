/** Finds the text that a problem is about, and replaces it by the suggestion. */
import type { Problem } from "../../api/plugins";

export interface Range {
  from: number;
  to: number;
}

/** Positions in the text. A problem of a whole file is about its first line; one of an older text may be beyond its end. */
export function rangeOf(text: string, problem: Pick<Problem, "line" | "column" | "found">): Range {
  const lines = text.split("\n");
  const index = Math.min(Math.max(problem.line, 1), lines.length) - 1;
  const line = lines[index] ?? "";
  const start = lines.slice(0, index).reduce((sum, one) => sum + one.length + 1, 0);
  const column = Math.min(Math.max(problem.column, 1) - 1, line.length);
  const at = problem.found === "" ? -1 : line.indexOf(problem.found, column);
  if (at >= 0) return { from: start + at, to: start + at + problem.found.length };
  const rest = /^[^\s,}\]]*/.exec(line.slice(column))?.[0].length ?? 0;
  return { from: start + column, to: start + (rest > 0 ? column + rest : line.length) };
}

/** The mended text; null if the text at that place is another by now. */
export function replaceIn(text: string, problem: Problem): string | null {
  const { from, to } = rangeOf(text, problem);
  if (problem.suggestion === "" || text.slice(from, to) !== problem.found) return null;
  return text.slice(0, from) + problem.suggestion + text.slice(to);
}
