/**
 * Holds one event stream for all tabs of a browser, with the threads that they show.
 *
 * Browsers open six connections to an HTTP/1.1 server: with a stream for each tab, the seventh tab would not load.
 */
import type { Entry } from "./events";
import { NEWS_EVENTS, type ConnectionState, type FromTab, type NewsEvent, type Port, type ToTab } from "./protocol";
import { SseParser, type Frame } from "./sse";

const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 2000;
/** The server sends a comment every 15 seconds: without any for this long, the connection is dead. */
const MAX_SILENCE_MS = 40_000;
const MIN_CLOCK_OFFSET_MS = 2000;

interface ThreadLog {
  entries: Entry[];
  /** The id of the last frame, from which the stream resumes. */
  last: string;
  isCaughtUp: boolean;
}

type StreamEnd = "lost" | "bye" | "signed_out";

export class LiveHub {
  #tabs = new Map<Port, string | null>();
  #threads = new Map<string, ThreadLog>();
  #state: ConnectionState = "connecting";
  #clockOffset = 0;
  #api = "";
  #stream: AbortController | null = null;
  #retryMs = FIRST_RETRY_MS;

  receive(tab: Port, message: FromTab): void {
    if (message.type === "show") this.#show(tab, message);
    else if (message.type === "leave") this.#leave(tab);
    else this.#restart();
  }

  #show(tab: Port, { api, thread }: Extract<FromTab, { type: "show" }>): void {
    this.#api = api;
    this.#tabs.set(tab, thread);
    this.#forgetHiddenThreads();
    tab.postMessage({ type: "state", state: this.#state, clockOffset: this.#clockOffset });
    const known = thread === null ? undefined : this.#threads.get(thread);
    if (thread !== null && known) {
      tab.postMessage({ type: "entries", thread, from: 0, entries: known.entries, isCaughtUp: known.isCaughtUp });
    } else if (thread !== null) {
      this.#threads.set(thread, { entries: [], last: "", isCaughtUp: false });
    }
    if (!this.#stream || (thread !== null && !known)) this.#connect();
  }

  #leave(tab: Port): void {
    this.#tabs.delete(tab);
    this.#forgetHiddenThreads();
    if (this.#tabs.size === 0) this.#disconnect();
  }

  #restart(): void {
    this.#forgetEntries();
    this.#connect();
  }

  /** The next user may not see them. */
  #forgetEntries(): void {
    for (const log of this.#threads.values()) Object.assign(log, { entries: [], last: "", isCaughtUp: false });
  }

  #forgetHiddenThreads(): void {
    const shown = new Set(this.#tabs.values());
    for (const thread of this.#threads.keys()) if (!shown.has(thread)) this.#threads.delete(thread);
  }

  #disconnect(): void {
    this.#stream?.abort();
    this.#stream = null;
  }

  #connect(): void {
    this.#disconnect();
    this.#stream = new AbortController();
    void this.#follow(this.#stream.signal);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const end = await this.#read(signal).catch((): StreamEnd => "lost");
      if (signal.aborted) return;
      if (end === "signed_out") {
        this.#disconnect();
        this.#forgetEntries();
        this.#broadcast({ type: "signed_out" });
        return;
      }
      if (end === "bye") {
        this.#setState("away");
        await this.#waitForServer(signal);
        continue;
      }
      if (this.#state === "live") this.#setState("reconnecting");
      await sleep(this.#retryMs);
      this.#retryMs = Math.min(this.#retryMs * 2, MAX_RETRY_MS);
    }
  }

  /** Reads one connection to its end. */
  async #read(signal: AbortSignal): Promise<StreamEnd> {
    const silence = new Silence();
    try {
      const response = await fetch(this.#address(), { signal: AbortSignal.any([signal, silence.signal]) });
      if (response.status === 401 || response.status === 403) return "signed_out";
      if (!response.ok || !response.body) return "lost";
      this.#retryMs = FIRST_RETRY_MS;
      this.#clockOffset = readClockOffset(response);
      this.#setState("live");
      const parser = new SseParser();
      const decoder = new TextDecoder();
      const reader = response.body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done || signal.aborted) return "lost";
        silence.restart();
        const frames = parser.push(decoder.decode(value, { stream: true }));
        this.#deliver(frames);
        if (frames.some((frame) => frame.event === "bye")) return "bye";
      }
    } finally {
      silence.stop();
    }
  }

  #address(): string {
    const query = new URLSearchParams();
    for (const [thread, log] of this.#threads) {
      query.append("thread", thread);
      query.append("after", log.last);
    }
    return `${this.#api}live?${query}`;
  }

  /** Entries of one piece of the stream go to a tab as one message. */
  #deliver(frames: Frame[]): void {
    const from = new Map<string, number>(); // by thread: how many entries it had before
    for (const frame of frames) {
      if (frame.event === "entry") {
        const { thread, ...entry } = JSON.parse(frame.data) as Entry & { thread: string };
        const log = this.#threads.get(thread);
        if (!log) continue;
        if (!from.has(thread)) from.set(thread, log.entries.length);
        log.entries.push(entry);
        log.last = frame.id;
      } else if (frame.event === "caught_up") {
        const { thread } = JSON.parse(frame.data) as { thread: string };
        const log = this.#threads.get(thread);
        if (!log) continue;
        if (!from.has(thread)) from.set(thread, log.entries.length);
        log.isCaughtUp = true;
      } else if (isNews(frame.event)) {
        this.#broadcast({ type: "news", event: frame.event });
      }
    }
    for (const [thread, count] of from) this.#sendEntries(thread, count);
  }

  #sendEntries(thread: string, from: number): void {
    const log = this.#threads.get(thread);
    if (!log) return;
    const entries = log.entries.slice(from);
    for (const [tab, shown] of this.#tabs) {
      if (shown === thread) tab.postMessage({ type: "entries", thread, from, entries, isCaughtUp: log.isCaughtUp });
    }
  }

  async #waitForServer(signal: AbortSignal): Promise<void> {
    const health = new URL("../health", this.#api);
    for (let delay = FIRST_RETRY_MS; !signal.aborted; delay = Math.min(delay * 2, MAX_RETRY_MS)) {
      await sleep(delay);
      const isBack = await fetch(health, { signal }).then(
        (response) => response.ok,
        () => false,
      );
      if (isBack) return;
    }
  }

  #setState(state: ConnectionState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#broadcast({ type: "state", state, clockOffset: this.#clockOffset });
  }

  #broadcast(message: ToTab): void {
    for (const tab of this.#tabs.keys()) tab.postMessage(message);
  }
}

/** The header `Date` has whole seconds, so smaller differences say nothing. */
function readClockOffset(response: Response): number {
  const offset = Date.parse(response.headers.get("date") ?? "") - Date.now();
  return Math.abs(offset) > MIN_CLOCK_OFFSET_MS ? offset : 0;
}

const isNews = (event: string): event is NewsEvent => NEWS_EVENTS.includes(event as NewsEvent);

/** Aborts its signal when `restart` was not called for too long. */
class Silence {
  #control = new AbortController();
  #timer = this.#start();

  get signal(): AbortSignal {
    return this.#control.signal;
  }
  restart(): void {
    this.stop();
    this.#timer = this.#start();
  }
  stop(): void {
    clearTimeout(this.#timer);
  }
  #start() {
    return setTimeout(() => this.#control.abort(), MAX_SILENCE_MS);
  }
}

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
