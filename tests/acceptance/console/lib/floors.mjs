// Times relative to how slow this machine is at the moment, so that a busy machine and a slow console differ.

/**
 * How many times longer work takes in this page than it would alone: 1 on an idle machine, 2.5 where the page has 40 % of a
 * processor. The shortest pieces of the work were not interrupted by another process; the mean has all interruptions.
 */
export function measureSlowdown(page) {
  return page.evaluate(() => {
    const work = () => { let sum = 0; for (let n = 0; n < 400_000; n++) sum = (Math.imul(sum, 31) + n) | 0; return sum; };
    const times = [];
    for (let n = 0; n < 40; n++) work(); // until it is compiled
    for (let n = 0; n < 400; n++) { const begun = performance.now(); work(); times.push(performance.now() - begun); }
    const mean = times.reduce((a, b) => a + b, 0) / times.length;
    return Math.max(1, mean / times.sort((a, b) => a - b)[times.length / 10]);
  });
}

/** The slowdown is taken off: for a time that is the page's own work. */
export const alone = (ms, slowdown) => ms / slowdown;
/** What the slowdown exceeds `--slack` by is taken off: for times of page and server together. */
export const beyond = (slack) => (ms, slowdown) => ms / Math.max(1, slowdown / slack);

/**
 * The shortest of some times, in ms: another process can make the console slower and not faster. `prepare(round)` returns the
 * page, and `measure()` a time, or a list of times of different things, of which the shortest of each counts. `correct` gets
 * a time and the slowdown of the page, the lower one of before and after. Ends with the first round after which all are
 * at most `most` ms: a console that is slow is slow in every round.
 */
export async function measureBest(prepare, most, measure, correct, rounds = 5) {
  let best = [];
  for (let round = 0; round < rounds; round++) {
    const page = await prepare(round), before = correct && await measureSlowdown(page);
    const took = [await measure()].flat(), slowdown = correct && Math.min(before, await measureSlowdown(page));
    best = took.map((ms, n) => Math.min(correct ? correct(ms, slowdown) : ms, best[n] ?? Infinity));
    if (best.every((ms) => ms <= most)) break;
  }
  return Math.max(...best);
}
