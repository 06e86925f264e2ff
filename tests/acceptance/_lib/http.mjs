// HTTP with a key, for scenarios.
import { expect, show } from "./expect.mjs";

/** `{status, body, text}`; `body` is the JSON where there is one. */
export async function call(url, { method = "GET", key, headers = {}, json, raw } = {}) {
  const body = raw ?? (json === undefined ? undefined : JSON.stringify(json));
  const response = await fetch(url, {
    method, body, signal: AbortSignal.timeout(60_000),
    headers: { ...(key ? { "x-api-key": key } : {}), ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
  });
  const text = await response.text();
  let parsed;
  try { parsed = JSON.parse(text); } catch { /* not JSON */ }
  return { status: response.status, body: parsed, text };
}

export function hasStatus(answer, what, ...statuses) {
  expect(statuses.includes(answer.status), `${what}: status ${statuses.join(" or ")}`, `${answer.status} ${show(answer.text, 300)}`);
  return answer.body;
}

export const ok = (answer, what) => hasStatus(answer, what, 200, 201, 204);
