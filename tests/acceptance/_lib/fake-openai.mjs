// An OpenAI-compatible chat server with fixed answers: how they are sent. What is said is the suite's `plan`.
import http from "node:http";
import { randomBytes } from "node:crypto";
import { sleep } from "./expect.mjs";
import { listen } from "./ports.mjs";

const HOLD_LIMIT_MS = 60_000;
const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

export const partsOf = (message) => (Array.isArray(message?.content) ? message.content : [{ type: "text", text: message?.content ?? "" }]);
export const textOf = (message) => partsOf(message).map((part) => part.text ?? "").join(" ").trim();

/** The last user message of a request, and what came after it: the results of tools. `[KEY]` in it names the request. */
export function readQuestion(body) {
  const messages = body.messages ?? [];
  const at = messages.map((m) => m.role).lastIndexOf("user");
  const said = at < 0 ? "" : textOf(messages[at]);
  return {
    said, before: at < 0 ? [] : messages.slice(0, at), parts: at < 0 ? [] : partsOf(messages[at]),
    says: (word) => said.toLowerCase().includes(word),
    key: /\[([\w-]+)\]/.exec(said)?.[1],
    results: messages.slice(at + 1).filter((m) => m.role === "tool").map(textOf),
  };
}

/** As the real API: an assistant's tool calls must be answered by tool messages before anything else comes. */
function unansweredCalls(messages) {
  let open = new Set();
  for (const message of messages) {
    if (message.role === "tool") { open.delete(message.tool_call_id); continue; }
    if (open.size) return [...open];
    if (message.role === "assistant") open = new Set((message.tool_calls ?? []).map((call) => call.id));
  }
  return [...open];
}

const refuse = (key, status, message, code) => ({ key, status, error: { message, type: "invalid_request_error", code } });

export function planUnanswered(body) {
  const open = unansweredCalls(body.messages ?? []);
  if (open.length) return refuse(undefined, 400, `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. Missing: ${open.join(", ")}`, null);
}

