/** The answers of the face `operator`. */
import type { Json } from "../log/events";
import type { RunState } from "../log/fold";

/** Agents by name; `*` is all of them, null none. */
export type RightAgents = string[] | null;
export type Right = "use" | "watch" | "read" | "act" | "author";

export interface Me {
  user: string;
  rights: Record<Right, RightAgents>;
  /** Whether authors may save files of plugins. */
  edit: boolean;
  access: "keys" | "open";
  /** The file that is missing, if the page can write it. */
  setup?: { file: string } | null;
  version: string;
  /** Of all costs. */
  currency: string;
  sign_in?: Provider | null;
}

/** An identity provider, and the address of this server that leads to it. */
export interface Provider {
  name: string;
  url: string;
}

export interface Agent {
  name: string;
  description: string;
  durable: boolean;
  /** Examples. */
  questions: string[];
}

export interface ThreadAnswer {
  thread: ThreadLine;
  /** Whether the user may read the messages. */
  readable: boolean;
  /** Null if there is none, or if the user may not read it. */
  state: Json;
  runs: RunLine[];
  files: FileLine[];
}

/** A file or a chart that a run created. */
export interface FileLine {
  id: string;
  name: string;
  media_type: string;
  created_at: string;
}

export type ThreadState = RunState;

/** A row of the list of threads. */
export interface ThreadLine {
  id: string;
  name: string | null;
  agent: string;
  owner: string;
  state: ThreadState | null;
  runs: number | null;
  tokens: Tokens | null;
  milliseconds: number | null;
  /** The last message, shortened. */
  last: string | null;
  created_at: string;
  updated_at: string;
  archived: boolean;
}

export interface ThreadPage {
  threads: ThreadLine[];
  /** The `after` of the next page. */
  next: string | null;
  total?: number | null;
}

export interface RunPage {
  runs: RunLine[];
  next: string | null;
}

export interface ThreadQuery {
  q?: string;
  agent?: string;
  state?: string;
  owner?: string;
  /** ISO 8601. */
  since?: string;
  archived?: string;
}

export interface RunQuery {
  agent?: string;
  outcome?: string;
  /** `plugin.flow` */
  flow?: string;
  owner?: string;
  since?: string;
}

export interface RunAnswer {
  thread: string;
  run: string;
}

export interface Tokens {
  in: number | null;
  out: number | null;
  cached?: number | null;
}

export interface RunLine {
  id: string;
  thread: string;
  agent: string;
  owner: string;
  outcome: RunState;
  error: { code: string; message: string } | null;
  /** Null where the server does not know. */
  through?: string | null;
  flow?: string | null;
  began_at?: string | null;
  milliseconds?: number | null;
  /** Between the question of an earlier run and this run, which answers it. */
  waited?: number | null;
  model_calls?: number | null;
  tool_calls?: number | null;
  tokens?: Tokens | null;
  cost?: number | null;
  /** False for a run that is not stored: the server has its times and numbers for a while, and no thread. */
  kept?: boolean;
}

/** A run with its timeline. */
export interface RunDetails extends RunLine {
  spans: SpanLine[];
}

/** Times are in milliseconds since the run began; `to` is null while the span is open. */
export interface SpanLine {
  span: string;
  kind: "run" | "model" | "tool" | "step";
  name: string;
  from: number;
  to: number | null;
}

/** A row of the list of flows. */
export interface FlowLine {
  plugin: string;
  flow: string;
  digest: string;
  description: string;
  /** How many it has. */
  steps: number;
  /** Whether some step needs an approval. */
  asks: boolean;
  agents: string[];
}

export interface Approval {
  id: string;
  thread: string;
  run: string;
  agent: string;
  owner: string;
  reason: string;
  message: string;
  schema: Json;
  expires_at: string | null;
  asked_at?: string | null;
  call: { id: string; name: string; arguments: string } | null;
}

export interface FilePart {
  type: "file";
  media_type: string;
  name: string;
  /** base64 */
  data: string;
}

export interface Answer {
  status: "resolved" | "cancelled";
  payload: Json;
}
