// What users did in the page: stored once with the thread, for operators.
import { same } from "../../_lib/expect.mjs";
import { ask, call, hasStatus, isRefused, ok, send } from "../lib/http.mjs";

const annotate = (url, user, json) => send(url, user, "POST", "annotate", { type: "user_action", ...json });
const stored = async (url, user) => ok(await call(`${url}/operator/annotations?owner=${user.name}`, { key: "key-olga" }), "GET /operator/annotations").annotations;

export const annotations = [
  { name: "annotations-life", about: "stored once, also at once; read by operators alone; gone with the thread", async run({ url, user, unique }) {
    const alice = user(), { threadId } = await ask(url, alice, "hello"), title = unique("clicked"), sent = { threadId, clientEventId: unique("e"), payload: { title } };
    const answers = await Promise.all(Array.from({ length: 6 }, () => annotate(url, alice, sent)));
    same([new Set(answers.map((answer) => ok(answer, "POST /annotate").id)).size, answers.filter((answer) => !answer.body.duplicate).length], [1, 1], "[ids, first ones]");
    same((await stored(url, alice)).map((row) => [row.thread, row.payload]), [[threadId, { title }]], "the rows");
    hasStatus(await call(`${url}/operator/annotations?owner=${alice.name}`, { key: user().key }), "the rows for another user", 403);
    ok(await send(url, alice, "DELETE", `threads/${threadId}`, { agentId: "default" }), "DELETE");
    same(await stored(url, alice), [], "the rows afterwards");
  } },
  { name: "annotations-refused", about: "another user's thread, and hostile bodies", async run({ url, user }) {
    const alice = user(), bob = user(), { threadId } = await ask(url, alice, "hello");
    hasStatus(await annotate(url, bob, { threadId }), "bob on alice's thread", 403, 404);
    for (const json of [{}, { threadId, type: "" }, { threadId: [threadId] }, { threadId, payload: "x" }, { threadId, occurredAt: "yesterday" }, { threadId, payload: { data: "x".repeat(2_000_000) } }]) isRefused(await annotate(url, alice, json), `POST ${JSON.stringify(json).slice(0, 40)}`);
    same([await stored(url, alice), await stored(url, bob)], [[], []], "the rows");
  } },
];
