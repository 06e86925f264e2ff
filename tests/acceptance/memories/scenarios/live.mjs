// Lists that follow changes of other windows, by the WebSocket of a page.
import { expect, same, until } from "../../_lib/expect.mjs";
import { call } from "../../_lib/http.mjs";
import { add, ask, ok, send } from "../lib/http.mjs";
import { Socket } from "../lib/phoenix.mjs";

const WITHIN = { timeout: 1000 };

/** Where the user's page opens its socket, the token, and its channels. */
async function credentials(url, user) {
  const { intelligence } = ok(await send(url, user, "GET", "info"), "GET /info");
  const { joinCode } = ok(await send(url, user, "GET", "threads?agentId=default"), "GET /threads");
  const { joinToken } = ok(await send(url, user, "POST", "threads/subscribe", {}), "POST /threads/subscribe");
  return { wsUrl: intelligence.wsUrl, token: joinToken, threads: `user_meta:${joinCode}`, memories: `user_meta:memories:${joinCode}` };
}

async function follow(url, user) {
  const found = await credentials(url, user), socket = await Socket.open(found.wsUrl, found.token);
  for (const topic of [found.threads, found.memories]) same(await socket.push(topic, "phx_join"), "ok", `the join of ${topic}`);
  return Object.assign(socket, found);
}

const change = async (url, user, id, json) => ok(await send(url, user, "PATCH", `threads/${id}`, { agentId: "default", ...json }), "PATCH");
const of = (socket, id) => socket.events("thread_metadata").filter((event) => event.threadId === id);

export const live = [
  { name: "live-threads", about: "a list follows a thread: its run, name, archive and deletion, each within a second", async run({ url, user, unique }) {
    const alice = user(), socket = await follow(url, alice), name = unique("renamed"), { threadId } = await ask(url, alice, "hello");
    await until(() => of(socket, threadId).length, "the new thread", WITHIN);
    await change(url, alice, threadId, { name });
    await until(() => of(socket, threadId).at(-1).thread.name === name, "the new name", WITHIN);
    ok(await send(url, alice, "POST", `threads/${threadId}/archive`, { agentId: "default" }), "archive");
    await until(() => of(socket, threadId).at(-1).operation === "archived", "the archived thread", WITHIN);
    ok(await send(url, alice, "DELETE", `threads/${threadId}`, { agentId: "default" }), "DELETE");
    await until(() => of(socket, threadId).at(-1).deleted?.id === threadId, "the deletion", WITHIN);
    same(new Set(socket.events("thread_run_activity").map((event) => event.eventType)), new Set(["RUN_STARTED", "RUN_FINISHED"]), "what is said of the run");
    socket.close();
  } },
  { name: "live-memories", about: "a list follows memories: added, replaced, saved by the model, removed", async run({ url, user, unique }) {
    const alice = user(), socket = await follow(url, alice), shown = () => socket.events("memory_metadata"), said = unique("likes tea");
    const one = ok(await add(url, alice, unique("by hand")), "POST");
    await until(() => shown().some((event) => event.memory?.id === one.id), "the memory", WITHIN);
    const two = ok(await send(url, alice, "PATCH", `memories/${one.id}`, { content: unique("changed"), kind: "topical" }), "PATCH");
    await until(() => shown().some((event) => event.memory?.id === two.id) && shown().some((event) => event.invalidated?.id === one.id), "the replacement", WITHIN);
    await ask(url, alice, `remember that ${said}`);
    await until(() => shown().some((event) => event.memory?.content === said), "what the model saved", WITHIN);
    ok(await send(url, alice, "DELETE", `memories/${two.id}`), "DELETE");
    await until(() => shown().some((event) => event.invalidated?.id === two.id), "the removal", WITHIN);
    socket.close();
  } },
  { name: "live-missed", ownServer: true, about: "after kill -9 the same token counts, and what was missed is sent", async run({ ownServer, user }) {
    const server = await ownServer(), alice = user(), gone = await ask(server.url, alice, "to be deleted"), before = await follow(server.url, alice);
    await server.restart();
    ok(await send(server.url, alice, "DELETE", `threads/${gone.threadId}`, { agentId: "default" }), "DELETE");
    const { threadId } = await ask(server.url, alice, "after"), socket = await Socket.open(before.wsUrl, before.token);
    same(await socket.push(before.threads, "phx_join"), "ok", "the join with the old token and code");
    await until(() => of(socket, threadId).length && of(socket, gone.threadId).some((event) => event.deleted), "both changes", WITHIN);
    socket.close();
  } },
  { name: "live-others", about: "other users, foreign channels, forged tokens, other origins: nothing", async run({ url, user }) {
    const alice = user(), bob = user(), hers = await follow(url, alice), his = await follow(url, bob);
    for (const topic of [hers.threads, hers.memories, "user_meta:*", "user_meta:", "phoenix"]) same(await his.push(topic, "phx_join"), "error", `the join of ${topic} by bob`);
    for (const token of ["", "x", hers.token.slice(0, -2), alice.key]) same((await Socket.open(hers.wsUrl, token)).state, "refused", "a socket with a wrong token");
    same((await Socket.open(hers.wsUrl, hers.token, { origin: "https://evil.test" })).state, "refused", "a socket of https://evil.test");
    for (const headers of [{ "x-api-key": hers.token }, { authorization: `Bearer ${hers.token}` }]) expect([401, 403].includes((await call(`${url}/copilotkit/threads`, { headers })).status), "no list with the token as a key", headers);
    const { id } = ok(await add(url, alice, "the secret of alice"), "POST /memories");
    await ask(url, alice, "hello");
    await until(() => hers.events("thread_metadata").length && hers.events("memory_metadata").some((event) => event.memoryId === id), "events for alice", WITHIN);
    same(await his.push("phoenix", "heartbeat"), "ok", "a heartbeat of bob");
    // An operator may share a memory with all users meanwhile.
    same(his.frames.filter((frame) => !["phx_reply", "memory_metadata"].includes(frame[3])), [], "events of threads for bob");
    expect(!JSON.stringify(his.frames).includes(id), "nothing of alice's memory for bob", his.frames);
    hers.close(); his.close();
  } },
  { name: "live-hostile", about: "garbage, huge and countless frames close their own socket alone", async run({ url, user }) {
    const alice = user(), mallory = user(), open = await follow(url, alice), { wsUrl, token } = await credentials(url, mallory);
    for (const frames of [["x"], ["{}"], ["[".repeat(50_000)], ["x".repeat(2_000_000)], Array.from({ length: 400 }, (_, index) => ["1", String(index), `user_meta:${index}`, "phx_join", {}])]) {
      const socket = await Socket.open(wsUrl, token);
      for (const frame of frames) socket.send(frame);
      await until(() => socket.state === "closed", `the end of a socket that sent ${String(frames[0]).slice(0, 20)}`, { timeout: 10_000 });
      socket.close();
    }
    const { threadId } = await ask(url, alice, "hello");
    await until(() => of(open, threadId).length, "alice's list to be live", WITHIN);
    open.close();
  } },
];
