/** What the form of a rerun has changed, and what the server is sent of it. */
import type { RerunForm, RerunOutcome } from "../../api/schema";
import type { AddedResult, RunChanges } from "../../api/types";
import type { Json } from "../../log/events";

/** Texts that were typed, by their place. */
type Typed = Readonly<Record<number, string>>;

export interface Draft {
  instructions: string | null;
  model: string | null;
  /** As it was typed; empty is that of the run. */
  temperature: string;
  messages: Typed;
  results: Typed;
  added: readonly AddedResult[];
  isStubbed: boolean;
}

export const UNCHANGED: Draft = {
  instructions: null,
  model: null,
  temperature: "",
  messages: {},
  results: {},
  added: [],
  isStubbed: false,
};

/** Only what differs from the run. */
export function changesOf(draft: Draft, form: RerunForm): RunChanges {
  const { instructions, model, temperature } = draft;
  const messages = differing(
    draft.messages,
    form.messages.map(({ text }) => text),
  );
  const results = differing(
    draft.results,
    form.results.map(({ result }) => result),
  );
  return {
    ...(instructions !== null && instructions !== (form.instructions ?? "") && { instructions }),
    ...(model !== null && model !== form.model && { model }),
    ...(temperature !== "" && Number(temperature) !== form.temperature && { temperature: Number(temperature) }),
    ...(messages.length > 0 && { messages }),
    ...(results.length > 0 && { results }),
    ...(draft.added.length > 0 && { added: [...draft.added] }),
    ...(draft.isStubbed && { missing: "stub" }),
  };
}

function differing(typed: Typed, known: readonly string[]): { place: number; text: string }[] {
  return known.flatMap((text, place) => {
    const changed = typed[place];
    return changed === undefined || changed === text ? [] : [{ place, text: changed }];
  });
}

/** The call that the recording could not answer, or for which it has no approval. */
export function findMissing({ outcome, diverged, calls }: RerunOutcome): AddedResult | null {
  const isOpen = diverged !== null || outcome === "waiting";
  const call = isOpen ? calls.findLast((one) => one.served === "none" && one.result === null) : undefined;
  return call ? { tool: call.name, arguments: call.arguments as Record<string, Json>, result: "" } : null;
}

export interface ComparedCall {
  name: string;
  before: string | null;
  after: string | null;
}

interface NamedCall {
  name: string;
  arguments: string;
}

/** The calls of both runs side by side: the first call of a tool beside the first one of the same, and so on. */
export function compareCalls(before: readonly NamedCall[], after: readonly NamedCall[]): ComparedCall[] {
  const left = [...after];
  const rows = before.map(({ name, arguments: text }): ComparedCall => {
    const place = left.findIndex((call) => call.name === name);
    return { name, before: text, after: place < 0 ? null : (left.splice(place, 1)[0]?.arguments ?? null) };
  });
  return [...rows, ...left.map(({ name, arguments: text }) => ({ name, before: null, after: text }))];
}

/** Equal for the same JSON, whatever the blanks. */
export function plain(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}
