import { expect, test } from "vitest";
import type { RerunForm, RerunOutcome } from "../src/api/schema";
import { changesOf, compareCalls, findMissing, plain, UNCHANGED } from "../src/screens/rerun/changes";

const FORM: RerunForm = {
  agent: "support",
  thread: "thread_1",
  instructions: "Be brief.",
  model: "small",
  models: ["small", "large"],
  temperature: 0.5,
  messages: [
    { role: "user", text: "Hello" },
    { role: "assistant", text: "How can I help?" },
    { role: "user", text: "Where is order 7?" },
  ],
  results: [{ name: "get_order", arguments: { id: 7 }, result: "lost", error: null, approval: null }],
  runs: ["run_1"],
  notes: [],
};
const OUTCOME: RerunOutcome = {
  outcome: "cancelled",
  text: "",
  calls: [],
  model_calls: 1,
  input_tokens: 1,
  output_tokens: 1,
  cost: null,
  seconds: 1,
  diverged: null,
  error: null,
};

test("what was typed and is as before is no change", () => {
  const typed = {
    ...UNCHANGED,
    instructions: "Be brief.",
    model: "small",
    temperature: "0.50",
    messages: { 2: "Where is order 7?" },
    results: { 0: "lost" },
  };

  expect(changesOf(UNCHANGED, FORM)).toEqual({});
  expect(changesOf(typed, FORM)).toEqual({});
});

test("each change is sent with its place", () => {
  const added = { tool: "find", arguments: { q: "x" }, result: "none" };
  const draft = {
    instructions: "",
    model: "large",
    temperature: "0",
    messages: { 0: "Hi", 2: "Where is order 8?" },
    results: { 0: "" },
    added: [added],
    isStubbed: true,
  };

  expect(changesOf(draft, FORM)).toEqual({
    instructions: "",
    model: "large",
    temperature: 0,
    messages: [
      { place: 0, text: "Hi" },
      { place: 2, text: "Where is order 8?" },
    ],
    results: [{ place: 0, text: "" }],
    added: [added],
    missing: "stub",
  });
});

test("the call that ended the rerun is the last one without a result", () => {
  const served = { name: "get_order", arguments: { id: 7 }, served: "recorded", result: "lost", error: null };
  const open = { name: "find", arguments: { q: "x" }, served: "none", result: null, error: null };

  expect(findMissing({ ...OUTCOME, diverged: "…", calls: [served, open] })).toEqual({
    tool: "find",
    arguments: { q: "x" },
    result: "",
  });
  expect(findMissing({ ...OUTCOME, outcome: "waiting", calls: [open] })?.tool).toBe("find");
  expect(findMissing({ ...OUTCOME, calls: [open] })).toBeNull();
  expect(findMissing({ ...OUTCOME, diverged: "There is no tool.", calls: [served] })).toBeNull();
});

test("calls stand beside the call of the same tool", () => {
  const call = (name: string, id: number) => ({ name, arguments: `{"id": ${id}}` });

  expect(compareCalls([call("a", 1), call("b", 2), call("a", 3)], [call("a", 4), call("c", 5), call("a", 6)])).toEqual([
    { name: "a", before: '{"id": 1}', after: '{"id": 4}' },
    { name: "b", before: '{"id": 2}', after: null },
    { name: "a", before: '{"id": 3}', after: '{"id": 6}' },
    { name: "c", before: null, after: '{"id": 5}' },
  ]);
  expect(plain('{"id":  1}')).toBe(plain('{ "id": 1 }'));
});
