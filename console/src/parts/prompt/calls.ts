/** The record of what models were sent, as the server lists it, and what changed from one call to the next. */
import type { ModelCallLine, ModelCallPage, SentMessage, SentTool } from "../../api/schema";
import { diffLists, type Step } from "./diff";

export type { ModelCallLine, ModelCallPage, SentMessage, SentTool };

/** The calls of some pages, with all their texts. */
export interface CallRecord {
  calls: readonly ModelCallLine[];
  messages: Readonly<Record<string, SentMessage>>;
  tools: Readonly<Record<string, SentTool>>;
}

export const joinPages = (pages: readonly ModelCallPage[]): CallRecord => ({
  calls: pages.flatMap((page) => page.calls),
  messages: Object.assign({}, ...pages.map((page) => page.messages)) as CallRecord["messages"],
  tools: Object.assign({}, ...pages.map((page) => page.tools)) as CallRecord["tools"],
});

/** The last call before it of the same agent for the same purpose: others have other instructions. */
export function findPrevious(calls: readonly ModelCallLine[], index: number): number | null {
  const call = calls[index];
  const isLike = (other: ModelCallLine) =>
    other.agent === call?.agent && other.purpose === call.purpose && other.omitted === null;
  const found = calls.slice(0, index).findLastIndex(isLike);
  return found < 0 ? null : found;
}

export interface Changes {
  instructions: Step<string>[];
  messages: Step<string>[];
  tools: Step<string>[];
  /** `name: value`, and the model, which is no parameter but changes like one. */
  parameters: Step<string>[];
}

export function diffCalls(before: ModelCallLine, after: ModelCallLine): Changes {
  return {
    instructions: diffLists(before.instructions, after.instructions),
    messages: diffLists(before.messages, after.messages),
    tools: diffLists(before.tools, after.tools),
    parameters: diffLists(listParameters(before), listParameters(after)),
  };
}

/** Everything as it is, in the form of changes. */
export function asSent(call: ModelCallLine): Changes {
  return diffCalls(call, call);
}

export const hasChanges = (changes: Changes) =>
  Object.values(changes).some((steps: Step<string>[]) => steps.some(({ change }) => change !== "same"));

/** Sorted by name, as lines. */
export function listParameters({ model, provider_model, parameters }: ModelCallLine): string[] {
  const named = Object.entries(parameters).sort(([a], [b]) => (a < b ? -1 : 1));
  const models = [`model: ${model}${provider_model ? ` (${provider_model})` : ""}`];
  return [...models, ...named.map(([name, value]) => `${name}: ${JSON.stringify(value)}`)];
}

/** The call with its texts, to be copied. */
export function writeCall(call: ModelCallLine, { messages, tools }: CallRecord): string {
  const { model, provider_model, parameters } = call;
  const sent = [...call.instructions, ...call.messages].map((id) => messages[id]);
  return JSON.stringify(
    { model: provider_model || model, ...parameters, messages: sent, tools: call.tools.map((id) => tools[id]) },
    null,
    2,
  );
}

/** All texts of a message, for a comparison by lines. */
export const textOf = (message: SentMessage | undefined): string =>
  (message?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("\n");
