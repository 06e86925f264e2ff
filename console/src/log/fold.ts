/**
 * Folds the log entries of a thread into what its screen shows: the conversation, the timeline
 * and the flows. It mirrors `core/stream/reducer.py`.
 *
 * Items never change: a changed item is a new object, so that React draws only what has changed.
 */
import type { ApprovalText, Entry, Interrupt, Json, JsonObject, LogEvent, Message, Part } from "./events";
import { foldFlows, NO_FLOWS, type FlowRun } from "./flow";
import { foldTimeline, NO_TIMELINE, type Timeline } from "./timeline";

export type RunState = "running" | "waiting" | "done" | "cancelled" | "failed";
export type TextState = "streaming" | "whole" | "cut";
export type CallState = "arguments" | "running" | "waiting" | "returned" | "failed";

export interface Run {
  id: string;
  agent: string;
  state: RunState;
  /** The innermost step that runs, or the last one that ran. */
  step: string;
}

export interface TextItem {
  kind: "message";
  id: string;
  run: string;
  role: "user" | "assistant";
  text: string;
  state: TextState;
  attachments: readonly Attachment[];
}
export interface ReasoningItem {
  kind: "reasoning";
  id: string;
  run: string;
  text: string;
  state: TextState;
}
export interface CallItem {
  kind: "call";
  id: string;
  run: string;
  name: string;
  arguments: string;
  result: string | null;
  error: string | null;
  state: CallState;
  /** Whether the call waits for the page of an application, which has the tool. */
  isForPage: boolean;
}
/** A file or a chart that a flow made. */
export interface ArtifactItem {
  kind: "artifact";
  id: string;
  run: string;
  name: string;
  isChart: boolean;
  /** Whether it is an HTML file. */
  isPage: boolean;
}
export interface QuestionItem {
  kind: "question";
  id: string;
  run: string;
  reason: string;
  message: string;
  title: string;
  translations: Record<string, ApprovalText>;
  schema: Json;
  expiresAt: string | null;
  call: { name: string; arguments: string } | null;
  request: FlowRequest | null;
}
export interface FailureItem {
  kind: "failure";
  id: string;
  run: string;
  code: string;
  message: string;
}
export type Item = TextItem | ReasoningItem | CallItem | ArtifactItem | QuestionItem | FailureItem;

export interface Attachment {
  name: string;
  mediaType: string;
  data: string;
}

/** What a step of a flow would send if it is allowed to. */
export interface FlowRequest {
  head: string;
  arguments: JsonObject;
  origins: JsonObject;
}

/** What was said in place of items that a later run has replaced, the oldest first; by the id of the item that is there now. */
export type Forks = ReadonlyMap<string, readonly (readonly Item[])[]>;

export interface Conversation {
  items: readonly Item[];
  forks: Forks;
  /** The latest run. */
  run: Run | null;
  /** The request of the flow step that waits, until its question comes. */
  request: FlowRequest | null;
  timeline: Timeline;
  flows: readonly FlowRun[];
  /** How many entries were folded. */
  count: number;
}

export const EMPTY: Conversation = {
  items: [],
  forks: new Map(),
  run: null,
  request: null,
  timeline: NO_TIMELINE,
  flows: NO_FLOWS,
  count: 0,
};

interface Draft extends Conversation {
  items: Item[];
  /** By kind and id; null until an item is looked up that is not among the last ones. */
  positions: Map<string, number> | null;
}

const RECENT_ITEMS = 8;

export function fold(conversation: Conversation, entries: readonly Entry[]): Conversation {
  const draft: Draft = { ...conversation, items: [...conversation.items], positions: null };
  for (const entry of entries) apply(draft, entry.run, entry.event);
  const { items, forks, run, request, timeline, flows, count } = draft;
  return {
    items,
    forks,
    run,
    request,
    timeline: foldTimeline(timeline, entries, count),
    flows: foldFlows(flows, entries),
    count: count + entries.length,
  };
}

