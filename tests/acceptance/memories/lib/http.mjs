// HTTP with a key; runs of the faces, reduced to what the scenarios need.
import { expect, show, unique } from "../../_lib/expect.mjs";
import { call, ok } from "../../_lib/http.mjs";

export { call, hasStatus, ok } from "../../_lib/http.mjs";

export function isRefused(answer, what) {
  expect(answer.status >= 400 && answer.status < 500, `${what}: 4xx`, `${answer.status} ${show(answer.text, 200)}`);
  expect(typeof answer.body?.message === "string" && answer.body.message !== "", `${what}: a message`, show(answer.text, 200));
}

/** A request below the path of the CopilotKit face. */
export const send = (url, user, method, path, json) => call(`${url}/copilotkit/${path}`, { method, key: user?.key, json });
export const add = (url, user, content, more = {}) => send(url, user, "POST", "memories", { content, kind: "topical", sourceThreadIds: [], ...more });
export const listAll = async (url, user) => ok(await send(url, user, "GET", "memories"), "GET /memories").memories;
/** Without those that an operator shares with all users: another scenario may do so meanwhile. */
export const own = (memories) => memories.filter((memory) => memory.scope !== "project");
export const list = async (url, user) => own(await listAll(url, user));
/** The rows of a user, as an operator lists them. */
export const rows = async (url, user) => ok(await call(`${url}/operator/memories?owner=${user.name}`, { key: "key-olga" }), "GET /operator/memories").memories;

const events = (text) => text.split(/\r?\n\r?\n/).flatMap((block) => {
  const data = block.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim()).join("\n");
  try { return data ? [JSON.parse(data)] : []; } catch { return []; } // such as [DONE]
});

/** A run of CopilotKit's client. `resume` are decisions about questions, `history` the messages before. */
export async function ask(url, user, text, { agent = "default", threadId = unique("t"), history = [], resume, context = [] } = {}) {
  const messages = text === undefined ? history : [...history, { id: unique("m"), role: "user", content: text }];
  const json = { threadId, runId: unique("r"), messages, tools: [], context, state: {}, forwardedProps: {}, ...(resume ? { resume } : {}) };
  const answer = await call(`${url}/copilotkit/agent/${agent}/run`, { method: "POST", key: user.key, json, headers: { accept: "text/event-stream" } });
  ok(answer, "a run");
  const found = events(answer.text), end = found.at(-1);
  return {
    threadId, history: messages, text: answer.text, error: found.find((event) => event.type === "RUN_ERROR"),
    interrupts: end?.outcome?.type === "interrupt" ? end.outcome.interrupts : [],
    calls: found.filter((event) => event.type === "TOOL_CALL_START").map((event) => event.toolCallName),
    results: found.filter((event) => event.type === "TOOL_CALL_RESULT").map((event) => String(event.content)),
  };
}

export const decide = (url, user, run, decision) => ask(url, user, undefined, { threadId: run.threadId, history: run.history, resume: [{ interruptId: run.interrupts[0].id, ...decision }] });

/** A question by each other protocol: the response. */
export const faces = {
  openbb: (url, { key }, text) => call(`${url}/openbb/v1/query`, { method: "POST", key, json: { messages: [{ role: "human", content: text }] } }),
  "ai-sdk": (url, { key }, text) => call(`${url}/api/chat`, { method: "POST", key, json: { id: unique("chat"), trigger: "submit-message", messages: [{ id: unique("m"), role: "user", parts: [{ type: "text", text }] }] } }),
  responses: (url, { key }, text) => call(`${url}/v1/responses`, { method: "POST", key, json: { model: "default", input: text } }),
  completions: (url, { key }, text) => call(`${url}/v1/chat/completions`, { method: "POST", key, json: { model: "default", messages: [{ role: "user", content: text }] } }),
};
