/** Sends the request of a snippet from this page, and collects the bytes of the response as they arrive. */
import type { SnippetRequest } from "./api";

export interface Reply {
  /** `200 OK · application/json`, once the head has arrived. */
  status: string;
  isOk: boolean;
  text: string;
  bytes: number;
  milliseconds: number;
  state: "waiting" | "receiving" | "ended" | "stopped" | "failed";
  /** Why it failed. */
  problem: string;
  isShortened: boolean;
}

/** More than this is counted and not shown. */
export const MAX_SHOWN_BYTES = 256 * 1024;

export const WAITING: Reply = {
  status: "",
  isOk: true,
  text: "",
  bytes: 0,
  milliseconds: 0,
  state: "waiting",
  problem: "",
  isShortened: false,
};

/** The request with a key, and with an id that no request had before. */
export function fillRequest(request: SnippetRequest, key: string, id: string): SnippetRequest {
  const headers = Object.entries(request.headers).map(([name, value]) => [name, value.replaceAll("YOUR_KEY", key)]);
  return {
    ...request,
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: request.body === null ? null : request.body.replaceAll("NEW_ID", id),
  };
}

/** `onChange` receives the reply as it grows. Resolves when it has ended, in whatever way. */
export async function sendRequest(
  url: string,
  { method, headers, body }: SnippetRequest,
  signal: AbortSignal,
  onChange: (reply: Reply) => void,
): Promise<void> {
  const began = performance.now();
  let reply = WAITING;
  const change = (changed: Partial<Reply>) => {
    reply = { ...reply, ...changed, milliseconds: performance.now() - began };
    onChange(reply);
  };
  try {
    // Without cookies: a client elsewhere has none either.
    const response = await fetch(url, { method, headers, body, signal, credentials: "omit", cache: "no-store" });
    const type = response.headers.get("content-type") ?? "";
    change({
      status: [`${response.status} ${response.statusText}`.trim(), type].filter(Boolean).join(" · "),
      isOk: response.ok,
      state: "receiving",
    });
    const reader = response.body?.getReader();
    const decoder = new TextDecoder();
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
      const shown = part.value.subarray(0, Math.max(0, MAX_SHOWN_BYTES - reply.bytes));
      change({
        text: reply.text + decoder.decode(shown, { stream: true }),
        bytes: reply.bytes + part.value.length,
        isShortened: reply.isShortened || shown.length < part.value.length,
      });
    }
    change({ state: "ended" });
  } catch (error) {
    if (signal.aborted) change({ state: "stopped" });
    else change({ state: "failed", problem: error instanceof Error ? error.message : String(error) });
  }
}
