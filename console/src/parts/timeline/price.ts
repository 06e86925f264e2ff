import type { RunLine } from "../../api/types";

/** `unknown`: no tokens are known, so that a price says nothing; `none`: the models that were used have none. */
export type Price = "known" | "unknown" | "none";

/** A run that was stopped has no tokens that a price could apply to. */
export function priceOf(lines: Pick<RunLine, "id" | "cost" | "tokens">[], run: string | null): Price {
  const shown = lines.filter((line) => run === null || line.id === run);
  if (shown.some((line) => line.cost != null)) return "known";
  return shown.some((line) => line.tokens != null) ? "none" : "unknown";
}
