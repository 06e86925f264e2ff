// HTTP with a key, and a question on each face, reduced to what the client knows of the answer.
import { expect, show, unique } from "../../_lib/expect.mjs";
import { call, ok } from "../../_lib/http.mjs";

/** Where each face takes votes. */
export const FEEDBACK = { copilotkit: "/copilotkit/feedback", "ai-sdk": "/api/chat/feedback", responses: "/v1/feedback", anthropic: "/anthropic/v1/feedback" };
/** What `through` says of it. */
export const THROUGH = { copilotkit: "copilotkit", "ai-sdk": "ai_sdk", responses: "openai", anthropic: "anthropic" };

export { call, hasStatus, ok } from "../../_lib/http.mjs";

/** The body is refused with a message, in the form of the face's errors: useChat shows plain text. */
export function isRefused(answer, what) {
  expect(answer.status >= 400 && answer.status < 500, `${what}: 4xx`, `${answer.status} ${show(answer.text, 200)}`);
  const error = answer.body?.error;
  const message = answer.body === undefined ? answer.text : answer.body.message ?? error?.message ?? error ?? answer.body.detail;
  expect(typeof message === "string" && message !== "", `${what}: a message`, show(answer.text, 200));
}

const events = (text) => text.split(/\r?\n\r?\n/).flatMap((block) => {
  const data = block.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim()).join("\n");
  try { return data ? [JSON.parse(data)] : []; } catch { return []; } // such as [DONE]
});

/** `{id, thread}`: the id of the answer that the client has in hand, and of the thread where the client knows it. */
export const ask = {
  async copilotkit(url, { key }, text, agent = "default") {
    const threadId = unique("t");
    const json = { threadId, runId: unique("r"), messages: [{ id: unique("m"), role: "user", content: text }], tools: [], context: [], state: {}, forwardedProps: {} };
    const answer = await call(`${url}/copilotkit/agent/${agent}/run`, { method: "POST", key, json, headers: { accept: "text/event-stream" } });
    ok(answer, "a run on the CopilotKit face");
    return { id: events(answer.text).findLast((event) => event.type === "TEXT_MESSAGE_START")?.messageId, thread: threadId };
  },
  async "ai-sdk"(url, { key }, text) {
    const json = { id: unique("chat"), trigger: "submit-message", messages: [{ id: unique("m"), role: "user", parts: [{ type: "text", text }] }] };
    const answer = await call(`${url}/api/chat`, { method: "POST", key, json });
    ok(answer, "a question on the AI SDK face");
    return { id: events(answer.text).find((chunk) => chunk.type === "start")?.messageId };
  },
  async responses(url, { key }, text) {
    const body = ok(await call(`${url}/v1/responses`, { method: "POST", key, json: { model: "default", input: text } }), "a response");
    return { id: body.id };
  },
  async anthropic(url, { key }, text) {
    const json = { model: "default", max_tokens: 100, messages: [{ role: "user", content: text }] };
    return { id: ok(await call(`${url}/anthropic/v1/messages`, { method: "POST", key, json }), "a message").id };
  },
  async completion(url, { key }, text) {
    const json = { model: "default", messages: [{ role: "user", content: text }] };
    return { id: ok(await call(`${url}/v1/chat/completions`, { method: "POST", key, json }), "a chat completion").id };
  },
};

/** A question of Workspace in a chat. Returns what its thumbs send with a vote. */
export async function askWorkspace(url, { key }, chat, content, history = []) {
  const answer = await call(`${url}/openbb/v1/query`, { method: "POST", key, headers: { "x-trace-id": chat }, json: { messages: [...history, { role: "human", content }] } });
  ok(answer, "POST /openbb/v1/query");
  return { user_prompt: content, ai_response: events(answer.text).map((event) => event.delta ?? "").join(""), trace_id: chat };
}

export const vote = (url, face, user, json) => call(url + FEEDBACK[face], { method: "POST", key: user?.key, json });
export const voteInWorkspace = (url, user, json) => call(`${url}/openbb/v1/feedback`, { method: "POST", key: user?.key, json });

/** The rows of a user, as an operator lists them. */
export async function rows(url, user, more = "") {
  return ok(await call(`${url}/operator/feedback?owner=${user.name}${more}`, { key: "key-olga" }), "GET /operator/feedback").feedback;
}
