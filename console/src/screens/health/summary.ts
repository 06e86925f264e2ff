import type { CheckState, HealthCheck } from "./api";
import type { TranslateHealth } from "./words";

/** The most urgent first. */
export const STATES: readonly CheckState[] = ["broken", "look", "fine", "note"];

/** How many checks have each state: `1 broken · 2 to look at · 4 fine`. */
export function summarize(t: TranslateHealth, checks: HealthCheck[]): string {
  const counts = STATES.map((state) => [state, checks.filter((check) => check.state === state).length] as const);
  return counts
    .filter(([, count]) => count > 0)
    .map(([state, count]) => t(`health.count.${state}`, { count }))
    .join(" · ");
}

export const sortChecks = (checks: HealthCheck[]) =>
  [...checks].sort((one, other) => STATES.indexOf(one.state) - STATES.indexOf(other.state));
