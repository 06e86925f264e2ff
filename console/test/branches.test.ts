import { expect, test } from "vitest";
import { itemsWith, versionsOf } from "../src/log/branches";
import type { Entry, LogEvent } from "../src/log/events";
import { EMPTY, fold, type Conversation, type Item } from "../src/log/fold";

/** A run that asks a question and answers it; `replaces` is the message whose place the question takes. */
function runOf(run: string, question: string, replaces?: string, id = `q-${run}`): Entry[] {
  const events: LogEvent[] = [
    {
      type: "RunStarted",
      run_id: run,
      thread_id: "t",
      agent: "default",
      new_messages: [{ id, role: "user", parts: [{ type: "text", text: question }] }],
      ...(replaces && { truncated_at: replaces }),
    },
    { type: "TextStarted", message_id: `a-${run}` },
    { type: "TextDelta", message_id: `a-${run}`, text: `answer to ${question}` },
    { type: "TextEnded", message_id: `a-${run}` },
    { type: "RunFinished", outcome: "done" },
  ];
  return events.map((event, index) => ({ run, id: `${run}-${index}`, event }));
}
const foldAll = (...runs: Entry[][]) => fold(EMPTY, runs.flat());
const texts = (items: readonly Item[]) => items.flatMap((item) => (item.kind === "message" ? [item.text] : []));
const shown = ({ items, forks }: Conversation, run?: string) => texts(itemsWith(items, forks, run));
const versions = ({ items, forks }: Conversation) =>
  [...versionsOf(items, forks)].map(([item, { number, count, before, after }]) => [
    item.run,
    number,
    count,
    before,
    after,
  ]);

test("an edited question keeps its earlier versions with what followed them", () => {
  const conversation = foldAll(
    runOf("r1", "one"),
    runOf("r2", "two"),
    runOf("r3", "three", "q-r2"),
    runOf("r4", "four", "q-r3"),
  );

  expect(shown(conversation)).toEqual(["one", "answer to one", "four", "answer to four"]);
  expect(shown(conversation, "r2")).toEqual(["one", "answer to one", "two", "answer to two"]);
  expect(shown(conversation, "r1")).toEqual(shown(conversation));
  expect(shown(conversation, "r9")).toEqual(shown(conversation));
  expect(versions(conversation)).toEqual([
    ["r2", 1, 3, null, "r3"],
    ["r3", 2, 3, "r2", "r4"],
    ["r4", 3, 3, "r3", null],
  ]);
});

test("a question that is asked again as it is has versions too", () => {
  const conversation = foldAll(runOf("r1", "one"), runOf("r2", "one", "q-r1", "q-r1"));

  expect(shown(conversation, "r1")).toEqual(["one", "answer to one"]);
  expect(itemsWith(conversation.items, conversation.forks, "r1")).not.toBe(conversation.items);
  expect(versions(conversation)).toEqual([
    ["r1", 1, 2, null, "r2"],
    ["r2", 2, 2, "r1", null],
  ]);
});

test("a version inside of an earlier version is found", () => {
  const conversation = foldAll(
    runOf("r1", "one"),
    runOf("r2", "two"),
    runOf("r3", "second two", "q-r2"),
    runOf("r4", "second one", "q-r1"),
  );

  expect(shown(conversation)).toEqual(["second one", "answer to second one"]);
  expect(shown(conversation, "r3")).toEqual(["one", "answer to one", "second two", "answer to second two"]);
  expect(shown(conversation, "r2")).toEqual(["one", "answer to one", "two", "answer to two"]);
});

test("a takeover that begins the run anew makes no version of it", () => {
  const conversation = foldAll(
    runOf("r1", "one"),
    runOf("r2", "one", "q-r1", "q-r1").slice(0, 2),
    runOf("r2", "one", "q-r1", "q-r1"),
  );

  expect(versions(conversation)).toHaveLength(2);
  expect(shown(conversation, "r1")).toEqual(["one", "answer to one"]);
});