/** A refusal or a break that every suite can ask for, or nothing. */
export function planFailure({ key, says }) {
  if (says("bad key")) return refuse(key, 401, "Incorrect API key provided.", "invalid_api_key");
  if (says("too long")) return refuse(key, 400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded");
  if (says("break off")) return { key, steps: [{ text: "Here is the first half" }, { pause: 400 }, { break: { message: "The server had an error while processing your request.", type: "server_error", code: "server_error" } }] };
}

/** Begins a streamed answer: `chunk(choices, more)` sends one chunk, `delta(value, finish)` one choice. */
export function beginStream(res, body) {
  const id = "chatcmpl-" + randomBytes(6).toString("hex");
  res.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  const chunk = (choices, more = {}) => res.write("data: " + JSON.stringify({ id, object: "chat.completion.chunk", created: 1700000000, model: body.model, choices, ...more }) + "\n\n");
  const delta = (value, finish = null) => chunk([{ index: 0, delta: value, finish_reason: finish }]);
  delta({ role: "assistant", content: "" });
  return { chunk, delta };
}

/** Sends `calls`, each [name, arguments], the arguments in so many pieces; `wait` before each may end it all by false. */
export async function sendCalls(delta, calls, count, wait) {
  const run = randomBytes(4).toString("hex");
  for (const [index, [name, args]] of calls.entries()) {
    const text = JSON.stringify(args), size = Math.max(1, Math.ceil(text.length / count));
    delta({ tool_calls: [{ index, id: `call_${run}_${index}`, type: "function", function: { name, arguments: "" } }] });
    for (let i = 0; i < text.length; i += size) {
      if ((await wait()) === false) return false;
      delta({ tool_calls: [{ index, function: { arguments: text.slice(i, i + size) } }] });
    }
  }
  return true;
}

export function endStream(res, body, { chunk, delta }, finish, usage = USAGE) {
  delta({}, finish);
  if (body.stream_options?.include_usage) chunk([], { usage });
  res.write("data: [DONE]\n\n");
  res.end();
}

export function sendWhole(res, body, text, calls, usage = USAGE) {
  const toolCalls = calls.map(([name, args], i) => ({ id: `call_whole_${i}`, type: "function", function: { name, arguments: JSON.stringify(args) } }));
  const message = { role: "assistant", content: text || null, ...(calls.length ? { tool_calls: toolCalls } : {}) };
  sendJson(res, 200, { id: "chatcmpl-whole", object: "chat.completion", created: 1700000000, model: body.model, usage, choices: [{ index: 0, finish_reason: calls.length ? "tool_calls" : "stop", message }] });
}

export function sendJson(res, status, value) { res.writeHead(status, { "content-type": "application/json" }); res.end(JSON.stringify(value)); }

/**
 * Listens. `plan(body)` gives `key`, and `status` and `error`, or `steps`; `answer(res, body, plan, entry)` sends the steps. `routes`
 * are answers of other paths, by their path. Without `apiKey` any key will do.
 */
export async function startChatServer({ port = 0, plan, answer, routes = {}, apiKey }) {
  const log = [];
  const server = http.createServer(async (req, res) => {
    const chunks = []; for await (const part of req) chunks.push(part);
    const raw = Buffer.concat(chunks);
    const refused = (status, message, code) => sendJson(res, status, { error: refuse(undefined, status, message, code).error });
    if (apiKey && req.headers.authorization !== `Bearer ${apiKey}`) return refused(401, `The fake wants the key ${apiKey}.`, "invalid_api_key");
    if (req.url === "/v1/models") return sendJson(res, 200, { object: "list", data: [{ id: "fake-model", object: "model", created: 1700000000, owned_by: "fake" }] });
    if (req.url in routes) return sendJson(res, 200, routes[req.url](raw));
    if (req.url !== "/v1/chat/completions") return refused(404, "Not found: " + req.url, null);
    const body = JSON.parse(raw);
    const planned = plan(body);
    const entry = { key: planned.key, body, headers: req.headers, aborted: false, done: false };
    res.on("close", () => { if (!res.writableEnded) { entry.aborted = true; entry.left = Date.now(); } });
    log.push(entry);
    if (planned.status) return sendJson(res, planned.status, { error: planned.error });
    return answer(res, body, planned, entry);
  });
  const bound = await listen(server, port);
  return {
    url: `http://127.0.0.1:${bound}/v1`, port: bound,
    /** Every request whose last user message carried [KEY], oldest first. */
    requests: (key) => log.filter((entry) => entry.key === key),
    all: () => log,
    close: () => { server.closeAllConnections(); server.close(); },
  };
}

/** The steps of a plan: {text}, {think}, {calls}, {pause}, {hold: key}, {break: error}. Words come `wordMs` apart. */
export async function startFakeOpenAI({ port, plan, routes, wordMs }) {
  const released = new Set();

  async function stream(res, body, planned, entry) {
    const sent = beginStream(res, body), { delta } = sent;
    let finish = planned.finish ?? "stop";
    for (const step of planned.steps) {
      if (entry.aborted) return;
      if (step.think) for (const word of step.think.match(/\S+\s*/g)) { delta({ reasoning_content: word }); await sleep(8); }
      if (step.text) for (const word of step.text.match(/\S+\s*/g)) { delta({ content: word }); await sleep(wordMs); }
      if (step.pause) await sleep(step.pause);
      if (step.hold) {
        const end = Date.now() + HOLD_LIMIT_MS, over = () => released.has(step.hold);
        for (let n = 0; !entry.aborted && Date.now() < end && !(over() && n >= 10); n++) { delta({ content: `tick${n} ` }); await sleep(over() ? 5 : 70); }
      }
      if (step.break) { res.write("data: " + JSON.stringify({ error: step.break }) + "\n\n"); res.end(); return; }
      if (step.calls) { finish = "tool_calls"; await sendCalls(delta, step.calls, 4, () => sleep(8)); }
    }
    if (entry.aborted) return;
    entry.done = true;
    endStream(res, body, sent, finish);
  }

  function answer(res, body, planned, entry) {
    if (body.stream) return stream(res, body, planned, entry);
    entry.done = true;
    sendWhole(res, body, planned.steps.map((s) => s.text ?? "").join(""), planned.steps.flatMap((s) => s.calls ?? []));
  }

  const fake = await startChatServer({ port, plan, answer, routes, apiKey: "sk-fake" });
  /** `release` lets a `slow [KEY]` answer come to its end. */
  return { ...fake, release: (key) => released.add(key) };
}
