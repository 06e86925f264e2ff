import { expect, test } from "vitest";
import { endedSince } from "../src/parts/timeline/ended";

const line = (id: string, outcome: "running" | "done") => ({ id, outcome });
const run = (id: string, state: "running" | "done" | "failed") => ({ id, state });

test("what has ended in the log, and not in what is stored, is read again", () => {
  expect(endedSince(undefined, [run("a", "done")])).toEqual(["a"]);
  expect(endedSince([line("a", "running")], [run("a", "failed")])).toEqual(["a"]);
  expect(endedSince([line("a", "done")], [run("a", "done"), run("b", "done")])).toEqual(["b"]);
});

test("a run that goes on, or that is stored with its end, is not", () => {
  expect(endedSince([line("a", "running")], [run("a", "running"), run("b", "running")])).toEqual([]);
  expect(endedSince([line("a", "done")], [run("a", "done")])).toEqual([]);
});
