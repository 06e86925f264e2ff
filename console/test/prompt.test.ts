import { expect, test } from "vitest";
import { diffCalls, findPrevious, hasChanges, type ModelCallLine } from "../src/parts/prompt/calls";
import { diffLists } from "../src/parts/prompt/diff";
import { groupSteps } from "../src/parts/prompt/groups";

const CALL: ModelCallLine = {
  call: "call_1",
  at: "2026-11-19T17:40:02Z",
  ended_at: null,
  span: "s1",
  agent: "default",
  purpose: "answer",
  model: "main",
  provider_model: "gpt",
  instructions: ["rules"],
  messages: ["question"],
  tools: ["refund"],
  parameters: { temperature: 0.2 },
  usage: null,
  cost: null,
  error: null,
  omitted: null,
};
const write = (before: string, after: string) =>
  diffLists([...before], [...after])
    .map(({ change, item }) => ({ same: " ", added: "+", removed: "-" })[change] + item)
    .join("");

test.each([
  ["", "", ""],
  ["ab", "ab", " a b"],
  ["ab", "abc", " a b+c"],
  ["abc", "bc", "-a b c"],
  ["abcd", "axcd", " a-b+x c d"],
  ["abcabba", "cbabac", "-a-b c-a b+a b a+c"],
  ["aa", "aaa", " a a+a"],
])("the steps from %s to %s", (before, after, expected) => {
  expect(write(before, after)).toBe(expected);
});

test("long lists without anything in common are not matched item by item", () => {
  const numbers = (from: number) => Array.from({ length: 1500 }, (_, index) => from + index);
  const steps = diffLists(numbers(0), numbers(5000));

  expect(steps.filter(({ change }) => change === "removed")).toHaveLength(1500);
  expect(steps.filter(({ change }) => change === "added")).toHaveLength(1500);
});

test("a call is compared with the last one before it of the same agent and purpose", () => {
  const calls = [
    CALL,
    { ...CALL, agent: "researcher" },
    { ...CALL, purpose: "guard" },
    { ...CALL, omitted: "It has more than 8 MB." },
    { ...CALL, messages: ["question", "call", "result"], parameters: { temperature: 0.9 } },
  ];

  expect(calls.map((_, index) => findPrevious(calls, index))).toEqual([null, null, null, 0, 0]);
  const changes = diffCalls(calls[0] ?? CALL, calls[4] ?? CALL);
  expect(changes.messages.map(({ change, item }) => `${change} ${item}`)).toEqual([
    "same question",
    "added call",
    "added result",
  ]);
  expect(changes.parameters.map(({ change, item }) => `${change} ${item}`)).toEqual([
    "same model: main (gpt)",
    "removed temperature: 0.2",
    "added temperature: 0.9",
  ]);
  expect(hasChanges(changes)).toBe(true);
  expect(hasChanges(diffCalls(CALL, CALL))).toBe(false);
});

test("what is as before is one line, and a text that took the place of another one row", () => {
  const steps = diffLists(["a", "b", "c", "d"], ["a", "b", "x", "d"]);

  expect(groupSteps(steps, false, true)).toEqual([
    { count: 2 },
    { step: { change: "added", item: "x" }, replaced: "c" },
    { count: 1 },
  ]);
  expect(groupSteps(steps, true, false)).toHaveLength(5);
});
