/** The messages between a tab and the hub that holds the event stream. */
import type { Entry } from "./events";

/** `connecting` is the state before the first connection. */
export type ConnectionState = "connecting" | "live" | "reconnecting" | "away";

export type FromTab =
  | { type: "show"; api: string; thread: string | null }
  /** The user has changed: forget everything and connect again. */
  | { type: "restart" }
  | { type: "leave" };

export type ToTab =
  /** `clockOffset` is how many milliseconds the clock of the server is ahead of the browser's. */
  | { type: "state"; state: ConnectionState; clockOffset: number }
  /** `from` is the number of entries before these. From 0 on, the thread is sent anew. */
  | { type: "entries"; thread: string; from: number; entries: Entry[]; isCaughtUp: boolean }
  | { type: "news"; event: NewsEvent }
  | { type: "signed_out" };

/**
 * A run began or ended, a question was asked or answered, a thread was renamed, archived or deleted, or a plugin was
 * loaded anew.
 */
export const NEWS_EVENTS = ["run", "asked", "answered", "thread", "plugin"] as const;
export type NewsEvent = (typeof NEWS_EVENTS)[number];

export interface Port {
  postMessage(message: ToTab): void;
}
