// What users do with votes on their own answers.
import { expect, same } from "../../_lib/expect.mjs";
import { ask, askWorkspace, call, FEEDBACK, ok, rows, THROUGH, vote, voteInWorkspace } from "../lib/faces.mjs";

/** A vote, the same again, another one, none: one row of that run as long as there is a vote. */
async function judge(world, face, user, id, isStored = true) {
  expect(typeof id === "string" && id !== "", "the id of an answer", id);
  const first = ok(await vote(world.url, face, user, { id, value: "up" }), `POST ${FEEDBACK[face]}`);
  same(first.value, "up", "the value in the response");
  ok(await vote(world.url, face, user, { id, value: "up" }), "the same vote again");
  const [row, ...more] = await rows(world.url, user);
  same([row?.value, more.length, row?.owner, row?.through, row?.agent], ["up", 0, user.name, THROUGH[face], "default"], "[value, more rows, owner, through, agent]");
  expect(row.run.startsWith("run_"), "the id of a run", row);
  same([row.thread !== null, row.model], [isStored, "upstream"], "[whether there is a thread, model]");
  ok(await vote(world.url, face, user, { id, value: "down", comment: "wrong year", tags: ["wrong", "old"] }), "another vote");
  const changed = await rows(world.url, user);
  same(changed.map((one) => [one.id, one.run, one.value, one.comment, one.tags]), [[row.id, row.run, "down", "wrong year", ["wrong", "old"]]], "the changed row");
  ok(await vote(world.url, face, user, { id, value: null }), "the vote withdrawn");
  same(await rows(world.url, user), [], "the rows afterwards");
}

const cycles = Object.keys(FEEDBACK).map((face) => ({
  name: `feedback-${face}`, about: `${face}: one row, changed, withdrawn`, async run(world) {
    const user = world.user();
    await judge(world, face, user, (await ask[face](world.url, user, "hello")).id, face !== "anthropic");
  },
}));

export const users = [
  ...cycles,
  { name: "feedback-completion", about: "a chat completion, which is not stored, has one row too", async run(world) {
    const user = world.user();
    await judge(world, "responses", user, (await ask.completion(world.url, user, "hello")).id, false);
  } },
  { name: "feedback-openbb", about: "Workspace's own body reaches the same list, one row for each answer", async run(world) {
    const user = world.user(), chat = world.unique("chat");
    const first = await askWorkspace(world.url, user, chat, "first question");
    const second = await askWorkspace(world.url, user, chat, "second question", [{ role: "human", content: "first question" }, { role: "ai", content: first.ai_response }]);
    const votes = [[first, { vote: "up" }], [first, { vote: "down", user_comment: "no" }], [second, { vote: "up" }]];
    for (const [answer, given] of votes) ok(await voteInWorkspace(world.url, user, { ...answer, ...given, tags: ["slow"] }), "POST /openbb/v1/feedback");
    const found = (await rows(world.url, user)).map((row) => [row.value, row.comment, row.through, row.tags, row.agent]).sort();
    same(found, [["down", "no", "openbb", ["slow"], "default"], ["up", null, "openbb", ["slow"], "default"]], "the rows");
  } },
  { name: "feedback-at-once", about: "20 votes at once are one row", async run(world) {
    const user = world.user(), { id } = await ask.copilotkit(world.url, user, "hello");
    const votes = Array.from({ length: 20 }, (_, number) => vote(world.url, "copilotkit", user, { id, value: number % 2 ? "up" : "down" }));
    for (const answer of await Promise.all(votes)) ok(answer, "POST /copilotkit/feedback");
    same((await rows(world.url, user)).length, 1, "the number of rows");
  } },
  { name: "feedback-own-state", about: "a page that reloads reads the votes of its user, and of no other", async run(world) {
    const [alice, bob] = [world.user(), world.user()], { id, thread } = await ask.copilotkit(world.url, alice, "hello");
    ok(await vote(world.url, "copilotkit", alice, { id, value: "up" }), "POST /copilotkit/feedback");
    const address = `${world.url}/copilotkit/feedback?threadId=${thread}`;
    const own = ok(await call(address, { key: alice.key }), "GET of alice").feedback;
    same(own.map((line) => [line.messageId, line.value]), [[id, "up"]], "the votes of alice");
    same(ok(await call(address, { key: bob.key }), "GET of bob").feedback, [], "the votes of bob");
  } },
  { name: "feedback-deleted-thread", about: "a thread takes its votes with it, and its answers cannot be judged any more", async run(world) {
    const user = world.user(), { id, thread } = await ask.copilotkit(world.url, user, "hello");
    ok(await vote(world.url, "copilotkit", user, { id, value: "up", comment: "before" }), "POST /copilotkit/feedback");
    const [{ run }] = await rows(world.url, user);
    ok(await call(`${world.url}/copilotkit/threads/${thread}`, { method: "DELETE", key: user.key, json: { agentId: "default" } }), "DELETE of the thread");
    for (const gone of [id, run]) same((await vote(world.url, "copilotkit", user, { id: gone, value: "down" })).status, 404, `the status of a vote on ${gone}`);
    same(await rows(world.url, user), [], "the rows");
  } },
];
