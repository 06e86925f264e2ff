import { expect, test } from "vitest";
import type { Problem } from "../src/api/plugins";
import type { LogEvent } from "../src/log/events";
import { foldDryRun, NO_STEPS } from "../src/screens/plugins/dryRun";
import { flowPath, flowText, NAME, newPathsOf } from "../src/screens/plugins/newFile";
import { rangeOf, replaceIn } from "../src/screens/plugins/replace";

const problem = (change: Partial<Problem>): Problem => ({
  code: "E306",
  severity: "error",
  file: "flows/a.yaml",
  line: 2,
  column: 9,
  message: "",
  hint: "",
  found: "secnd",
  suggestion: "second",
  ...change,
});
const TEXT = "name: secnd\n  next: secnd\n  last: x\n";

test("a suggestion replaces the text at the place of the problem, and no other", () => {
  expect(replaceIn(TEXT, problem({}))).toBe("name: secnd\n  next: second\n  last: x\n");
});

test("a text in quotes keeps its quotes", () => {
  expect(replaceIn('a: 1\nnext: "secnd"\n', problem({ column: 7 }))).toBe('a: 1\nnext: "second"\n');
});

test("a text that was changed since the check is not replaced", () => {
  expect(replaceIn(TEXT.replace("next: secnd", "next: other"), problem({}))).toBeNull();
  expect(replaceIn("short", problem({ line: 40 }))).toBeNull();
  expect(replaceIn(TEXT, problem({ suggestion: "" }))).toBeNull();
});

test("a problem without a text is about the word at its place, or about its line", () => {
  expect(rangeOf(TEXT, { line: 2, column: 3, found: "" })).toEqual({ from: 14, to: 19 });
  expect(rangeOf(TEXT, { line: 0, column: 0, found: "" })).toEqual({ from: 0, to: 5 });
  expect(rangeOf("  \nx", { line: 1, column: 1, found: "" })).toEqual({ from: 0, to: 2 });
});

const step = (event: string, value: object): LogEvent =>
  ({ type: "Custom", name: "flow.step", value: { event, step: "start", call: "api", value } }) as LogEvent;
const REQUEST = { method: "POST", url: "a/b", headers: { Authorization: "Bearer ••••" }, body: { path: "x" } };

test("a dry run becomes its steps, with the requests that they would send", () => {
  const events: LogEvent[] = [
    { type: "StepStarted", name: "start" },
    step("input", {}),
    step("output", { message: "not sent", record: { request: REQUEST, dry_run: true }, output: { did: "" } }),
    { type: "StepStarted", name: "end" },
    step("failed", { error: { code: "slot_missing", message: "size is missing" } }),
    { type: "TextDelta", message_id: "m", text: "It " },
    { type: "TextDelta", message_id: "m", text: "failed." },
    { type: "Custom", name: "flow.finished", value: { status: "failed_handled" } },
  ];

  const { steps, answer, status, failure } = events.reduce(foldDryRun, NO_STEPS);

  expect(steps[0]).toMatchObject({ name: "start", call: "api", request: REQUEST, record: null, error: null });
  expect(steps[1]).toMatchObject({ name: "end", request: null, error: "slot_missing: size is missing" });
  expect([answer, status, failure]).toEqual(["It failed.", "failed_handled", null]);
});

test("a dry run stops at a question, and names a failure", () => {
  const asked = { type: "RunFinished", outcome: "waiting", interrupts: [{ message: "Which size?" }] } as LogEvent;

  expect(foldDryRun(NO_STEPS, asked).question).toEqual({ message: "Which size?", schema: null });
  expect(foldDryRun(NO_STEPS, { type: "RunFailed", code: "x", message: "No model." }).failure).toBe("No model.");
});

test("a new flow has the name that was typed, in a file of that name", () => {
  expect(flowPath("greet_all")).toBe("flows/greet_all.yaml");
  expect(flowText("greet_all").split("\n")[0]).toBe("name: greet_all");
  expect(flowText("greet_all")).not.toContain("new_flow");
});

test.each(["Greet", "1st", "a b", "a/b", "../a", "a.yaml", "", "流程", "a".repeat(64)])("%j is no name", (name) => {
  expect(NAME.test(name)).toBe(false);
});

test("new files are those whose draft has no hash", () => {
  expect(newPathsOf({ "a.yaml": { text: "a", etag: null }, "b.yaml": { text: "b", etag: "1" } })).toEqual(["a.yaml"]);
});
