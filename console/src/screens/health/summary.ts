import type { CheckState, HealthCheck } from "./api";
import type { TranslateHealth } from "./words";

/** The most urgent first. */
export const STATES: readonly CheckState[] = ["broken", "look", "fine", "note"];

/** How many checks have each state: `1 broken · 2 to look at · 4 fine`. Causes of failed runs are broken, too. */
export function summarize(t: TranslateHealth, checks: HealthCheck[], failures = 0): string {
  const counts = STATES.map((state) => {
    const count = checks.filter((check) => check.state === state).length;
    return [state, state === "broken" ? count + failures : count] as const;
  });
  return counts
    .filter(([, count]) => count > 0)
    .map(([state, count]) => t(`health.count.${state}`, { count }))
    .join(" · ");
}

export const sortChecks = (checks: HealthCheck[]) =>
  [...checks].sort((one, other) => STATES.indexOf(one.state) - STATES.indexOf(other.state));