function apply(draft: Draft, run: string, event: LogEvent): void {
  switch (event.type) {
    case "RunStarted":
      draft.run = { id: event.run_id, agent: event.agent, state: "running", step: "" };
      startRun(draft, run, event.truncated_at ?? null, event.new_messages ?? []);
      break;
    case "TextStarted":
      if (!find(draft, "message", event.message_id)) add(draft, newText(event.message_id, run, "assistant"));
      break;
    case "TextDelta":
      change(draft, "message", event.message_id, (item) => ({ text: item.text + event.text, state: "streaming" }));
      break;
    case "TextEnded":
      change(draft, "message", event.message_id, () => ({ state: ended(event.complete) }));
      break;
    case "ReasoningStarted":
      if (!find(draft, "reasoning", event.message_id)) {
        add(draft, { kind: "reasoning", id: event.message_id, run, text: "", state: "streaming" });
      }
      break;
    case "ReasoningDelta":
      change(draft, "reasoning", event.message_id, (item) => ({ text: item.text + event.text }));
      break;
    case "ReasoningEnded":
      change(draft, "reasoning", event.message_id, () => ({ state: ended(event.complete) }));
      break;
    case "ToolCallStarted":
      if (!find(draft, "call", event.call_id)) add(draft, newCall(event.call_id, run, event.name));
      break;
    case "ToolCallDelta":
      change(draft, "call", event.call_id, (item) => ({ arguments: item.arguments + event.text }));
      break;
    case "ToolCallEnded":
      change(draft, "call", event.call_id, () => ({ state: event.complete === false ? "failed" : "running" }));
      break;
    case "ToolCallReturned":
      setResult(draft, event.call_id, event.content, event.error);
      break;
    case "StepStarted":
      if (draft.run) draft.run = { ...draft.run, step: event.name };
      break;
    case "Custom":
      addCustom(draft, run, event.name, event.value);
      break;
    case "MessagesReplaced":
      replaceMessages(draft, run, event.earlier, event.messages);
      break;
    case "RunFinished":
      endRun(draft, run, event.outcome, event.interrupts);
      for (const interrupt of event.interrupts ?? []) addQuestion(draft, run, interrupt);
      break;
    case "RunFailed":
      endRun(draft, run, "failed");
      add(draft, { kind: "failure", id: `failure-${run}`, run, code: event.code, message: event.message });
      break;
    default: // spans, which the timeline folds; no part of a conversation; or an event of a newer server
  }
}

/** `replaced` is the first of the messages whose place the new ones take. An unknown one removes nothing. */
function startRun(draft: Draft, run: string, replaced: string | null, messages: readonly Message[]): void {
  const at = replaced === null ? -1 : draft.items.findIndex((item) => item.id === replaced);
  const removed = at === -1 ? [] : draft.items.splice(at);
  if (at !== -1) {
    draft.positions = null;
    draft.request = null;
  }
  for (const message of messages) addMessage(draft, run, message);
  const first = draft.items[at];
  if (replaced === null || !first || !removed[0] || removed[0].run === run) return; // a takeover repeats the event
  const forks = new Map(draft.forks);
  forks.delete(replaced);
  draft.forks = forks.set(first.id, [...(draft.forks.get(replaced) ?? []), removed]);
}

type ItemOf<K extends Item["kind"]> = Extract<Item, { kind: K }>;

function find<K extends Item["kind"]>(draft: Draft, kind: K, id: string): ItemOf<K> | undefined {
  return draft.items[positionOf(draft, kind, id)] as ItemOf<K> | undefined;
}

/** -1 if there is none. Most events are about one of the last items; a search of all for each takes seconds. */
function positionOf(draft: Draft, kind: Item["kind"], id: string): number {
  const { items } = draft;
  for (let index = items.length - 1; index >= Math.max(0, items.length - RECENT_ITEMS); index--) {
    if (items[index]?.id === id && items[index]?.kind === kind) return index;
  }
  draft.positions ??= new Map(items.map((item, index) => [`${item.kind} ${item.id}`, index]));
  return draft.positions.get(`${kind} ${id}`) ?? -1;
}

function add(draft: Draft, item: Item): void {
  draft.positions?.set(`${item.kind} ${item.id}`, draft.items.length);
  draft.items.push(item);
}

function change<K extends Item["kind"]>(
  draft: Draft,
  kind: K,
  id: string,
  update: (item: ItemOf<K>) => Partial<ItemOf<K>>,
): void {
  const position = positionOf(draft, kind, id);
  const item = draft.items[position] as ItemOf<K> | undefined;
  if (item) draft.items[position] = { ...item, ...update(item) };
}

const ended = (complete: boolean | undefined): TextState => (complete === false ? "cut" : "whole");

function newText(id: string, run: string, role: TextItem["role"]): TextItem {
  return { kind: "message", id, run, role, text: "", state: "streaming", attachments: [] };
}

function newCall(id: string, run: string, name: string): CallItem {
  return {
    kind: "call",
    id,
    run,
    name,
    arguments: "",
    result: null,
    error: null,
    state: "arguments",
    isForPage: false,
  };
}

