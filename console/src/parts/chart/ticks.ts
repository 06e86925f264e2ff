/** The times on the axis of a chart. */
export const DAY_S = 86_400;

/** The day, or the time of day if the points are close. */
export function showTick(seconds: number, step: number, language: string): string {
  const date = new Date(seconds * 1000);
  return step * 60 > DAY_S
    ? date.toLocaleDateString(language, { day: "numeric", month: "short" })
    : date.toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}
