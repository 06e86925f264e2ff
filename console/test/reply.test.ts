import { afterEach, expect, test, vi } from "vitest";
import { fillRequest, MAX_SHOWN_BYTES, sendRequest, type Reply } from "../src/screens/connect/reply";

afterEach(() => vi.unstubAllGlobals());

const REQUEST = {
  method: "POST",
  path: "/v1",
  headers: { authorization: "Bearer YOUR_KEY" },
  body: '"NEW_ID"',
} as const;

async function send(respond: (init: RequestInit) => Promise<Response>, signal = new AbortController().signal) {
  const seen: Reply[] = [];
  vi.stubGlobal("fetch", (_: string, init: RequestInit) => respond(init));
  await sendRequest("x", REQUEST, signal, (reply) => seen.push(reply));
  return seen;
}

test("a request gets the key and a new id, and the snippet keeps its own", () => {
  const filled = fillRequest(REQUEST, "key-alice", "7");

  expect(filled.headers).toEqual({ authorization: "Bearer key-alice" });
  expect(filled.body).toBe('"7"');
  expect(REQUEST.headers.authorization).toContain("YOUR_KEY");
});

test("a reply grows with its bytes, also where a character is split between two of them", async () => {
  const bytes = new TextEncoder().encode("data: é\n");
  const parts = [bytes.slice(0, 7), bytes.slice(7)];
  const body = new ReadableStream<Uint8Array>({
    start(stream) {
      for (const part of parts) stream.enqueue(part);
      stream.close();
    },
  });
  const seen = await send(() =>
    Promise.resolve(new Response(body, { status: 200, statusText: "OK", headers: { "content-type": "text/plain" } })),
  );

  expect(seen.map((one) => one.text)).toEqual(["", "data: ", "data: é\n", "data: é\n"]);
  expect(seen.at(-1)).toMatchObject({ state: "ended", status: "200 OK · text/plain", bytes: 9, isOk: true });
});

test("the page sends no cookie with it", async () => {
  let sent: RequestInit = {};
  await send((init) => {
    sent = init;
    return Promise.resolve(new Response("{}"));
  });

  expect(sent.credentials).toBe("omit");
});

test("a long reply is counted whole and shown in part, and says so", async () => {
  const seen = await send(() => Promise.resolve(new Response("x".repeat(MAX_SHOWN_BYTES + 5))));

  expect(seen.at(-1)).toMatchObject({ bytes: MAX_SHOWN_BYTES + 5, isShortened: true });
  expect(seen.at(-1)?.text.length).toBe(MAX_SHOWN_BYTES);
});

test("a refused connection is a failed reply, and a stopped one is stopped", async () => {
  const failed = await send(() => Promise.reject(new TypeError("Failed to fetch")));
  const stopped = await send(() => Promise.reject(new DOMException("", "AbortError")), AbortSignal.abort());

  expect(failed.at(-1)).toMatchObject({ state: "failed", problem: "Failed to fetch" });
  expect(stopped.at(-1)?.state).toBe("stopped");
});
