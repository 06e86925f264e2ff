import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LiveHub } from "../src/log/hub";
import type { ToTab } from "../src/log/protocol";

interface Stream {
  url: URL;
  response: ServerResponse;
}

let streams: Stream[] = [];
let isSignedIn = true;
let isHealthy = true;
let date: Date | null = null; // of the server's clock
let api = "";
let hub: LiveHub;
let tabs: Tab[] = [];

function answer(request: IncomingMessage, response: ServerResponse) {
  const url = new URL(request.url ?? "", "http://server");
  if (url.pathname === "/health") return response.writeHead(isHealthy ? 200 : 503).end();
  if (!isSignedIn) return response.writeHead(401).end();
  response.writeHead(200, { "content-type": "text/event-stream", ...(date && { date: date.toUTCString() }) });
  response.write(": hello\n\n");
  const stream = { url, response };
  streams.push(stream);
  response.on("close", () => (streams = streams.filter((one) => one !== stream)));
}

const server = createServer(answer);

class Tab {
  received: ToTab[] = [];
  constructor() {
    tabs.push(this);
  }
  postMessage(message: ToTab) {
    this.received.push(structuredClone(message));
  }
  show(thread: string | null) {
    hub.receive(this, { type: "show", api, thread });
  }
  leave() {
    hub.receive(this, { type: "leave" });
  }
  get states() {
    return this.received.flatMap((message) => (message.type === "state" ? [message.state] : []));
  }
  get ids() {
    return this.received.flatMap((message) => (message.type === "entries" ? message.entries.map(({ id }) => id) : []));
  }
}

const only = () => {
  expect(streams).toHaveLength(1);
  return streams[0] as Stream;
};
const send = (thread: string, id: string) => {
  const data = JSON.stringify({ thread, run: "r1", id, event: { type: "TextDelta", message_id: "m", text: id } });
  only().response.write(`id: r1/${id}\nevent: entry\ndata: ${data}\n\n`);
};

beforeEach(async () => {
  [streams, tabs, isSignedIn, isHealthy, date, hub] = [[], [], true, true, null, new LiveHub()];
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  api = `http://127.0.0.1:${(server.address() as AddressInfo).port}/operator/`;
});

afterEach(async () => {
  for (const tab of tabs) tab.leave();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test("tabs share one stream, and each receives the entries of its thread", async () => {
  const [one, two] = [new Tab(), new Tab()];
  one.show("t1");
  two.show("t2");
  await vi.waitFor(() => expect(only().url.searchParams.getAll("thread")).toEqual(["t1", "t2"]));
  send("t1", "1-1");
  send("t2", "1-2");

  await vi.waitFor(() => expect([one.ids, two.ids]).toEqual([["1-1"], ["1-2"]]));
  expect(one.states.at(-1)).toBe("live");
});

test("a second tab of a thread receives what the first one has, without another stream", async () => {
  const [one, two] = [new Tab(), new Tab()];
  one.show("t1");
  await vi.waitFor(() => expect(one.states).toContain("live"));
  const first = only();
  send("t1", "1-1");
  await vi.waitFor(() => expect(one.ids).toEqual(["1-1"]));
  two.show("t1");

  expect(two.ids).toEqual(["1-1"]);
  expect(only()).toBe(first);
});

test("a lost connection resumes after the last entry", async () => {
  const tab = new Tab();
  tab.show("t1");
  await vi.waitFor(() => expect(tab.states).toContain("live"));
  send("t1", "1-1");
  await vi.waitFor(() => expect(tab.ids).toEqual(["1-1"]));
  only().response.destroy();
  await vi.waitFor(() => expect(tab.states).toEqual(["connecting", "live", "reconnecting", "live"]), 3000);

  expect(only().url.searchParams.getAll("after")).toEqual(["r1/1-1"]);
});

test("a server that says goodbye is away until it is healthy again", async () => {
  const tab = new Tab();
  tab.show(null);
  await vi.waitFor(() => expect(tab.states).toContain("live"));
  isHealthy = false;
  only().response.end("event: bye\ndata: {}\n\n");
  await vi.waitFor(() => expect(tab.states.at(-1)).toBe("away"));
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(tab.states.at(-1)).toBe("away");
  isHealthy = true;

  await vi.waitFor(() => expect(tab.states.at(-1)).toBe("live"), 3000);
});

test("an ended session is told to every tab, and nothing of it is kept", async () => {
  const [one, two] = [new Tab(), new Tab()];
  one.show("t1");
  two.show("t1");
  await vi.waitFor(() => expect(two.states).toContain("live"));
  send("t1", "1-1");
  await vi.waitFor(() => expect(two.ids).toEqual(["1-1"]));
  isSignedIn = false;
  hub.receive(one, { type: "restart" });
  await vi.waitFor(() => expect(two.received.at(-1)).toEqual({ type: "signed_out" }));
  isSignedIn = true;
  const next = new Tab();
  next.show("t1");

  expect(next.ids).toEqual([]);
  await vi.waitFor(() => expect(only().url.searchParams.getAll("after")).toEqual([""]));
});

test("the stream is closed when the last tab leaves", async () => {
  const tab = new Tab();
  tab.show("t1");
  await vi.waitFor(() => expect(streams).toHaveLength(1));
  tab.leave();

  await vi.waitFor(() => expect(streams).toHaveLength(0));
});

test("tabs learn how far the clock of the server is from theirs", async () => {
  const [right, wrong] = [new Tab(), new Tab()];
  const offsets = (tab: Tab) =>
    tab.received.flatMap((one) => (one.type === "state" && one.state === "live" ? [one.clockOffset] : []));
  right.show(null);
  await vi.waitFor(() => expect(offsets(right)).toEqual([0]));
  right.leave();
  date = new Date(Date.now() + 3_600_000);
  hub = new LiveHub();
  wrong.show(null);
  await vi.waitFor(() => expect(offsets(wrong)).toHaveLength(1));

  expect(offsets(wrong)[0]).toBeGreaterThan(3_590_000);
});

test("news of runs, questions and threads reach every tab", async () => {
  const tab = new Tab();
  tab.show(null);
  await vi.waitFor(() => expect(streams).toHaveLength(1));
  for (const event of ["run", "thread", "gauge"]) only().response.write(`event: ${event}\ndata: {}\n\n`);
  await vi.waitFor(() => expect(tab.received.filter((one) => one.type === "news")).toHaveLength(2));

  expect(tab.received.flatMap((one) => (one.type === "news" ? [one.event] : []))).toEqual(["run", "thread"]);
});
