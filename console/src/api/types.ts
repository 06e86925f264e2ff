/** The answers of the face `operator`: `schema.d.ts` has their fields, generated from the server; here are the narrower types. */
import type { Json } from "../log/events";
import type { FlowStep } from "../log/flowGraph";
import type { RunState } from "../log/fold";
import type * as Api from "./schema";

/** The type with narrower fields. Fields that the server does not have, or has otherwise, are errors. */
export type Narrow<T, N extends { [K in keyof N]: K extends keyof T ? T[K] : never }> = Omit<T, keyof N> & N;

/** Agents by name; `*` is all of them, null none. */
export type RightAgents = string[] | null;
export type Right = "use" | "watch" | "read" | "act" | "author";

export type Me = Narrow<Api.SignedInUser, { rights: Record<Right, RightAgents> }>;
export type Provider = Api.SignInOffer;
export type Agent = Api.AgentLine;

export type ThreadState = RunState;
export type ThreadLine = Narrow<Api.ThreadLine, { state: ThreadState | null }>;
export type ThreadPage = Narrow<Api.ThreadPage, { threads: ThreadLine[] }>;
export type ThreadAnswer = Narrow<Api.ThreadDetails, { thread: ThreadLine; runs: RunLine[]; state: Json }>;
export type FileLine = Api.FileRow;

export type Tokens = Api.RunTokens;
/** A person's judgement of an answer. */
export type Vote = Api.FeedbackRow["value"];

export type RunLine = Narrow<Api.RunLine, { outcome: RunState; feedback: Vote | null }>;
export type RunPage = Narrow<Api.RunPage, { runs: RunLine[] }>;
export type RunDetails = Narrow<Api.RunDetails, { outcome: RunState; feedback: Vote | null }>;
export type RunAnswer = Api.StartedRun;
export type SpanLine = Api.SpanLine;

export type FailedRuns = Api.FailedRuns;
export type FailureList = Api.FailureList;
export type FlowLine = Api.FlowLine;
export type ServerGraph = Narrow<Api.FlowGraph, { steps: FlowStep[]; on_error: FlowStep }>;
export type Approval = Narrow<Api.ApprovalLine, { schema: Json }>;

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
  feedback?: string;
  /** Of a failed run. */
  code?: string;
  owner?: string;
  since?: string;
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

/** What is different from the recorded run when it is run again. */
export interface RunChanges {
  instructions?: string;
  model?: string;
  temperature?: number;
  messages?: { place: number; text: string }[];
  results?: { place: number; text: string }[];
  added?: AddedResult[];
  missing?: "stub";
}

/** The result of a call that the recording does not have. */
export interface AddedResult {
  tool: string;
  arguments: Record<string, Json>;
  result: string;
}