/** Adds a complete message, unless it is known. */
function addMessage(draft: Draft, run: string, message: Message): void {
  if (message.role === "system") return;
  const text = message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const attachments = message.parts.flatMap(readAttachment);
  const isShown = message.role !== "tool" && (text !== "" || attachments.length > 0);
  if (isShown && !find(draft, "message", message.id)) {
    const role = message.role === "user" ? "user" : "assistant";
    add(draft, { ...newText(message.id, run, role), text, attachments, state: "whole" });
  }
  for (const part of message.parts) {
    if (part.type === "result") setResult(draft, part.call_id, part.content, part.error);
    if (part.type === "call" && !find(draft, "call", part.id)) {
      add(draft, { ...newCall(part.id, run, part.name), arguments: part.arguments, state: "running" });
    }
  }
}

function readAttachment(part: Part): Attachment[] {
  if (part.type !== "image" && part.type !== "file") return [];
  return [{ name: part.name ?? "", mediaType: part.media_type, data: part.data }];
}

function setResult(draft: Draft, call: string, result: string, error: string | null | undefined): void {
  const state = error ? "failed" : "returned";
  change(draft, "call", call, () => ({ result, error: error ?? null, state, isForPage: false }));
}

function addCustom(draft: Draft, run: string, name: string, value: Json): void {
  if (!isObject(value)) return;
  if (name === "artifact" && typeof value.id === "string" && value.id && !find(draft, "artifact", value.id)) {
    const isChart = value.kind === "chart";
    const isPage = /^text\/html\b/i.test(String(value.media_type ?? ""));
    add(draft, { kind: "artifact", id: value.id, run, name: String(value.name ?? ""), isChart, isPage });
  }
  if (name === "flow.step" && value.event === "waiting") draft.request = readRequest(value.value ?? null);
}

/** The request of the event `flow.step`, if it says what would be sent. */
export function readRequest(value: Json): FlowRequest | null {
  if (!isObject(value) || !isObject(value.arguments)) return null;
  const head = value.method ? `${text(value.method)} ${text(value.server)}${text(value.path)}` : text(value.tool);
  return { head, arguments: value.arguments, origins: isObject(value.origins) ? value.origins : {} };
}

const text = (value: Json | undefined) => (typeof value === "string" ? value : "");

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Drops what the run has retracted: a response that was interrupted when its process died and is generated again. */
function replaceMessages(draft: Draft, run: string, earlier: Message[], messages: Message[]): void {
  const parts = messages.flatMap((message) => message.parts);
  const kept = new Set([
    ...messages.map((message) => message.id),
    ...parts.flatMap((part) => (part.type === "call" ? [part.id] : [])),
  ]);
  draft.items = draft.items.filter((item) => item.run !== run || !isGenerated(item) || kept.has(item.id));
  draft.positions = null;
  const before: Draft = { ...EMPTY, items: [], positions: null };
  for (const message of earlier) {
    if (!find(draft, "message", message.id)) addMessage(before, "", message);
  }
  draft.items.unshift(...before.items.filter((item) => item.kind === "message" || !find(draft, item.kind, item.id)));
  draft.positions = null;
  for (const message of messages) addMessage(draft, run, message);
}

function isGenerated(item: Item): boolean {
  if (item.kind === "message") return item.role === "assistant";
  return item.kind === "call" || item.kind === "reasoning";
}

/** Ends everything that the run has left open. */
function endRun(draft: Draft, run: string, state: RunState, interrupts: readonly Interrupt[] = []): void {
  const questioned = new Set(interrupts.map((interrupt) => interrupt.call_id));
  if (draft.run?.id === run) draft.run = { ...draft.run, state };
  draft.items = draft.items.map((item) => {
    if (item.run !== run) return item;
    if ((item.kind === "message" || item.kind === "reasoning") && item.state === "streaming") {
      return { ...item, state: "cut" };
    }
    if (item.kind === "call" && (item.state === "arguments" || item.state === "running")) {
      const isWaiting = state === "waiting";
      return { ...item, state: isWaiting ? "waiting" : "failed", isForPage: isWaiting && !questioned.has(item.id) };
    }
    return item;
  });
}

function addQuestion(draft: Draft, run: string, interrupt: Interrupt): void {
  if (find(draft, "question", interrupt.id)) return;
  const call = interrupt.call_id ? find(draft, "call", interrupt.call_id) : undefined;
  add(draft, {
    kind: "question",
    id: interrupt.id,
    run,
    reason: interrupt.reason,
    message: interrupt.message,
    title: interrupt.title ?? "",
    translations: interrupt.translations ?? {},
    schema: interrupt.schema ?? null,
    expiresAt: interrupt.expires_at ?? null,
    call: call ? { name: call.name, arguments: call.arguments } : null,
    request: call ? null : draft.request,
  });
  draft.request = null;
}
