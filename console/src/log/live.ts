/** The tab's side of the event stream: the state of the connection, and the conversation of the thread that it shows. */
import type { Entry } from "./events";
import { EMPTY, fold, type Conversation } from "./fold";
import { LiveHub } from "./hub";
import type { ConnectionState, FromTab, NewsEvent, ToTab } from "./protocol";
import { trustedWorkerUrl } from "./trustedUrl";

/** A text that streams faster than this is drawn in steps: each step parses its Markdown anew. */
const DRAW_INTERVAL_MS = 32;
/** The stored entries of a long thread come in many pieces. They are drawn in few steps. */
const CATCH_UP_INTERVAL_MS = 1500;

export interface LiveSnapshot {
  connection: ConnectionState;
  /** How many milliseconds the clock of the server is ahead. */
  clockOffset: number;
  thread: string | null;
  conversation: Conversation;
  /** The log that `conversation` was folded from. */
  entries: readonly Entry[];
  /** Whether everything that the server had stored is in `conversation`. */
  isCaughtUp: boolean;
}

export type News = NewsEvent | "signed_out" | "reconnected";

export class LiveClient {
  #api: string;
  #port: MessagePort | null = null;
  #snapshot: LiveSnapshot = {
    connection: "connecting",
    clockOffset: 0,
    thread: null,
    conversation: EMPTY,
    entries: [],
    isCaughtUp: false,
  };
  #shown = this.#snapshot;
  #drawTimer: ReturnType<typeof setTimeout> | undefined;
  #listeners = new Set<() => void>();
  #newsListeners = new Set<(news: News) => void>();

  constructor(api: string) {
    this.#api = api;
    addEventListener("pagehide", () => this.#send({ type: "leave" }));
    addEventListener("pageshow", (event) => {
      if (event.persisted && this.#port) this.show(this.#snapshot.thread);
    });
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly getSnapshot = (): LiveSnapshot => this.#shown;

  onNews(listener: (news: News) => void): () => void {
    this.#newsListeners.add(listener);
    return () => this.#newsListeners.delete(listener);
  }

  show(thread: string | null): void {
    this.#port ??= this.#open();
    this.#snapshot = { ...this.#snapshot, thread, conversation: EMPTY, entries: [], isCaughtUp: false };
    this.#draw();
    this.#send({ type: "show", api: this.#api, thread });
  }

  /** After signing out: every tab of the browser learns that it is signed out. */
  restart(): void {
    this.#send({ type: "restart" });
  }

  #open(): MessagePort {
    const port = openWorker(() => this.#replaceWorker()) ?? openHub();
    port.onmessage = ({ data }: MessageEvent<ToTab>) => this.#receive(data);
    return port;
  }

  #replaceWorker(): void {
    this.#port = openHub();
    this.#port.onmessage = ({ data }: MessageEvent<ToTab>) => this.#receive(data);
    this.show(this.#snapshot.thread);
  }

  #send(message: FromTab): void {
    this.#port?.postMessage(message);
  }

  #receive(message: ToTab): void {
    if (message.type === "news") this.#tell(message.event);
    else if (message.type === "signed_out") this.#tell("signed_out");
    else if (message.type === "state") this.#setConnection(message);
    else this.#addEntries(message);
  }

  /** Entries that were on their way when the tab showed another thread have another position, and are left out. */
  #addEntries({ thread, from, entries, isCaughtUp }: Extract<ToTab, { type: "entries" }>): void {
    const before = this.#snapshot;
    if (thread !== before.thread || (from !== 0 && from !== before.entries.length)) return;
    this.#snapshot = {
      ...before,
      conversation: fold(from === 0 ? EMPTY : before.conversation, entries),
      entries: from === 0 ? entries : before.entries.concat(entries),
      isCaughtUp,
    };
    if (isCaughtUp && !before.isCaughtUp) this.#drawNow();
    else this.#drawSoon();
  }

  #setConnection({ state: connection, clockOffset }: Extract<ToTab, { type: "state" }>): void {
    const before = this.#snapshot.connection;
    this.#snapshot = { ...this.#snapshot, connection, clockOffset };
    this.#draw();
    if (connection === "live" && before !== "live") this.#tell("reconnected");
  }

  /** At once, and then at most every `DRAW_INTERVAL_MS`; until the stored entries are there, less often. */
  #drawSoon(): void {
    if (this.#drawTimer !== undefined) return;
    if (this.#snapshot.isCaughtUp) this.#draw();
    this.#drawTimer = setTimeout(
      () => {
        this.#drawTimer = undefined;
        if (this.#shown === this.#snapshot) return;
        if (!this.#snapshot.isCaughtUp) this.#draw();
        this.#drawSoon();
      },
      this.#snapshot.isCaughtUp ? DRAW_INTERVAL_MS : CATCH_UP_INTERVAL_MS,
    );
  }

  #drawNow(): void {
    clearTimeout(this.#drawTimer);
    this.#drawTimer = undefined;
    this.#drawSoon();
  }

  #draw(): void {
    this.#shown = this.#snapshot;
    for (const listener of this.#listeners) listener();
  }

  #tell(news: News): void {
    for (const listener of this.#newsListeners) listener(news);
  }
}

function openWorker(onFailure: () => void): MessagePort | null {
  if (typeof SharedWorker === "undefined") return null;
  try {
    const worker = new SharedWorker(trustedWorkerUrl(), { type: "module", name: "rightseat" });
    worker.onerror = onFailure;
    return worker.port;
  } catch {
    return null; // the browser refuses it, for example in a private window
  }
}

/** A stream in this tab, for browsers without shared workers. */
function openHub(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  const hub = new LiveHub();
  port2.onmessage = ({ data }: MessageEvent<FromTab>) => hub.receive(port2, data);
  return port1;
}
