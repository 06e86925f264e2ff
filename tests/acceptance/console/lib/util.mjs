import { randomBytes } from "node:crypto";

/** `--slack` or RS_SLACK multiplies every limit of time, for a busy machine. Sizes and counts are never stretched. */
let slack = Number(process.env.RS_SLACK ?? 1);
export const setSlack = (factor) => { slack = factor; };
export const limit = (ms) => ms * slack;
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const unique = (prefix = "k") => `${prefix}-${randomBytes(5).toString("hex")}`;

export function listen(server, port = 0, host = "127.0.0.1") {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve(server.address().port));
  });
}

export class Expectation extends Error {
  constructor(expected, got) { super(`expected ${expected}; got ${show(got)}`); }
}

export function show(value, most = 600) {
  const text = value instanceof Error ? value.message : typeof value === "string" ? value : JSON.stringify(value) ?? String(value);
  return text.length > most ? text.slice(0, most) + "…" : text;
}

export function expect(condition, expected, got) { if (!condition) throw new Expectation(expected, got); }
export function same(got, wanted, what) { expect(JSON.stringify(got) === JSON.stringify(wanted), `${what} to be ${show(wanted)}`, got); }
export function contains(text, part, what) { expect(String(text ?? "").includes(part), `${what} to contain ${show(part)}`, text); }
export function lacks(text, part, what) { expect(!String(text ?? "").includes(part), `${what} not to contain ${show(part)}`, around(text, part)); }
export function within(ms, most, what) { expect(ms <= limit(most), `${what} within ${Math.round(limit(most))} ms`, `${Math.round(ms)} ms`); }
export const near = (got, wanted, by) => Math.abs(got - wanted) <= by;
export const tidy = (text) => String(text ?? "").replace(/\s+/g, " ").trim();
const around = (text, part) => { const at = String(text).indexOf(part); return String(text).slice(Math.max(0, at - 80), at + 120); };

/** Asks `probe` again until it answers something true; says what it last saw where that never happens. */
export async function until(probe, expected, { timeout = 10_000, every = 25, got } = {}) {
  const whole = limit(timeout), end = Date.now() + whole;
  for (;;) {
    let last, error;
    try { last = await probe(); } catch (problem) { error = problem; }
    if (!error && last) return last;
    if (Date.now() > end) throw new Expectation(`${expected} within ${whole / 1000} s`, got ? await Promise.resolve(got()).catch((e) => e) : error ?? last);
    await sleep(every);
  }
}
