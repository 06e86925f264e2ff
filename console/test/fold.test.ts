import { expect, test } from "vitest";
import type { Entry, LogEvent } from "../src/log/events";
import { EMPTY, fold, type CallItem, type Item, type TextItem } from "../src/log/fold";

let count = 0;
const entries = (run: string, events: LogEvent[]): Entry[] =>
  events.map((event) => ({ run, id: `1-${++count}`, event }));
const started = (run: string, text: string): LogEvent => ({
  type: "RunStarted",
  run_id: run,
  thread_id: "t",
  agent: "default",
  new_messages: [{ id: `question-${run}`, role: "user", parts: [{ type: "text", text }] }],
});
const texts = (items: readonly Item[]) =>
  items.filter((item): item is TextItem => item.kind === "message").map(({ role, text, state }) => [role, text, state]);
const callOf = (items: readonly Item[]) => items.find((item): item is CallItem => item.kind === "call");

test("a text grows by its deltas and is whole at its end", () => {
  const streaming = fold(
    EMPTY,
    entries("r1", [
      started("r1", "Hi"),
      { type: "TextStarted", message_id: "m1" },
      { type: "TextDelta", message_id: "m1", text: "Good " },
      { type: "TextDelta", message_id: "m1", text: "day" },
    ]),
  );
  const ended = fold(
    streaming,
    entries("r1", [
      { type: "TextEnded", message_id: "m1" },
      { type: "RunFinished", outcome: "done" },
    ]),
  );

  expect(texts(streaming.items)).toEqual([
    ["user", "Hi", "whole"],
    ["assistant", "Good day", "streaming"],
  ]);
  expect(streaming.run).toEqual({ id: "r1", agent: "default", state: "running", step: "" });
  expect(texts(ended.items)[1]).toEqual(["assistant", "Good day", "whole"]);
  expect(ended.run?.state).toBe("done");
});

test("folding in pieces gives the same as folding at once, and changes nothing that was returned before", () => {
  const all = entries("r1", [
    started("r1", "Hi"),
    { type: "TextStarted", message_id: "m1" },
    { type: "TextDelta", message_id: "m1", text: "a" },
    { type: "ToolCallStarted", call_id: "c1", name: "getWeather" },
    { type: "ToolCallDelta", call_id: "c1", text: "{}" },
    { type: "ToolCallEnded", call_id: "c1" },
    { type: "RunFailed", code: "cut_off", message: "The run was cut off." },
  ]);
  let conversation = EMPTY;
  const steps = all.map((entry) => (conversation = fold(conversation, [entry])));
  const copies = steps.map((step) => structuredClone(step));

  expect(conversation).toEqual(fold(EMPTY, all));
  expect(steps).toEqual(copies);
});

test("a stopped run cuts its text and fails its open calls", () => {
  const { items, run } = fold(
    EMPTY,
    entries("r1", [
      started("r1", "Hi"),
      { type: "TextStarted", message_id: "m1" },
      { type: "TextDelta", message_id: "m1", text: "Half a" },
      { type: "TextEnded", message_id: "m1", complete: false },
      { type: "ToolCallStarted", call_id: "c1", name: "getWeather" },
      { type: "RunFinished", outcome: "cancelled" },
    ]),
  );

  expect(texts(items)[1]).toEqual(["assistant", "Half a", "cut"]);
  expect(callOf(items)?.state).toBe("failed");
  expect(run?.state).toBe("cancelled");
});

test("a call goes from arguments over running to returned", () => {
  const events: LogEvent[] = [
    { type: "ToolCallStarted", call_id: "c1", name: "getWeather" },
    { type: "ToolCallDelta", call_id: "c1", text: '{"city":' },
    { type: "ToolCallDelta", call_id: "c1", text: '"Paris"}' },
    { type: "ToolCallEnded", call_id: "c1" },
    { type: "ToolCallReturned", call_id: "c1", name: "getWeather", content: '{"tempC": 21}' },
  ];
  let conversation = fold(EMPTY, entries("r1", [started("r1", "weather")]));
  const states = entries("r1", events).map((entry) => {
    conversation = fold(conversation, [entry]);
    return callOf(conversation.items)?.state;
  });

  expect(states).toEqual(["arguments", "arguments", "arguments", "running", "returned"]);
  expect(callOf(conversation.items)).toMatchObject({ arguments: '{"city":"Paris"}', result: '{"tempC": 21}' });
});

test("a call that no question is about waits for the page of an application", () => {
  const { items, run } = fold(
    EMPTY,
    entries("r1", [
      started("r1", "color"),
      { type: "ToolCallStarted", call_id: "c1", name: "setColor" },
      { type: "ToolCallEnded", call_id: "c1" },
      { type: "RunFinished", outcome: "waiting" },
    ]),
  );

  expect(callOf(items)).toMatchObject({ state: "waiting", isForPage: true });
  expect(run?.state).toBe("waiting");
});

