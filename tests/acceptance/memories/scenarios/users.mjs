// Memories as the requests of CopilotKit's `useMemories`, and as no client sends them.
import { expect, same } from "../../_lib/expect.mjs";
import { add, ask, call, hasStatus, isRefused, list, listAll, ok, own, send } from "../lib/http.mjs";

const FIELDS = ["content", "id", "invalidatedAt", "kind", "scope", "sourceThreadIds"];

export const users = [
  { name: "memories-life", about: "added, listed, recalled, replaced by a new id, removed once", async run({ url, user, unique }) {
    const alice = user(), mark = unique("x").replace("-", "");
    const first = hasStatus(await add(url, alice, `lives in Basel ${mark}`), "POST /memories", 201);
    same(Object.keys(first).sort(), FIELDS, "the fields of a memory");
    await add(url, alice, "plays the cello");
    const [best, ...others] = ok(await send(url, alice, "POST", "memories/recall", { query: `who lives at ${mark}`, limit: 5 }), "recall").memories;
    same([best.id, others.length, typeof best.score], [first.id, 0, "number"], "[the best, others, the type of its score]");
    const second = ok(await send(url, alice, "PATCH", `memories/${first.id}`, { content: "lives in Bern", kind: "episodic" }), "PATCH");
    same([second.retiredId, second.kind, second.id === first.id], [first.id, "episodic", false], "[retiredId, kind, the same id]");
    same((await list(url, alice)).map((memory) => memory.content), ["lives in Bern", "plays the cello"], "the list");
    hasStatus(await send(url, alice, "PATCH", `memories/${first.id}`, { content: "x", kind: "topical" }), "PATCH of the replaced one", 404);
    hasStatus(await send(url, alice, "DELETE", `memories/${second.id}`), "DELETE", 204);
    hasStatus(await send(url, alice, "DELETE", `memories/${second.id}`), "DELETE again", 404);
  } },
  { name: "memories-envelope", about: "the same by the envelope (useSingleEndpoint)", async run({ url, user }) {
    const alice = user(), sent = (httpMethod, path, body) => call(`${url}/copilotkit`, { method: "POST", key: alice.key, json: { method: "resource/request", params: { path, httpMethod }, body } });
    const one = ok(await sent("POST", "/memories", { content: "by the envelope", kind: "topical" }), "POST");
    same(ok(await sent("POST", "/memories/recall", { query: "envelope" }), "recall").memories.map((memory) => memory.id), [one.id], "recalled ids");
    hasStatus(await sent("DELETE", `/memories/${one.id}`), "DELETE", 204);
    same(ok(await sent("GET", "/memories"), "GET").memories, [], "the list");
  } },
  { name: "memories-other-user", about: "another user neither sees nor changes them, with guessed ids either", async run({ url, user, unique }) {
    const alice = user(), bob = user(), text = unique("secret of alice");
    const { id } = ok(await add(url, alice, text), "POST /memories");
    same([await list(url, bob), ok(await send(url, bob, "POST", "memories/recall", { query: text }), "recall").memories].map(own), [[], []], "[list, recall] of bob");
    for (const tried of [id, id.toUpperCase(), id.replace(/.$/, "0"), `${id}/../${id}`, encodeURIComponent(`../${id}`), "%00", "1", "*"])
      for (const [method, json] of [["PATCH", { content: "overwritten", kind: "topical" }], ["DELETE", undefined]]) hasStatus(await send(url, bob, method, `memories/${tried}`, json), `${method} of ${tried}`, 400, 403, 404, 405);
    same((await list(url, alice)).map((memory) => memory.content), [text], "the list of alice");
  } },
  { name: "memories-unauthorised", about: "without a key every address refuses", async run({ url }) {
    for (const [method, path, json] of [["GET", "memories"], ["POST", "memories", { content: "x", kind: "topical" }], ["PATCH", "memories/1", {}], ["DELETE", "memories/1"], ["POST", "memories/recall", { query: "x" }], ["POST", "memories/subscribe", {}]])
      for (const key of [undefined, "key-nobody"]) hasStatus(await send(url, { key }, method, path, json), `${method} ${path}`, 401, 403);
  } },
  { name: "memories-shared", about: "shared memories: only an operator writes them, everybody reads them", async run({ url, user, unique }) {
    const alice = user(), olga = { name: "olga", key: "key-olga" }, text = unique("closed on Fridays");
    hasStatus(await add(url, alice, text, { scope: "project" }), "a shared memory of a user", 403);
    const one = ok(await add(url, olga, text, { scope: "project" }), "a shared memory of an operator");
    const seen = await listAll(url, alice);
    expect(seen.some((memory) => memory.id === one.id && memory.scope === "project"), "it in the list of a user", seen);
    hasStatus(await send(url, alice, "DELETE", `memories/${one.id}`), "DELETE by a user", 403, 404);
    ok(await send(url, olga, "DELETE", `memories/${one.id}`), "DELETE by the operator");
  } },
  { name: "memories-hostile", about: "hostile bodies are refused with a message; nothing is stored", async run({ url, user }) {
    const mallory = user(), deep = "[".repeat(20_000) + "]".repeat(20_000);
    const bodies = ["", "null", "[]", "7", "{", "{}", '{"content":"x"}', '{"content":1,"kind":"topical"}', '{"content":"","kind":"topical"}', '{"content":"  \\n ","kind":"topical"}', '{"content":"x","kind":"other"}', '{"content":"x","kind":"topical","scope":"world"}', '{"content":"x","kind":"topical","sourceThreadIds":[1]}', `{"content":${deep},"kind":"topical"}`, JSON.stringify({ content: "x".repeat(3_000_000), kind: "topical" })];
    for (const raw of bodies) isRefused(await call(`${url}/copilotkit/memories`, { method: "POST", key: mallory.key, raw }), `POST ${raw.slice(0, 60)}`);
    for (const raw of ["{", "{}", '{"query":""}', '{"query":"x","limit":-1}', '{"query":"x","limit":"a"}', '{"query":7}']) isRefused(await call(`${url}/copilotkit/memories/recall`, { method: "POST", key: mallory.key, raw }), `recall ${raw}`);
    for (const query of ['"', "a AND (b", "*", "'; drop table memories; --", "x".repeat(5000)]) ok(await send(url, mallory, "POST", "memories/recall", { query }), `recall of ${query.slice(0, 20)}`);
    same(await list(url, mallory), [], "the list");
    const odd = ok(await add(url, mallory, "odd \u0000 \ud800 \u202e text 🙂"), "a text with odd characters");
    expect(odd.content.includes("🙂"), "the text kept", odd);
  } },
  { name: "memories-limits", about: "one too long, and one too many, are refused with the limit", async run({ url, user }) {
    const carl = user();
    isRefused(await add(url, carl, "y".repeat(10_000)), "10,000 characters");
    for (let number = 0; number < 60; number++) ok(await add(url, carl, `fact number ${number}`), `memory ${number + 1} of 60`);
    const more = await add(url, carl, "one too many");
    isRefused(more, "memory 61");
    expect(more.body.message.includes("60"), "a message that names the limit", more.text);
  } },
  { name: "memories-same-text", about: "the same text at once is one memory; a source is a thread of one's own", async run({ url, user, unique }) {
    const alice = user(), bob = user(), text = unique("said twice"), run = await ask(url, alice, "hello");
    const answers = await Promise.all(Array.from({ length: 8 }, () => add(url, alice, text, { sourceThreadIds: [run.threadId] })));
    same(new Set(answers.map((answer) => ok(answer, "POST /memories").id)).size, 1, "the number of ids");
    same((await list(url, alice)).map((memory) => memory.sourceThreadIds), [[run.threadId]], "its source");
    same(ok(await add(url, bob, text, { sourceThreadIds: [run.threadId] }), "of bob").sourceThreadIds, [], "the source of bob's");
  } },
  { name: "memories-off", about: "a face whose agents have no memory says so, and its lists of threads are live; no licence is claimed at all", async run({ url, user }) {
    const { key } = user(), infos = [];
    hasStatus(await call(`${url}/bare/memories`, { key }), "GET /bare/memories", 404, 501);
    for (const base of ["bare", "copilotkit"]) infos.push(ok(await call(`${url}/${base}/info`, { key }), `GET /${base}/info`));
    same(infos.map((info) => typeof info.intelligence?.wsUrl), ["string", "string"], "the types of wsUrl");
    for (const info of infos) for (const name of ["licenseStatus", "runtimeEntitlements", "inspectorMetadata"]) expect(!(name in info), `no ${name}`, info[name]);
  } },
];
