// What the scenarios expect, with this suite's limits of time.
import * as lib from "../../_lib/expect.mjs";

export { contains, expect, limit, same, show, sleep, unique } from "../../_lib/expect.mjs";
const { expect, limit } = lib;

export function lacks(text, part, what) { expect(!String(text ?? "").includes(part), `${what} not to contain ${lib.show(part)}`, around(text, part)); }
export function within(ms, most, what) { expect(ms <= limit(most), `${what} within ${Math.round(limit(most))} ms`, `${Math.round(ms)} ms`); }
export const near = (got, wanted, by) => Math.abs(got - wanted) <= by;
export const tidy = (text) => String(text ?? "").replace(/\s+/g, " ").trim();
const around = (text, part) => { const at = String(text).indexOf(part); return String(text).slice(Math.max(0, at - 80), at + 120); };
export const until = (probe, expected, options) => lib.until(probe, expected, { timeout: 10_000, every: 25, ...options });
