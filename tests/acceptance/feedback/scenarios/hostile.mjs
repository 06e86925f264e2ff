// Clients that send what they should not.
import { expect, same } from "../../_lib/expect.mjs";
import { ask, call, FEEDBACK, hasStatus, isRefused, ok, rows, vote, voteInWorkspace } from "../lib/faces.mjs";

const FLOOD_VOTES = 400, MAX_ROWS_OF_A_PAGE = 200;
const HUGE_CHARS = 10_000_000;

const hostileBodies = (id) => [
  "", "{", "[]", "null", "{}", "\u0000", '"up"', "[".repeat(100_000),
  ...[{ id }, { id, value: "sideways" }, { id, value: 99 }, { id, value: true }, { id: 7, value: "up" }, { id: [id], value: "up" }, { id: null, value: "up" }].map((body) => JSON.stringify(body)),
  ...[{ tags: "x" }, { tags: [1] }, { tags: [null] }, { tags: {} }, { comment: {} }, { comment: 1 }, { coment: "a typo" }].map((more) => JSON.stringify({ id, value: "up", ...more })),
  JSON.stringify({ id, value: "up", comment: "x".repeat(4001) }),
  JSON.stringify({ id, value: "up", tags: ["x".repeat(65)] }),
  JSON.stringify({ id, value: "up", tags: Array.from({ length: 5000 }, (_, number) => `t${number}`) }),
];

// Anthropic's errors name their request, which is another one each time.
const withoutRequestId = (body) => JSON.stringify({ ...body, request_id: undefined });

export const hostile = [
  { name: "feedback-other-user", about: "another user's answer is refused as one that does not exist, by every id and face", async run(world) {
    const [alice, bob] = [world.user(), world.user()], { id, thread } = await ask.copilotkit(world.url, alice, "hello");
    ok(await vote(world.url, "copilotkit", alice, { id, value: "up" }), "the vote of alice");
    const [{ run, id: row }] = await rows(world.url, alice);
    const missing = "run_00000000000000000000000000000000";
    for (const face of Object.keys(FEEDBACK)) {
      const none = hasStatus(await vote(world.url, face, bob, { id: missing, value: "down" }), "a vote on an answer that does not exist", 404) ?? "text";
      for (const guess of [id, run, thread, row, `${id}x`, "run_1", "*", "%"]) {
        const answer = await vote(world.url, face, bob, { id: guess, value: "down" });
        hasStatus(answer, `a vote of bob on ${guess} by ${face}`, 404);
        if (none !== "text") same(withoutRequestId(answer.body).replaceAll(guess, missing), withoutRequestId(none), `the response for ${guess}`);
        expect(!answer.text.includes(alice.name), "no name of the owner", answer.text);
        hasStatus(await vote(world.url, face, bob, { id: guess, value: null }), `a withdrawal of bob on ${guess} by ${face}`, 404);
        hasStatus(await call(`${world.url}${FEEDBACK[face]}?id=${encodeURIComponent(guess)}`, { key: bob.key }), `a question of bob for the vote on ${guess}`, 404);
      }
    }
    same((await rows(world.url, alice)).map((one) => one.value), ["up"], "the votes on alice's answer");
    same(await rows(world.url, bob), [], "the votes of bob");
  } },
  { name: "feedback-unauthorised", about: "every face refuses a vote without a key", async run(world) {
    const user = world.user(), { id } = await ask.copilotkit(world.url, user, "hello");
    for (const face of Object.keys(FEEDBACK)) {
      for (const key of [undefined, "key-nobody"]) hasStatus(await vote(world.url, face, { key }, { id, value: "up" }), `a vote by ${face}`, 401, 403);
      ok(await vote(world.url, face, user, { id, value: "up" }), `a vote by ${face} with a key`);
    }
    for (const key of [undefined, "key-nobody"]) hasStatus(await voteInWorkspace(world.url, { key }, { vote: "up" }), "a vote of Workspace", 401, 403);
  } },
  { name: "feedback-hostile", about: "hostile bodies are refused with a message, in the form of each face", async run(world) {
    const user = world.user(), { id } = await ask.copilotkit(world.url, user, "hello");
    for (const face of Object.keys(FEEDBACK))
      for (const raw of hostileBodies(id)) isRefused(await call(world.url + FEEDBACK[face], { method: "POST", key: user.key, raw }), `${face}: ${raw.slice(0, 60)}`);
    same(await rows(world.url, user), [], "the rows");
  } },
  { name: "feedback-huge", about: "a comment of 10 MB is refused on every face, quickly, and nothing of it is stored", async run(world) {
    const user = world.user(), { id } = await ask.copilotkit(world.url, user, "hello"), comment = "x".repeat(HUGE_CHARS);
    for (const face of Object.keys(FEEDBACK)) isRefused(await vote(world.url, face, user, { id, value: "down", comment }), `10 MB by ${face}`);
    isRefused(await voteInWorkspace(world.url, user, { vote: "down", user_comment: comment, user_prompt: "q", trace_id: "t" }), "10 MB by Workspace");
    same(await rows(world.url, user), [], "the rows");
  } },
  { name: "feedback-flood", about: "a flood of changes is one row, and others are served meanwhile", async run(world) {
    const [mallory, alice] = [world.user(), world.user()], { id } = await ask.copilotkit(world.url, mallory, "hello");
    let statuses = [], isOver = false;
    const flood = Promise.all(Array.from({ length: 20 }, async (_, lane) => {
      for (let number = 0; number < FLOOD_VOTES / 20; number++) {
        const value = ["up", "down", null][(lane + number) % 3];
        statuses.push((await vote(world.url, "copilotkit", mallory, { id, value, comment: `${lane}/${number}` })).status);
      }
    })).then(() => { isOver = true; });
    const other = await ask.copilotkit(world.url, alice, "hello");
    ok(await vote(world.url, "copilotkit", alice, { id: other.id, value: "up" }), "the vote of another user");
    await flood;
    expect(isOver && statuses.every((status) => status === 200 || status === 429), "only 200 and 429", [...new Set(statuses)]);
    ok(await vote(world.url, "copilotkit", mallory, { id, value: "down", comment: "last" }), "the last vote");
    const found = await rows(world.url, mallory, `&limit=${MAX_ROWS_OF_A_PAGE}`);
    same(found.map((row) => [row.value, row.comment]), [["down", "last"]], "the rows of the flood");
    same((await rows(world.url, alice)).length, 1, "the rows of the other user");
  } },
];