test("a question holds the call that it is about, which returns in the next run", () => {
  const asked = fold(
    EMPTY,
    entries("r1", [
      started("r1", "delete"),
      { type: "ToolCallStarted", call_id: "c1", name: "deleteFile" },
      { type: "ToolCallDelta", call_id: "c1", text: '{"path":"a.txt"}' },
      { type: "ToolCallEnded", call_id: "c1" },
      {
        type: "RunFinished",
        outcome: "waiting",
        interrupts: [{ id: "i1", reason: "approval_required", message: "Delete the file?", call_id: "c1" }],
      },
    ]),
  );
  const answered = fold(
    asked,
    entries("r2", [
      { type: "RunStarted", run_id: "r2", thread_id: "t", agent: "default" },
      { type: "ToolCallReturned", call_id: "c1", name: "deleteFile", content: "deleted" },
    ]),
  );

  expect(asked.items.at(-1)).toMatchObject({
    kind: "question",
    id: "i1",
    call: { name: "deleteFile", arguments: '{"path":"a.txt"}' },
  });
  expect(callOf(asked.items)).toMatchObject({ state: "waiting", isForPage: false });
  expect(callOf(answered.items)).toMatchObject({ state: "returned", run: "r1" });
});

test("the question of a flow holds the request that its step would send", () => {
  const { items } = fold(
    EMPTY,
    entries("r1", [
      started("r1", "remove"),
      {
        type: "Custom",
        name: "flow.step",
        value: {
          event: "waiting",
          step: "start",
          value: {
            method: "POST",
            server: "http://api",
            path: "/remove",
            arguments: { path: "/old" },
            origins: { path: "question" },
          },
        },
      },
      {
        type: "RunFinished",
        outcome: "waiting",
        interrupts: [{ id: "i1", reason: "approval_required", message: "Allow Steps to run this?" }],
      },
    ]),
  );

  expect(items.at(-1)).toMatchObject({
    request: { head: "POST http://api/remove", arguments: { path: "/old" }, origins: { path: "question" } },
  });
});

test("messages that a resumed run leaves out are retracted, and its text starts anew", () => {
  const cut = fold(
    EMPTY,
    entries("r1", [
      started("r1", "Hi"),
      { type: "TextStarted", message_id: "m1" },
      { type: "TextDelta", message_id: "m1", text: "word1 word2" },
    ]),
  );
  const question = { id: "question-r1", role: "user" as const, parts: [{ type: "text" as const, text: "Hi" }] };
  const resumed = fold(
    cut,
    entries("r1", [
      { type: "TextEnded", message_id: "m1", complete: false },
      { type: "MessagesReplaced", earlier: [question], messages: [] },
      { type: "TextStarted", message_id: "m2" },
      { type: "TextDelta", message_id: "m2", text: "word1" },
    ]),
  );

  expect(texts(resumed.items)).toEqual([
    ["user", "Hi", "whole"],
    ["assistant", "word1", "streaming"],
  ]);
});

test("a log that was lost shows the messages of the store", () => {
  const { items } = fold(
    EMPTY,
    entries("r1", [
      { type: "RunStarted", run_id: "r1", thread_id: "t", agent: "default" },
      {
        type: "MessagesReplaced",
        earlier: [{ id: "u1", role: "user", parts: [{ type: "text", text: "Hi" }] }],
        messages: [
          {
            id: "a1",
            role: "assistant",
            parts: [
              { type: "text", text: "Hello" },
              { type: "call", id: "c1", name: "getWeather", arguments: "{}" },
            ],
          },
          { id: "x1", role: "tool", parts: [{ type: "result", call_id: "c1", name: "getWeather", content: "21" }] },
        ],
      },
      { type: "RunFinished", outcome: "done" },
    ]),
  );

  expect(texts(items)).toEqual([
    ["user", "Hi", "whole"],
    ["assistant", "Hello", "whole"],
  ]);
  expect(callOf(items)).toMatchObject({ state: "returned", result: "21" });
});

test("files and charts of flows are items of their own", () => {
  const FILE = { kind: "file", name: "report.html", media_type: "text/html; charset=utf-8", id: "file-1" };
  const { items } = fold(
    EMPTY,
    entries("r1", [
      { type: "Custom", name: "artifact", value: { kind: "chart", name: "Sales", id: "chart-1" } },
      { type: "Custom", name: "artifact", value: FILE },
    ]),
  );

  expect(items).toMatchObject([
    { kind: "artifact", id: "chart-1", isChart: true, isPage: false },
    { kind: "artifact", id: "file-1", isChart: false, isPage: true, name: "report.html" },
  ]);
});

test("events of a newer server are left out", () => {
  const event = { type: "SomethingNewer", name: "s1" } as unknown as LogEvent;

  expect(fold(EMPTY, entries("r1", [event]))).toEqual({ ...EMPTY, count: 1 });
});

test("a run that replaces a message removes it and all after it", () => {
  const first = fold(
    EMPTY,
    entries("r1", [
      started("r1", "Hi"),
      { type: "TextStarted", message_id: "m1" },
      { type: "TextDelta", message_id: "m1", text: "Good day" },
      { type: "TextEnded", message_id: "m1" },
      { type: "RunFinished", outcome: "done" },
    ]),
  );
  const edited = fold(first, entries("r2", [{ ...started("r2", "Hello"), truncated_at: "question-r1" } as LogEvent]));
  const unknown = fold(first, entries("r2", [{ ...started("r2", "More"), truncated_at: "gone" } as LogEvent]));

  expect(texts(first.items).length).toBe(2);
  expect(texts(edited.items)).toEqual([["user", "Hello", "whole"]]);
  expect(texts(unknown.items).length).toBe(3);
});

test("a message that is asked again is there once", () => {
  const again = { ...started("r1", "Hi"), truncated_at: "question-r1" } as LogEvent;
  const conversation = fold(EMPTY, [...entries("r1", [started("r1", "Hi")]), ...entries("r2", [again])]);

  expect(texts(conversation.items)).toEqual([["user", "Hi", "whole"]]);
});
