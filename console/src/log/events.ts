/** The entries of a run's log, as the server sends them. They mirror `core/events.py` and `core/messages.py`. */

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

export interface Entry {
  run: string;
  id: string;
  event: LogEvent;
}

export type LogEvent =
  | {
      type: "RunStarted";
      run_id: string;
      thread_id: string;
      agent: string;
      new_messages?: Message[];
      /** ISO 8601. Runs of older servers have none, and no spans. */
      began_at?: string | null;
      /** The face that the run came through. */
      through?: string | null;
      answered?: { interrupt_id: string; status: string; by?: string | null }[];
      /** The first message that the run removes from the thread, with all after it. */
      truncated_at?: string | null;
    }
  | {
      type: "SpanStarted";
      span: string;
      kind: "run" | "model" | "tool" | "step";
      name: string;
      /** Milliseconds since the run began, as in `SpanEnded`. */
      at: number;
      parent?: string | null;
      about?: JsonObject | null;
    }
  | {
      type: "SpanEnded";
      span: string;
      at: number;
      /** When the first piece of a model's response came. */
      first?: number | null;
      usage?: Usage | null;
      reason?: string | null;
      error?: string | null;
    }
  | { type: "TextStarted" | "ReasoningStarted"; message_id: string }
  | { type: "TextDelta" | "ReasoningDelta"; message_id: string; text: string }
  | { type: "TextEnded" | "ReasoningEnded"; message_id: string; complete?: boolean }
  | { type: "ToolCallStarted"; call_id: string; name: string; message_id?: string | null }
  | { type: "ToolCallDelta"; call_id: string; text: string }
  | { type: "ToolCallEnded"; call_id: string; complete?: boolean }
  | { type: "ToolCallReturned"; call_id: string; name: string; content: string; error?: string | null }
  | { type: "StepStarted" | "StepEnded"; name: string }
  | { type: "Custom"; name: string; value: Json }
  | { type: "MessagesReplaced"; earlier: Message[]; messages: Message[] }
  | { type: "RunFinished"; outcome: "done" | "waiting" | "cancelled"; interrupts?: Interrupt[] }
  | { type: "RunFailed"; code: string; message: string }
  | { type: "ModelResponseEnded" | "StateReplaced" | "StateChanged" };

export interface Usage {
  input_tokens?: number | null;
  output_tokens?: number | null;
  cache_read_tokens?: number | null;
}

export interface Message {
  id: string;
  role: "system" | "user" | "assistant" | "tool";
  parts: Part[];
}

export type Part =
  | { type: "text"; text: string }
  | { type: "image" | "file"; media_type: string; data: string; url?: string; name?: string }
  | { type: "call"; id: string; name: string; arguments: string }
  | { type: "result"; call_id: string; name: string; content: string; error?: string | null };

/** What a person reads of an approval, in one language. */
export interface ApprovalText {
  message: string;
  title?: string;
}

export interface Interrupt {
  id: string;
  reason: string;
  message: string;
  title?: string;
  translations?: Record<string, ApprovalText>;
  call_id?: string | null;
  schema?: Json;
  expires_at?: string | null;
}
