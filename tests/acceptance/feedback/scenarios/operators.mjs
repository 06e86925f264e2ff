// What operators see of the votes.
import { same } from "../../_lib/expect.mjs";
import { ask, call, hasStatus, ok, rows, vote } from "../lib/faces.mjs";

/** Votes of a new user, one for each entry: on an answer of CopilotKit, or of the given agent. */
async function judgeAll(world, entries) {
  const user = world.user();
  for (const [number, { agent, ...given }] of entries.entries()) {
    const { id } = await ask.copilotkit(world.url, user, `question ${number}`, agent);
    ok(await vote(world.url, "copilotkit", user, { id, ...given }), "POST /copilotkit/feedback");
  }
  return user;
}

export const operators = [
  { name: "feedback-filter", about: "operators filter by value, face, agent, model, tag and time, and read page by page", async run(world) {
    const user = await judgeAll(world, [{ value: "up" }, { value: "down", tags: ["slow"] }, { value: "down" }, { value: "up" }, { value: "down", agent: "plain" }]);
    const other = await ask.responses(world.url, user, "hello");
    ok(await vote(world.url, "responses", user, { id: other.id, value: "down" }), "POST /v1/feedback");
    const count = async (more) => (await rows(world.url, user, more)).length;
    const expected = { "": 6, "&value=down": 4, "&value=down&agent=plain": 1, "&through=openai": 1, "&tag=slow": 1, "&tag=slo": 0, "&model=upstream": 6, "&model=other": 0, "&since=2999-01-01T00:00:00Z": 0 };
    for (const [more, number] of Object.entries(expected)) same(await count(more), number, `the number of rows with ${more || "no filter"}`);
    const read = async (more) => ok(await call(`${world.url}/operator/feedback?owner=${user.name}&limit=4${more}`, { key: "key-olga" }), "a page");
    const first = await read(""), second = await read(`&after=${encodeURIComponent(first.next)}`);
    const ids = new Set([...first.feedback, ...second.feedback].map((row) => row.id));
    same([first.feedback.length, second.feedback.length, second.next, ids.size], [4, 2, null, 6], "[rows, rows, next, ids]");
  } },
  { name: "feedback-counts", about: "votes are counted over time by agent and model, for operators that may not read them", async run(world) {
    const user = await judgeAll(world, [{ value: "up" }, { value: "down" }, { value: "up", agent: "plain" }]);
    const { counts } = ok(await call(`${world.url}/operator/feedback/counts?bucket=day&owner=${user.name}`, { key: "key-wu" }), "GET /operator/feedback/counts");
    same(counts.map(({ agent, model, up, down }) => [agent, model, up, down]).sort(), [["default", "upstream", 1, 1], ["plain", "upstream", 1, 0]], "the counts");
    hasStatus(await call(`${world.url}/operator/feedback?owner=${user.name}`, { key: "key-wu" }), "the comments without the right to read", 403);
    hasStatus(await call(`${world.url}/operator/feedback?owner=${user.name}`, { key: user.key === "key-u001" ? "key-u240" : "key-u001" }), "the comments of another user", 403);
  } },
  { name: "feedback-runs", about: "the list of runs shows the vote and filters by it", async run(world) {
    const user = world.user(), good = await ask.copilotkit(world.url, user, "good"), bad = await ask.copilotkit(world.url, user, "bad");
    ok(await vote(world.url, "copilotkit", user, { id: good.id, value: "up" }), "the vote on the first");
    ok(await vote(world.url, "copilotkit", user, { id: bad.id, value: "down", comment: "no" }), "the vote on the second");
    const { runs } = ok(await call(`${world.url}/operator/runs?owner=${user.name}&feedback=down`, { key: "key-olga" }), "GET /operator/runs");
    same(runs.map((run) => [run.thread, run.feedback]), [[bad.thread, "down"]], "the runs with a bad vote");
  } },
];
